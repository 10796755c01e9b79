/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device of another make: what its driver does otherwise than soft-RoCE, on which it stands. One
 * profile is linked with the front and with what is to meet the device, whose calls the linker
 * leads here (-Wl,--wrap).
 */
#ifndef DEVICES_FRONT_H
#define DEVICES_FRONT_H

#include <infiniband/verbs.h>
#include <stdbool.h>

struct device_profile {
        const char *name;
        uint32_t srq_wr;  /* entries of an SRQ that there is room for, or 0 for what is published */
        int srq_resize;   /* what ibv_modify_srq returns for a size; 0 where it resizes */
        int cq_resize;    /* what ibv_resize_cq returns; 0 where it resizes */
        int block;        /* bytes of the pieces that max_qp_wr counts; 0: it counts requests */
        bool stays_armed; /* srq_limit reads back as it was set, though it was reached */
        bool destroy_cleans;  /* the completions of a queue pair go with it */
        bool one_too_long;    /* a message longer than its receive is an invalid request */
        bool resizes_in_name; /* ibv_resize_cq says that it did, and did not */
        bool last_wqe;        /* what a queue pair took of its SRQ comes until it says it was all */
        bool fixed_psn;       /* the number of the packet expected reads back as it was set */
        bool no_psn;          /* it reads back as 0 */
        bool finite_retries;  /* retry_cnt 7 is seven; to soft-RoCE it is no limit */
        bool slow_rnr;        /* a message that met no receive is sent anew after 655 ms */
        bool coarse;          /* clocks of 10 ms */
        bool no_connections;  /* nor an address that leads to the device */
        long slow_cm;         /* nanoseconds from one look for librdmacm's events to the next */
        void (*publish)(struct ibv_device_attr *attr); /* changes what soft-RoCE publishes */
};

extern const struct device_profile device_profile;

/* For profiles: soft-RoCE has to have what they publish. */
static inline void at_most(int *limit, int most)
{
        if (*limit > most)
                *limit = most;
}

#endif
