/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapter/ia_limits.h"
#include "base/daplref.h"
#include "base/ia.h"

#include <infiniband/verbs.h>
#include <sys/resource.h>
#include <unistd.h>

#define DESCRIPTORS_PER_EVD 2  /* a completion channel and an eventfd */
#define DESCRIPTORS_OTHER   40 /* of a process with one IA, other than those of its EVDs */
#define MAX_READS           128
/* Pieces of 64 bytes in a request: a segment takes 16 bytes, and 64 bytes are for the header. */
#define PIECES(iov) (((iov)*16 + 64 + 63) / 64)

static bool can_have(struct ia *ia, struct ibv_pd *pd, struct ibv_cq *cq, int dtos)
{
        struct ibv_qp_init_attr init = {
            .send_cq = cq,
            .recv_cq = cq,
            .cap = {.max_send_wr = (uint32_t)dtos,
                    .max_recv_wr = (uint32_t)dtos,
                    .max_send_sge = (uint32_t)ia->limits.iov,
                    .max_recv_sge = (uint32_t)ia->limits.iov},
            .qp_type = IBV_QPT_RC,
        };
        struct ibv_qp *qp = ibv_create_qp(pd, &init);

        if (qp)
                ibv_destroy_qp(qp);
        return qp;
}

/*
 * Measures how many DTOs an EP can have with the largest number of segments. Some devices count
 * requests in pieces, and a request with many segments takes several. Nothing is tried if the
 * device has enough pieces for all.
 */
static bool measure_dtos(struct ia *ia)
{
        int dtos = min_int(min_int(REF_MAX_DTOS, ia->device.max_qp_wr), ia->device.max_cqe / 4);
        int pieces = PIECES(ia->limits.iov);
        struct ibv_cq *cq;
        struct ibv_pd *pd;

        ia->limits.dtos = dtos;
        if (dtos <= ia->device.max_qp_wr / 2 / pieces)
                return true;
        pd = ibv_alloc_pd(ia->verbs);
        if (!pd)
                return false;
        cq = ibv_create_cq(ia->verbs, 1, NULL, NULL, 0);
        while (cq && dtos > 1 && !can_have(ia, pd, cq, dtos))
                dtos /= 2;
        ia->limits.dtos = dtos;
        if (cq)
                ibv_destroy_cq(cq);
        ibv_dealloc_pd(pd);
        return cq;
}

/*
 * The number of EVDs that the descriptor limit of the process allows. Open descriptors are not
 * counted, because each instance of an IA must publish the same attributes (dat_ia_query).
 */
static int evds_within_descriptors(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > DESCRIPTORS_PLENTY)
                limit.rlim_cur = DESCRIPTORS_PLENTY;
        return max_int(((int)limit.rlim_cur - DESCRIPTORS_OTHER) / DESCRIPTORS_PER_EVD, 1);
}

/* The size of the host's memory, since registered memory is pinned; or less, if the device says. */
static uint64_t max_lmr_length(const struct ibv_device_attr *device)
{
        uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

        return host < device->max_mr_size ? host : device->max_mr_size;
}

static void limit_objects(struct ia *ia)
{
        const struct ibv_device_attr *device = &ia->device;
        DAT_COUNT *objects = ia->limits.objects;

        for (int kind = 0; kind < REF_KINDS; kind++)
                objects[kind] = REF_MAX_SERVICES;
        objects[DAT_HANDLE_TYPE_IA] = 1;
        objects[DAT_HANDLE_TYPE_CNO] = REF_MAX_CNOS;
        /* Half of the queue pairs: a connection attempt may need a second one for its number. */
        objects[DAT_HANDLE_TYPE_EP] = min_int(REF_MAX_EPS, device->max_qp / 2);
        objects[DAT_HANDLE_TYPE_EVD] =
            min_int(min_int(REF_MAX_EVDS, device->max_cq - 1), evds_within_descriptors());
        /* A bound RMR is a memory region too, so LMRs get only the rest of the regions. */
        objects[DAT_HANDLE_TYPE_RMR] = min_int(REF_MAX_RMRS, device->max_mr / 5);
        objects[DAT_HANDLE_TYPE_LMR] =
            min_int(REF_MAX_LMRS, device->max_mr - objects[DAT_HANDLE_TYPE_RMR]);
        /* One protection domain is the IA's own. */
        objects[DAT_HANDLE_TYPE_PZ] = min_int(REF_MAX_PZS, device->max_pd - 1);
        objects[DAT_HANDLE_TYPE_SRQ] = min_int(REF_MAX_SRQS, device->max_srq);
}

/*
 * Computes ia->limits from the attributes of the device, which is open. dat_ia_query() publishes
 * the same numbers. Returns false if verbs has no PD or CQ for the measurement.
 */
bool limits_fill(struct ia *ia)
{
        const struct ibv_device_attr *device = &ia->device;
        struct ia_limits *limits = &ia->limits;

        limits->iov = min_int(REF_MAX_IOV, device->max_sge);
        if (device->max_srq)
                limits->iov = min_int(limits->iov, device->max_srq_sge);
        limits->read_iov = min_int(limits->iov, device->max_sge_rd);
        limits->reads =
            min_int(min_int(device->max_qp_rd_atom, device->max_qp_init_rd_atom), MAX_READS);
        limits->srq_dtos = min_int(min_int(REF_MAX_DTOS, device->max_srq_wr), device->max_cqe / 4);
        limits->lmr_length = max_lmr_length(device);
        limit_objects(ia);
        return measure_dtos(ia);
}
