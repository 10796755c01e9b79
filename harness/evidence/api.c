/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/api.h"

#include <stdio.h>
#include <string.h>

#include "dat_api.h"

const struct api_enum *api_enum_named(const char *name)
{
        for (size_t i = 0; i < api_enum_count; i++)
                if (strcmp(api_enums[i]->name, name) == 0)
                        return api_enums[i];
        return NULL;
}

const struct api_struct *api_struct_named(const char *name)
{
        for (size_t i = 0; i < api_struct_count; i++)
                if (strcmp(api_structs[i]->name, name) == 0)
                        return api_structs[i];
        return NULL;
}

const char *api_member_name(const struct api_enum *names, uint64_t value)
{
        for (size_t i = 0; i < names->count; i++)
                if (names->members[i].value == value)
                        return names->members[i].name;
        return NULL;
}

const char *api_return_name(uint32_t ret, char *space)
{
        const struct api_enum *types = api_return_types;

        for (size_t i = 0; i < types->count; i++)
                if (dat_is(ret, (DAT_RETURN)types->members[i].value))
                        return types->members[i].name;
        snprintf(space, API_NAME_SPACE, "0x%08x", ret);
        return space;
}

const char *api_subtype_name(uint32_t ret, char *space)
{
        const char *name = api_member_name(api_return_subtypes, DAT_GET_SUBTYPE(ret));

        if (name)
                return name;
        snprintf(space, API_NAME_SPACE, "0x%04x", DAT_GET_SUBTYPE(ret));
        return space;
}

const char *api_status_name(unsigned int status)
{
        const char *name = api_member_name(api_enum_named("DAT_DTO_COMPLETION_STATUS"), status);

        return name ? name : "an unknown status";
}
