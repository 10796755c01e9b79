/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_free: objects that the EP uses. */
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/ep/ep_free/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/handles.h"
#include "cases/shared/point.h"
#include "clauses/ep_free.h"

#include <string.h>

static DAT_RETURN evd_free(DAT_HANDLE evd)
{
        return dat_evd_free(evd);
}

static DAT_RETURN pz_free(DAT_HANDLE zone)
{
        return dat_pz_free(zone);
}

static DAT_HANDLE zone_of(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param = {.pz_handle = DAT_HANDLE_NULL};

        must(dat_ep_query(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
        return param.pz_handle;
}

/* An object that is in use as long as the EP is there. */
static const struct holding {
        const char *id;
        DAT_HANDLE (*held)(struct test *t, DAT_EP_HANDLE ep);
        DAT_RETURN (*free)(DAT_HANDLE handle);
} holdings[] = {
    {"pz", zone_of, pz_free},
    {"recv_evd", ep_recv_evd, evd_free},
    {"request_evd", ep_request_evd, evd_free},
    {"connect_evd", ep_connect_evd, evd_free},
};

FAMILY(ep_free, lets_go_of, holdings)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep = ep_with(t, .pz = zone);
        DAT_HANDLE held = row->held(t, ep);

        must_that(!dat_is(row->free(held), DAT_SUCCESS), "an EP's %s was freed", row->id);
        free_now(t, ep);

        expect(row->free(held), DAT_SUCCESS);
        disown(t, held);
}

/* Completion flags of an EP that no stream with others may share an EVD with. */
static const struct alone {
        const char *id;
        bool request;
        DAT_COMPLETION_FLAGS flags;
} alone[] = {
    {"recv_unsignalled", false, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"recv_solicited_wait", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"request_unsignalled", true, DAT_COMPLETION_UNSIGNALLED_FLAG},
};

static void set_flags(struct ep_creation *with, const struct alone *row, DAT_COMPLETION_FLAGS flags)
{
        ep_creation_set_flags(with, row->request, flags);
}

/* The streams are gone with the EP: an EP of other flags is made with its EVDs, and reports to
 * them. */
FAMILY(ep_free, lets_go_of_flags, alone)
{
        struct ep_creation with = {
            .ia = ia(t),
            .pz = pz(t),
            .recv_evd = evd_with(t),
            .request_evd = evd_with(t),
            .connect_evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG),
            .param.ep_attr = ep_attr_modest(ia_attr(t)),
        };
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        set_flags(&with, row, row->flags);
        must(ep_creation_call(&with, &ep));
        free_now(t, ep_creation_adopt(t, &with, ep));
        set_flags(&with, row, DAT_COMPLETION_DEFAULT_FLAG);
        loop.active = ep_created(t, &with);

        loop_join(t, &loop);
        expect_message(t, loop.active, loop.passive);
        expect_message(t, loop.passive, loop.active);
}

CASE(ep_free, lets_go_of_srq)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);

        must_that(!dat_is(dat_srq_free(srq), DAT_SUCCESS), "an EP's SRQ was freed");
        free_now(t, ep);

        expect(dat_srq_free(srq), DAT_SUCCESS);
        disown(t, srq);
}

CASE(ep_free, lets_go_of_memory)
{
        struct buf *buf = buf_with(t);
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        must(dat_ep_post_recv(ep, 1, &segment, COOKIE(0), DAT_COMPLETION_DEFAULT_FLAG));
        free_now(t, ep);

        expect(dat_lmr_free(buf->lmr), DAT_SUCCESS);
        disown(t, buf->lmr);
}

/* The same of an EP that has had to do with a connection, and with work that is left behind. */
static const struct life {
        const char *id;
        void (*make)(struct test *t, struct loop *loop);
} lives[] = {
    {"asking", ep_turn_ask},
    {"connected", loop_join},
    {"disconnected", ep_turn_leave},
};

FAMILY(ep_free, lets_go_of_all, lives)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = buf_with(t, .pz = zone);
        struct loop loop = loop_of(t, (struct ep_opts){.pz = zone}, (struct ep_opts){0});
        DAT_EVD_HANDLE evds[] = {
            ep_recv_evd(t, loop.active),
            ep_request_evd(t, loop.active),
            ep_connect_evd(t, loop.active),
        };

        loop_post_recv(t, loop.active, buf, 0);
        row->make(t, &loop);
        if (ep_state(t, loop.active) == DAT_EP_STATE_CONNECTED)
                loop_post_send(t, loop.active, buf, 1);
        free_now(t, loop.active);

        expect_all_free(t, buf, evds, zone);
}

FAMILY(ep_free, lets_go_of_used_srq, lives)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct loop loop = loop_of(t, (struct ep_opts){.srq = srq}, (struct ep_opts){0});

        row->make(t, &loop);
        free_now(t, loop.active);

        expect(dat_srq_free(srq), DAT_SUCCESS);
        disown(t, srq);
}

/* Of two EPs that use it, the older is freed first, and the newer keeps it in use. */
FAMILY(ep_free, held_by_another, holdings)
{
        DAT_EP_HANDLE one = ep_with(t, .pz = pz_new(t));
        DAT_EP_HANDLE other =
            ep_with(t, .pz = zone_of(t, one), .recv_evd = ep_recv_evd(t, one),
                    .request_evd = ep_request_evd(t, one), .connect_evd = ep_connect_evd(t, one));
        DAT_HANDLE held = row->held(t, one);

        free_now(t, one);
        expect_that(!dat_is(row->free(held), DAT_SUCCESS), "the other EP's %s was freed", row->id);
        free_now(t, other);

        expect(row->free(held), DAT_SUCCESS);
        disown(t, held);
}

CASE(ep_free, srq_held_by_another)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE one = ep_with(t, .srq = srq);
        DAT_EP_HANDLE other = ep_with(t, .srq = srq);

        free_now(t, one);
        expect_that(!dat_is(dat_srq_free(srq), DAT_SUCCESS), "the other EP's SRQ was freed");
        free_now(t, other);

        expect(dat_srq_free(srq), DAT_SUCCESS);
        disown(t, srq);
}
