/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_CONNECT_H
#define DAPLREF_CONNECT_H

#include "base/daplref.h"

DAT_RETURN ref_ep_connect(DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT, DAT_COUNT,
                          const DAT_PVOID, DAT_QOS, DAT_CONNECT_FLAGS);
DAT_RETURN ref_ep_dup_connect(DAT_EP_HANDLE, DAT_EP_HANDLE, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID,
                              DAT_QOS);
DAT_RETURN ref_ep_disconnect(DAT_EP_HANDLE, DAT_CLOSE_FLAGS);

#endif
