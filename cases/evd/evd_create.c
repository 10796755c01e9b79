/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_create, which has no page: what other pages rely on (EVD-5). */
#include "clauses/evd_create.h"
#include "cases/evd/shared/event_kind.h"

#include <string.h>

#define TOGETHER 50 /* EVDs that there are at once */

/* In the order of the rows of evd_stream_merging_supported. */
static const DAT_EVD_FLAGS streams[] = {
    DAT_EVD_SOFTWARE_FLAG,   DAT_EVD_CR_FLAG,       DAT_EVD_DTO_FLAG,
    DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
};

#define STREAMS (sizeof(streams) / sizeof(streams[0]))
#define ASYNC   5 /* of DAT_EVD_ASYNC_FLAG */

static DAT_RETURN create(struct test *t, DAT_COUNT places, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
                         DAT_EVD_HANDLE *evd)
{
        DAT_RETURN ret;

        *evd = DAT_HANDLE_NULL;
        ret = dat_evd_create(ia(t), places, cno, flags, evd);
        if (dat_is(ret, DAT_SUCCESS))
                adopt(t, DAT_HANDLE_TYPE_EVD, *evd);
        return ret;
}

static const struct length {
        const char *id;
        DAT_COUNT places;
} lengths[] = {
    {"one", 1},
    {"two", 2},
    {"sixteen", 16},
    {"a_thousand", 1000},
};

FAMILY(evd_create, length, lengths)
{
        DAT_EVD_HANDLE evd;
        DAT_EVD_PARAM param;

        if (row->places > ia_attr(t)->max_evd_qlen)
                end_noted(t, "max_evd_qlen is %d", ia_attr(t)->max_evd_qlen);
        expect(create(t, row->places, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd), DAT_SUCCESS);

        param = evd_param(t, evd);
        expect_that(param.ia_handle == ia(t), "the EVD is of another IA");
        expect_that(param.evd_qlen >= row->places, "%d places asked for, %d queried", row->places,
                    param.evd_qlen);
        expect_empty(t, evd);
        for (DAT_COUNT i = 0; i < row->places; i++) {
                DAT_EVENT event = se_event((unsigned int)i);

                expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);
        }
        expect_ses(t, evd, 0, row->places);
}

CASE(evd_create, length_of_ia_limit)
{
        DAT_COUNT limit = ia_attr(t)->max_evd_qlen;
        DAT_EVD_HANDLE evd;
        DAT_RETURN ret = expect(create(t, limit, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
                                DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

        if (dat_is(ret, DAT_SUCCESS))
                expect_that(evd_param(t, evd).evd_qlen >= limit, "%d places asked for, %d queried",
                            limit, evd_param(t, evd).evd_qlen);
        else
                note(t, "there is no room for the %d places of max_evd_qlen", limit);
}

CASE(evd_create, with_cno)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd;

        expect(create(t, SE_QLEN, cno, DAT_EVD_SOFTWARE_FLAG, &evd), DAT_SUCCESS);

        expect_that(evd_param(t, evd).cno_handle == cno, "the CNO is not the EVD's own");
        must(dat_evd_enable(evd));
        post_ses(t, evd, 0, 1);
        expect_notified(t, cno, evd);
}

CASE(evd_create, without_cno)
{
        DAT_EVD_HANDLE evd;

        expect(create(t, SE_QLEN, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd), DAT_SUCCESS);

        expect_that(evd_param(t, evd).cno_handle == DAT_HANDLE_NULL, "a CNO that was not given");
        post_ses(t, evd, 0, 1);
        expect_ses(t, evd, 0, 1);
}

CASE(evd_create, many_at_once)
{
        DAT_EVD_HANDLE evds[TOGETHER];
        DAT_COUNT count = ia_attr(t)->max_evds / 2;

        if (count > TOGETHER)
                count = TOGETHER;
        for (DAT_COUNT i = 0; i < count; i++) {
                expect(create(t, SE_QLEN, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evds[i]),
                       DAT_SUCCESS);
                for (DAT_COUNT j = 0; j < i; j++)
                        expect_that(evds[j] != evds[i], "two EVDs have one handle");
        }
        for (DAT_COUNT i = 0; i < count; i++)
                post_ses(t, evds[i], (unsigned int)i, 2);
        for (DAT_COUNT i = 0; i < count; i++) {
                expect_ses(t, evds[i], (unsigned int)i, 2);
                expect_empty(t, evds[i]);
        }
}

/*
 * Streams
 */

static bool merges(struct test *t, size_t one, size_t other)
{
        return provider_attr(t)->evd_stream_merging_supported[one][other];
}

/* An EVD of these streams is granted where the attributes say so of each two, and refused
 * elsewhere. */
static void expect_as_declared(struct test *t, unsigned int which)
{
        DAT_EVD_FLAGS flags = (DAT_EVD_FLAGS)0;
        bool declared = true;
        DAT_EVD_HANDLE evd;

        for (size_t i = 0; i < STREAMS; i++) {
                if (!(which & (1U << i)))
                        continue;
                flags |= streams[i];
                for (size_t j = 0; j < i; j++)
                        declared &= !(which & (1U << j)) || (merges(t, i, j) && merges(t, j, i));
        }
        /* The asynchronous stream may be the IA's own alone (EVD-13). */
        if (which == 1U << ASYNC && !merges(t, ASYNC, ASYNC)) {
                DAT_RETURN ret =
                    expect(create(t, SE_QLEN, DAT_HANDLE_NULL, flags, &evd), DAT_SUCCESS,
                           DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);

                if (!dat_is(ret, DAT_SUCCESS))
                        return;
                release(t, evd);
        }
        if (!declared) {
                expect(create(t, SE_QLEN, DAT_HANDLE_NULL, flags, &evd), DAT_INVALID_PARAMETER,
                       DAT_MODEL_NOT_SUPPORTED);
                return;
        }
        expect(create(t, SE_QLEN, DAT_HANDLE_NULL, flags, &evd), DAT_SUCCESS);
        expect_eq(evd_param(t, evd).evd_flags, flags);
        expect_empty(t, evd);
        release(t, evd);
}

static const struct stream {
        const char *id;
        unsigned int which;
} singles[] = {
    {"software", 1U << 0},   {"connection_request", 1U << 1}, {"dto_completion", 1U << 2},
    {"connection", 1U << 3}, {"rmr_bind", 1U << 4},           {"async", 1U << 5},
};

FAMILY(evd_create, one_stream, singles)
{
        expect_as_declared(t, row->which);
}

#define PAIR(a_, b_) ((1U << (a_)) | (1U << (b_)))

static const struct stream pairs[] = {
    {"software_and_connection_request", PAIR(0, 1)},
    {"software_and_dto_completion", PAIR(0, 2)},
    {"software_and_connection", PAIR(0, 3)},
    {"software_and_rmr_bind", PAIR(0, 4)},
    {"software_and_async", PAIR(0, 5)},
    {"connection_request_and_dto_completion", PAIR(1, 2)},
    {"connection_request_and_connection", PAIR(1, 3)},
    {"connection_request_and_rmr_bind", PAIR(1, 4)},
    {"connection_request_and_async", PAIR(1, 5)},
    {"dto_completion_and_connection", PAIR(2, 3)},
    {"dto_completion_and_rmr_bind", PAIR(2, 4)},
    {"dto_completion_and_async", PAIR(2, 5)},
    {"connection_and_rmr_bind", PAIR(3, 4)},
    {"connection_and_async", PAIR(3, 5)},
    {"rmr_bind_and_async", PAIR(4, 5)},
};

FAMILY(evd_create, two_streams, pairs)
{
        expect_as_declared(t, row->which);
}

CASE(evd_create, every_combination)
{
        for (unsigned int which = 1; which < 1U << STREAMS; which++)
                expect_as_declared(t, which);
}

/* Counts an event of a connection whose four streams are one EVD's. */
static void take_event(struct test *t, DAT_EVD_HANDLE evd, struct loop *loop, int counts[4])
{
        DAT_EVENT event;
        DAT_COUNT more;

        memset(&event, 0xa5, sizeof(event));
        expect(dat_evd_wait(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
        expect_that(event.evd_handle == evd, "the event names another EVD");
        switch (event.event_number) {
        case DAT_SOFTWARE_EVENT:
                expect_se(t, evd, &event, (unsigned int)counts[0]++);
                return;
        case DAT_CONNECTION_REQUEST_EVENT:
                counts[1]++;
                loop->request = event.event_data.cr_arrival_event_data.cr_handle;
                must(dat_cr_accept(loop->request, loop_named(loop), 0, NULL));
                return;
        case DAT_CONNECTION_EVENT_ESTABLISHED:
                counts[2]++;
                return;
        case DAT_DTO_COMPLETION_EVENT:
                expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, counts[3]);
                counts[3]++;
                return;
        default:
                expect_that(false, "%s, which has no cause", name_of_event(event.event_number));
        }
}

CASE(evd_create, four_streams_in_use)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        struct buf *buf = buf_with(t);
        struct loop loop;
        int counts[4] = {0};

        expect(create(t, 64, DAT_HANDLE_NULL,
                      DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG |
                          DAT_EVD_CONNECTION_FLAG,
                      &evd),
               DAT_SUCCESS);
        loop = (struct loop){
            .requests = evd,
            .active = ep_with(t, .recv_evd = evd, .connect_evd = evd),
            .passive = ep_with(t),
        };
        post_ses(t, evd, 0, 3);
        loop_ask(t, &loop);
        while (counts[2] == 0)
                take_event(t, evd, &loop, counts);
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        for (uint64_t i = 0; i < 3; i++)
                loop_post_recv(t, loop.active, buf, i);
        post_ses(t, evd, 3, 1);
        for (uint64_t i = 0; i < 3; i++)
                loop_post_send(t, loop.passive, buf, i);
        while (counts[0] + counts[1] + counts[2] + counts[3] < 9)
                take_event(t, evd, &loop, counts);

        expect_eq(counts[0], 4);
        expect_eq(counts[1], 1);
        expect_eq(counts[2], 1);
        expect_eq(counts[3], 3);
        expect_quiet(evd);
}

LEGAL(evd_create)
{
        call->ia_handle = ia(t);
        call->evd_min_qlen = SE_QLEN;
        call->cno_handle = cno_new(t);
        call->evd_flags = DAT_EVD_SOFTWARE_FLAG;
}
