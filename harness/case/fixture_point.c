/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/poison.h"
#include "case/test.h"

static DAT_RETURN point_at(struct test *t, const struct point_opts *opts, DAT_CONN_QUAL qual,
                           DAT_HANDLE *point)
{
        if (opts->reserved)
                return dat_rsp_create(ia(t), qual, opts->ep, opts->evd, point);
        return dat_psp_create(ia(t), qual, opts->evd, opts->flags, point);
}

DAT_RETURN point_make(struct test *t, struct point_opts opts, DAT_CONN_QUAL *qual,
                      DAT_HANDLE *point)
{
        DAT_CONN_QUAL first = draw(t, opts.count);
        DAT_RETURN ret = DAT_CONN_QUAL_IN_USE;

        poison(point, sizeof(*point));
        for (DAT_CONN_QUAL i = 0; dat_is(ret, DAT_CONN_QUAL_IN_USE) && i < opts.count; i++) {
                *qual = opts.first + (first + i) % opts.count;
                ret = point_at(t, &opts, *qual, point);
        }
        return ret;
}
