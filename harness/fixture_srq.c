/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#define SRQ_RECV_DTOS 8
#define SRQ_RECV_IOV  1

DAT_SRQ_HANDLE srq_make(struct test *t, struct srq_opts opts)
{
        DAT_SRQ_ATTR attr = {
            .max_recv_dtos = opts.max_recv_dtos ? opts.max_recv_dtos : SRQ_RECV_DTOS,
            .max_recv_iov = opts.max_recv_iov ? opts.max_recv_iov : SRQ_RECV_IOV,
            .low_watermark = DAT_SRQ_LW_DEFAULT,
        };
        DAT_SRQ_HANDLE made = DAT_HANDLE_NULL;

        arrange(dat_srq_create(opts.ia ? opts.ia : t->ia, opts.pz ? opts.pz : pz(t), &attr, &made));
        object_add(t, OBJECT_SRQ, made);
        return made;
}

DAT_SRQ_PARAM srq_param(struct test *t, DAT_SRQ_HANDLE srq)
{
        DAT_SRQ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        arrange(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
        return param;
}

void srq_post(struct test *t, DAT_SRQ_HANDLE srq, const struct buf *buf, size_t size, int first,
              int count)
{
        for (int i = first; i < first + count; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, (size_t)i * size, size);
                DAT_DTO_COOKIE cookie = {.as_64 = (DAT_UINT64)i};

                arrange(dat_srq_post_recv(srq, 1, &segment, cookie));
        }
}
