/* SPDX-License-Identifier: BSD-2-Clause */

#include "fake_provider.h"

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static DAT_PROVIDER table;
static DAT_PROVIDER own_table;
static char behaviour[256];

static int is(const char *word)
{
        return strstr(behaviour, word) != NULL;
}

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
                          DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle)
{
        struct fake_ia *ia;

        fake_called("ia_open", name);
        if (is(FAKE_FAILS_OPEN))
                return FAKE_ERROR;
        *ia_handle = NULL;
        if (is(FAKE_NULL_HANDLE))
                return DAT_SUCCESS;
        ia = fake_new_ia();
        ia->table = is(FAKE_OWN_TABLE) ? &own_table : &table;
        snprintf(ia->name, sizeof(ia->name), "%s", name);
        ia->async_evd_min_qlen = async_evd_min_qlen;
        ia->async_evd_handle = async_evd_handle;
        *ia_handle = ia;
        return is(FAKE_WARNS) ? FAKE_WARNING : DAT_SUCCESS;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
        (void)ia_handle;
        fake_called("ia_close", flags == DAT_CLOSE_GRACEFUL_FLAG ? "graceful" : "abrupt");
        if (!is(FAKE_FAILS_CLOSE))
                return DAT_SUCCESS;
        behaviour[0] = '\0';
        return FAKE_ERROR;
}

static DAT_RETURN get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
        (void)handle;
        *type = DAT_HANDLE_TYPE_IA;
        return DAT_SUCCESS;
}

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
        DAT_PROVIDER_INFO mine = *info;

        fake_called("init", instance_data);
        strncpy(behaviour, instance_data, sizeof(behaviour) - 1);
        table = (DAT_PROVIDER){
            .device_name = "fake",
            .ia_open_func = ia_open,
            .ia_close_func = ia_close,
            .get_handle_type_func = get_handle_type,
        };
        own_table = table;
        if (is(FAKE_OPENS_ITSELF)) {
                DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
                DAT_IA_HANDLE ia;

                if (dat_ia_openv(mine.ia_name, 1, &async_evd, &ia, 1, 2, DAT_FALSE) != DAT_SUCCESS)
                        fake_called("init", "was refused its own IA");
        }
        if (is(FAKE_NOT_REGISTERED))
                return;
        if (is(FAKE_OTHER_NAME))
                snprintf(mine.ia_name, sizeof(mine.ia_name), "another");
        if (dat_registry_add_provider(&table, &mine) != DAT_SUCCESS)
                fake_called("init", "was refused to register");
}

EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
        fake_called("fini", info->ia_name);
        if (!is(FAKE_STAYS))
                dat_registry_remove_provider(&table, info);
}
