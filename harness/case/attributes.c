/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/attributes.h"

#include <string.h>

#include "case/poison.h"
#include "evidence/address.h"

/* Bytes that two queries have left as they were, each time otherwise, are unwritten: and then 0. */
static void sort_out(void *attr, const void *again, size_t size, bool *unwritten)
{
        unsigned char *first = attr;
        const unsigned char *second = again;

        for (size_t i = 0; i < size; i++) {
                unwritten[i] = first[i] == POISON && second[i] == (unsigned char)~POISON;
                if (unwritten[i])
                        first[i] = 0;
        }
}

DAT_RETURN attributes_query(attributes_call *query, DAT_IA_HANDLE ia, struct probe *probe)
{
        DAT_IA_ATTR ia_again;
        DAT_PROVIDER_ATTR provider_again;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        memset(&probe->ia_attr, POISON, sizeof(probe->ia_attr));
        memset((void *)&probe->provider_attr, POISON, sizeof(probe->provider_attr));
        memset(&ia_again, ~POISON, sizeof(ia_again));
        memset((void *)&provider_again, ~POISON, sizeof(provider_again));
        ret = query(ia, &async, DAT_IA_FIELD_ALL, &probe->ia_attr, DAT_PROVIDER_FIELD_ALL,
                    &probe->provider_attr);
        if (dat_is(ret, DAT_SUCCESS))
                ret = query(ia, &async, DAT_IA_FIELD_ALL, &ia_again, DAT_PROVIDER_FIELD_ALL,
                            &provider_again);
        sort_out(&probe->ia_attr, &ia_again, sizeof(ia_again), probe->ia_unwritten);
        sort_out((void *)&probe->provider_attr, &provider_again, sizeof(provider_again),
                 probe->provider_unwritten);
        if (dat_is(ret, DAT_SUCCESS))
                address_text(probe->ia_attr.ia_address_ptr, probe->address, sizeof(probe->address));
        return ret;
}
