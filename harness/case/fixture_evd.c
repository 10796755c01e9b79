/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/limits.h"
#include "case/test.h"

#define EVD_QLEN     64
#define ASYNC_STREAM 5

/* The asynchronous stream may be the IA's own EVD's alone, if the attributes say so (EVD-13). */
static void need_async(struct test *t, DAT_EVD_FLAGS flags, DAT_RETURN ret)
{
        if (flags == DAT_EVD_ASYNC_FLAG &&
            (dat_is(ret, DAT_INVALID_PARAMETER) || dat_is(ret, DAT_MODEL_NOT_SUPPORTED)) &&
            !provider_attr(t)->evd_stream_merging_supported[ASYNC_STREAM][ASYNC_STREAM])
                unsupported(t, "evd_stream_merging_supported[5][5] = 0: no EVD is made for the "
                               "asynchronous stream (EVD-13)");
}

DAT_EVD_HANDLE evd_make(struct test *t, struct evd_opts opts)
{
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;
        DAT_EVD_FLAGS flags = opts.flags ? opts.flags : DAT_EVD_DTO_FLAG;
        DAT_RETURN ret = dat_evd_create(opts.ia ? opts.ia : t->ia, opts.qlen ? opts.qlen : EVD_QLEN,
                                        opts.cno, flags, &made);

        need_async(t, flags, ret);
        check_limit(t, CHECK_SITE_("dat_evd_create()"), DAT_HANDLE_TYPE_EVD, ret);
        object_add(t, OBJECT_EVD, made);
        return made;
}
