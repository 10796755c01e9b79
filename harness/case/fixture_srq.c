/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "case/limits.h"
#include "case/poison.h"
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

/* The SRQ is the one that was asked for; the pages of the two calls look for themselves. */
static void verify(struct test *t, DAT_SRQ_HANDLE srq, const DAT_SRQ_ATTR *asked,
                   DAT_PZ_HANDLE zone)
{
        char names[REASON_MAX / 2];
        DAT_SRQ_PARAM param;

        if (is_of_page(t, "srq_query") || is_of_page(t, "srq_create"))
                return;
        poison(&param, sizeof(param));
        if (!dat_is(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS) ||
            unwritten_fields("DAT_SRQ_PARAM", &param, names, sizeof(names))) {
                record(t,
                       "what dat_srq_create made was not looked at: dat_srq_query does not tell");
                return;
        }
        must_show(t, "dat_srq_create", "dat_srq_query", "its zone", param.pz_handle == zone);
        must_show(t, "dat_srq_create", "dat_srq_query", "as many receives as were asked for",
                  param.max_recv_dtos >= asked->max_recv_dtos);
        must_show(t, "dat_srq_create", "dat_srq_query", "as many segments as were asked for",
                  param.max_recv_iov >= asked->max_recv_iov);
}

DAT_SRQ_HANDLE srq_make(struct test *t, struct srq_opts opts)
{
        DAT_SRQ_ATTR attr = {
            .max_recv_dtos = opts.max_recv_dtos ? opts.max_recv_dtos : SRQ_RECV_DTOS,
            .max_recv_iov = opts.max_recv_iov ? opts.max_recv_iov : SRQ_RECV_IOV,
            .low_watermark = DAT_SRQ_LW_DEFAULT,
        };
        DAT_SRQ_HANDLE made = DAT_HANDLE_NULL;

        need_limit(t, ia_attr_if_told(t)->max_recv_per_srq, attr.max_recv_dtos, "max_recv_per_srq");
        need_limit(t, ia_attr_if_told(t)->max_iov_segments_per_dto, attr.max_recv_iov,
                   "max_iov_segments_per_dto");
        arrange_one(SRQ, dat_srq_create(opts.ia ? opts.ia : t->ia, opts.pz ? opts.pz : pz(t), &attr,
                                        &made));
        object_add(t, OBJECT_SRQ, made);
        verify(t, made, &attr, opts.pz ? opts.pz : pz(t));
        return made;
}

DAT_SRQ_PARAM srq_param(struct test *t, DAT_SRQ_HANDLE srq)
{
        char names[REASON_MAX / 2];
        DAT_SRQ_PARAM param;

        poison(&param, sizeof(param));
        arrange(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
        if (unwritten_fields("DAT_SRQ_PARAM", &param, names, sizeof(names)))
                step_failed(t, STEP_SITE_(t), "dat_srq_query",
                            "DAT_SUCCESS, with a value left unwritten",
                            "dat_srq_query returned DAT_SUCCESS and left %s unwritten", names);
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
