/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of SRQs and EPs: what they are made with, changes, queries and posts. */
#include <string.h>

#include "case.h"
#include "case/ep_attr.h"
#include "walk.h"

/* The number that stands for the most receives of an SRQ. */
#define MOST_RECEIVES (-3)
#define SEGMENTS      4
#define BETWEEN       64 /* bytes from a segment to the next */
/* Receives, and requests, of an EP that is made with flags. */
#define FLAGS_DEPTH 8

static DAT_COUNT receives(struct walk *walk, long number)
{
        return number == MOST_RECEIVES ? ia_attr(walk->t)->max_recv_per_srq : count_of(number);
}

static DAT_RETURN srq_create(struct walk *walk, const long *arg)
{
        DAT_SRQ_HANDLE made = DAT_HANDLE_NULL;
        DAT_SRQ_ATTR attr;

        memset(&attr, 0, sizeof(attr));
        attr.max_recv_dtos = receives(walk, arg[2]);
        attr.max_recv_iov = count_of(arg[3]);
        attr.low_watermark = DAT_SRQ_LW_DEFAULT;
        if (!walk_is_free(walk, arg[0], SRQ))
                return walk->said;
        return walk_keep(
            walk, arg[0],
            dat_srq_create(walk_ia_of(walk, arg[0]), walk_object(walk, arg[1]), &attr, &made),
            &made);
}

static DAT_RETURN srq_query(struct walk *walk, const long *arg)
{
        DAT_SRQ_PARAM param;

        return dat_srq_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_SRQ_FIELD_ALL), &param);
}

static DAT_RETURN srq_resize(struct walk *walk, const long *arg)
{
        return dat_srq_resize(walk_object(walk, arg[0]), receives(walk, arg[1]));
}

static DAT_RETURN srq_set_lw(struct walk *walk, const long *arg)
{
        return dat_srq_set_lw(walk_object(walk, arg[0]), count_of(arg[1]));
}

static DAT_RETURN srq_post_recv(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[1], arg[2], arg[3]);

        return dat_srq_post_recv(walk_object(walk, arg[0]), 1, &iov, walk_cookie(walk));
}

static DAT_RETURN srq_free(struct walk *walk, const long *arg)
{
        return walk_gone(walk, arg[0], dat_srq_free(walk_object(walk, arg[0])));
}

static DAT_EP_ATTR ep_attributes(struct walk *walk, long recvs, long requests)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr(walk->t));

        attr.max_recv_dtos = count_of(recvs);
        attr.max_request_dtos = count_of(requests);
        attr.max_rdma_read_in = ia_attr(walk->t)->max_rdma_read_per_ep_in ? 1 : 0;
        attr.max_rdma_read_out = ia_attr(walk->t)->max_rdma_read_per_ep_out ? 1 : 0;
        attr.max_rdma_read_iov = attr.max_rdma_read_out;
        return attr;
}

static DAT_RETURN ep_create_as(struct walk *walk, const long *arg, DAT_EP_ATTR *attr)
{
        DAT_EP_HANDLE made = DAT_HANDLE_NULL;

        if (!walk_is_free(walk, arg[0], EP))
                return walk->said;
        return walk_keep(walk, arg[0],
                         dat_ep_create(walk_ia_of(walk, arg[0]), walk_object(walk, arg[1]),
                                       walk_object(walk, arg[2]), walk_object(walk, arg[3]),
                                       walk_object(walk, arg[4]), attr, &made),
                         &made);
}

static DAT_RETURN ep_create(struct walk *walk, const long *arg)
{
        DAT_EP_ATTR attr = ep_attributes(walk, arg[5], arg[6]);

        return ep_create_as(walk, arg, &attr);
}

static DAT_RETURN ep_create_flags(struct walk *walk, const long *arg)
{
        DAT_EP_ATTR attr = ep_attributes(walk, FLAGS_DEPTH, FLAGS_DEPTH);

        attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)arg[5];
        attr.request_completion_flags = (DAT_COMPLETION_FLAGS)arg[6];
        return ep_create_as(walk, arg, &attr);
}

/* The attributes of an EP that are numbers, by the bit of the field; one of none changes none. */
static DAT_EP_ATTR with_number(DAT_EP_ATTR attr, long field, long number)
{
        switch ((DAT_EP_PARAM_MASK)field) {
        case DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE:
                attr.max_message_size = (DAT_VLEN)number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE:
                attr.max_rdma_size = (DAT_VLEN)number;
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS:
                attr.max_recv_dtos = count_of(number);
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS:
                attr.max_request_dtos = count_of(number);
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV:
                attr.max_recv_iov = count_of(number);
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV:
                attr.max_request_iov = count_of(number);
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN:
                attr.max_rdma_read_in = count_of(number);
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT:
                attr.max_rdma_read_out = count_of(number);
                break;
        case DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW:
                attr.srq_soft_hw = count_of(number);
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV:
                attr.max_rdma_read_iov = count_of(number);
                break;
        case DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV:
                attr.max_rdma_write_iov = count_of(number);
                break;
        default:
                break;
        }
        return attr;
}

static DAT_RETURN ep_create_number(struct walk *walk, const long *arg)
{
        DAT_EP_ATTR attr =
            with_number(ep_attributes(walk, FLAGS_DEPTH, FLAGS_DEPTH), arg[5], arg[6]);

        return ep_create_as(walk, arg, &attr);
}

static DAT_RETURN ep_create_with_srq(struct walk *walk, const long *arg)
{
        DAT_EP_ATTR attr = ep_attributes(walk, arg[6], arg[7]);
        DAT_EP_HANDLE made = DAT_HANDLE_NULL;

        if (!walk_is_free(walk, arg[0], EP))
                return walk->said;
        return walk_keep(walk, arg[0],
                         dat_ep_create_with_srq(
                             walk_ia_of(walk, arg[0]), walk_object(walk, arg[1]),
                             walk_object(walk, arg[2]), walk_object(walk, arg[3]),
                             walk_object(walk, arg[4]), walk_object(walk, arg[5]), &attr, &made),
                         &made);
}

static DAT_RETURN ep_query(struct walk *walk, const long *arg)
{
        DAT_EP_PARAM param;

        return dat_ep_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_EP_FIELD_ALL), &param);
}

static DAT_RETURN ep_get_status(struct walk *walk, const long *arg)
{
        DAT_EP_STATE state;
        DAT_BOOLEAN recv_idle, request_idle;

        return dat_ep_get_status(walk_object(walk, arg[0]), &state, &recv_idle, &request_idle);
}

static DAT_RETURN ep_modify_pz(struct walk *walk, const long *arg)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.pz_handle = walk_object(walk, arg[1]);
        return dat_ep_modify(walk_object(walk, arg[0]), DAT_EP_FIELD_PZ_HANDLE, &param);
}

static DAT_RETURN ep_modify_depths(struct walk *walk, const long *arg)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.ep_attr.max_recv_dtos = count_of(arg[1]);
        param.ep_attr.max_request_dtos = count_of(arg[2]);
        return dat_ep_modify(
            walk_object(walk, arg[0]),
            DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
}

static DAT_RETURN ep_modify_handle(struct walk *walk, const long *arg)
{
        DAT_HANDLE set = walk_object(walk, arg[2]);
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.pz_handle = set;
        param.recv_evd_handle = set;
        param.request_evd_handle = set;
        param.connect_evd_handle = set;
        param.srq_handle = set;
        return dat_ep_modify(walk_object(walk, arg[0]), (DAT_EP_PARAM_MASK)arg[1], &param);
}

static DAT_RETURN ep_modify_number(struct walk *walk, const long *arg)
{
        DAT_EP_PARAM param;
        DAT_EP_ATTR *attr = &param.ep_attr;

        memset(&param, 0, sizeof(param));
        attr->max_message_size = (DAT_VLEN)arg[2];
        attr->max_rdma_size = (DAT_VLEN)arg[2];
        attr->recv_completion_flags = (DAT_COMPLETION_FLAGS)arg[2];
        attr->request_completion_flags = (DAT_COMPLETION_FLAGS)arg[2];
        attr->max_recv_dtos = count_of(arg[2]);
        attr->max_request_dtos = count_of(arg[2]);
        attr->max_recv_iov = count_of(arg[2]);
        attr->max_request_iov = count_of(arg[2]);
        attr->max_rdma_read_in = count_of(arg[2]);
        attr->max_rdma_read_out = count_of(arg[2]);
        attr->srq_soft_hw = count_of(arg[2]);
        attr->max_rdma_read_iov = count_of(arg[2]);
        attr->max_rdma_write_iov = count_of(arg[2]);
        return dat_ep_modify(walk_object(walk, arg[0]), (DAT_EP_PARAM_MASK)arg[1], &param);
}

static DAT_RETURN ep_recv_query(struct walk *walk, const long *arg)
{
        DAT_COUNT allocated, span;

        return dat_ep_recv_query(walk_object(walk, arg[0]), &allocated, &span);
}

static DAT_RETURN ep_set_watermark(struct walk *walk, const long *arg)
{
        return dat_ep_set_watermark(walk_object(walk, arg[0]), count_of(arg[1]), count_of(arg[2]));
}

/* Segments of an LMR, each behind the one before it. */
static void segments(struct walk *walk, const long *arg, DAT_LMR_TRIPLET *iov)
{
        for (long i = 0; i < SEGMENTS; i++)
                iov[i] = walk_segment(walk, arg[1], i * BETWEEN, arg[2]);
}

static DAT_RETURN srq_post_segments(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov[SEGMENTS];

        segments(walk, arg, iov);
        return dat_srq_post_recv(walk_object(walk, arg[0]), count_of(arg[3]), iov,
                                 walk_cookie(walk));
}

static DAT_RETURN ep_post_recv_segments(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov[SEGMENTS];

        segments(walk, arg, iov);
        return dat_ep_post_recv(walk_object(walk, arg[0]), count_of(arg[3]), iov, walk_cookie(walk),
                                (DAT_COMPLETION_FLAGS)arg[4]);
}

static DAT_RETURN ep_post_send_segments(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov[SEGMENTS];

        segments(walk, arg, iov);
        return dat_ep_post_send(walk_object(walk, arg[0]), count_of(arg[3]), iov, walk_cookie(walk),
                                (DAT_COMPLETION_FLAGS)arg[4]);
}

static DAT_RETURN ep_post_recv(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[1], arg[2], arg[3]);

        return dat_ep_post_recv(walk_object(walk, arg[0]), 1, &iov, walk_cookie(walk),
                                (DAT_COMPLETION_FLAGS)arg[4]);
}

static DAT_RETURN ep_post_send(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[1], arg[2], arg[3]);

        return dat_ep_post_send(walk_object(walk, arg[0]), 1, &iov, walk_cookie(walk),
                                (DAT_COMPLETION_FLAGS)arg[4]);
}

/* The memory of an LMR of this process, by its remote context. */
static DAT_RMR_TRIPLET remote(struct walk *walk, long lmr, long length)
{
        const struct memory *memory = walk_memory(walk, lmr);
        DAT_RMR_TRIPLET made;

        memset(&made, 0, sizeof(made));
        made.rmr_context = memory->rmr_context;
        made.target_address = (DAT_VADDR)(uintptr_t)memory->bytes;
        made.segment_length = (DAT_UINT32)length;
        return made;
}

static DAT_RETURN ep_post_rdma_write(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[1], 0, arg[3]);
        DAT_RMR_TRIPLET to = remote(walk, arg[2], arg[3]);

        return dat_ep_post_rdma_write(walk_object(walk, arg[0]), 1, &iov, walk_cookie(walk), &to,
                                      (DAT_COMPLETION_FLAGS)arg[4]);
}

static DAT_RETURN ep_post_rdma_read(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[1], 0, arg[3]);
        DAT_RMR_TRIPLET from = remote(walk, arg[2], arg[3]);

        return dat_ep_post_rdma_read(walk_object(walk, arg[0]), 1, &iov, walk_cookie(walk), &from,
                                     (DAT_COMPLETION_FLAGS)arg[4]);
}

const struct move endpoint_moves[] = {
    STEP(srq_create, 4),
    STEP(srq_query, 2),
    STEP(srq_resize, 2),
    STEP(srq_set_lw, 2),
    STEP(srq_post_recv, 4),
    STEP(srq_post_segments, 4),
    STEP(srq_free, 1),
    STEP(ep_create, 7),
    STEP(ep_create_flags, 7),
    STEP(ep_create_number, 7),
    STEP(ep_create_with_srq, 8),
    STEP(ep_query, 2),
    STEP(ep_get_status, 1),
    STEP(ep_modify_pz, 2),
    STEP(ep_modify_depths, 3),
    STEP(ep_modify_handle, 3),
    STEP(ep_modify_number, 3),
    STEP(ep_recv_query, 1),
    STEP(ep_set_watermark, 3),
    STEP(ep_post_recv, 5),
    STEP(ep_post_send, 5),
    STEP(ep_post_recv_segments, 5),
    STEP(ep_post_send_segments, 5),
    STEP(ep_post_rdma_write, 5),
    STEP(ep_post_rdma_read, 5),
    {.name = NULL},
};
