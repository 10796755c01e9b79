/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/limits.h"
#include "case/test.h"

#define EVD_QLEN 64

DAT_EVD_HANDLE evd_make(struct test *t, struct evd_opts opts)
{
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;

        arrange_one(EVD,
                    dat_evd_create(opts.ia ? opts.ia : t->ia, opts.qlen ? opts.qlen : EVD_QLEN,
                                   opts.cno, opts.flags ? opts.flags : DAT_EVD_DTO_FLAG, &made));
        object_add(t, OBJECT_EVD, made);
        return made;
}
