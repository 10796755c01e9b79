/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_query/fixtures.h"

static DAT_COUNT at_most(DAT_COUNT limit, DAT_COUNT wanted)
{
        return limit < wanted ? limit : wanted;
}

/* One where the IA tells no limit. */
static DAT_COUNT segments(DAT_COUNT limit, DAT_COUNT wanted)
{
        return limit > 0 ? at_most(limit, wanted) : 1;
}

DAT_EP_ATTR attr_number(struct test *t, DAT_COUNT i)
{
        const DAT_IA_ATTR *most = ia_attr_if_told(t);
        DAT_COUNT reads = at_most(most->max_rdma_read_per_ep_out, 2 + i % 2);

        return (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = 4096 * ((DAT_VLEN)i + 1),
            .max_rdma_size = 4096 * ((DAT_VLEN)i + 2),
            .qos = DAT_QOS_BEST_EFFORT,
            .max_recv_dtos = 8 + i,
            .max_request_dtos = 5 + i,
            .max_recv_iov = segments(most->max_iov_segments_per_dto, 1 + i % 4),
            .max_request_iov = segments(most->max_iov_segments_per_dto, 2 + i % 4),
            .max_rdma_read_in = at_most(most->max_rdma_read_per_ep_in, 1 + i % 3),
            .max_rdma_read_out = reads,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_read_iov =
                reads ? segments(most->max_iov_segments_per_rdma_read, 1 + i % 2) : 0,
            .max_rdma_write_iov = segments(most->max_iov_segments_per_rdma_write, 1 + i % 3),
        };
}

struct known known_ep(struct test *t, DAT_COUNT i)
{
        DAT_EP_ATTR attr = attr_number(t, i);
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep = ep_with(t, .pz = zone, .attr = &attr);

        return (struct known){
            .ep = ep,
            .param =
                {
                    .ia_handle = ia(t),
                    .ep_state = DAT_EP_STATE_UNCONNECTED,
                    .local_ia_address_ptr = ia_address(t),
                    .pz_handle = zone,
                    .recv_evd_handle = ep_recv_evd(t, ep),
                    .request_evd_handle = ep_request_evd(t, ep),
                    .connect_evd_handle = ep_connect_evd(t, ep),
                    .srq_handle = DAT_HANDLE_NULL,
                    .ep_attr = attr,
                },
        };
}

static DAT_RETURN query_ep(DAT_HANDLE ep, uint64_t mask, void *param)
{
        return dat_ep_query(ep, (DAT_EP_PARAM_MASK)mask, param);
}

const struct object_query ep_object_query = {"dat_ep_query(ep, mask, param)", query_ep,
                                             sizeof(DAT_EP_PARAM), DAT_EP_FIELD_ALL};

DAT_EP_PARAM queried(struct test *t, DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask)
{
        DAT_EP_PARAM param;

        expect_query(t, &ep_object_query, ep, mask, &param);
        return param;
}

void expect_ports(struct test *t, const DAT_EP_PARAM *param)
{
        expect_that(param->local_port_qual != 0, "an EP that is connected has no local port");
        expect_that(param->remote_port_qual != 0, "an EP that is connected has no remote port");
}

void join(struct test *t, struct known *active, struct known *passive)
{
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = active->ep,
            .passive = passive->ep,
        };
        struct known *ends[] = {active, passive};

        loop_join(t, &loop);
        for (int i = 0; i < 2; i++) {
                DAT_EP_PARAM other = queried(t, ends[!i]->ep, DAT_EP_FIELD_ALL);

                ends[i]->param.ep_state = DAT_EP_STATE_CONNECTED;
                ends[i]->param.remote_ia_address_ptr = ia_address(t);
                ends[i]->param.local_port_qual = other.remote_port_qual;
                ends[i]->param.remote_port_qual = other.local_port_qual;
        }
}

static const void *address_in(const DAT_EP_PARAM *param, const struct field *field)
{
        return field->bit == DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR ? param->local_ia_address_ptr
                                                               : param->remote_ia_address_ptr;
}

bool is_right(const struct field *field, const DAT_EP_PARAM *known, const DAT_EP_PARAM *param)
{
        uint64_t seen = ep_value(param, &field->place);
        uint64_t wanted = ep_value(known, &field->place);

        switch (field->kind) {
        case ADDRESS:
                return same_host(address_in(param, field), address_in(known, field));
        case AT_LEAST:
                return seen >= wanted && seen <= INT32_MAX;
        case STATE:
                return plain_ep_state(param->ep_state) == known->ep_state;
        default:
                return seen == wanted;
        }
}

void check_field(struct test *t, const struct field *field, const DAT_EP_PARAM *known,
                 const DAT_EP_PARAM *param)
{
        unsigned long long seen = ep_value(param, &field->place);
        unsigned long long wanted = ep_value(known, &field->place);

        expect_that(is_right(field, known, param), "%s is reported as %#llx, and is %#llx",
                    field->id, seen, wanted);
        if (field->kind == AT_LEAST && seen > wanted)
                note(t, "%s: %llu asked for, %llu queried (EP-27)", field->id, wanted, seen);
}

void check_param(struct test *t, const DAT_EP_PARAM *known, const DAT_EP_PARAM *param,
                 DAT_EP_PARAM_MASK mask)
{
        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & fields[i].bit)
                        check_field(t, &fields[i], known, param);
}

void check_fields(struct test *t, const struct known *known, DAT_EP_PARAM_MASK mask)
{
        DAT_EP_PARAM param = queried(t, known->ep, mask);

        check_param(t, &known->param, &param, mask);
}

void check_without_connection(struct test *t, const struct known *known)
{
        DAT_EP_PARAM param = queried(t, known->ep, DAT_EP_FIELD_ALL);

        check_param(t, &known->param, &param, DAT_EP_FIELD_ALL & ~OF_CONNECTION);
}
