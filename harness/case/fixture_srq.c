/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "case/test.h"

#define SRQ_RECV_DTOS 8
#define SRQ_RECV_IOV  1

/* An IA that has less than the case needs is not to blame; one that tells no limit has none. */
static void need_limit(struct test *t, DAT_COUNT limit, DAT_COUNT needed, const char *name)
{
        char text[96];

        if (limit <= 0 || needed <= limit)
                return;
        snprintf(text, sizeof(text), "%s = %d, where the case needs %d", name, limit, needed);
        unsupported(t, text);
}

DAT_SRQ_HANDLE srq_make(struct test *t, struct srq_opts opts)
{
        DAT_SRQ_ATTR attr = {
            .max_recv_dtos = opts.max_recv_dtos ? opts.max_recv_dtos : SRQ_RECV_DTOS,
            .max_recv_iov = opts.max_recv_iov ? opts.max_recv_iov : SRQ_RECV_IOV,
            .low_watermark = DAT_SRQ_LW_DEFAULT,
        };
        DAT_SRQ_HANDLE made = DAT_HANDLE_NULL;

        need_limit(t, ia_attr(t)->max_recv_per_srq, attr.max_recv_dtos, "max_recv_per_srq");
        need_limit(t, ia_attr(t)->max_iov_segments_per_dto, attr.max_recv_iov,
                   "max_iov_segments_per_dto");
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
