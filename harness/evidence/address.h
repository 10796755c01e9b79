/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HARNESS_ADDRESS_H
#define HARNESS_ADDRESS_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* An IPv4 or IPv6 address as text; "" where there is none, or it is of another family. */
static inline void address_text(const struct sockaddr *address, char *text, size_t size)
{
        text[0] = '\0';
        if (!address)
                return;
        if (address->sa_family == AF_INET)
                inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
                          (socklen_t)size);
        else if (address->sa_family == AF_INET6)
                inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text,
                          (socklen_t)size);
}

/* The address that `text` is; false where it is none. The rest of `address` is zero. */
static inline bool address_parse(const char *text, struct sockaddr_storage *address)
{
        struct sockaddr_in *in = (struct sockaddr_in *)address;
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;

        *address = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
        if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
                address->ss_family = AF_INET;
        else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
                address->ss_family = AF_INET6;
        return address->ss_family != AF_UNSPEC;
}

#endif
