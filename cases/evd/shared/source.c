/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/shared/source.h"
#include "case/ep_attr.h"
#include "cases/evd/shared/event_kind.h"

#include <string.h>

#define MOST_DTOS 128 /* more than any case brings */

/* Each byte differs from those of another number's cookie. */
static uint64_t cookie_of(unsigned int number)
{
        return (number + 1) * (UINT64_MAX / 255);
}

static void bring_se(struct test *t, const struct source *source, unsigned int number, bool clause)
{
        DAT_EVENT event = se_event(number);

        if (clause)
                expect(dat_evd_post_se(source->evd, &event), DAT_SUCCESS);
        else
                must(dat_evd_post_se(source->evd, &event));
}

static void check_se(struct test *t, const struct source *source, const DAT_EVENT *event,
                     unsigned int number)
{
        expect_se(t, source->evd, event, number);
}

/*
 * Completions
 */

struct completion_way {
        const char *id;
        bool of_receive; /* the active EP's receives complete on the EVD, else its requests */
        void (*bring)(struct test *t, const struct source *source, unsigned int number,
                      bool clause);
};

/* The other side of what completes on the source's EVD. */
static void peers_dto(struct test *t, DAT_EVD_HANDLE evd, bool clause)
{
        if (clause)
                expect_dto(evd);
        else
                must_dto(evd);
}

static void receive_one(struct test *t, const struct source *source, unsigned int number,
                        bool clause)
{
        const struct loop *loop = &source->loop;

        loop_post_recv(t, loop->active, source->buf, cookie_of(number));
        loop_post_send(t, loop->passive, source->buf, number);
        peers_dto(t, ep_request_evd(t, loop->passive), clause);
}

static void send_one(struct test *t, const struct source *source, unsigned int number, bool clause)
{
        const struct loop *loop = &source->loop;

        loop_post_recv(t, loop->passive, source->buf, number);
        loop_post_send(t, loop->active, source->buf, cookie_of(number));
        peers_dto(t, ep_recv_evd(t, loop->passive), clause);
}

static void write_one(struct test *t, const struct source *source, unsigned int number, bool clause)
{
        DAT_LMR_TRIPLET from = triplet(source->buf, 0, MESSAGE);
        DAT_RMR_TRIPLET to = {
            .rmr_context = source->buf->rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)source->buf->addr + MESSAGE,
            .segment_length = MESSAGE,
        };

        (void)clause;
        must(dat_ep_post_rdma_write(source->loop.active, 1, &from,
                                    (DAT_DTO_COOKIE){.as_64 = cookie_of(number)}, &to,
                                    DAT_COMPLETION_DEFAULT_FLAG));
}

static const struct completion_way ways[] = {
    {"receives", true, receive_one},
    {"sends", false, send_one},
    {"RDMA writes", false, write_one},
};

/*
 * RDMA writes are under way beside each other, and completions that lie in the EVD may take places
 * of their EP.
 */
static DAT_EP_ATTR attr_of_many(struct test *t)
{
        const DAT_IA_ATTR *ia = ia_attr_if_told(t);
        DAT_EP_ATTR attr = ep_attr_modest(ia);
        DAT_COUNT most = (DAT_COUNT)ep_attr_at_most((DAT_VLEN)ia->max_dto_per_ep, MOST_DTOS);

        attr.max_recv_dtos = most;
        attr.max_request_dtos = most;
        return attr;
}

static void open_completions(struct test *t, struct source *source)
{
        DAT_EP_ATTR attr = attr_of_many(t);
        struct ep_opts opts = {.attr = &attr};

        source->way = &ways[draw(t, sizeof(ways) / sizeof(ways[0]))];
        record(t, "the completions are of %s", source->way->id);
        if (source->way->of_receive)
                opts.recv_evd = source->evd;
        else
                opts.request_evd = source->evd;
        source->buf = buf_with(t);
        source->loop = loop_of(t, opts, (struct ep_opts){0});
        loop_join_either(t, &source->loop);
}

static void bring_completion(struct test *t, const struct source *source, unsigned int number,
                             bool clause)
{
        source->way->bring(t, source, number, clause);
}

static void check_dto(struct test *t, const struct source *source, const DAT_EVENT *event,
                      unsigned int number)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

        expect_eq(event->event_number, DAT_DTO_COMPLETION_EVENT);
        expect_that(event->evd_handle == source->evd, "the event names another EVD");
        expect_that(dto->ep_handle == source->loop.active, "the completion names another EP");
        expect_eq(dto->user_cookie.as_64, cookie_of(number));
        expect_eq(dto->status, DAT_DTO_SUCCESS);
        expect_eq(dto->transfered_length, MESSAGE);
}

const struct source_kind source_kinds[SOURCE_KINDS] = {
    {"software events", DAT_EVD_SOFTWARE_FLAG, NULL, bring_se, check_se},
    {"completions", DAT_EVD_DTO_FLAG, open_completions, bring_completion, check_dto},
};

/*
 * Any source
 */

struct source source_new(struct test *t, const struct source_kind *kind, DAT_CNO_HANDLE cno)
{
        struct source source = {
            .evd = evd_with(t, .qlen = SE_QLEN, .flags = kind->flags, .cno = cno),
            .kind = kind,
        };

        source.qlen = evd_param(t, source.evd).evd_qlen;
        record(t, "the events are %s", kind->id);
        if (kind->open)
                kind->open(t, &source);
        return source;
}

struct source source_in(struct test *t, const struct source_kind *kind, struct evd_state state,
                        DAT_CNO_HANDLE cno)
{
        struct source source = source_new(t, kind, cno);

        evd_enter(t, source.evd, state);
        return source;
}

static void bring_all(struct test *t, const struct source *source, unsigned int first, int count,
                      bool clause)
{
        for (int i = 0; i < count; i++)
                source->kind->bring(t, source, first + (unsigned int)i, clause);
}

/* Software events are queued already. */
static void settle_source(struct test *t, const struct source *source)
{
        if (source->kind->open)
                settle(t);
}

void source_bring(struct test *t, const struct source *source, unsigned int first, int count)
{
        bring_all(t, source, first, count, false);
}

void expect_source_room(struct test *t, const struct source *source, unsigned int first, int count)
{
        bring_all(t, source, first, count, true);
        settle_source(t, source);
}

void source_fill(struct test *t, const struct source *source, unsigned int first, int count)
{
        bring_all(t, source, first, count, false);
        if (count)
                settle_source(t, source);
}

void expect_source_event(struct test *t, const struct source *source, const DAT_EVENT *event,
                         unsigned int number)
{
        source->kind->check(t, source, event, number);
}

void expect_source_events(struct test *t, const struct source *source, unsigned int first,
                          int count)
{
        for (int i = 0; i < count; i++) {
                DAT_EVENT event = expect_dequeued(t, source->evd);

                expect_source_event(t, source, &event, first + (unsigned int)i);
        }
}

/* An event that comes is waited for where that is allowed; else the wait says so, at once. */
static void expect_waitable(struct test *t, const struct source *source, bool waitable,
                            unsigned int number)
{
        DAT_EVENT event;
        DAT_COUNT more = -1;

        memset(&event, 0xa5, sizeof(event));
        if (!waitable) {
                expect(dat_evd_wait(source->evd, 0, 1, &event, &more), DAT_INVALID_STATE);
                expect(dat_evd_wait(source->evd, DAT_TIMEOUT_INFINITE, 1, &event, &more),
                       DAT_INVALID_STATE);
                expect_source_events(t, source, number, 1);
                return;
        }
        expect(dat_evd_wait(source->evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
        expect_source_event(t, source, &event, number);
}

/* What no change of its state, or of its CNO, changes. */
static void expect_source_kept(struct test *t, const struct source *source,
                               const DAT_EVD_PARAM *param)
{
        DAT_EVD_FLAGS flags = source->kind->flags;

        if (param->ia_handle != ia(t) || param->evd_flags != flags)
                must_tell_of_new(t, flags);
        expect_that(param->ia_handle == ia(t), "the EVD is of another IA");
        expect_eq(param->evd_flags, flags);
        if (source->qlen)
                expect_eq(param->evd_qlen, source->qlen);
}

/*
 * The query has told this of the EVD. If it has not, and the EVD was `seen` to be so by what it
 * does, the query is wrong, and no call before it.
 */
static void expect_told(struct test *t, bool seen, bool told, const char *instead)
{
        if (seen)
                must_be_told_by_query(t, told, instead);
        expect_that(told, "the query tells %s", instead);
}

static void expect_does(struct test *t, const struct source *source, struct evd_state state,
                        DAT_CNO_HANDLE cno)
{
        source_bring(t, source, 1, 1);
        if (cno && state.enabled)
                expect_notified(t, cno, source->evd);
        else if (cno)
                expect_no_notice(t, cno);
        expect_waitable(t, source, state.waitable, 1);
        source_bring(t, source, 2, 1);
        expect_source_events(t, source, 2, 1);
        expect_empty(t, source->evd);
        if (cno)
                forget_notice(cno);
}

void expect_source_state(struct test *t, const struct source *source, struct evd_state state,
                         DAT_CNO_HANDLE cno)
{
        DAT_EVD_PARAM param = evd_param(t, source->evd);
        const char *told = names_of(DAT_EVD_STATE, param.evd_state);

        expect_does(t, source, state, cno);
        if (!is_in(param.evd_state, state))
                must_tell_of_new(t, source->kind->flags);
        must_tell_each_half(t, param.evd_state);
        expect_told(t, cno,
                    (param.evd_state & EVD_ENABLING) ==
                        (state.enabled ? DAT_EVD_STATE_ENABLED : DAT_EVD_STATE_DISABLED),
                    told);
        expect_told(t, true,
                    (param.evd_state & EVD_WAITING) ==
                        (state.waitable ? DAT_EVD_STATE_WAITABLE : DAT_EVD_STATE_UNWAITABLE),
                    told);
        expect_told(t, cno && state.enabled, param.cno_handle == cno, "another CNO");
        expect_source_kept(t, source, &param);
}

void expect_state(struct test *t, DAT_EVD_HANDLE evd, struct evd_state state, DAT_CNO_HANDLE cno)
{
        struct source source = {.evd = evd, .kind = &source_kinds[0]};

        expect_source_state(t, &source, state, cno);
}
