/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/shared/creation.h"
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/bits.h"

DAT_RETURN ep_creation_call_with(const struct ep_creation *with, DAT_EP_ATTR *attr,
                                 DAT_EP_HANDLE *ep)
{
        if (with->srq == DAT_HANDLE_NULL)
                return dat_ep_create(with->ia, with->pz, with->recv_evd, with->request_evd,
                                     with->connect_evd, attr, ep);
        return dat_ep_create_with_srq(with->ia, with->pz, with->recv_evd, with->request_evd,
                                      with->connect_evd, with->srq, attr, ep);
}

DAT_RETURN ep_creation_call(const struct ep_creation *with, DAT_EP_HANDLE *ep)
{
        DAT_EP_ATTR attr = with->param.ep_attr;

        return ep_creation_call_with(with, &attr, ep);
}

DAT_EP_HANDLE ep_creation_adopt(struct test *t, const struct ep_creation *with, DAT_EP_HANDLE ep)
{
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        ep_reports_to(t, ep, DAT_EP_FIELD_RECV_EVD_HANDLE, with->recv_evd);
        ep_reports_to(t, ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, with->request_evd);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, with->connect_evd);
        return ep;
}

DAT_EP_HANDLE ep_of_other_ia(struct test *t)
{
        DAT_IA_HANDLE other = other_ia(t);
        struct ep_creation with = {
            .ia = other,
            .pz = pz_of(t, other),
            .recv_evd = evd_with(t, .ia = other),
            .request_evd = evd_with(t, .ia = other),
            .connect_evd = evd_with(t, .ia = other, .flags = DAT_EVD_CONNECTION_FLAG),
            .param.ep_attr = ep_attr_modest(ia_attr_if_told(t)),
        };
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        must(ep_creation_call(&with, &ep));
        return ep_creation_adopt(t, &with, ep);
}

DAT_EP_HANDLE ep_created(struct test *t, const struct ep_creation *with)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(ep_creation_call(with, &ep), DAT_SUCCESS);
        return ep_creation_adopt(t, with, ep);
}

DAT_EP_HANDLE ep_created_without_evd(struct test *t, const struct ep_creation *with)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        if (!dat_is(expect_or_note(ep_creation_call(with, &ep), DAT_SUCCESS, DAT_INVALID_PARAMETER),
                    DAT_SUCCESS))
                end_noted(t, "without an EVD the parameters are an invalid combination (EP-91)");
        return ep_creation_adopt(t, with, ep);
}

DAT_EP_HANDLE ep_lacking_evd(struct test *t, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
                             DAT_EVD_HANDLE connect, DAT_EP_ATTR *attr)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_ep_create(ia(t), pz(t), recv, request, connect, attr, &ep);

        if (dat_is(ret, DAT_INVALID_PARAMETER))
                end_noted(t, "no EP is made that lacks an EVD (EP-91)");
        must(ret);
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        return ep;
}

DAT_EP_PARAM ep_described(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        expect(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        return param;
}

void must_tell_idle(struct test *t)
{
        DAT_EP_STATE state;
        DAT_BOOLEAN recv_idle = DAT_FALSE;
        DAT_BOOLEAN request_idle = DAT_FALSE;

        must(dat_ep_get_status(ep_with(t), &state, &recv_idle, &request_idle));
        must_that_of("dat_ep_get_status", recv_idle == DAT_TRUE && request_idle == DAT_TRUE,
                     "an EP without DTOs is reported as not idle");
}

void expect_new_state(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_STATE state;
        DAT_BOOLEAN recv_idle = DAT_FALSE;
        DAT_BOOLEAN request_idle = DAT_FALSE;

        expect(dat_ep_get_status(ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
        expect_eq(plain_ep_state(state), DAT_EP_STATE_UNCONNECTED);
        expect_eq(request_idle, DAT_TRUE);
        expect_eq(recv_idle, DAT_TRUE);
}

uint64_t ep_number_of(struct test *t, DAT_EP_HANDLE ep, const struct ep_number *number)
{
        DAT_EP_PARAM param = ep_described(t, ep);

        return ep_value(&param, &number->parameter);
}

uint64_t ep_number_asked(struct test *t, const struct ep_number *number)
{
        uint64_t limit = ep_limit_of(t, number);

        return number->asked < limit ? number->asked : limit;
}

void ep_creation_set_flags(struct ep_creation *with, bool request, DAT_COMPLETION_FLAGS value)
{
        if (request)
                with->param.ep_attr.request_completion_flags = value;
        else
                with->param.ep_attr.recv_completion_flags = value;
}

void expect_refused_or_noted(struct test *t, const struct ep_creation *with)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect_refused_or_note(ep_creation_call(with, &ep), DAT_INVALID_PARAMETER);

        if (dat_is(ret, DAT_SUCCESS))
                ep_creation_adopt(t, with, ep);
}

void expect_exact_flags(struct test *t, struct ep_creation *with, const struct ep_flags *row)
{
        DAT_EP_ATTR attr;

        ep_creation_set_flags(with, row->request, row->flags);

        attr = ep_described(t, ep_created(t, with)).ep_attr;
        expect_eq(row->request ? attr.request_completion_flags : attr.recv_completion_flags,
                  row->flags);
}

void expect_exact_flag_pair(struct test *t, struct ep_creation *with,
                            const struct ep_flag_pair *row)
{
        DAT_EP_ATTR attr;

        ep_creation_set_flags(with, false, row->recv);
        ep_creation_set_flags(with, true, row->request);

        attr = ep_described(t, ep_created(t, with)).ep_attr;
        expect_eq(attr.recv_completion_flags, row->recv);
        expect_eq(attr.request_completion_flags, row->request);
}

void expect_exact_service(struct test *t, const struct ep_creation *with)
{
        DAT_EP_ATTR attr = ep_described(t, ep_created(t, with)).ep_attr;

        expect_eq(attr.service_type, DAT_SERVICE_TYPE_RC);
        expect_eq(attr.qos, DAT_QOS_BEST_EFFORT);
}

void expect_quality(struct test *t, struct ep_creation *with, DAT_QOS qos)
{
        bool declared = (provider_attr(t)->dat_qos_supported & qos) == qos;
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        with->param.ep_attr.qos = qos;
        if (declared)
                ret = expect(ep_creation_call(with, &ep), DAT_SUCCESS);
        else
                ret = expect(ep_creation_call(with, &ep), DAT_INVALID_PARAMETER,
                             DAT_MODEL_NOT_SUPPORTED, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        expect_eq(ep_described(t, ep_creation_adopt(t, with, ep)).ep_attr.qos, qos);
        if (!declared)
                note(t, "granted, and not declared in dat_qos_supported (EP-90)");
}

uint64_t expect_at_ia_limit(struct test *t, const struct ep_creation *with,
                            const struct ep_number *row)
{
        uint64_t limit = ep_limit_of(t, row);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret =
            expect(ep_creation_call(with, &ep), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
        uint64_t has;

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for %s at the IA's limit", row->id);
        has = ep_number_of(t, ep_creation_adopt(t, with, ep), row);
        expect_that(has >= limit, "%llu asked for, %llu queried", (unsigned long long)limit,
                    (unsigned long long)has);
        return has;
}

static void expect_granted_beyond(struct test *t, const struct ep_creation *with, DAT_EP_HANDLE ep,
                                  const struct ep_number *row, uint64_t value)
{
        uint64_t has = ep_number_of(t, ep_creation_adopt(t, with, ep), row);

        expect_that(has >= value, "%llu asked for and granted, %llu queried",
                    (unsigned long long)value, (unsigned long long)has);
        note(t, "%llu granted, above the IA's own limit (EP-29)", (unsigned long long)value);
}

void expect_beyond(struct test *t, const struct ep_creation *with, const struct ep_number *row,
                   uint64_t value)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect_may(ep_creation_call(with, &ep), DAT_INVALID_PARAMETER,
                                    DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                expect_granted_beyond(t, with, ep, row, value);
}

uint64_t ep_number_above(struct test *t, const struct ep_number *row)
{
        uint64_t limit = ep_limit_of(t, row);

        if (limit == ep_greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        return limit + 1;
}

uint64_t ep_number_far_above(struct test *t, const struct ep_number *row)
{
        ep_number_above(t, row);
        return ep_greatest(row);
}

uint64_t ep_number_wrapping(struct test *t, const struct ep_number *row)
{
        uint64_t value = ep_value_wrapping(&row->parameter, ep_number_asked(t, row));

        return value > ep_limit_of(t, row) ? value : ep_number_far_above(t, row);
}

void expect_negative(struct test *t, struct ep_creation *with, const struct ep_number *row)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        ep_value_set(&with->param, &row->parameter, (uint64_t)-1);

        expect(ep_creation_call(with, &ep), DAT_INVALID_PARAMETER);
}

/* The structure is the consumer's: neither a grant nor a refusal writes to it. */
void expect_attributes_kept(struct test *t, struct ep_creation *with)
{
        DAT_EP_HANDLE refused = DAT_HANDLE_NULL;
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_EP_ATTR attr = with->param.ep_attr;

        expect(ep_creation_call_with(with, &attr, &ep), DAT_SUCCESS);
        ep_creation_adopt(t, with, ep);
        expect_that(ep_attr_same(&attr, &with->param.ep_attr),
                    "the attributes that were asked for are written");
        attr.max_recv_dtos = with->param.ep_attr.max_recv_dtos = -1;
        expect(ep_creation_call_with(with, &attr, &refused), DAT_INVALID_PARAMETER);
        expect_that(ep_attr_same(&attr, &with->param.ep_attr),
                    "the attributes that were refused are written");
}

void expect_attributes_given_back(struct test *t, const struct ep_creation *with)
{
        const DAT_EP_ATTR *asked = &with->param.ep_attr;
        DAT_EP_ATTR attr = *asked;
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_EP_ATTR has;

        expect(ep_creation_call_with(with, &attr, &ep), DAT_SUCCESS);
        ep_creation_adopt(t, with, ep);
        memset(&attr, 0, sizeof(attr));

        has = ep_described(t, ep).ep_attr;
        expect_eq(has.max_message_size, asked->max_message_size);
        expect_eq(has.max_rdma_size, asked->max_rdma_size);
        expect_that(has.max_request_dtos >= asked->max_request_dtos,
                    "%d requests asked for, %d queried", asked->max_request_dtos,
                    has.max_request_dtos);
}

static DAT_HANDLE handle_at(const void *structure, size_t offset)
{
        DAT_HANDLE handle;

        memcpy(&handle, (const char *)structure + offset, sizeof(handle));
        return handle;
}

void expect_shown(struct test *t, const struct ep_creation with[2], const struct ep_shown *row)
{
        DAT_EP_HANDLE eps[2] = {ep_created(t, &with[0]), ep_created(t, &with[1])};

        for (int i = 0; i < 2; i++) {
                DAT_EP_PARAM param = ep_described(t, eps[i]);

                expect_that(handle_at(&param, row->member) == handle_at(&with[i], row->argument),
                            "%s of EP %d is not the one that was given", row->id, i);
        }
}

void expect_protected(struct test *t, DAT_RETURN ret, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        expect(ret, DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
}

void expect_wrong_attribute(struct test *t, struct ep_creation *with, const struct ep_wrong *row)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        ep_value_set(&with->param, &row->parameter, row->value);

        expect_or_note(ep_creation_call(with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
}

void expect_undefined_flags_refused(struct test *t, const struct ep_creation *with)
{
        bool unsupported = false;

        EACH_UNDEFINED_BIT (bit, COMPLETION_FLAG_BITS) {
                for (int request = 0; request <= 1; request++) {
                        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
                        struct ep_creation bad = *with;

                        ep_creation_set_flags(&bad, request, (DAT_COMPLETION_FLAGS)bit);
                        unsupported |=
                            dat_is(expect_bit(bit, ep_creation_call(&bad, &ep),
                                              DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED),
                                   DAT_MODEL_NOT_SUPPORTED);
                }
        }
        if (unsupported)
                note(t, "an undefined flag was refused with DAT_MODEL_NOT_SUPPORTED");
}

void expect_flags_of_postings(struct test *t, struct ep_creation *with, DAT_COMPLETION_FLAGS flags)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_EP_PARAM param;
        DAT_RETURN ret;

        ep_creation_set_flags(with, true, flags);
        ret = expect_refused_or_note(ep_creation_call(with, &ep), DAT_INVALID_PARAMETER);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        param = ep_described(t, ep_creation_adopt(t, with, ep));
        expect_eq(param.ep_attr.request_completion_flags, flags);
}

void expect_named_attributes(struct test *t, struct ep_creation *with, const struct ep_named *row)
{
        static DAT_NAMED_ATTR invented = {
            .name = "udapl-cts: no attribute",
            .value = "of any provider",
        };
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        with->param.ep_attr.ep_transport_specific_count = row->transport;
        with->param.ep_attr.ep_transport_specific = &invented;
        with->param.ep_attr.ep_provider_specific_count = row->provider;
        with->param.ep_attr.ep_provider_specific = &invented;

        expect_or_note(ep_creation_call(with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
}

static void expect_silent_first(struct test *t, struct waiter *waiter, DAT_EVD_HANDLE evd,
                                DAT_EP_HANDLE ep)
{
        expect_woken(waiter, .ep = ep, .cookie = 0, .length = MESSAGE);
        expect_completion(evd, ep, 1, MESSAGE, 0);
}

/* A thread that waits for as many events as the flags let it ask for. */
static struct waiter *wait_by_flags(struct test *t, DAT_EVD_HANDLE evd, DAT_COMPLETION_FLAGS flags)
{
        return wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE,
                           flags == DAT_COMPLETION_EVD_THRESHOLD_FLAG ? 2 : 1);
}

static void expect_silent_request(struct test *t, const struct loop *loop,
                                  DAT_COMPLETION_FLAGS flags)
{
        DAT_EVD_HANDLE evd = ep_request_evd(t, loop->active);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct waiter *waiter;

        for (uint64_t i = 0; i < 2; i++)
                must(recv_vector(loop->passive, &to, i, DAT_COMPLETION_DEFAULT_FLAG));
        waiter = wait_by_flags(t, evd, flags);
        must_wait(waiter);
        expect(send_vector(loop->active, &from, 0, flags & DAT_COMPLETION_UNSIGNALLED_FLAG),
               DAT_SUCCESS);
        must_complete(ep_recv_evd(t, loop->passive), loop->passive, 0, MESSAGE, 0);
        expect_asleep(waiter);
        expect(send_vector(loop->active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_silent_first(t, waiter, evd, loop->active);
}

static void expect_silent_receive(struct test *t, const struct loop *loop,
                                  DAT_COMPLETION_FLAGS flags)
{
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop->passive);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct waiter *waiter;

        expect(recv_vector(loop->passive, &to, 0, flags & DAT_COMPLETION_UNSIGNALLED_FLAG),
               DAT_SUCCESS);
        expect(recv_vector(loop->passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        waiter = wait_by_flags(t, evd, flags);
        must_wait(waiter);
        must(send_vector(loop->active, &from, 0, DAT_COMPLETION_DEFAULT_FLAG));
        must_complete(ep_request_evd(t, loop->active), loop->active, 0, MESSAGE, 0);
        expect_asleep(waiter);
        must(send_vector(loop->active, &from, 1, flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG));
        expect_silent_first(t, waiter, evd, loop->passive);
}

void expect_silent(struct test *t, struct ep_creation *with, const struct ep_silent *row)
{
        DAT_EP_HANDLE ep;
        struct loop loop;

        ep_creation_set_flags(with, row->request, row->flags);
        ep = ep_created(t, with);
        if (row->request) {
                loop = expect_joined(t, ep, ep_with(t));
                expect_silent_request(t, &loop, row->flags);
        } else {
                loop = expect_joined(t, ep_with(t), ep);
                expect_silent_receive(t, &loop, row->flags);
        }
}

static void expect_write(struct test *t, const struct ep_creation *with, DAT_COUNT segments,
                         size_t length)
{
        struct vector to = vector_with(t, .length = length);
        struct vector from = vector_with(t, .length = length, .segments = segments);
        DAT_RMR_TRIPLET remote = vector_remote(&to);
        DAT_EP_HANDLE ep = ep_created(t, with);

        expect_joined(t, ep, ep_with(t));
        vector_fill(t, &from, 1);
        expect(dat_ep_post_rdma_write(ep, segments, from.iov, COOKIE(1), &remote,
                                      DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_completion(with->request_evd, ep, 1, length, 0);
        vector_await(t, &to, 1, length);
        expect_holds(&to, 1, length);
}

void expect_greatest_write(struct test *t, const struct ep_creation *with)
{
        expect_write(t, with, 1, (size_t)with->param.ep_attr.max_rdma_size);
}

void expect_greatest_read(struct test *t, struct ep_creation *with)
{
        size_t length = (size_t)with->param.ep_attr.max_rdma_size;
        DAT_EP_ATTR served =
            transfer_attr(t, (struct transfer_opts){.segments = 1, .most = length, .reads = 1});
        struct vector from = vector_with(t, .length = length);
        struct vector to = vector_with(t, .length = length);
        DAT_RMR_TRIPLET remote = vector_remote(&from);
        DAT_EP_HANDLE ep;

        if (ia_attr(t)->max_rdma_read_per_ep_out < 1)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        with->param.ep_attr.max_rdma_read_out = 1;
        with->param.ep_attr.max_rdma_read_iov = 1;
        ep = ep_created(t, with);
        expect_joined(t, ep, ep_with(t, .attr = &served));
        vector_fill(t, &from, 1);
        expect(
            dat_ep_post_rdma_read(ep, 1, to.iov, COOKIE(1), &remote, DAT_COMPLETION_DEFAULT_FLAG),
            DAT_SUCCESS);
        expect_completion(with->request_evd, ep, 1, length, 0);
        expect_holds(&to, 1, length);
}

void expect_write_of_all_segments(struct test *t, const struct ep_creation *with)
{
        expect_write(t, with, with->param.ep_attr.max_rdma_write_iov, 100);
}

void expect_read_by_other_end(struct test *t, struct ep_creation *with)
{
        DAT_EP_ATTR reading =
            transfer_attr(t, (struct transfer_opts){.segments = 1, .most = 100, .reads = 2});
        struct vector from = vector_with(t, .length = 100);
        struct vector to[2] = {vector_with(t, .length = 100), vector_with(t, .length = 100)};
        DAT_RMR_TRIPLET remote = vector_remote(&from);
        DAT_EP_HANDLE ep;
        DAT_EP_HANDLE other;

        if (ia_attr(t)->max_rdma_read_per_ep_in < 2)
                unsupported(t, "max_rdma_read_per_ep_in: below 2");
        with->param.ep_attr.max_rdma_read_in = 2;
        ep = ep_created(t, with);
        other = ep_with(t, .attr = &reading);
        expect_joined(t, other, ep);
        vector_fill(t, &from, 1);
        for (uint64_t i = 0; i < 2; i++)
                expect(dat_ep_post_rdma_read(other, 1, to[i].iov, COOKIE(i), &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        for (uint64_t i = 0; i < 2; i++) {
                expect_completion(ep_request_evd(t, other), other, i, 100, 0);
                expect_holds(&to[i], 1, 100);
        }
}

void expect_null_evd(struct test *t, struct ep_creation *with, const struct ep_no_evd *row)
{
        DAT_EP_PARAM param;

        if (row->recv)
                with->recv_evd = DAT_HANDLE_NULL;
        if (row->request)
                with->request_evd = DAT_HANDLE_NULL;
        if (row->connect)
                with->connect_evd = DAT_HANDLE_NULL;

        param = ep_described(t, ep_created_without_evd(t, with));
        expect_that(param.recv_evd_handle == with->recv_evd, "another EVD for receives");
        expect_that(param.request_evd_handle == with->request_evd, "another EVD for requests");
        expect_that(param.connect_evd_handle == with->connect_evd, "another EVD for connections");
}

void expect_connect_evd_set(struct test *t, DAT_EP_HANDLE ep, DAT_EVD_HANDLE connect_evd)
{
        DAT_EP_PARAM later = {.connect_evd_handle = connect_evd};

        expect(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &later), DAT_SUCCESS);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, connect_evd);
}

void expect_same_flags_on_one_evd(struct test *t, struct ep_creation *with,
                                  const struct ep_shared_flags *row)
{
        ep_creation_set_flags(with, row->request, row->first);
        ep_created(t, with);
        ep_created(t, with);
}

void expect_mixed_flags_on_one_evd(struct test *t, struct ep_creation *with,
                                   const struct ep_shared_flags *row)
{
        ep_creation_set_flags(with, row->request, row->first);
        ep_created(t, with);
        ep_creation_set_flags(with, row->request, row->second);

        expect_refused_or_noted(t, with);
}

void expect_threshold_beside_other_streams(struct test *t, struct ep_creation *with)
{
        with->recv_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
        with->connect_evd = with->recv_evd;
        ep_creation_set_flags(with, false, DAT_COMPLETION_EVD_THRESHOLD_FLAG);

        ep_created(t, with);
}

void expect_evd_of_another_stream(struct test *t, struct ep_creation *with,
                                  const struct ep_other_stream *row)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flags);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        memcpy((char *)with + row->argument, &evd, sizeof(evd));

        expect(ep_creation_call(with, &ep), DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
}

void ask_negative(struct test *t, struct ep_creation *with)
{
        (void)t;
        with->param.ep_attr.max_request_dtos = -1;
}

void ask_unknown_flag(struct test *t, struct ep_creation *with)
{
        (void)t;
        with->param.ep_attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)(1U << 20);
}

void ask_mixed_flags(struct test *t, struct ep_creation *with)
{
        (void)t;
        with->request_evd = with->recv_evd;
        with->param.ep_attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
}

void ask_other_stream(struct test *t, struct ep_creation *with)
{
        (void)t;
        with->recv_evd = with->connect_evd;
}

void ask_bad_evd(struct test *t, struct ep_creation *with)
{
        (void)t;
        with->connect_evd = with->pz;
}

void ask_greatest_room(struct test *t, struct ep_creation *with)
{
        (void)t;
        with->param.ep_attr.max_request_dtos = INT_MAX;
}

DAT_RETURN ep_thread_create(void *ep_thread_creation)
{
        struct ep_thread_creation *creation = ep_thread_creation;

        return ep_creation_call(&creation->with, &creation->ep);
}
