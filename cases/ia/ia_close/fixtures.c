/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ia/ia_close/fixtures.h"

void close_now(struct test *t, DAT_CLOSE_FLAGS flags)
{
        expect(dat_ia_close(ia(t), flags), DAT_SUCCESS);
        ia_closed(t);
}

void ia_close_post_recvs(struct test *t, struct loop *loop)
{
        struct buf *buf = buf_with(t, .length = 4 * MESSAGE);

        for (int i = 0; i < MESSAGES; i++)
                loop_post_recv(t, loop->passive, buf, (uint64_t)i);
}

void ia_close_post_sends(struct test *t, struct loop *loop)
{
        struct buf *buf = buf_with(t, .length = 4 * MESSAGE);

        for (int i = 0; i < MESSAGES / 2; i++)
                loop_post_send(t, loop->active, buf, (uint64_t)i);
}

void post_both(struct test *t, struct loop *loop)
{
        ia_close_post_recvs(t, loop);
        ia_close_post_sends(t, loop);
}
