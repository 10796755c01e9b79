/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/dat_abi.h"
#include "base/handle.h"

#ifdef DAPLREF_DAT_2

/*
 * Exported by libdat2 but declared in no header: maps the Consumer's handle and ours to each other.
 */
extern DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *other);

/*
 * Returns the handle by which the Consumer knows an IA, or ours before dat_ia_open() has returned.
 */
DAT_IA_HANDLE abi_ia_handle(const struct object *ia)
{
        DAT_IA_HANDLE ours = object_handle(ia);
        DAT_IA_HANDLE theirs;

        return dats_get_ia_handle(ours, &theirs) == DAT_SUCCESS ? theirs : ours;
}

#else

/* Returns the handle by which the Consumer knows an IA. */
DAT_IA_HANDLE abi_ia_handle(const struct object *ia)
{
        return object_handle(ia);
}

#endif
