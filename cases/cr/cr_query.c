/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cr_query: every field by its own bit, of which request it is, and what is no mask. */
#include "clauses/cr_query.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/cr/shared/request.h"
#include "cases/shared/masks.h"

#include <stdatomic.h>
#include <string.h>

#define MANY    100     /* queries */
#define POINTS  6       /* requests at once */
#define MET     20      /* times that two threads met are enough */
#define QUERIES 1000000 /* of each of them, at most */
#define SOON    1000000 /* us that an EP asks which is to time out */
#define AMOUNTS 5       /* of private data */
#define STRIDE  3       /* by which each is met once, and not by size */

/* A request of which a case knows all, for it has asked. */
struct known {
        struct request request;
        DAT_EP_HANDLE local_ep;
        DAT_PORT_QUAL port;
        unsigned char first; /* of the private data */
};

static DAT_PORT_QUAL port_of(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        must(dat_ep_query(ep, DAT_EP_FIELD_LOCAL_PORT_QUAL, &param));
        return param.local_port_qual;
}

static struct known known_for(struct test *t, struct request request, unsigned char first,
                              DAT_TIMEOUT timeout)
{
        struct known known = {.request = request, .first = first};
        unsigned char data[PRIVATE_SIZE];

        loop_private_data(data, first);
        must_ask(t, &known.request,
                 (struct asks){.size = PRIVATE_SIZE, .data = data, .timeout = timeout});
        known.port = port_of(t, known.request.active);
        must_take(t, &known.request);
        if (request.maker != MADE_BY_CONSUMER)
                known.local_ep = known.request.passive;
        return known;
}

static struct known known_at(struct test *t, struct request request, unsigned char first)
{
        return known_for(t, request, first, event_timeout(t));
}

static struct known known_request(struct test *t)
{
        return known_at(t, request_at(t, MADE_BY_CONSUMER), OF_REQUEST);
}

static DAT_RETURN query_cr(DAT_HANDLE cr, uint64_t mask, void *param)
{
        return dat_cr_query(cr, (DAT_CR_PARAM_MASK)mask, param);
}

static const struct object_query query = {"dat_cr_query(cr, mask, param)", query_cr,
                                          sizeof(DAT_CR_PARAM), DAT_CR_FIELD_ALL};

/* A query of the fields in `mask`, into memory that no provider would leave so. */
static DAT_CR_PARAM queried(struct test *t, DAT_CR_HANDLE cr, unsigned int mask)
{
        DAT_CR_PARAM param;

        expect_query(t, &query, cr, mask, &param);
        return param;
}

/*
 * Fields
 */

static void check_address(struct test *t, const struct known *known, const DAT_CR_PARAM *param)
{
        (void)known;
        expect_that(!is_poison(&param->remote_ia_address_ptr, sizeof(DAT_IA_ADDRESS_PTR)) &&
                        param->remote_ia_address_ptr,
                    "no address is reported");
        expect_that(same_host(param->remote_ia_address_ptr, ia_address(t)),
                    "the address is not that of the IA which asked");
}

static void check_port(struct test *t, const struct known *known, const DAT_CR_PARAM *param)
{
        expect_eq(param->remote_port_qual, known->port);
}

static void check_size(struct test *t, const struct known *known, const DAT_CR_PARAM *param)
{
        DAT_COUNT limit = provider_attr(t)->max_private_data_size;

        (void)known;
        expect_that(param->private_data_size >= PRIVATE_SIZE && param->private_data_size <= limit,
                    "%d bytes of private data, %d were sent", param->private_data_size,
                    PRIVATE_SIZE);
        if (param->private_data_size > PRIVATE_SIZE)
                note(t, "%d bytes of private data, %d were sent (CR-2)", param->private_data_size,
                     PRIVATE_SIZE);
}

static void check_data(struct test *t, const struct known *known, const DAT_CR_PARAM *param)
{
        unsigned char sent[PRIVATE_SIZE];

        loop_private_data(sent, known->first);
        expect_that(!is_poison(&param->private_data, sizeof(DAT_PVOID)) && param->private_data,
                    "no private data is reported");
        expect_that(memcmp(param->private_data, sent, PRIVATE_SIZE) == 0,
                    "the private data is not what was sent");
}

static void check_local_ep(struct test *t, const struct known *known, const DAT_CR_PARAM *param)
{
        expect_that(param->local_ep_handle == known->local_ep,
                    "the local EP is not the one of the request");
}

static const struct field {
        const char *id;
        DAT_CR_PARAM_MASK bit;
        void (*check)(struct test *t, const struct known *known, const DAT_CR_PARAM *param);
} fields[] = {
    {"remote_ia_address_ptr", DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR, check_address},
    {"remote_port_qual", DAT_CR_FIELD_REMOTE_PORT_QUAL, check_port},
    {"private_data_size", DAT_CR_FIELD_PRIVATE_DATA_SIZE, check_size},
    {"private_data", DAT_CR_FIELD_PRIVATE_DATA, check_data},
    {"local_ep_handle", DAT_CR_FIELD_LOCAL_EP_HANDLE, check_local_ep},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))
/* The fields that lead to memory of the provider. */
#define IN_MEMORY (DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_CR_FIELD_PRIVATE_DATA)

static void check_param(struct test *t, const struct known *known, const DAT_CR_PARAM *param,
                        unsigned int mask)
{
        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & fields[i].bit)
                        fields[i].check(t, known, param);
}

static void check_fields(struct test *t, const struct known *known, unsigned int mask)
{
        DAT_CR_PARAM param = queried(t, known->request.cr, mask);

        check_param(t, known, &param, mask);
}

FAMILY(cr_query, field, fields)
{
        struct known known = known_request(t);

        check_fields(t, &known, row->bit);
}

FAMILY(cr_query, field_among_all, fields)
{
        struct known known = known_request(t);
        DAT_CR_PARAM param = queried(t, known.request.cr, DAT_CR_FIELD_ALL);

        row->check(t, &known, &param);
}

CASE(cr_query, every_mask)
{
        struct known known = known_request(t);

        for (unsigned int mask = 1; mask <= DAT_CR_FIELD_ALL; mask++)
                check_fields(t, &known, mask);
}

static struct request at_consumers(struct test *t)
{
        return request_at(t, MADE_BY_CONSUMER);
}

static struct request at_providers(struct test *t)
{
        return request_at(t, MADE_BY_PROVIDER);
}

static struct request at_reserved(struct test *t)
{
        return request_at(t, MADE_FOR_RSP);
}

/* At a qualifier that the provider chooses. */
static struct request at_chosen(struct test *t)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        DAT_PSP_HANDLE chosen = DAT_HANDLE_NULL;

        must(dat_psp_create_any(ia(t), &request.qual, request.evd, DAT_PSP_CONSUMER_FLAG, &chosen));
        adopt(t, DAT_HANDLE_TYPE_PSP, chosen);
        request.point = chosen;
        return request;
}

/* The provider makes the EP of an RSP. */
static struct request at_reserved_by_provider(struct test *t)
{
        struct request request = request_at(t, MADE_BY_PROVIDER);

        request.point = rsp_listen(t, DAT_HANDLE_NULL, request.evd, &request.qual);
        return request;
}

static const struct origin {
        const char *id;
        struct request (*make)(struct test *t);
} origins[] = {
    {"consumer", at_consumers},
    {"provider", at_providers},
    {"reserved", at_reserved},
    {"chosen", at_chosen},
    {"reserved_by_provider", at_reserved_by_provider},
};

/* The provider's EP has zone and EVDs by now. */
FAMILY(cr_query, each_origin, origins)
{
        struct known known = known_at(t, row->make(t), OF_REQUEST);

        for (size_t i = 0; i < FIELD_COUNT; i++)
                check_fields(t, &known, fields[i].bit);
        check_fields(t, &known, DAT_CR_FIELD_ALL);
}

/* Which EP the request has, by who has made it. */
static void expect_local_ep(struct test *t, const struct request *request, DAT_EP_HANDLE told)
{
        DAT_EP_PARAM param;

        if (request->maker == MADE_BY_CONSUMER) {
                expect_that(told == DAT_HANDLE_NULL, "an EP that does not exist");
                return;
        }
        expect_that(told != DAT_HANDLE_NULL, "no EP is reported");
        memset(&param, 0, sizeof(param));
        expect(dat_ep_query(told, DAT_EP_FIELD_IA_HANDLE, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == ia(t), "the EP is of another IA");
        if (request->maker == MADE_BY_PROVIDER) {
                expect_eq(ep_state(t, told), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        } else {
                expect_that(told == request->passive, "the EP is not the RSP's");
                expect_eq(ep_state(t, told), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        }
}

FAMILY(cr_query, local_ep, request_kinds)
{
        struct request request = request_at(t, row->maker);

        must_ask(t, &request, (struct asks){0});
        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);

        expect_local_ep(t, &request,
                        queried(t, request.cr, DAT_CR_FIELD_LOCAL_EP_HANDLE).local_ep_handle);
        expect_local_ep(t, &request, queried(t, request.cr, DAT_CR_FIELD_ALL).local_ep_handle);
}

CASE(cr_query, own_local_ep)
{
        struct request first = request_at(t, MADE_BY_PROVIDER);
        DAT_CR_HANDLE crs[POINTS];
        DAT_EP_HANDLE eps[POINTS];
        DAT_COUNT count = cap_at_limit(t, POINTS, DAT_HANDLE_TYPE_EP, 2);

        for (int i = 0; i < count; i++) {
                must_ask(t, &first, (struct asks){0});
                crs[i] = expect_cr_request(t, first.evd, first.point, first.qual);
                eps[i] = queried(t, crs[i], DAT_CR_FIELD_LOCAL_EP_HANDLE).local_ep_handle;
                expect_local_ep(t, &first, eps[i]);
                first.active = ep_with(t);
        }
        for (int i = 0; i < count; i++) {
                expect_that(queried(t, crs[i], DAT_CR_FIELD_ALL).local_ep_handle == eps[i],
                            "the EP of request %d is another one now", i);
                for (int j = 0; j < i; j++)
                        expect_that(eps[i] != eps[j], "requests %d and %d have one EP", j, i);
        }
}

CASE(cr_query, own_parameters)
{
        struct known known[POINTS];
        DAT_COUNT count = cap_at_limit(t, POINTS, DAT_HANDLE_TYPE_EP, 2);

        known[0] = known_request(t);
        for (int i = 1; i < count; i++)
                known[i] = known_at(t, request_like(t, &known[0].request),
                                    (unsigned char)(OF_REQUEST + 10 * i));

        for (int i = 0; i < count; i++)
                check_fields(t, &known[i], DAT_CR_FIELD_ALL);
}

/* Each is looked at when all have been asked about. A port is returned by value, not in memory. */
CASE(cr_query, results_stay)
{
        struct known known[POINTS];
        DAT_CR_PARAM params[POINTS];
        DAT_COUNT count = cap_at_limit(t, POINTS, DAT_HANDLE_TYPE_EP, 2);

        known[0] = known_request(t);
        for (int i = 1; i < count; i++)
                known[i] = known_at(t, request_like(t, &known[0].request),
                                    (unsigned char)(OF_REQUEST + 10 * i));
        for (int i = 0; i < count; i++)
                params[i] = queried(t, known[i].request.cr, DAT_CR_FIELD_ALL);

        for (int i = 0; i < count; i++)
                check_param(t, &known[i], &params[i], IN_MEMORY);
}

CASE(cr_query, own_port)
{
        struct known older = known_request(t);
        struct known newer = known_at(t, request_like(t, &older.request), OF_REQUEST);

        must_that(older.port != newer.port, "two EPs that ask have one port");
        check_fields(t, &older, DAT_CR_FIELD_REMOTE_PORT_QUAL);
        check_fields(t, &newer, DAT_CR_FIELD_REMOTE_PORT_QUAL);
}

CASE(cr_query, address_leads_there)
{
        struct known known = known_request(t);
        struct request back = request_like(t, &known.request);
        DAT_CR_PARAM param = queried(t, known.request.cr, DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR);

        expect(dat_ep_connect(back.active, param.remote_ia_address_ptr, back.qual, event_timeout(t),
                              0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
               DAT_SUCCESS);
        back.cr = expect_cr_request(t, back.evd, back.point, back.qual);
        expect_cr_accepted(t, &back);
}

FAMILY(cr_query, private_data, amounts)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        DAT_COUNT size = amount_of(t, row);
        unsigned char *sent = buf_with(t, .length = (size_t)size + 1)->addr;
        DAT_CR_PARAM param;

        draw_amount(t, row, sent, size);
        must_ask(t, &request, (struct asks){.size = size, .data = size ? sent : NULL});
        must_take(t, &request);

        param = queried(t, request.cr, DAT_CR_FIELD_ALL);
        expect_private_data(t, param.private_data, param.private_data_size, sent, size);
        param = queried(t, request.cr, DAT_CR_FIELD_PRIVATE_DATA_SIZE | DAT_CR_FIELD_PRIVATE_DATA);
        expect_private_data(t, param.private_data, param.private_data_size, sent, size);
}

/* The private data of the requests is of many lengths, longer before shorter and the other way. */
CASE(cr_query, own_sizes)
{
        struct request requests[AMOUNTS];
        const unsigned char *sent[AMOUNTS];
        DAT_COUNT count = cap_at_limit(t, AMOUNTS, DAT_HANDLE_TYPE_EP, 2);

        for (int i = 0; i < count; i++) {
                DAT_COUNT size = amount_of(t, &amounts[(i * STRIDE) % AMOUNTS]);
                unsigned char *data = buf_with(t, .length = (size_t)size + 1)->addr;

                draw_amount(t, &amounts[0], data, size);
                sent[i] = data;
                requests[i] = i ? request_like(t, &requests[0]) : request_at(t, MADE_BY_CONSUMER);
                must_ask(t, &requests[i], (struct asks){.size = size, .data = size ? data : NULL});
                must_take(t, &requests[i]);
        }

        for (int i = 0; i < count; i++) {
                DAT_CR_PARAM param = queried(t, requests[i].cr, DAT_CR_FIELD_ALL);

                expect_private_data(t, param.private_data, param.private_data_size, sent[i],
                                    amount_of(t, &amounts[(i * STRIDE) % AMOUNTS]));
        }
}

/*
 * What happens to a request, and to others
 */

static void accept_another(struct test *t, struct request *request)
{
        struct request other = requested_like(t, request);

        must(dat_cr_accept(other.cr, named_ep(&other), 0, NULL));
        request_accepted(t, &other);
        must_event(ep_connect_evd(t, other.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void reject_another(struct test *t, struct request *request)
{
        struct request other = requested_like(t, request);

        must(dat_cr_reject(other.cr));
        request_gone(t, &other);
}

static void refuse(struct test *t, struct request *request)
{
        (void)dat_cr_accept(request->cr, DAT_HANDLE_NULL, 0, NULL);
        (void)dat_cr_accept(request->cr, named_ep(request), -1, NULL);
        must_that(ep_state(t, request->passive) == DAT_EP_STATE_UNCONNECTED,
                  "an accept that is to be refused has changed the EP");
}

static void refuse_handoff(struct test *t, struct request *request)
{
        DAT_CONN_QUAL qual;

        release(t, loop_listen(t, request->evd, psp_flags_granted(t), &qual));
        if (!dat_is(dat_cr_handoff(request->cr, qual), DAT_SUCCESS))
                return;
        request_gone(t, request);
        end_noted(t, "a handoff to a qualifier without a listener is not refused (CR-9)");
}

static void resize(struct test *t, struct request *request)
{
        must(dat_evd_resize(request->evd, 16));
}

static const struct change {
        const char *id;
        void (*make)(struct test *t, struct request *request);
} changes[] = {
    {"point_freed", lose_point},
    {"evd_freed", lose_point_and_evd},
    {"evd_resized", resize},
    {"other_accepted", accept_another},
    {"other_rejected", reject_another},
    {"accept_refused", refuse},
    {"handoff_refused", refuse_handoff},
    {"asker_gave_up", lose_by_disconnect},
    {"asker_timed_out", lose_by_timeout},
    {"asker_freed", lose_by_free},
};

FAMILY(cr_query, after, changes)
{
        struct known known = known_for(t, request_at(t, MADE_BY_CONSUMER), OF_REQUEST,
                                       row->make == lose_by_timeout ? SOON : event_timeout(t));

        DAT_CR_PARAM before = queried(t, known.request.cr, DAT_CR_FIELD_ALL);

        check_param(t, &known, &before, DAT_CR_FIELD_ALL);
        row->make(t, &known.request);

        check_param(t, &known, &before, IN_MEMORY);
        check_fields(t, &known, DAT_CR_FIELD_ALL);
}

/*
 * What a query leaves as it was
 */

static void query_often(struct test *t, DAT_CR_HANDLE cr)
{
        for (int i = 0; i < MANY; i++)
                queried(t, cr, DAT_CR_FIELD_ALL);
}

FAMILY(cr_query, keeps_request, request_kinds)
{
        struct request request = requested(t, row->maker);

        query_often(t, request.cr);

        expect_cr_accepted(t, &request);
        expect_cr_parted(t, &request);
}

CASE(cr_query, keeps_rejectable)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        query_often(t, request.cr);

        expect_cr_rejected(t, &request);
        expect_empty(t, request.evd);
}

CASE(cr_query, within_structure)
{
        struct known known = known_request(t);
        struct buf *buf = expect_query_within(t, &query, known.request.cr);
        const DAT_CR_PARAM *param = (const void *)buf->addr;

        check_param(t, &known, param, DAT_CR_FIELD_ALL);
        release(t, buf->lmr);
}

/* A thread that queries one request until it is stopped, or gets a wrong answer. */
struct asking {
        DAT_CR_HANDLE cr;
        DAT_PORT_QUAL port;
        unsigned char sent[PRIVATE_SIZE];
        atomic_bool stop;
        atomic_uint answers;
        bool wrong;
};

static DAT_RETURN ask_once(struct asking *asking)
{
        DAT_CR_PARAM param;
        DAT_RETURN ret;

        poison(&param, sizeof(param));
        ret = dat_cr_query(asking->cr, DAT_CR_FIELD_ALL, &param);
        if (!dat_is(ret, DAT_SUCCESS))
                return ret;
        asking->wrong = param.remote_port_qual != asking->port ||
                        memcmp(param.private_data, asking->sent, PRIVATE_SIZE) != 0;
        atomic_fetch_add(&asking->answers, 1);
        return ret;
}

static DAT_RETURN ask_until_told(void *arg)
{
        struct asking *asking = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        while (dat_is(ret, DAT_SUCCESS) && !asking->wrong && !atomic_load(&asking->stop))
                ret = ask_once(asking);
        return ret;
}

/* That the port is the asker's has a clause of its own: here it is what it was at first. */
static void asking_for(struct test *t, struct asking *asking, const struct known *known)
{
        DAT_CR_PARAM param;

        poison(&param, sizeof(param));
        must(dat_cr_query(known->request.cr, DAT_CR_FIELD_ALL, &param));
        asking->cr = known->request.cr;
        asking->port = param.remote_port_qual;
        loop_private_data(asking->sent, known->first);
}

/* Both continue until their answers have interleaved so often. */
CASE(cr_query, any_thread)
{
        static struct asking other; /* may outlive a case that is given up */
        struct asking own = {.wrong = false};
        struct known older = known_request(t);
        struct known newer = known_at(t, request_like(t, &older.request), OF_ACCEPT);
        struct stress stress = stress_of(t, QUERIES);
        DAT_RETURN ret = DAT_SUCCESS;
        struct waiter *thread;

        asking_for(t, &other, &older);
        asking_for(t, &own, &newer);
        thread = wait_in(t, ask_until_told, &other);
        while (stress.met < MET && stress_round(&stress) && dat_is(ret, DAT_SUCCESS) &&
               !own.wrong && is_waiting(thread)) {
                unsigned int before = atomic_load(&other.answers);

                ret = ask_once(&own);
                stress_met(&stress, atomic_load(&other.answers) != before);
        }
        atomic_store(&other.stop, true);
        expect(ret, DAT_SUCCESS);
        expect(expect_awake(thread).ret, DAT_SUCCESS);
        expect_that(!own.wrong, "this thread was told of another request");
        expect_that(!other.wrong, "the other thread was told of another request");
        must_have_met(&stress);
}

/*
 * A peer's request
 */

CASE(cr_query, address_of_peer)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_EP_PARAM there;
        DAT_CR_PARAM param;

        peer_connect(peer(t), ep);
        memset(&there, 0, sizeof(there));
        must(dat_ep_query(ep, DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR, &there));
        must_that(there.remote_ia_address_ptr, "the EP tells no address of its peer");
        peer_request(peer(t), request.qual);
        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);

        param = queried(t, request.cr, DAT_CR_FIELD_ALL);
        expect_that(same_host(param.remote_ia_address_ptr, there.remote_ia_address_ptr),
                    "the address is not that of the peer's IA");
}

CASE(cr_query, port_of_peer)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        struct peer_ep *end = peer_request(peer(t), request.qual);

        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);

        expect_eq(queried(t, request.cr, DAT_CR_FIELD_REMOTE_PORT_QUAL).remote_port_qual,
                  peer_port(end));
        expect_eq(queried(t, request.cr, DAT_CR_FIELD_ALL).remote_port_qual, peer_port(end));
}

FAMILY(cr_query, private_data_of_peer, amounts)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        DAT_COUNT size = amount_of(t, row);
        unsigned char sent[PEER_PRIVATE_MAX + 1];
        DAT_CR_PARAM param;

        if (size > PEER_PRIVATE_MAX)
                size = PEER_PRIVATE_MAX;
        draw_amount(t, row, sent, size);
        peer_ask(peer(t), request.qual, .private_data = sent, .private_data_size = size);
        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);

        param = queried(t, request.cr, DAT_CR_FIELD_ALL);
        expect_private_data(t, param.private_data, param.private_data_size, sent, size);
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_CR_FIELD_ALL)};

FAMILY(cr_query, invalid_mask, masks)
{
        struct known known = known_request(t);

        expect_masks_refused(t, &query, known.request.cr, row);
        check_fields(t, &known, DAT_CR_FIELD_ALL);
}

/* The EP that came with the request is reported as before, by its bit and among all. */
FAMILY(cr_query, invalid_mask_keeps_ep, request_kinds)
{
        struct known known = known_at(t, request_at(t, row->maker), OF_REQUEST);
        DAT_CR_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_cr_query(known.request.cr, (DAT_CR_PARAM_MASK)(DAT_CR_FIELD_ALL + 1), &param),
               DAT_INVALID_PARAMETER);
        check_fields(t, &known, DAT_CR_FIELD_LOCAL_EP_HANDLE);
        check_fields(t, &known, DAT_CR_FIELD_ALL);
}

CASE(cr_query, no_mask)
{
        struct known known = known_request(t);

        expect_no_mask_answered(t, &query, known.request.cr);
        check_fields(t, &known, DAT_CR_FIELD_ALL);
}

LEGAL(cr_query)
{
        static DAT_CR_PARAM param;

        call->cr_handle = known_request(t).request.cr;
        call->cr_param_mask = DAT_CR_FIELD_ALL;
        call->cr_param = &param;
}
