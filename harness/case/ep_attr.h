/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of an EP that no case cares about: what any provider can give. */
#ifndef HARNESS_EP_ATTR_H
#define HARNESS_EP_ATTR_H

#include "dat_api.h"

#define EP_ATTR_DTOS        16
#define EP_ATTR_MESSAGE_MAX ((DAT_VLEN)1 << 20)

static inline DAT_VLEN ep_attr_at_most(DAT_VLEN limit, DAT_VLEN wanted)
{
        return limit && limit < wanted ? limit : wanted;
}

/*
 * 16 receives, 16 requests, one segment, messages up to 1 MiB or what the IA can do. No RDMA reads,
 * nor segments for them: a provider may refuse the one without the other.
 */
static inline DAT_EP_ATTR ep_attr_modest(const DAT_IA_ATTR *ia)
{
        return (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = ep_attr_at_most(ia->max_message_size, EP_ATTR_MESSAGE_MAX),
            .max_rdma_size = ep_attr_at_most(ia->max_rdma_size, EP_ATTR_MESSAGE_MAX),
            .qos = DAT_QOS_BEST_EFFORT,
            .max_recv_dtos = EP_ATTR_DTOS,
            .max_request_dtos = EP_ATTR_DTOS,
            .max_recv_iov = 1,
            .max_request_iov = 1,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_write_iov = 1,
        };
}

#endif
