/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_IA_API_H
#define DAPLREF_IA_API_H

#include "base/daplref.h"

DAT_RETURN ref_ia_open(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *);
DAT_RETURN ref_ia_open_threadsafe(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *);
DAT_RETURN ref_ia_query(DAT_IA_HANDLE, DAT_EVD_HANDLE *, DAT_IA_ATTR_MASK, DAT_IA_ATTR *,
                        DAT_PROVIDER_ATTR_MASK, DAT_PROVIDER_ATTR *);
DAT_RETURN ref_ia_close(DAT_IA_HANDLE, DAT_CLOSE_FLAGS);

#endif
