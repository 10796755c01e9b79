/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_query: every field by its own bit, the state after each change, and what is no mask. */
#include "clauses/evd_query.h"
#include "cases/evd/shared/source.h"
#include "cases/shared/masks.h"

#include <string.h>

#define MANY 100 /* queries */

/* An EVD whose parameters a case knows, for it made them. */
struct known {
        DAT_EVD_HANDLE evd;
        DAT_CNO_HANDLE cno;
};

static struct known known_evd(struct test *t)
{
        DAT_CNO_HANDLE cno = cno_new(t);

        return (struct known){.evd = se_evd(t, cno), .cno = cno};
}

static DAT_RETURN query_evd(DAT_HANDLE evd, uint64_t mask, void *param)
{
        return dat_evd_query(evd, (DAT_EVD_PARAM_MASK)mask, param);
}

static const struct object_query query = {"dat_evd_query(evd, mask, param)", query_evd,
                                          sizeof(DAT_EVD_PARAM), DAT_EVD_FIELD_ALL};

/* A query of the fields in `mask`, into memory that no provider would leave so. */
static DAT_EVD_PARAM queried(struct test *t, DAT_EVD_HANDLE evd, unsigned int mask)
{
        DAT_EVD_PARAM param;

        expect_query(t, &query, evd, mask, &param);
        return param;
}

static DAT_EVD_STATE state_of(struct test *t, DAT_EVD_HANDLE evd)
{
        return queried(t, evd, DAT_EVD_FIELD_EVD_STATE).evd_state;
}

/*
 * Fields
 */

static void check_ia(struct test *t, const struct known *known, const DAT_EVD_PARAM *param)
{
        (void)known;
        expect_that(param->ia_handle == ia(t), "the EVD is of another IA");
}

static void check_qlen(struct test *t, const struct known *known, const DAT_EVD_PARAM *param)
{
        (void)known;
        expect_that(param->evd_qlen >= SE_QLEN, "%d places asked for, %d queried", SE_QLEN,
                    param->evd_qlen);
}

static void check_state(struct test *t, const struct known *known, const DAT_EVD_PARAM *param)
{
        (void)known;
        expect_eq(param->evd_state & EVD_ENABLING, DAT_EVD_STATE_ENABLED);
        expect_eq(param->evd_state & EVD_WAITING, DAT_EVD_STATE_WAITABLE);
}

static void check_cno(struct test *t, const struct known *known, const DAT_EVD_PARAM *param)
{
        expect_that(param->cno_handle == known->cno, "the CNO is not the EVD's own");
}

static void check_flags(struct test *t, const struct known *known, const DAT_EVD_PARAM *param)
{
        (void)known;
        expect_eq(param->evd_flags, DAT_EVD_SOFTWARE_FLAG);
}

static const struct field {
        const char *id;
        DAT_EVD_PARAM_MASK bit;
        void (*check)(struct test *t, const struct known *known, const DAT_EVD_PARAM *param);
} fields[] = {
    {"ia_handle", DAT_EVD_FIELD_IA_HANDLE, check_ia},
    {"evd_qlen", DAT_EVD_FIELD_EVD_QLEN, check_qlen},
    {"evd_state", DAT_EVD_FIELD_EVD_STATE, check_state},
    {"cno_handle", DAT_EVD_FIELD_CNO, check_cno},
    {"evd_flags", DAT_EVD_FIELD_EVD_FLAGS, check_flags},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* An EVD as the rows have it, with the states that it was made with set by calls that say so. */
static struct known known_enabled(struct test *t)
{
        struct known known = known_evd(t);

        must(dat_evd_enable(known.evd));
        must(dat_evd_clear_unwaitable(known.evd));
        return known;
}

static void check_fields(struct test *t, const struct known *known, unsigned int mask)
{
        DAT_EVD_PARAM param = queried(t, known->evd, mask);

        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & fields[i].bit)
                        fields[i].check(t, known, &param);
}

FAMILY(evd_query, field, fields)
{
        struct known known = known_enabled(t);
        DAT_EVD_PARAM param = queried(t, known.evd, row->bit);

        row->check(t, &known, &param);
}

FAMILY(evd_query, field_among_all, fields)
{
        struct known known = known_enabled(t);
        DAT_EVD_PARAM param = queried(t, known.evd, DAT_EVD_FIELD_ALL);

        row->check(t, &known, &param);
}

CASE(evd_query, every_mask)
{
        struct known known = known_enabled(t);

        for (unsigned int mask = 1; mask <= DAT_EVD_FIELD_ALL; mask++)
                check_fields(t, &known, mask);
}

CASE(evd_query, own_parameters)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE first = evd_with(t, .qlen = 8, .flags = DAT_EVD_SOFTWARE_FLAG, .cno = cno);
        DAT_EVD_HANDLE last = evd_with(t, .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG);

        must(dat_evd_disable(first));
        must(dat_evd_enable(last));

        DAT_EVD_PARAM param = queried(t, first, DAT_EVD_FIELD_ALL);
        expect_that(param.cno_handle == cno, "the CNO is not the EVD's own");
        expect_eq(param.evd_flags, DAT_EVD_SOFTWARE_FLAG);
        expect_eq(param.evd_state & EVD_ENABLING, DAT_EVD_STATE_DISABLED);
        param = queried(t, last, DAT_EVD_FIELD_ALL);
        expect_that(param.cno_handle == DAT_HANDLE_NULL, "a CNO that the EVD has not");
        expect_eq(param.evd_flags, DAT_EVD_CONNECTION_FLAG);
        expect_eq(param.evd_state & EVD_ENABLING, DAT_EVD_STATE_ENABLED);
}

CASE(evd_query, own_ia)
{
        DAT_EVD_HANDLE here = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE there =
            evd_with(t, .ia = other_ia(t), .qlen = SE_QLEN, .flags = DAT_EVD_SOFTWARE_FLAG);

        expect_that(queried(t, here, DAT_EVD_FIELD_IA_HANDLE).ia_handle == ia(t),
                    "the IA is not the EVD's own");
        expect_that(queried(t, there, DAT_EVD_FIELD_IA_HANDLE).ia_handle == other_ia(t),
                    "the IA is not the EVD's own");
}

static const struct stream {
        const char *id;
        DAT_EVD_FLAGS flag;
} streams[] = {
    {"software", DAT_EVD_SOFTWARE_FLAG},  {"connection_request", DAT_EVD_CR_FLAG},
    {"dto_completion", DAT_EVD_DTO_FLAG}, {"connection", DAT_EVD_CONNECTION_FLAG},
    {"rmr_bind", DAT_EVD_RMR_BIND_FLAG},
};

FAMILY(evd_query, flags_of_stream, streams)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flag);

        expect_eq(queried(t, evd, DAT_EVD_FIELD_EVD_FLAGS).evd_flags, row->flag);
}

CASE(evd_query, of_the_async_evd)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_PARAM param = queried(t, async_evd(t), DAT_EVD_FIELD_ALL);

        expect_that(param.ia_handle == ia(t), "the EVD is of another IA");
        expect_that(param.evd_qlen > 0, "%d places", param.evd_qlen);
        expect_that(param.evd_flags & DAT_EVD_ASYNC_FLAG, "%s lacks DAT_EVD_ASYNC_FLAG",
                    names_of(DAT_EVD_FLAGS, param.evd_flags));

        must(dat_evd_disable(async_evd(t)));
        must(dat_evd_set_unwaitable(async_evd(t)));
        must(dat_evd_modify_cno(async_evd(t), cno));
        param = queried(t, async_evd(t), DAT_EVD_FIELD_ALL);
        must(dat_evd_modify_cno(async_evd(t), DAT_HANDLE_NULL));
        must(dat_evd_clear_unwaitable(async_evd(t)));
        must(dat_evd_enable(async_evd(t)));
        expect_eq(param.evd_state & EVD_ENABLING, DAT_EVD_STATE_DISABLED);
        expect_eq(param.evd_state & EVD_WAITING, DAT_EVD_STATE_UNWAITABLE);
        expect_that(param.cno_handle == cno, "the CNO is not the EVD's own");
}

/*
 * State, length and CNO after what changes them
 */

static const struct change {
        const char *id;
        DAT_RETURN (*calls[3])(DAT_EVD_HANDLE evd);
        int enabling, waiting;
} changes[] = {
    {"disabled",
     {dat_evd_disable},
     .enabling = DAT_EVD_STATE_DISABLED,
     .waiting = DAT_EVD_STATE_WAITABLE},
    {"enabled_again",
     {dat_evd_disable, dat_evd_enable},
     .enabling = DAT_EVD_STATE_ENABLED,
     .waiting = DAT_EVD_STATE_WAITABLE},
    {"unwaitable",
     {dat_evd_set_unwaitable},
     .enabling = DAT_EVD_STATE_ENABLED,
     .waiting = DAT_EVD_STATE_UNWAITABLE},
    {"waitable_again",
     {dat_evd_set_unwaitable, dat_evd_clear_unwaitable},
     .enabling = DAT_EVD_STATE_ENABLED,
     .waiting = DAT_EVD_STATE_WAITABLE},
    {"disabled_and_unwaitable",
     {dat_evd_disable, dat_evd_set_unwaitable},
     .enabling = DAT_EVD_STATE_DISABLED,
     .waiting = DAT_EVD_STATE_UNWAITABLE},
    {"enabled_while_unwaitable",
     {dat_evd_disable, dat_evd_set_unwaitable, dat_evd_enable},
     .enabling = DAT_EVD_STATE_ENABLED,
     .waiting = DAT_EVD_STATE_UNWAITABLE},
    {"waitable_while_disabled",
     {dat_evd_set_unwaitable, dat_evd_disable, dat_evd_clear_unwaitable},
     .enabling = DAT_EVD_STATE_DISABLED,
     .waiting = DAT_EVD_STATE_WAITABLE},
};

FAMILY(evd_query, state, changes)
{
        struct known known = known_enabled(t);
        DAT_EVD_HANDLE other = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_STATE before = state_of(t, other);

        for (int i = 0; i < 3 && row->calls[i]; i++)
                must(row->calls[i](known.evd));

        /* Again: a query changes no state either. */
        for (int i = 0; i < 3; i++) {
                DAT_EVD_STATE state = state_of(t, known.evd);

                expect_eq(state & EVD_ENABLING, row->enabling);
                expect_eq(state & EVD_WAITING, row->waiting);
        }
        expect_eq(state_of(t, other), before);
}

CASE(evd_query, qlen_after_resize)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_COUNT more = queried(t, evd, DAT_EVD_FIELD_EVD_QLEN).evd_qlen + 1;

        if (more > ia_attr(t)->max_evd_qlen)
                end_noted(t, "an EVD has all %d places at once: it cannot grow", more - 1);
        must(dat_evd_resize(evd, more));

        DAT_COUNT seen = queried(t, evd, DAT_EVD_FIELD_EVD_QLEN).evd_qlen;
        expect_that(seen >= more, "%d places asked for, %d queried", more, seen);
}

CASE(evd_query, qlen_is_room)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_COUNT places = queried(t, evd, DAT_EVD_FIELD_EVD_QLEN).evd_qlen;

        for (DAT_COUNT i = 0; i < places; i++) {
                DAT_EVENT event = se_event((unsigned int)i);

                expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);
        }
        expect_ses(t, evd, 0, places);
        expect_empty(t, evd);
}

static const struct attachment {
        const char *id;
        bool at_first, at_last;
} attachments[] = {
    {"given", false, true},
    {"replaced", true, true},
    {"taken_away", true, false},
};

FAMILY(evd_query, cno_after_change, attachments)
{
        DAT_CNO_HANDLE old = cno_new(t);
        DAT_CNO_HANDLE later = row->at_last ? cno_new(t) : DAT_HANDLE_NULL;
        DAT_EVD_HANDLE evd = se_evd(t, row->at_first ? old : DAT_HANDLE_NULL);

        must(dat_evd_modify_cno(evd, later));

        expect_that(queried(t, evd, DAT_EVD_FIELD_CNO).cno_handle == later,
                    "the CNO is not the one last set");
}

/*
 * What a query leaves as it was
 */

static const struct evd_state plain = {.enabled = true, .waitable = true};

CASE(evd_query, keeps_events)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);

                source_fill(t, &source, 0, SE_QLEN);
                for (int i = 0; i < MANY; i++)
                        queried(t, source.evd, DAT_EVD_FIELD_ALL);

                expect_source_events(t, &source, 0, SE_QLEN);
                expect_empty(t, source.evd);
        }
}

CASE(evd_query, triggers_nothing)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_in(t, kind, plain, cno);

                for (int i = 0; i < MANY; i++)
                        queried(t, source.evd, DAT_EVD_FIELD_ALL);
                expect_no_notice(t, cno);

                source_bring(t, &source, 0, 1);
                queried(t, source.evd, DAT_EVD_FIELD_ALL);
                expect_notified(t, cno, source.evd);
        }
}

/* By use: neither an event nor a wait finds the EVD in another state. */
FAMILY(evd_query, keeps_state, evd_states)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL;
                struct source source = source_in(t, kind, row->state, cno);

                for (int i = 0; i < MANY; i++)
                        queried(t, source.evd, DAT_EVD_FIELD_ALL);

                expect_source_state(t, &source, row->state, cno);
        }
}

CASE(evd_query, within_structure)
{
        struct known known = known_enabled(t);
        struct buf *buf = expect_query_within(t, &query, known.evd);
        const DAT_EVD_PARAM *param = (const void *)buf->addr;

        check_cno(t, &known, param);
        release(t, buf->lmr);
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_EVD_FIELD_ALL)};

FAMILY(evd_query, invalid_mask, masks)
{
        struct known known = known_enabled(t);

        expect_masks_refused(t, &query, known.evd, row);
        check_fields(t, &known, DAT_EVD_FIELD_ALL);
}

CASE(evd_query, no_mask)
{
        struct known known = known_enabled(t);

        expect_no_mask_answered(t, &query, known.evd);
        check_fields(t, &known, DAT_EVD_FIELD_ALL);
}

CASE(evd_query, qlen_with_events)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_COUNT places = queried(t, evd, DAT_EVD_FIELD_EVD_QLEN).evd_qlen;

        for (DAT_COUNT i = 0; i < places; i++) {
                post_ses(t, evd, (unsigned int)i, 1);
                expect_eq(queried(t, evd, DAT_EVD_FIELD_EVD_QLEN).evd_qlen, places);
        }

        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);

                places = queried(t, source.evd, DAT_EVD_FIELD_EVD_QLEN).evd_qlen;
                source_fill(t, &source, 0, SE_QLEN);
                expect_eq(queried(t, source.evd, DAT_EVD_FIELD_EVD_QLEN).evd_qlen, places);
        }
}

CASE(evd_query, under_waiter)
{
        struct known known = known_enabled(t);
        struct waiter *waiter = wait_on_evd(t, known.evd, DAT_TIMEOUT_INFINITE, 1);

        must_wait(waiter);
        check_fields(t, &known, DAT_EVD_FIELD_ALL);
        expect_asleep(waiter);

        post_ses(t, known.evd, 0, 1);
        expect(expect_awake(waiter).ret, DAT_SUCCESS);
        check_fields(t, &known, DAT_EVD_FIELD_ALL);
}

LEGAL(evd_query)
{
        static DAT_EVD_PARAM param;

        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
        call->evd_param_mask = DAT_EVD_FIELD_ALL;
        call->evd_param = &param;
}
