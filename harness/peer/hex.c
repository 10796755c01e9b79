/* SPDX-License-Identifier: BSD-2-Clause */
#include "peer/hex.h"

#include <stdlib.h>

json_t *hex_json(const void *bytes, size_t size)
{
        static const char digits[] = "0123456789abcdef";
        const unsigned char *from = bytes;
        char *text = malloc(2 * size + 1);
        json_t *string;

        if (!text)
                return NULL;
        for (size_t i = 0; i < size; i++) {
                text[2 * i] = digits[from[i] >> 4];
                text[2 * i + 1] = digits[from[i] & 0xf];
        }
        string = json_stringn(text, 2 * size);
        free(text);
        return string;
}

size_t hex_parse(const char *text, unsigned char *bytes, size_t room)
{
        size_t size = 0;

        for (; size < room && text[2 * size] && text[2 * size + 1]; size++) {
                const char digits[3] = {text[2 * size], text[2 * size + 1], '\0'};

                bytes[size] = (unsigned char)strtoul(digits, NULL, 16);
        }
        return size;
}
