/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_disconnect: disconnects before the connection is established. */
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/ep/ep_disconnect/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_disconnect.h"

#include <string.h>

static const struct abort_row {
        const char *id;
        DAT_CLOSE_FLAGS flags;
        bool heard; /* the request has been heard */
} aborts[] = {
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG, false},
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG, false},
    {"abrupt_when_heard", DAT_CLOSE_ABRUPT_FLAG, true},
    {"graceful_when_heard", DAT_CLOSE_GRACEFUL_FLAG, true},
};

FAMILY(ep_disconnect, given_up, aborts)
{
        struct stage stage;
        struct buf *buf = buf_with(t, .length = WORKS * MESSAGE);

        stage_set(t, &stage, BY_ADDRESS);
        post_recvs(t, stage.asking.ep, buf, 0, WORKS);
        must(connect_ask(&stage.asking));
        if (row->heard)
                expect_stage_heard(t, &stage);
        end_by(t, stage.asking.ep, row->flags);
        expect_given_up(t, stage.asking.ep);
        expect_flushed(t, ep_recv_evd(t, stage.asking.ep), stage.asking.ep, 0, WORKS);
}

FAMILY(ep_disconnect, given_up_as_another, both_flags)
{
        struct stage stage;
        struct buf *buf = buf_with(t, .length = WORKS * MESSAGE);

        stage_set(t, &stage, AS_ANOTHER);
        post_recvs(t, stage.asking.ep, buf, 0, WORKS);
        must(connect_ask(&stage.asking));
        expect_stage_heard(t, &stage);
        end_by(t, stage.asking.ep, row->flags);
        expect_given_up(t, stage.asking.ep);
        expect_flushed(t, ep_recv_evd(t, stage.asking.ep), stage.asking.ep, 0, WORKS);
        expect_loop_carries(t, stage.old.active, stage.old.passive);
}

/* The answer to an aborted request connects no EP. */
CASE(ep_disconnect, given_up_for_good)
{
        struct stage stage;

        stage_set(t, &stage, BY_ADDRESS);
        must(connect_ask(&stage.asking));
        expect_stage_heard(t, &stage);
        end_by(t, stage.asking.ep, DAT_CLOSE_ABRUPT_FLAG);
        expect_given_up(t, stage.asking.ep);
        must_answer_late(t, stage.loop.request, &stage.loop);
        expect_eq(ep_state(t, stage.asking.ep), DAT_EP_STATE_DISCONNECTED);
        expect_empty(t, ep_connect_evd(t, stage.asking.ep));
}

/* The receives were posted before the request was accepted, and the peer does not answer. */
FAMILY(ep_disconnect, completion_preposted, both_flags)
{
        struct buf *buf = buf_with(t, .length = WORKS * MESSAGE);
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        DAT_CR_HANDLE request = ep_request(t, ep);

        post_recvs(t, ep, buf, 0, WORKS);
        peer_freeze(peer(t));
        must(dat_cr_accept(request, DAT_HANDLE_NULL, 0, NULL));
        disown(t, request);
        if (ep_state(t, ep) == DAT_EP_STATE_CONNECTED)
                unsupported(t, "DAT_EP_STATE_COMPLETION_PENDING: the transport waits for no peer");
        end_by(t, ep, row->flags);
        expect_given_up(t, ep);
        expect_flushed(t, ep_recv_evd(t, ep), ep, 0, WORKS);
}

FAMILY(ep_disconnect, completion_given_up, both_flags)
{
        struct buf *buf = buf_with(t, .length = WORKS * MESSAGE);
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_COMPLETION_PENDING);

        post_recvs(t, ep, buf, 0, WORKS);
        end_by(t, ep, row->flags);
        expect_given_up(t, ep);
        expect_flushed(t, ep_recv_evd(t, ep), ep, 0, WORKS);
}
