/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two registries: the static one, read from dat.conf at the first call, and the dynamic one,
 * of the providers that registered themselves.
 */

#ifndef LIBDAT_REGISTRY_H
#define LIBDAT_REGISTRY_H

#include <dat/udat_redirection.h>

/* A provider in the dynamic registry. */
struct registration {
        DAT_PROVIDER_INFO info;
        const DAT_PROVIDER *provider;
        struct listing *loaded_for;
        unsigned int holders;
        struct registration *next;
};

/*
 * Find the provider of the IA, loading its library where need be, and hold it. Name, major version
 * and thread safety must be those wanted; of the minor versions, the one wanted or else the next
 * higher is taken. Returns DAT_PROVIDER_NOT_FOUND with the part of the key that failed.
 */
DAT_RETURN registry_hold(const DAT_PROVIDER_INFO *wanted, struct registration **held);

/* Let go. A provider that the registry loaded is unloaded when nobody holds it. */
void registry_release(struct registration *held);

#endif
