/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/cm_wire.h"

struct wire wire_head(enum wire_kind kind, int size)
{
        return (struct wire){
            .magic = {'D', 'r'}, .version = 1, .kind = (uint8_t)kind, .size = (uint8_t)size};
}

bool wire_is(const struct wire *wire, size_t length, enum wire_kind kind)
{
        return length >= sizeof(*wire) && wire->magic[0] == 'D' && wire->magic[1] == 'r' &&
               wire->version == 1 && wire->kind == kind && wire->size <= REF_MAX_PRIVATE_DATA;
}
