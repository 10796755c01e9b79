/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_get_handle_type: what each handle is of, and what is no handle. */
#include "clauses/get_handle_type.h"
#include "case/standard.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/handle/shared/object.h"
#include "cases/shared/point.h"

#include <string.h>

#define MANY  100 /* questions */
#define KINDS (sizeof(object_kinds) / sizeof(object_kinds[0]))

/* The reported type, stored over a value that is no type. */
static void expect_type(struct test *t, DAT_HANDLE handle, DAT_HANDLE_TYPE wanted)
{
        DAT_HANDLE_TYPE told;

        memset(&told, 0xa5, sizeof(told));
        expect(dat_get_handle_type(handle, &told), DAT_SUCCESS);
        expect_eq(told, wanted);
}

/* Whether the provider knows the handle: one of a CNO it need not know (GEN-14). */
static bool is_known(struct test *t, DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
        DAT_HANDLE_TYPE told;

        return type != DAT_HANDLE_TYPE_CNO ||
               dat_is(expect_or_note(dat_get_handle_type(handle, &told), DAT_SUCCESS,
                                     DAT_INVALID_HANDLE),
                      DAT_SUCCESS);
}

static void must_know(struct test *t, DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
        if (!is_known(t, handle, type))
                end_noted(t, "the handle of a CNO is unknown");
}

FAMILY(get_handle_type, each_kind, object_kinds)
{
        struct live live = live_object(t, row->type, false);

        must_know(t, live.handle, row->type);
        expect_type(t, live.handle, row->type);
        live_end(t, &live);
}

FAMILY(get_handle_type, any_origin, origins)
{
        DAT_HANDLE handle = row->make(t);

        must_know(t, handle, row->type);
        expect_type(t, handle, row->type);
}

static DAT_HANDLE lmr_of_lmr(struct test *t)
{
        struct buf *buf = buf_with(t);
        DAT_REGION_DESCRIPTION region = {.for_lmr_handle = buf->lmr};
        DAT_LMR_HANDLE made = DAT_HANDLE_NULL;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN length;
        DAT_VADDR address;

        must(dat_lmr_create(ia(t), DAT_MEM_TYPE_LMR, region, buf->length, pz(t),
                            DAT_MEM_PRIV_ALL_FLAG, &made, &lmr_context, &rmr_context, &length,
                            &address));
        adopt(t, DAT_HANDLE_TYPE_LMR, made);
        return made;
}

static DAT_HANDLE bound_rmr(struct test *t)
{
        struct brought brought = {
            .evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)};

        bring_bound(t, &brought);
        must_event(brought.evd, DAT_RMR_BIND_COMPLETION_EVENT);
        return brought.rmr;
}

static DAT_HANDLE any_psp(struct test *t)
{
        DAT_PSP_HANDLE made = DAT_HANDLE_NULL;
        DAT_CONN_QUAL qual;

        must(dat_psp_create_any(ia(t), &qual, request_evd(t), psp_flags_granted(t), &made));
        adopt(t, DAT_HANDLE_TYPE_PSP, made);
        return made;
}

static DAT_HANDLE evd_of_connections(struct test *t)
{
        return evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);
}

static DAT_HANDLE evd_of_binds(struct test *t)
{
        return evd_with(t, .flags = DAT_EVD_RMR_BIND_FLAG);
}

static DAT_HANDLE evd_of_both(struct test *t)
{
        return evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
}

static const struct origin makings[] = {
    {"lmr_of_lmr", DAT_HANDLE_TYPE_LMR, lmr_of_lmr},
    {"bound_rmr", DAT_HANDLE_TYPE_RMR, bound_rmr},
    {"any_psp", DAT_HANDLE_TYPE_PSP, any_psp},
    {"evd_of_connections", DAT_HANDLE_TYPE_EVD, evd_of_connections},
    {"evd_of_binds", DAT_HANDLE_TYPE_EVD, evd_of_binds},
    {"evd_of_both", DAT_HANDLE_TYPE_EVD, evd_of_both},
};

FAMILY(get_handle_type, each_making, makings)
{
        expect_type(t, row->make(t), row->type);
}

FAMILY(get_handle_type, older_and_newer, fleeting_kinds)
{
        struct live older = live_object(t, row->type, false);
        struct live newer = live_object(t, row->type, false);

        must_know(t, older.handle, row->type);
        expect_type(t, older.handle, row->type);
        expect_type(t, newer.handle, row->type);
        live_free(t, &newer);
        expect_type(t, older.handle, row->type);
        live_end(t, &older);
}

CASE(get_handle_type, all_at_once)
{
        struct live objects[KINDS];
        size_t made = live_objects(t, object_kinds, KINDS, objects);
        size_t left = 0;

        for (size_t i = 0; i < made; i++)
                if (is_known(t, objects[i].handle, objects[i].type))
                        objects[left++] = objects[i];
        for (; left > 0; left--) {
                size_t which = draw(t, left);

                expect_type(t, objects[which].handle, objects[which].type);
                live_end(t, &objects[which]);
                objects[which] = objects[left - 1];
        }
}

CASE(get_handle_type, of_other_ia)
{
        struct live second = live_object(t, DAT_HANDLE_TYPE_IA, true);
        DAT_PZ_HANDLE there = pz_of(t, other_ia(t));

        expect_type(t, second.handle, DAT_HANDLE_TYPE_IA);
        expect_type(t, there, DAT_HANDLE_TYPE_PZ);
        expect_type(t, ia(t), DAT_HANDLE_TYPE_IA);
        expect_type(t, pz(t), DAT_HANDLE_TYPE_PZ);
}

/* However often it was asked about, an object is as it was, and comes to its end. */
FAMILY(get_handle_type, only_asks, fleeting_kinds)
{
        struct live live = live_object(t, row->type, false);
        uint64_t context = draw_context(t);

        must(dat_set_consumer_context(live.handle, CONTEXT(context)));
        must_know(t, live.handle, row->type);
        for (int i = 0; i < MANY; i++)
                expect_type(t, live.handle, row->type);
        expect_context(t, live.handle, context);
        live_free(t, &live);
}

CASE(get_handle_type, within_storage)
{
        unsigned char memory[3 * sizeof(DAT_HANDLE_TYPE)];
        DAT_HANDLE_TYPE told;

        memset(memory, 0x5c, sizeof(memory));
        expect(dat_get_handle_type(pz_new(t), (DAT_HANDLE_TYPE *)(void *)(memory + sizeof(told))),
               DAT_SUCCESS);
        memcpy(&told, memory + sizeof(told), sizeof(told));
        expect_eq(told, DAT_HANDLE_TYPE_PZ);
        for (size_t i = 0; i < sizeof(told); i++)
                expect_that(memory[i] == 0x5c && memory[2 * sizeof(told) + i] == 0x5c,
                            "a byte beside the type was written");
}

CASE(get_handle_type, of_srq)
{
        struct live live = live_object(t, DAT_HANDLE_TYPE_SRQ, false);
        DAT_HANDLE_TYPE told;

        if (dat_is(expect_may(dat_get_handle_type(live.handle, &told), DAT_SUCCESS,
                              DAT_INVALID_HANDLE),
                   DAT_SUCCESS))
                expect_eq(told, DAT_HANDLE_TYPE_SRQ);
}

CASE(get_handle_type, null_handle)
{
        DAT_HANDLE_TYPE told;

        expect(dat_get_handle_type(DAT_HANDLE_NULL, &told), DAT_INVALID_HANDLE);
        expect_type(t, pz_new(t), DAT_HANDLE_TYPE_PZ);
}

static DAT_RETURN get_type(void *handle)
{
        DAT_HANDLE_TYPE told;

        return dat_get_handle_type(handle, &told);
}

FAMILY(get_handle_type, destroyed_handle, fleeting_kinds)
{
        struct live kept = live_object(t, DAT_HANDLE_TYPE_PZ, false);
        struct live live = live_object(t, row->type, false);

        live_free(t, &live);
        expect_stale(get_type, live_object(t, row->type, false).handle, live.handle);
        expect_type(t, kept.handle, DAT_HANDLE_TYPE_PZ);
}

/* The request became a connection, by which its handle ended. */
CASE(get_handle_type, accepted_request)
{
        struct live kept = live_object(t, DAT_HANDLE_TYPE_CR, false);
        struct loop loop = loop_new(t);

        loop_join(t, &loop);
        expect_stale(get_type, kept.handle, loop.request);
        expect_type(t, kept.handle, DAT_HANDLE_TYPE_CR);
        live_end(t, &kept);
}

/* The RSP may be gone with its request (RSP-1). */
CASE(get_handle_type, point_after_request)
{
        struct loop by_psp = loop_new(t);
        struct loop by_rsp = loop_new(t);
        DAT_HANDLE_TYPE told;
        DAT_RSP_HANDLE rsp;

        by_psp.psp = loop_listen(t, by_psp.requests, psp_flags_granted(t), &by_psp.qual);
        loop_connect(t, by_psp.active, by_psp.qual);
        loop_take_request(t, &by_psp);
        rsp = rsp_new(t, by_rsp.passive, by_rsp.requests, &by_rsp.qual);
        loop_connect(t, by_rsp.active, by_rsp.qual);
        loop_take_request(t, &by_rsp);

        expect_type(t, by_psp.psp, DAT_HANDLE_TYPE_PSP);
        if (dat_is(expect_may(dat_get_handle_type(rsp, &told), DAT_SUCCESS, DAT_INVALID_HANDLE),
                   DAT_SUCCESS))
                expect_eq(told, DAT_HANDLE_TYPE_RSP);
        must(dat_cr_reject(by_psp.request));
        must(dat_cr_reject(by_rsp.request));
}

LEGAL(get_handle_type)
{
        static DAT_HANDLE_TYPE told;

        call->dat_handle = pz_new(t);
        call->handle_type = &told;
}
