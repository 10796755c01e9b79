/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/ep_attr.h"
#include "base/daplref.h"
#include "base/ia.h"

DAT_EP_ATTR ep_attr_default(const struct ia *ia)
{
        return (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = ia->port_attr.max_msg_sz,
            .max_rdma_size = ia->port_attr.max_msg_sz,
            .qos = DAT_QOS_BEST_EFFORT,
            .recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
            .request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
            .max_recv_dtos = min_int(16, ia->limits.dtos),
            .max_request_dtos = min_int(16, ia->limits.dtos),
            .max_recv_iov = min_int(4, ia->limits.iov),
            .max_request_iov = min_int(4, ia->limits.iov),
            .max_rdma_read_in = 0,
            .max_rdma_read_out = 0,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_read_iov = min_int(4, ia->limits.read_iov),
            .max_rdma_write_iov = min_int(4, ia->limits.iov),
        };
}

/* For lenient IAs: some programs leave 0 in attributes for which they want no limit. */
void ep_attr_fill_zeros(const struct ia *ia, DAT_EP_ATTR *attr)
{
        DAT_EP_ATTR defaults = ep_attr_default(ia);

        if (!attr->max_message_size)
                attr->max_message_size = defaults.max_message_size;
        if (!attr->max_rdma_size)
                attr->max_rdma_size = defaults.max_rdma_size;
        if (!attr->max_recv_iov)
                attr->max_recv_iov = defaults.max_recv_iov;
        if (!attr->max_request_iov)
                attr->max_request_iov = defaults.max_request_iov;
        if (!attr->max_rdma_read_iov)
                attr->max_rdma_read_iov = defaults.max_rdma_read_iov;
        if (!attr->max_rdma_write_iov)
                attr->max_rdma_write_iov = defaults.max_rdma_write_iov;
        if (!attr->max_rdma_read_in)
                attr->max_rdma_read_in = ia->limits.reads;
        if (!attr->max_rdma_read_out)
                attr->max_rdma_read_out = ia->limits.reads;
}

static bool within(DAT_COUNT value, DAT_COUNT limit)
{
        return value >= 0 && value <= limit;
}

bool ep_attr_valid(const struct ia *ia, const DAT_EP_ATTR *attr, bool with_srq)
{
        DAT_COUNT iov = ia->limits.iov;

        if (attr->service_type != DAT_SERVICE_TYPE_RC || attr->qos != DAT_QOS_BEST_EFFORT ||
            attr->max_message_size > ia->port_attr.max_msg_sz ||
            attr->max_rdma_size > ia->port_attr.max_msg_sz || attr->ep_transport_specific_count ||
            attr->ep_provider_specific_count)
                return false;
        switch (attr->recv_completion_flags) {
        case DAT_COMPLETION_DEFAULT_FLAG:
        case DAT_COMPLETION_UNSIGNALLED_FLAG:
        case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
                break;
        case DAT_COMPLETION_SOLICITED_WAIT_FLAG:
                if (ia->solicits)
                        break;
                return false;
        default:
                return false;
        }
        switch (attr->request_completion_flags) {
        case DAT_COMPLETION_DEFAULT_FLAG:
        case DAT_COMPLETION_UNSIGNALLED_FLAG:
        case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
                break;
        default:
                return false;
        }
        return within(attr->max_recv_dtos, ia->limits.dtos) &&
               within(attr->max_request_dtos, ia->limits.dtos) &&
               (with_srq || within(attr->max_recv_iov, iov)) &&
               within(attr->max_request_iov, iov) &&
               within(attr->max_rdma_read_in, ia->limits.reads) &&
               within(attr->max_rdma_read_out, ia->limits.reads) &&
               within(attr->max_rdma_read_iov, ia->limits.read_iov) &&
               within(attr->max_rdma_write_iov, iov) && attr->srq_soft_hw >= DAT_HW_DEFAULT;
}

void ep_attr_merge(DAT_EP_ATTR *attr, uint64_t mask, const DAT_EP_ATTR *wanted)
{
#define MERGE(FIELD, member)                             \
        do {                                             \
                if (mask & DAT_EP_FIELD_EP_ATTR_##FIELD) \
                        attr->member = wanted->member;   \
        } while (0)
        MERGE(SERVICE_TYPE, service_type);
        MERGE(MAX_MESSAGE_SIZE, max_message_size);
        MERGE(MAX_RDMA_SIZE, max_rdma_size);
        MERGE(QOS, qos);
        MERGE(RECV_COMPLETION_FLAGS, recv_completion_flags);
        MERGE(REQUEST_COMPLETION_FLAGS, request_completion_flags);
        MERGE(MAX_RECV_DTOS, max_recv_dtos);
        MERGE(MAX_REQUEST_DTOS, max_request_dtos);
        MERGE(MAX_RECV_IOV, max_recv_iov);
        MERGE(MAX_REQUEST_IOV, max_request_iov);
        MERGE(MAX_RDMA_READ_IN, max_rdma_read_in);
        MERGE(MAX_RDMA_READ_OUT, max_rdma_read_out);
        MERGE(SRQ_SOFT_HW, srq_soft_hw);
        MERGE(MAX_RDMA_READ_IOV, max_rdma_read_iov);
        MERGE(MAX_RDMA_WRITE_IOV, max_rdma_write_iov);
        MERGE(NUM_TRANSPORT_ATTR, ep_transport_specific_count);
        MERGE(TRANSPORT_SPECIFIC_ATTR, ep_transport_specific);
        MERGE(NUM_PROVIDER_ATTR, ep_provider_specific_count);
        MERGE(PROVIDER_SPECIFIC_ATTR, ep_provider_specific);
#undef MERGE
}

/* The soft watermark of the attributes. Programs that know none leave 0 there. */
DAT_COUNT ep_attr_soft_mark(const DAT_EP_ATTR *attr)
{
        return attr->srq_soft_hw > 0 ? attr->srq_soft_hw : DAT_WATERMARK_INFINITE;
}
