/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/test.h"

#define EVD_QLEN 64

/* The event streams, in the order of the rows of evd_stream_merging_supported. */
static const DAT_EVD_FLAGS streams[] = {
    DAT_EVD_SOFTWARE_FLAG,   DAT_EVD_CR_FLAG,       DAT_EVD_DTO_FLAG,
    DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
};

#define STREAM_COUNT (sizeof(streams) / sizeof(streams[0]))

static void need_merging(struct test *t, DAT_EVD_FLAGS flags)
{
        const DAT_PROVIDER_ATTR *attr = provider_attr(t);

        for (size_t i = 0; i < STREAM_COUNT; i++)
                for (size_t j = i + 1; j < STREAM_COUNT; j++)
                        if ((flags & streams[i]) && (flags & streams[j]) &&
                            !attr->evd_stream_merging_supported[i][j])
                                unsupported(t, "evd_stream_merging_supported: not these streams");
}

DAT_EVD_HANDLE evd_make(struct test *t, struct evd_opts opts)
{
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;

        need_merging(t, opts.flags);
        arrange(dat_evd_create(opts.ia ? opts.ia : t->ia, opts.qlen ? opts.qlen : EVD_QLEN,
                               opts.cno, opts.flags ? opts.flags : DAT_EVD_DTO_FLAG, &made));
        object_add(t, OBJECT_EVD, made);
        return made;
}
