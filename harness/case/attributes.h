/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of an open IA and of its provider, and which of their bytes were not written. */
#ifndef HARNESS_ATTRIBUTES_H
#define HARNESS_ATTRIBUTES_H

#include "dat_api.h"
#include "evidence/evidence.h"

/* dat_ia_query, or what stands for it. */
typedef DAT_RETURN attributes_call(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd,
                                   DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
                                   DAT_PROVIDER_ATTR_MASK provider_mask,
                                   DAT_PROVIDER_ATTR *provider_attr);

/* Asks for all of them, twice, and fills the attributes and the address of `probe`. */
DAT_RETURN attributes_query(attributes_call *query, DAT_IA_HANDLE ia, struct probe *probe);

#endif
