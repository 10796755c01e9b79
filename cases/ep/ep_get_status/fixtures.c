/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_get_status/fixtures.h"

struct status status_of(struct test *t, DAT_EP_HANDLE ep)
{
        struct status status;

        memset(&status, 0xa5, sizeof(status));
        expect(dat_ep_get_status(ep, &status.state, &status.recv_idle, &status.request_idle),
               DAT_SUCCESS);
        status.state = plain_ep_state(status.state);
        return status;
}

void expect_idle(struct test *t, DAT_EP_HANDLE ep, DAT_BOOLEAN recv, DAT_BOOLEAN request)
{
        struct status status = status_of(t, ep);

        expect_eq(status.recv_idle, recv);
        expect_eq(status.request_idle, request);
}

void end_if_given_up(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EVENT event;

        settle(t);
        if (dat_is(fixture_event_now(t, ep_connect_evd(t, ep), &event), DAT_SUCCESS) &&
            (event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
             event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED))
                end_noted(t, "the connection ended, as a message found no receive (DTO-3)");
}

void ep_get_status_post_recvs(struct test *t, DAT_EP_HANDLE ep, int count)
{
        struct vector vector = vector_with(t, .length = MESSAGE);

        for (int i = 0; i < count; i++)
                must(recv_vector(ep, &vector, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
}

void post_sends(struct test *t, DAT_EP_HANDLE ep, int count)
{
        struct vector vector = vector_with(t, .length = MESSAGE);

        for (int i = 0; i < count; i++)
                must(send_vector(ep, &vector, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
}

void must_be_flushed(struct test *t, DAT_EVD_HANDLE evd, int count)
{
        for (int i = 0; i < count; i++) {
                DAT_EVENT event = must_event(evd, DAT_DTO_COMPLETION_EVENT);

                must_that(event.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED,
                          "what was posted was not flushed");
        }
}
