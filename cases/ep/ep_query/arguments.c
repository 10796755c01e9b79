/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_query: side effects and arguments. */
#include "case/ep_attr.h"
#include "case/poison.h"
#include "case/standard.h"
#include "case/test.h"
#include "cases/ep/ep_query/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "clauses/ep_query.h"

#include <netinet/in.h>
#include <string.h>

#define MANY 100 /* queries */

/*
 * What the call leaves as it was
 */

CASE(ep_query, takes_nothing)
{
        struct loop loop = transfer_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);

        for (uint64_t i = 0; i < POSTS; i++)
                must(recv_vector(loop.passive, &vector, i, DAT_COMPLETION_DEFAULT_FLAG));
        for (uint64_t i = 0; i < POSTS; i++)
                must(send_vector(loop.active, &vector, i, DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_GRACEFUL_FLAG));
        for (int i = 0; i < MANY; i++) {
                queried(t, loop.active, DAT_EP_FIELD_ALL);
                queried(t, loop.passive, DAT_EP_FIELD_ALL);
        }

        for (uint64_t i = 0; i < POSTS; i++) {
                expect_completion(ep_recv_evd(t, loop.passive), loop.passive, i, MESSAGE, 0);
                expect_completion(ep_request_evd(t, loop.active), loop.active, i, MESSAGE, 0);
        }
        expect_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
}

CASE(ep_query, within_structure)
{
        struct known known = known_ep(t, 1);
        struct buf *buf = expect_query_within(t, &ep_object_query, known.ep);
        DAT_EP_PARAM *param = (DAT_EP_PARAM *)(void *)buf->addr;

        check_param(t, &known.param, param, DAT_EP_FIELD_ALL & ~OF_CONNECTION);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                expect(dat_ep_query(known.ep, fields[i].bit, param), DAT_SUCCESS);
        check_guards(t);
        release(t, buf->lmr);
}

/*
 * Arguments
 */

/* The bit among those of the fields that is none. By DAT 2.0 there is none: one above them all. */
#define GAP  UINT64_C(0x800)
#define HOLE (DAT_EP_FIELD_ALL & GAP ? UINT64_C(1) << 40 : GAP)

static const struct wrong_mask {
        const char *id;
        DAT_EP_PARAM_MASK bits;
} masks[] = {
    {"hole", HOLE},
    {"hole_among_all", DAT_EP_FIELD_ALL | HOLE},
    {"next_bit", UINT64_C(1) << 31},
    {"next_bit_among_all", DAT_EP_FIELD_ALL | UINT64_C(1) << 31},
    {"bit_32", UINT64_C(1) << 32},
    {"highest_bit", UINT64_C(1) << 63},
    {"all_bits", ~UINT64_C(0)},
};

FAMILY(ep_query, invalid_mask, masks)
{
        struct known known = known_ep(t, 1);
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_ep_query(known.ep, row->bits, &param), DAT_INVALID_PARAMETER);
        check_without_connection(t, &known);
}

/* Each bit that is no field's, alone and beside one that is. */
CASE(ep_query, invalid_mask_connected)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);
        DAT_EP_PARAM param;

        join(t, &active, &passive);
        memset(&param, 0, sizeof(param));
        for (unsigned int i = 0; i < 64; i++) {
                DAT_EP_PARAM_MASK bit = UINT64_C(1) << i;

                if (DAT_EP_FIELD_ALL & bit)
                        continue;
                expect(dat_ep_query(active.ep, bit, &param), DAT_INVALID_PARAMETER);
                expect(dat_ep_query(active.ep, bit | DAT_EP_FIELD_EP_STATE, &param),
                       DAT_INVALID_PARAMETER);
        }
        check_fields(t, &active, DAT_EP_FIELD_ALL);
        check_fields(t, &passive, DAT_EP_FIELD_ALL);
}

CASE(ep_query, no_mask)
{
        struct known known = known_ep(t, 1);

        expect_no_mask_answered(t, &ep_object_query, known.ep);
        check_without_connection(t, &known);
}

LEGAL(ep_query)
{
        static DAT_EP_PARAM param;

        call->ep_handle = ep_with(t);
        call->ep_param_mask = DAT_EP_FIELD_ALL;
        call->ep_param = &param;
}
