/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/shared/silent.h"
#include "cases/ep/shared/transfer.h"

void expect_cno_silent(struct test *t, const struct silence *row,
                       DAT_RETURN (*call)(struct test *t, DAT_EVD_HANDLE evd))
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct line line = row->of_receives ? line_with(t, .recv_flags = row->of_ep)
                                            : line_with(t, .request_flags = row->of_ep);
        DAT_EVD_HANDLE evd =
            row->of_receives ? ep_recv_evd(t, line.to) : ep_request_evd(t, line.from);
        struct waiter *waiter;
        struct woken woken;

        must(dat_evd_enable(evd));
        must(dat_evd_modify_cno(evd, cno));
        must_line_recv(t, &line, 2);
        if (call)
                expect(call(t, evd), DAT_SUCCESS);

        waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
        expect_wait(waiter);
        must(line_send(&line, row->silent));
        expect_asleep(waiter);
        must(line_send(&line, row->heard));

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == evd, "the CNO names another EVD");
        for (uint64_t i = 0; i < 2; i++)
                expect_eq(expect_dto(evd).user_cookie.as_64, i);
}
