/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_close: graceful close and flags. */
#include "case/standard.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/handle/shared/object.h"
#include "cases/ia/ia_close/fixtures.h"
#include "cases/ia/shared/ia_objects.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/consumer.h"
#include "cases/shared/bits.h"
#include "cases/shared/refusals.h"
#include "clauses/ia_close.h"

#include <limits.h>

/*
 * Graceful
 */

CASE(ia_close, graceful)
{
        DAT_EVD_HANDLE async = async_evd(t);

        expect_that(async != DAT_HANDLE_NULL, "the IA has no asynchronous EVD");
        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
}

FAMILY(ia_close, graceful_refused, havings)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        row->make(t, &held);

        EACH_REFUSAL (i)
                expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
        held_wake(t, &held);
}

FAMILY(ia_close, refusal_keeps, havings)
{
        struct held held = {.handle = DAT_HANDLE_NULL};
        DAT_EVD_HANDLE told = DAT_HANDLE_NULL;
        DAT_EVD_PARAM param = {.evd_flags = DAT_EVD_SOFTWARE_FLAG};

        row->make(t, &held);
        EACH_REFUSAL (i)
                expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);

        expect(dat_ia_query(ia(t), &told, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL),
               DAT_SUCCESS);
        expect_that(told == async_evd(t), "the async_evd_handle is another");
        expect(dat_evd_query(told, DAT_EVD_FIELD_EVD_FLAGS, &param), DAT_SUCCESS);
        expect_eq(param.evd_flags, DAT_EVD_ASYNC_FLAG);
        expect_empty(t, told);
        row->check(t, &held);
        expect_instance_works(t, ia(t));
}

FAMILY(ia_close, graceful_after, havings)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        row->make(t, &held);
        row->check(t, &held);
        release_all(t);

        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
}

static const struct one_left {
        const char *id;
        DAT_HANDLE_TYPE type;
        bool older; /* is the one that is left */
} ones_left[] = {
    {"older_evd", DAT_HANDLE_TYPE_EVD, true}, {"newer_evd", DAT_HANDLE_TYPE_EVD, false},
    {"older_cno", DAT_HANDLE_TYPE_CNO, true}, {"newer_cno", DAT_HANDLE_TYPE_CNO, false},
    {"older_pz", DAT_HANDLE_TYPE_PZ, true},   {"newer_pz", DAT_HANDLE_TYPE_PZ, false},
};

FAMILY(ia_close, one_left, ones_left)
{
        struct live older = live_object(t, row->type, false);
        struct live newer = live_object(t, row->type, false);
        DAT_HANDLE left = row->older ? older.handle : newer.handle;
        DAT_HANDLE_TYPE type;

        release(t, row->older ? newer.handle : older.handle);
        expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
        expect(dat_get_handle_type(left, &type), DAT_SUCCESS);
        expect_eq(type, row->type);
        release(t, left);
        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
}

/* A zone that an LMR was in is there, though it was to be freed. */
CASE(ia_close, refused_free_counts_not)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = buf_with(t, .pz = zone);

        must_that(dat_is(dat_pz_free(zone), DAT_INVALID_STATE), "a zone with an LMR is freed");
        release(t, buf->lmr);
        expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
        release(t, zone);
        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
}

/* Of an EVD that is for something else, none is made. */
static DAT_RETURN refused_psp(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_PSP_HANDLE made = DAT_HANDLE_NULL;

        return dat_psp_create(ia(t), point_qual(t), evd, psp_flags_granted(t), &made);
}

static DAT_RETURN refused_ep(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EP_HANDLE made = DAT_HANDLE_NULL;

        return dat_ep_create(ia(t), pz(t), evd, evd, evd, NULL, &made);
}

static DAT_RETURN refused_evd(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;

        (void)evd;
        return dat_evd_create(ia(t), -1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &made);
}

static const struct refusal {
        const char *id;
        DAT_RETURN (*make)(struct test *t, DAT_EVD_HANDLE evd);
} refusals[] = {{"psp", refused_psp}, {"ep", refused_ep}, {"evd", refused_evd}};

FAMILY(ia_close, refused_object_counts_not, refusals)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG);

        for (int i = 0; i < ROUNDS; i++)
                must_that(!dat_is(row->make(t, evd), DAT_SUCCESS), "the object was made");
        release_all(t);
        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
}

FAMILY(ia_close, registered_by_application, closings, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of("added");
        struct consumer *consumer = consumer_of_run(t);
        DAT_IA_HANDLE made;

        expect(consumer_add(consumer, &key), DAT_SUCCESS);
        expect(consumer_open(consumer, &key, &made), DAT_SUCCESS);
        expect(consumer_close(consumer, made, row->flags), DAT_SUCCESS);
        expect_happened(consumer, HAPPENED_CLOSE, &key);
}

/*
 * Flags
 */

static const struct flags {
        const char *id;
        int flags;
} invalid_flags[] = {
    {"two", 2},
    {"three", 3},
    {"four", 4},
    {"seventeenth_bit", 1 << 16},
    {"highest_bits", INT_MIN},
    {"all_bits", -1},
};

FAMILY(ia_close, invalid_flags, invalid_flags)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        hold_events(t, &held);
        expect(dat_ia_close(ia(t), (DAT_CLOSE_FLAGS)row->flags), DAT_INVALID_PARAMETER);

        check_events(t, &held);
        expect_instance_works(t, ia(t));
}

CASE(ia_close, each_undefined_flag)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        hold_events(t, &held);
        EACH_UNDEFINED_BIT (bit, DAT_CLOSE_GRACEFUL_FLAG)
                expect_bit(bit, dat_ia_close(ia(t), (DAT_CLOSE_FLAGS)bit), DAT_INVALID_PARAMETER);

        check_events(t, &held);
        expect_instance_works(t, ia(t));
}

CASE(ia_close, default_is_abrupt)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        hold_events(t, &held);
        hold_lmr(t, &held);

        close_now(t, DAT_CLOSE_DEFAULT);
}
