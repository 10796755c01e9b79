/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_free/fixtures.h"

void free_now(struct test *t, DAT_EP_HANDLE ep)
{
        expect(dat_ep_free(ep), DAT_SUCCESS);
        disown(t, ep);
}

void expect_there(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        expect(dat_ep_query(ep, DAT_EP_FIELD_IA_HANDLE, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == ia(t), "the EP is of another IA");
}

void expect_evds_free(struct test *t, const DAT_EVD_HANDLE evds[3])
{
        for (int i = 0; i < 3; i++) {
                expect(dat_evd_free(evds[i]), DAT_SUCCESS);
                disown(t, evds[i]);
        }
}

void expect_all_free(struct test *t, const struct buf *buf, const DAT_EVD_HANDLE evds[3],
                     DAT_PZ_HANDLE zone)
{
        expect(dat_lmr_free(buf->lmr), DAT_SUCCESS);
        disown(t, buf->lmr);
        expect_evds_free(t, evds);
        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
}

DAT_RETURN query(void *ep)
{
        DAT_EP_PARAM param;

        return dat_ep_query(ep, DAT_EP_FIELD_ALL, &param);
}

DAT_EVENT_NUMBER next_number(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT more;

        expect(dat_evd_wait(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
        return event.event_number;
}

void expect_end_told(struct test *t, DAT_EVENT_NUMBER number)
{
        if (number == DAT_CONNECTION_EVENT_BROKEN)
                note(t, "a connection whose other end was freed is reported as broken (EP-72)");
        else
                expect_eq(number, DAT_CONNECTION_EVENT_DISCONNECTED);
}
