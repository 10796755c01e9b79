/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/ep_attr.h"
#include "case/later_event.h"
#include "cases/ep/shared/connect_impl.h"
#include "cases/ep/shared/states.h"
#include "cases/shared/point.h"

#include <limits.h>
#include <string.h>

#define OTHER_DATA 1   /* that of one that must not come */
#define SHORT_MS   60  /* a time-out that most hosts can connect within; and, where one cannot, */
#define LONGER     4   /* how many times as long the next one is */
#define MANY       100 /* EPs that ask at once */

/*
 * Bodies of cases
 */

void connect_established(struct test *t, enum way way)
{
        struct stage stage;

        stage_set(t, &stage, way);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
        expect_empty(t, ep_connect_evd(t, stage.asking.ep));
}

void connect_pending(struct test *t, enum way way)
{
        struct stage stage;

        stage_set(t, &stage, way);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_ep_pending(t, stage.asking.ep);
        expect_stage_heard(t, &stage);
        expect_ep_pending(t, stage.asking.ep);
        must(dat_cr_accept(stage.loop.request, loop_named(&stage.loop), 0, NULL));
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
}

void connect_rejected(struct test *t, enum way way)
{
        struct stage stage;

        stage_set(t, &stage, way);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_heard(t, &stage);
        must(dat_cr_reject(stage.loop.request));
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_PEER_REJECTED,
                       DAT_EP_STATE_DISCONNECTED);
}

DAT_PORT_QUAL connect_port_of(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_ep_query(ep, DAT_EP_FIELD_LOCAL_PORT_QUAL, &param), DAT_SUCCESS);
        return param.local_port_qual;
}

/* While the connection is pending the EP has the port that the request tells, and keeps it. */
void connect_port(struct test *t, enum way way)
{
        struct stage stage;
        DAT_CR_PARAM param;
        DAT_PORT_QUAL port;

        stage_set(t, &stage, way);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        stage.loop.request = stage_request(t, &stage, OLD_DATA, stage.asking.size, &param);
        port = connect_port_of(t, stage.asking.ep);
        must_that_of("dat_cr_query", param.remote_port_qual != 0, "the request tells port 0");
        expect_that(port != 0, "the EP is bound to no port qualifier");
        expect_eq(param.remote_port_qual, port);
        must(dat_cr_accept(stage.loop.request, loop_named(&stage.loop), 0, NULL));
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
        expect_eq(connect_port_of(t, stage.asking.ep), port);
}

/*
 * Several requests come to one service point, and stay unanswered. The RSP of a stage takes one: a
 * PSP takes its place, unless the qualifier is that of an older connection.
 */
static void hear_several(struct test *t, const struct stage *stage, struct asking *asking)
{
        if (asking->way == BY_ADDRESS && provider_makes_all_eps(t))
                loop_listen(t, stage->loop.requests, DAT_PSP_PROVIDER_FLAG, &asking->qual);
}

/* Four requests stand at once; each tells the port of the EP whose private data it brings. */
void connect_own_ports(struct test *t, enum way way)
{
        unsigned char data[4][PRIVATE_SIZE];
        DAT_PORT_QUAL ports[4];
        DAT_EP_HANDLE eps[4];
        struct stage stage;

        stage_set(t, &stage, way);
        hear_several(t, &stage, &stage.asking);
        for (uint64_t i = 0; i < 4; i++) {
                struct asking asking = stage.asking;

                asking.ep = eps[i] = ep_with(t, .srq = DAT_HANDLE_NULL);
                asking.data = data[i];
                message_fill(data[i], PRIVATE_SIZE, i);
                expect(connect_ask(&asking), DAT_SUCCESS);
        }
        for (int i = 0; i < 4; i++) {
                DAT_EVENT event = expect_event(stage.loop.requests, DAT_CONNECTION_REQUEST_EVENT);
                DAT_CR_PARAM param;
                uint64_t whose = 0;

                memset(&param, 0, sizeof(param));
                expect(dat_cr_query(event.event_data.cr_arrival_event_data.cr_handle,
                                    DAT_CR_FIELD_ALL, &param),
                       DAT_SUCCESS);
                while (whose < 4 && !message_holds(param.private_data, PRIVATE_SIZE, whose))
                        whose++;
                expect_that(whose < 4, "a request has private data that was not sent");
                must_that_of("dat_cr_query", param.remote_port_qual != 0,
                             "the request tells port 0");
                expect_eq(param.remote_port_qual, connect_port_of(t, eps[whose]));
        }
        for (int i = 0; i < 4; i++) {
                ports[i] = connect_port_of(t, eps[i]);
                for (int j = 0; j < i; j++)
                        expect_that(ports[i] != ports[j], "two EPs have one port qualifier");
                expect_that(way != AS_ANOTHER || ports[i] != connect_port_of(t, stage.asking.like),
                            "the EP has the port qualifier of the one that it follows");
        }
}

/* What stood there at the call counts, whatever stands there when the call has returned. */
void connect_arguments_copied(struct test *t, enum way way)
{
        struct sockaddr_storage address;
        struct stage stage;
        socklen_t length;

        stage_set(t, &stage, way);
        length = stage.asking.address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                            : sizeof(struct sockaddr_in6);
        memset(&address, 0, sizeof(address));
        memcpy(&address, stage.asking.address, length);
        stage.asking.address = (DAT_IA_ADDRESS_PTR)&address;
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        memset(&address, 0xff, sizeof(address));
        memset(stage.data, 0xff, sizeof(stage.data));
        expect_stage_accepted(t, &stage);
}

static DAT_COUNT most(struct test *t)
{
        DAT_COUNT size = provider_attr(t)->max_private_data_size;

        must_that(size > 0, "max_private_data_size is %d", (int)size);
        return size;
}

static DAT_COUNT size_of(struct test *t, enum size_kind kind)
{
        switch (kind) {
        case SIZE_ONE:
                return 1;
        case SIZE_ODD:
                return 13;
        case SIZE_BELOW_MOST:
                return most(t) - 1;
        case SIZE_MOST:
                return most(t);
        default:
                return 0;
        }
}

/* Private data of this size, and one byte more. */
static unsigned char *data_of(struct test *t, DAT_COUNT size, uint64_t sequence)
{
        struct buf *buf = buf_with(t, .length = (size_t)size + 1);

        message_fill(buf->addr, buf->length, sequence);
        return buf->addr;
}

#define PART 4 /* bytes of old private data that no padding has by chance */

/* Whether so many bytes in a row are there, from wherever in the old data. */
static bool holds_part(const unsigned char *seen, DAT_COUNT count, const unsigned char *old)
{
        for (DAT_COUNT at = 0; at + PART <= count; at++)
                for (DAT_COUNT from = 0; from + PART <= PRIVATE_SIZE; from++)
                        if (memcmp(seen + at, old + from, PART) == 0)
                                return true;
        return false;
}

/*
 * What the duplicated EP sent with its own request, or got with the answer, comes with no other
 * one, nor the end of it.
 */
static void expect_no_old_data(struct test *t, const DAT_CR_PARAM *param, DAT_COUNT size)
{
        static const unsigned char firsts[] = {OF_REQUEST, OF_ACCEPT};
        const unsigned char *seen = param->private_data;
        unsigned char old[PRIVATE_SIZE];

        for (size_t i = 0; i < sizeof(firsts); i++) {
                loop_private_data(old, firsts[i]);
                expect_that(!holds_part(seen + size, param->private_data_size - size, old),
                            "a part of the private data of the duplicated connection was sent");
                if (size >= PRIVATE_SIZE || param->private_data_size < PRIVATE_SIZE)
                        continue;
                expect_that(memcmp(seen + size, old + size, (size_t)(PRIVATE_SIZE - size)) != 0,
                            "the private data of the duplicated connection was sent");
        }
}

void connect_private_data(struct test *t, enum way way, const struct size_row *row)
{
        unsigned char *data = data_of(t, size_of(t, row->kind), 9);
        struct stage stage;
        DAT_CR_PARAM param;

        stage_set(t, &stage, way);
        stage.asking.size = size_of(t, row->kind);
        stage.asking.data = row->kind == SIZE_NONE ? NULL : data;
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        stage.loop.request = stage_request(t, &stage, 9, stage.asking.size, &param);
        /* What a transport adds is nothing that the consumer had in its memory. */
        expect_that(param.private_data_size <= stage.asking.size ||
                        !message_holds(param.private_data, (size_t)stage.asking.size + 1, 9),
                    "more was sent than the private data");
        if (way == AS_ANOTHER)
                expect_no_old_data(t, &param, stage.asking.size);
        must(dat_cr_accept(stage.loop.request, loop_named(&stage.loop), 0, NULL));
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
}

void connect_private_data_to_peer(struct test *t, enum way way)
{
        DAT_COUNT size = most(t) < PEER_PRIVATE_MAX ? most(t) : PEER_PRIVATE_MAX;
        struct remote remote;
        struct peer_cr request;

        remote_set(t, &remote, way);
        remote.asking.size = size;
        remote.asking.data = data_of(t, size, 9);
        expect(connect_ask(&remote.asking), DAT_SUCCESS);
        request = expect_peer_request(t);
        expect_that(request.private_data_size >= remote.asking.size,
                    "%d bytes of private data, %d were sent", (int)request.private_data_size,
                    (int)remote.asking.size);
        expect_that(message_holds(request.private_data, (size_t)remote.asking.size, 9),
                    "the private data is not what was sent");
        expect_that(!peer_has_request(peer(t)), "one call made two requests");
        peer_accept(&request, NULL, 0);
        expect_ep_told(t, remote.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
}

void connect_bad_size(struct test *t, enum way way, const struct bad_size_row *row)
{
        struct ep_snapshot before;
        struct asking asking;
        struct stage stage;

        stage_set(t, &stage, way);
        before = stage_hold(t, &stage);
        asking = stage.asking;
        asking.data = data_of(t, most(t), OTHER_DATA);
        asking.size = row->past_most ? most(t) + row->size : row->size;
        expect(connect_ask(&asking), DAT_INVALID_PARAMETER);
        expect_stage_connects(t, &stage, &before);
}

void connect_qos(struct test *t, enum way way, const struct qos_row *row)
{
        struct ep_snapshot before;
        struct asking asking;
        struct stage stage;

        stage_set(t, &stage, way);
        before = stage_hold(t, &stage);
        asking = stage.asking;
        asking.qos = row->qos;
        if ((provider_attr(t)->dat_qos_supported & row->qos) == row->qos) {
                expect(connect_ask(&asking), DAT_SUCCESS);
                expect_stage_accepted(t, &stage);
                return;
        }
        expect(connect_ask(&asking), DAT_MODEL_NOT_SUPPORTED);
        expect_stage_connects(t, &stage, &before);
}

/* Whether they are granted where all are declared is left open, and so is the word for no quality.
 */
void connect_qos_mixed(struct test *t, enum way way, const struct qos_mixture *row)
{
        unsigned int declared = (unsigned int)provider_attr(t)->dat_qos_supported;
        struct ep_snapshot before;
        struct asking asking;
        struct stage stage;
        DAT_RETURN ret;

        stage_set(t, &stage, way);
        before = stage_hold(t, &stage);
        asking = stage.asking;
        asking.qos = (DAT_QOS)row->bits;
        ret = connect_ask(&asking);
        if ((declared & row->bits) == row->bits && dat_is(ret, DAT_SUCCESS)) {
                expect_stage_accepted(t, &stage);
                return;
        }
        if (row->bits > QUALITIES)
                expect(ret, DAT_MODEL_NOT_SUPPORTED, DAT_INVALID_PARAMETER);
        else
                expect(ret, DAT_MODEL_NOT_SUPPORTED);
        expect_stage_connects(t, &stage, &before);
}

void expect_time_out(struct test *t, DAT_EP_HANDLE ep, uint64_t began, DAT_TIMEOUT timeout)
{
        uint64_t took;

        expect_ep_failed(t, ep, timeout, DAT_CONNECTION_EVENT_TIMED_OUT,
                         DAT_CONNECTION_EVENT_UNREACHABLE);
        took = connect_clock_us() - began;
        record(t, "told after %llu us; the time-out was %u us", (unsigned long long)took,
               (unsigned int)timeout);
        expect_that(took >= timeout, "the time-out of %u us was over after %llu us",
                    (unsigned int)timeout, (unsigned long long)took);
}

void connect_timed_out(struct test *t, enum way way, const struct timeout_row *row)
{
        struct stage stage;
        uint64_t began;

        stage_set(t, &stage, way);
        stage.asking.timeout = row->us;
        began = connect_clock_us();
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_time_out(t, stage.asking.ep, began, stage.asking.timeout);
}

#define WAITS 3 /* times as long as the case waits for an event */

static void ask_with(struct test *t, const struct stage *stage, DAT_EP_HANDLE ep,
                     DAT_TIMEOUT timeout)
{
        struct asking asking = stage->asking;

        asking.ep = ep;
        asking.timeout = timeout;
        expect(connect_ask(&asking), DAT_SUCCESS);
}

/*
 * Later requests have shorter timeouts, so the events come in the reverse order of the calls. The
 * first request waits for longer than the case: what waits behind it does not come in time.
 */
void connect_timed_out_each(struct test *t, enum way way)
{
        static const unsigned int ms[] = {250, 130, 20};
        DAT_EP_HANDLE first, eps[3];
        struct stage stage;
        uint64_t began[3];

        stage_set(t, &stage, way);
        hear_several(t, &stage, &stage.asking);
        first = ep_with(t);
        for (int i = 0; i < 3; i++)
                eps[i] = ep_with(t);
        ask_with(t, &stage, first, WAITS * event_timeout(t));
        for (int i = 0; i < 3; i++) {
                began[i] = connect_clock_us();
                ask_with(t, &stage, eps[i], ms[i] * US_PER_MS);
        }
        for (int i = 2; i >= 0; i--)
                expect_time_out(t, eps[i], began[i], ms[i] * US_PER_MS);
}

/* The same EP, reset after each request: an earlier timeout has no part in a later request. */
void connect_timed_out_again(struct test *t, enum way way)
{
        static const unsigned int ms[] = {20, 800, 130};
        struct stage stage;

        stage_set(t, &stage, way);
        hear_several(t, &stage, &stage.asking);
        for (int i = 0; i < 3; i++) {
                struct asking asking = stage.asking;
                uint64_t began = connect_clock_us();

                asking.timeout = ms[i] * US_PER_MS;
                expect(connect_ask(&asking), DAT_SUCCESS);
                expect_time_out(t, asking.ep, began, asking.timeout);
                must(dat_ep_reset(asking.ep));
        }
}

void connect_timeout_zero(struct test *t, enum way way)
{
        struct ep_snapshot before;
        struct asking asking;
        struct stage stage;
        DAT_RETURN ret;

        stage_set(t, &stage, way);
        before = stage_hold(t, &stage);
        asking = stage.asking;
        asking.timeout = 0;
        ret = connect_ask(&asking);
        if (dat_is(ret, DAT_SUCCESS)) {
                expect_ep_failed(t, asking.ep, 0, DAT_CONNECTION_EVENT_TIMED_OUT,
                                 DAT_CONNECTION_EVENT_UNREACHABLE);
                return;
        }
        expect(ret, DAT_INVALID_PARAMETER);
        expect_stage_connects(t, &stage, &before);
}

void connect_timeout_infinite(struct test *t, enum way way)
{
        struct stage stage;

        stage_set(t, &stage, way);
        stage.asking.timeout = DAT_TIMEOUT_INFINITE;
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_heard(t, &stage);
        outlast_defaults();
        expect_ep_pending(t, stage.asking.ep);
        must(dat_cr_accept(stage.loop.request, loop_named(&stage.loop), 0, NULL));
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
}

typedef DAT_RETURN answer_fn(const struct stage *stage, DAT_CR_HANDLE request);

static DAT_RETURN accept_it(const struct stage *stage, DAT_CR_HANDLE request)
{
        return dat_cr_accept(request, loop_named(&stage->loop), 0, NULL);
}

static DAT_RETURN reject_it(const struct stage *stage, DAT_CR_HANDLE request)
{
        (void)stage;
        return dat_cr_reject(request);
}

/* Whether the answer is there within the time, which a host may be too slow for. */
static bool answered_within(struct test *t, struct stage *stage, answer_fn *answer,
                            DAT_EVENT_NUMBER number)
{
        DAT_TIMEOUT timeout = stage->asking.timeout;
        DAT_EVENT event;
        DAT_COUNT more;

        expect(connect_ask(&stage->asking), DAT_SUCCESS);
        if (!dat_is(dat_evd_wait(stage->loop.requests, timeout, 1, &event, &more), DAT_SUCCESS) ||
            !dat_is(answer(stage, event.event_data.cr_arrival_event_data.cr_handle), DAT_SUCCESS))
                return false;
        expect(
            dat_evd_wait(ep_connect_evd(t, stage->asking.ep), event_timeout(t), 1, &event, &more),
            DAT_SUCCESS);
        return event.event_number == number;
}

/* Asks, and answers so, until the answer comes within a timeout that is short enough to pass. */
static void must_answer_in_time(struct test *t, struct stage *stage, enum way way,
                                answer_fn *answer, DAT_EVENT_NUMBER number)
{
        DAT_TIMEOUT timeout = SHORT_MS * US_PER_MS;

        for (;;) {
                stage_set(t, stage, way);
                stage->asking.timeout = timeout;
                if (answered_within(t, stage, answer, number))
                        return;
                timeout *= LONGER;
                must_that(timeout <= event_timeout(t), "no answer is there within %u us",
                          (unsigned int)(timeout / LONGER));
        }
}

/* The timeout passes: another EP with the same timeout and a later request gets its event. */
static void outlast_timeout(struct test *t, const struct stage *stage)
{
        struct asking other = stage->asking;

        other.ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        hear_several(t, stage, &other);
        must(connect_ask(&other));
        expect_ep_failed(t, other.ep, other.timeout, DAT_CONNECTION_EVENT_TIMED_OUT,
                         DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* It would be over at once, were it taken for less. */
void connect_timeout_long(struct test *t, enum way way, const struct long_timeout_row *row)
{
        struct stage stage;

        stage_set(t, &stage, way);
        stage.asking.timeout = row->timeout;
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_heard(t, &stage);
        settle(t);
        expect_ep_pending(t, stage.asking.ep);
        must(dat_cr_accept(stage.loop.request, loop_named(&stage.loop), 0, NULL));
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
}

void connect_timeout_over(struct test *t, enum way way)
{
        struct stage stage;

        must_answer_in_time(t, &stage, way, accept_it, DAT_CONNECTION_EVENT_ESTABLISHED);
        outlast_timeout(t, &stage);
        expect_eq(ep_state(t, stage.asking.ep), DAT_EP_STATE_CONNECTED);
        expect_empty(t, ep_connect_evd(t, stage.asking.ep));
        expect_event(ep_connect_evd(t, stage.loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

void connect_rejected_for_good(struct test *t, enum way way)
{
        struct stage stage;

        must_answer_in_time(t, &stage, way, reject_it, DAT_CONNECTION_EVENT_PEER_REJECTED);
        outlast_timeout(t, &stage);
        expect_ep_in(t, stage.asking.ep, DAT_EP_STATE_DISCONNECTED);
        expect_empty(t, ep_connect_evd(t, stage.asking.ep));
}

/* A request whose time is over, and that has been heard, which takes a slow host longer. */
static DAT_CR_HANDLE request_too_old(struct test *t, struct stage *stage)
{
        DAT_EVENT event;

        stage->asking.timeout = SHORT_MS * US_PER_MS;
        for (;;) {
                expect(connect_ask(&stage->asking), DAT_SUCCESS);
                expect_ep_failed(t, stage->asking.ep, stage->asking.timeout,
                                 DAT_CONNECTION_EVENT_TIMED_OUT, DAT_CONNECTION_EVENT_UNREACHABLE);
                if (dat_is(dat_evd_dequeue(stage->loop.requests, &event), DAT_SUCCESS))
                        return event.event_data.cr_arrival_event_data.cr_handle;
                stage->asking.timeout *= LONGER;
                must_that(stage->asking.timeout <= event_timeout(t), "no request has come");
                must(dat_ep_reset(stage->asking.ep));
        }
}

/* An answer that comes when the time is over changes nothing any more. */
void connect_answered_late(struct test *t, enum way way)
{
        DAT_CR_HANDLE request;
        struct stage stage;

        stage_set(t, &stage, way);
        request = request_too_old(t, &stage);
        must_answer_late(t, request, &stage.loop);
        expect_eq(ep_state(t, stage.asking.ep), DAT_EP_STATE_DISCONNECTED);
        expect_empty(t, ep_connect_evd(t, stage.asking.ep));
        expect(dat_ep_reset(stage.asking.ep), DAT_SUCCESS);
        expect_empty(t, ep_connect_evd(t, stage.asking.ep));
}

/* The request with this private data; older ones of the EP, which come late, are rejected. */
static DAT_CR_HANDLE expect_newest(struct test *t, const struct stage *stage, uint64_t message)
{
        for (;;) {
                DAT_EVENT event = expect_event(stage->loop.requests, DAT_CONNECTION_REQUEST_EVENT);
                DAT_CR_HANDLE request = event.event_data.cr_arrival_event_data.cr_handle;
                DAT_CR_PARAM param;

                memset(&param, 0, sizeof(param));
                expect(dat_cr_query(request, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
                if (message_holds(param.private_data, PRIVATE_SIZE, message))
                        return request;
                must(dat_cr_reject(request));
        }
}

/* The EP is reset and asks anew: the answers to its former requests are none to this one. */
void connect_stale_answers(struct test *t, enum way way)
{
        DAT_CR_HANDLE stale[2];
        struct stage stage;
        struct loop late;

        stage_set(t, &stage, way);
        late = stage.loop;
        for (int i = 0; i < 2; i++) {
                stale[i] = request_too_old(t, &stage);
                must(dat_ep_reset(stage.asking.ep));
        }
        stage.loop.passive = ep_with(t, .srq = DAT_HANDLE_NULL);
        stage.asking.timeout = event_timeout(t);
        message_fill(stage.data, sizeof(stage.data), OTHER_DATA);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        stage.loop.request = expect_newest(t, &stage, OTHER_DATA);
        must_answer_late(t, stale[0], &late);
        must(dat_cr_reject(stale[1]));
        settle_briefly(t);
        expect_ep_pending(t, stage.asking.ep);
        expect(dat_cr_accept(stage.loop.request, stage.loop.passive, 0, NULL), DAT_SUCCESS);
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
        expect_ep_told(t, stage.loop.passive, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

/* The EP that asks may have so many reads under way, and the other end serves so many. */
/* NOLINTNEXTLINE(bugprone-easily-swappable-parameters) */
static void stage_set_reads(struct test *t, struct stage *stage, enum way way, DAT_COUNT out,
                            DAT_COUNT in)
{
        DAT_EP_ATTR active = ep_attr_few(t);
        DAT_EP_ATTR passive = ep_attr_few(t);

        if (out > ia_attr(t)->max_rdma_read_per_ep_out || in > ia_attr(t)->max_rdma_read_per_ep_in)
                unsupported(t, "max_rdma_read_per_ep_in, max_rdma_read_per_ep_out");
        active.max_rdma_read_in = 0;
        active.max_rdma_read_out = out;
        active.max_rdma_read_iov = out ? 1 : 0;
        passive.max_rdma_read_in = in;
        passive.max_rdma_read_out = 0;
        passive.max_rdma_read_iov = 0;
        stage_set_with(t, stage, way, (struct ep_opts){.attr = &active},
                       (struct ep_opts){.attr = &passive});
}

/* The provider may change limits that it chose, and not those that the EP was made with. */
static void expect_reads_kept(struct test *t, DAT_EP_HANDLE ep, DAT_COUNT out, DAT_COUNT in)
{
        struct ep_snapshot now = ep_look(t, ep);

        if (now.unasked)
                return;
        expect_eq(now.param.ep_attr.max_rdma_read_out, out);
        expect_eq(now.param.ep_attr.max_rdma_read_in, in);
}

void connect_reads(struct test *t, enum way way, const struct reads_row *row)
{
        struct stage stage;

        stage_set_reads(t, &stage, way, row->out, row->in);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        expect_reads_kept(t, stage.asking.ep, row->out, 0);
        expect_reads_kept(t, stage.loop.passive, 0, row->in);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

/* The request, or none where the asker's provider has found the limits out by itself. */
static bool beyond_is_heard(struct test *t, struct stage *stage)
{
        DAT_EVD_HANDLE told = ep_connect_evd(t, stage->asking.ep);
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret = dat_evd_wait(stage->loop.requests, event_timeout(t), 1, &event, &more);

        if (dat_is(ret, DAT_TIMEOUT_EXPIRED)) {
                expect_ep_told(t, stage->asking.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                               DAT_EP_STATE_DISCONNECTED);
                expect_empty(t, told);
                return false;
        }
        must(ret);
        expect_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
        stage->loop.request = event.event_data.cr_arrival_event_data.cr_handle;
        return true;
}

/* It is made, and carries messages; or it fails for a reason that is no consumer's. */
void connect_reads_beyond(struct test *t, enum way way)
{
        struct stage stage;
        DAT_EVENT event;
        DAT_COUNT more;

        stage_set_reads(t, &stage, way, 2, 1);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        if (!beyond_is_heard(t, &stage))
                return;
        if (!dat_is(dat_cr_accept(stage.loop.request, loop_named(&stage.loop), 0, NULL),
                    DAT_SUCCESS)) {
                must(dat_cr_reject(stage.loop.request));
                expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_PEER_REJECTED,
                               DAT_EP_STATE_DISCONNECTED);
                return;
        }
        expect(dat_evd_wait(ep_connect_evd(t, stage.asking.ep), event_timeout(t), 1, &event, &more),
               DAT_SUCCESS);
        if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
                expect_eq(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
                expect_eq(ep_state(t, stage.asking.ep), DAT_EP_STATE_DISCONNECTED);
                expect_no_later_event(stage.asking.ep, event.event_number);
                return;
        }
        record(t, "two reads, where the other end serves one: the connection is made");
        expect_eq(ep_state(t, stage.asking.ep), DAT_EP_STATE_CONNECTED);
        expect_no_later_event(stage.asking.ep, event.event_number);
        expect_ep_told(t, stage.loop.passive, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

/* The EP that asks has another zone, other attributes and other EVDs than others have. */
void connect_keeps_its_own(struct test *t, enum way way)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        struct ep_snapshot before;
        struct stage stage;

        attr.max_message_size = ep_attr_at_most(attr.max_message_size, 8192);
        attr.max_rdma_size = ep_attr_at_most(attr.max_rdma_size, 4096);
        attr.max_recv_dtos = EP_ATTR_DTOS / 2;
        attr.max_request_dtos = EP_ATTR_DTOS / 4;
        attr.max_rdma_read_in = ia_attr(t)->max_rdma_read_per_ep_in > 0 ? 1 : 0;
        attr.max_rdma_read_out = ia_attr(t)->max_rdma_read_per_ep_out > 0 ? 1 : 0;
        attr.max_rdma_read_iov = attr.max_rdma_read_out;
        stage_set_with(t, &stage, way, (struct ep_opts){.attr = &attr, .pz = pz_new(t)},
                       (struct ep_opts){.attr = &attr});
        before = ep_snapshot(t, stage.asking.ep);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        expect_ep_kept(t, stage.asking.ep, &before, EP_OF_CONNECTION);
        release(t, stage.asking.ep);
}

/* A receive that waits already takes the connection's first message. */
void connect_keeps_preposted(struct test *t, enum way way)
{
        struct stage stage;

        stage_set(t, &stage, way);
        stage_hold(t, &stage);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        expect_stage_carries(t, &stage);
}

void connect_of_srq(struct test *t, enum way way)
{
        struct buf *buf = buf_with(t, .length = 3 * MESSAGE);
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct stage stage;

        stage_set_with(t, &stage, way, (struct ep_opts){.srq = srq}, (struct ep_opts){0});
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        srq_post(t, srq, buf, MESSAGE, 0, 1);
        loop_post_send(t, stage.loop.passive, buf, 6);
        expect_dto(ep_recv_evd(t, stage.asking.ep));
        expect_message(t, stage.asking.ep, stage.loop.passive);
}

/* EPs that share their EVDs, so that an event names its EP by the handle alone. */
struct crowd {
        struct ep_opts opts;
        DAT_EP_HANDLE eps[MANY];
        unsigned char data[MANY][PRIVATE_SIZE];
        bool rejected[MANY];
        bool told[MANY];
};

static int member(const struct crowd *crowd, DAT_EP_HANDLE ep)
{
        int i = 0;

        while (i < MANY && crowd->eps[i] != ep)
                i++;
        return i;
}

static void crowd_asks(struct test *t, struct crowd *crowd, const struct stage *stage, int count)
{
        for (int i = 0; i < count; i++) {
                struct asking asking = stage->asking;

                asking.ep = crowd->eps[i];
                asking.data = crowd->data[i];
                message_fill(crowd->data[i], PRIVATE_SIZE, (uint64_t)i);
                expect(connect_ask(&asking), DAT_SUCCESS);
        }
}

/* Answers whichever request stands first: those of some are accepted, which of them is drawn. */
static void answer_one(struct test *t, struct crowd *crowd, const struct stage *stage, int count,
                       DAT_EP_HANDLE passive)
{
        DAT_EVENT event = expect_event(stage->loop.requests, DAT_CONNECTION_REQUEST_EVENT);
        DAT_CR_HANDLE request = event.event_data.cr_arrival_event_data.cr_handle;
        DAT_CR_PARAM param;
        int whose = 0;

        memset(&param, 0, sizeof(param));
        expect(dat_cr_query(request, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
        while (whose < count && !message_holds(param.private_data, PRIVATE_SIZE, (uint64_t)whose))
                whose++;
        expect_that(whose < count, "a request has private data that was not sent");
        crowd->rejected[whose] = !passive;
        if (passive)
                must(dat_cr_accept(request, passive, 0, NULL));
        else
                must(dat_cr_reject(request));
}

static void expect_crowd_told(struct test *t, struct crowd *crowd, int count)
{
        for (int i = 0; i < count; i++) {
                DAT_EVENT event;
                DAT_COUNT more;
                int whose;

                expect(dat_evd_wait(crowd->opts.connect_evd, event_timeout(t), 1, &event, &more),
                       DAT_SUCCESS);
                whose = member(crowd, event.event_data.connect_event_data.ep_handle);
                expect_that(whose < count, "an event names no EP that asked");
                expect_that(!crowd->told[whose], "an EP gets two events");
                crowd->told[whose] = true;
                told_last(crowd->eps[whose], event.event_number);
                expect_eq(event.event_number, crowd->rejected[whose]
                                                  ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                                  : DAT_CONNECTION_EVENT_ESTABLISHED);
                expect_eq(ep_state(t, crowd->eps[whose]), crowd->rejected[whose]
                                                              ? DAT_EP_STATE_DISCONNECTED
                                                              : DAT_EP_STATE_CONNECTED);
        }
        expect_empty(t, crowd->opts.connect_evd);
}

/* A hundred EPs ask, or as many as there can be with what else the case has. */
static DAT_COUNT many(struct test *t)
{
        const DAT_IA_ATTR *attr = ia_attr(t);
        DAT_COUNT count = MANY;

        while (count > 4 && (count > attr->max_evd_qlen || count + count / 4 + 8 > attr->max_eps))
                count--;
        record(t, "%d EPs ask", (int)count);
        return count;
}

void connect_many(struct test *t, enum way way)
{
        static struct crowd crowd;
        DAT_EP_HANDLE passive[MANY / 4];
        DAT_EP_ATTR attr = ep_attr_few(t);
        DAT_COUNT count = many(t);
        struct ep_opts passive_opts;
        struct stage stage;

        memset(&crowd, 0, sizeof(crowd));
        crowd.opts = (struct ep_opts){
            .recv_evd = evd_with(t),
            .request_evd = evd_with(t),
            .connect_evd = evd_with(t, .qlen = count, .flags = DAT_EVD_CONNECTION_FLAG),
            .attr = &attr,
        };
        passive_opts = crowd.opts;
        passive_opts.connect_evd = evd_with(t, .qlen = count, .flags = DAT_EVD_CONNECTION_FLAG);
        stage_set_for(t, &stage, way, count, (struct ep_opts){0}, (struct ep_opts){0});
        stage.asking.timeout = DAT_TIMEOUT_INFINITE;
        release(t, stage.loop.active);
        release(t, stage.loop.passive);
        for (int i = 0; i < count; i++)
                crowd.eps[i] = ep_make(t, crowd.opts);
        for (int i = 0; i < count / 4; i++)
                passive[i] = ep_make(t, passive_opts);
        crowd_asks(t, &crowd, &stage, count);
        for (int i = 0, accepted = 0; i < count; i++) {
                uint64_t left = (uint64_t)(count / 4 - accepted);
                bool accept = draw(t, (uint64_t)(count - i)) < left;

                answer_one(t, &crowd, &stage, count,
                           accept ? passive[accepted++] : DAT_HANDLE_NULL);
        }
        expect_crowd_told(t, &crowd, count);
}
