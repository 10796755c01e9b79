/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_open: an asynchronous EVD of another instance. */
#include "case/poison.h"
#include "case/standard.h"
#include "cases/handle/shared/object.h"
#include "cases/ia/ia_open/fixtures.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/under_test.h"
#include "cases/shared/point.h"
#include "cases/shared/usage.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ia_open.h"

#include <limits.h>
#include <string.h>
#include <sys/resource.h>

/*
 * An asynchronous EVD that is given
 */

static DAT_EVD_HANDLE evd_of_first(struct test *t)
{
        return async_told(t, other_ia(t));
}

static DAT_EVD_HANDLE evd_made(struct test *t)
{
        return evd_with(t, .ia = other_ia(t), .flags = DAT_EVD_ASYNC_FLAG);
}

/* The one of an instance that has it from another instance. */
static DAT_EVD_HANDLE evd_passed_on(struct test *t)
{
        return instance_with(t, QLEN_UNASKED, evd_of_first(t)).async;
}

static DAT_EVD_HANDLE evd_grown(struct test *t)
{
        DAT_EVD_HANDLE evd = evd_made(t);

        must(dat_evd_resize(evd, places(t, 200)));
        return evd;
}

static DAT_EVD_HANDLE evd_with_cno(struct test *t)
{
        DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

        must(dat_cno_create(other_ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, cno);
        return evd_with(t, .ia = other_ia(t), .flags = DAT_EVD_ASYNC_FLAG, .cno = cno);
}

static const struct given {
        const char *id;
        DAT_EVD_HANDLE (*evd)(struct test *t);
} givens[] = {
    {"of_first", evd_of_first}, {"made", evd_made},         {"passed_on", evd_passed_on},
    {"grown", evd_grown},       {"with_cno", evd_with_cno},
};

FAMILY(ia_open, async_given, givens)
{
        DAT_EVD_HANDLE evd = row->evd(t);
        struct instance instance = instance_with(t, QLEN_UNASKED, evd);

        expect_that(instance.async == evd, "the handle that was given has changed");
        expect_that(async_told(t, instance.ia) == evd, "the instance tells another EVD");
        expect_instance_works(t, instance.ia);
}

FAMILY(ia_open, async_given_unchanged, givens)
{
        DAT_EVD_HANDLE evd = row->evd(t);
        DAT_EVD_PARAM before = evd_param(t, evd);
        DAT_EVD_PARAM after;

        (void)instance_with(t, 1000, evd);

        after = evd_param(t, evd);
        expect_that(after.ia_handle == before.ia_handle, "the EVD is of another IA now");
        expect_that(after.cno_handle == before.cno_handle, "the EVD has another CNO");
        expect_eq(after.evd_qlen, before.evd_qlen);
        expect_eq(after.evd_flags, before.evd_flags);
        expect_eq(after.evd_state, before.evd_state);
}

static const struct length ignored[] = {
    {"none", 0}, {"one", 1}, {"minus_one", -1}, {"most_negative", INT_MIN}, {"most", INT_MAX},
};

FAMILY(ia_open, length_ignored, ignored)
{
        DAT_EVD_HANDLE evd = evd_of_first(t);
        DAT_COUNT before = evd_param(t, evd).evd_qlen;

        (void)instance_with(t, row->qlen, evd);

        expect_eq(evd_param(t, evd).evd_qlen, before);
}

/* An EVD that exists elsewhere is no DAT_HANDLE_NULL either. */
FAMILY(ia_open, length_ignored_elsewhere, ignored)
{
        struct instance instance = instance_with(t, row->qlen, DAT_EVD_ASYNC_EXISTS);

        expect_instance_works(t, instance.ia);
}

/* The instance whose own EVD another one was given is notified of its events as before. */
CASE(ia_open, async_giver_hears)
{
        struct armed armed;

        (void)instance_with(t, QLEN_UNASKED, async_evd(t));
        armed = armed_with(t, 4, 3);
        flow_deliver(t, &armed.flow, 2);

        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

/* The event of a mark of the instance's SRQ comes to the EVD that it was given. */
FAMILY(ia_open, async_given_hears, givens)
{
        struct armed armed;

        (void)ia_attr(t);
        must(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG));
        ia_closed(t);
        ia_reopen(t, row->evd(t));
        armed = armed_with(t, 4, 3);

        flow_deliver(t, &armed.flow, 2);

        expect_mark_event(t, &armed);
}

/* What is given, and is no asynchronous EVD of this IA. */
static DAT_HANDLE not_async(struct test *t)
{
        return evd_with(t, .flags = DAT_EVD_DTO_FLAG);
}

static DAT_HANDLE no_evd(struct test *t)
{
        return pz_new(t);
}

static DAT_HANDLE a_cno(struct test *t)
{
        return cno_new(t);
}

static DAT_HANDLE gone(struct test *t)
{
        return bad_handle(t, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_DESTROYED);
}

static const struct invalid {
        const char *id;
        DAT_HANDLE (*handle)(struct test *t);
} invalids[] = {
    {"not_async", not_async},
    {"zone", no_evd},
    {"cno", a_cno},
    {"destroyed", gone},
};

static DAT_RETURN open_with(void *arg)
{
        struct opening *opening = arg;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_EVD_HANDLE given = opening->evd;
        DAT_RETURN ret = dat_ia_open(ia_name(opening->t), QLEN_UNASKED, &given, &made);

        return given == opening->evd ? ret : DAT_INTERNAL_ERROR;
}

/* A provider may look, or not: it may also die of what it does not look at. */
FAMILY(ia_open, async_invalid, invalids)
{
        struct opening opening = {.t = t, .evd = row->handle(t)};
        DAT_RETURN ret = DAT_INVALID_HANDLE;

        if (subprocess_call(t, open_with, &opening, &ret))
                expect_or_note(ret, DAT_INVALID_HANDLE, DAT_SUCCESS);
        else
                note(t, "the open of an EVD that is none ended its process");
        expect_instance_works(t, instance_new(t).ia);
}

/* Refused, by a provider that looks: nothing is left, and nothing was taken. */
CASE(ia_open, async_refusal_leaves_nothing)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG);
        DAT_EVD_PARAM param = evd_param(t, evd);
        DAT_EVD_PARAM after;
        struct usage before = usage_now(t);
        DAT_EVD_HANDLE given = evd;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;

        if (dat_is(expect(dat_ia_open(ia_name(t), QLEN_UNASKED, &given, &made), DAT_INVALID_HANDLE,
                          DAT_SUCCESS),
                   DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_IA, made);
                end_noted(t, "an EVD for completions is taken for asynchronous events");
        }
        expect_that(given == evd, "the handle that was given has changed");
        expect_nothing_left(t, &before, "an open that was refused");
        expect(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &after), DAT_SUCCESS);
        expect_eq(after.evd_flags, param.evd_flags);
        expect(dat_evd_free(evd), DAT_SUCCESS);
        disown(t, evd);
}

/*
 * An EVD that exists elsewhere
 */

static void alone(struct test *t)
{
        must(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG));
        ia_closed(t);
        ia_reopen(t, DAT_EVD_ASYNC_EXISTS);
}

static void beside(struct test *t)
{
        (void)other_ia(t);
        alone(t);
}

static const struct elsewhere {
        const char *id;
        void (*open)(struct test *t);
} elsewheres[] = {
    {"alone", alone},
    {"beside", beside},
};

CASE(ia_open, async_exists)
{
        struct instance instance = instance_with(t, QLEN_UNASKED, DAT_EVD_ASYNC_EXISTS);
        DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_EVD;

        if (instance.async != DAT_EVD_OUT_OF_SCOPE && instance.async != DAT_EVD_ASYNC_EXISTS)
                expect(dat_get_handle_type(instance.async, &type), DAT_SUCCESS);
        expect_eq(type, DAT_HANDLE_TYPE_EVD);
        expect_that(async_told(t, instance.ia) == instance.async,
                    "the instance tells another async_evd_handle");
        expect_instance_works(t, instance.ia);
}

/* A request arrives and is accepted, although this instance has no asynchronous events. */
FAMILY(ia_open, async_exists_works, elsewheres)
{
        DAT_EVD_HANDLE evd;
        DAT_PSP_HANDLE psp;
        DAT_CONN_QUAL qual;

        row->open(t);
        evd = request_evd(t);
        psp = psp_new(t, evd, psp_flags_granted(t), &qual);
        expect_served(t, psp, qual, evd);
}
