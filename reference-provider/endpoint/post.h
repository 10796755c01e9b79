/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_POST_H
#define DAPLREF_POST_H

#include "base/daplref.h"

DAT_RETURN ref_ep_post_send(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                            DAT_COMPLETION_FLAGS);
DAT_RETURN ref_ep_post_recv(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                            DAT_COMPLETION_FLAGS);
DAT_RETURN ref_ep_post_rdma_read(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                                 const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);
DAT_RETURN ref_ep_post_rdma_write(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                                  const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);

#endif
