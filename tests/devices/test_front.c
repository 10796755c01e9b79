/* SPDX-License-Identifier: BSD-2-Clause */
/* Is the device in front the one that its profile describes? Else nothing that stands on it says
 * anything. */
#include "front.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct device {
        struct ibv_context *verbs;
        struct ibv_device_attr attr;
        struct ibv_pd *pd;
        struct ibv_cq *cq;
};

static int open_device(void **state)
{
        static struct device device;
        struct ibv_device **all = ibv_get_device_list(NULL);

        assert_non_null(all);
        assert_non_null(all[0]);
        device.verbs = ibv_open_device(all[0]);
        ibv_free_device_list(all);
        assert_non_null(device.verbs);
        assert_int_equal(ibv_query_device(device.verbs, &device.attr), 0);
        device.pd = ibv_alloc_pd(device.verbs);
        assert_non_null(device.pd);
        device.cq = ibv_create_cq(device.verbs, 4, NULL, NULL, 0);
        assert_non_null(device.cq);
        *state = &device;
        return 0;
}

static int close_device(void **state)
{
        struct device *device = *state;

        assert_int_equal(ibv_destroy_cq(device->cq), 0);
        assert_int_equal(ibv_dealloc_pd(device->pd), 0);
        assert_int_equal(ibv_close_device(device->verbs), 0);
        return 0;
}

static struct ibv_qp *make_qp(struct device *device, struct ibv_srq *srq, uint32_t wr, uint32_t sge)
{
        struct ibv_qp_init_attr init = {
            .send_cq = device->cq,
            .recv_cq = device->cq,
            .srq = srq,
            .cap = {.max_send_wr = wr, .max_recv_wr = 1, .max_send_sge = sge, .max_recv_sge = 1},
            .qp_type = IBV_QPT_RC,
        };

        return ibv_create_qp(device->pd, &init);
}

static void completion_queues(void **state)
{
        struct device *device = *state;

        assert_int_equal(ibv_resize_cq(device->cq, 8), device_profile.cq_resize);
        if (device->attr.max_cqe < INT32_MAX)
                assert_null(ibv_create_cq(device->verbs, device->attr.max_cqe + 1, NULL, NULL, 0));
}

static void srqs(void **state)
{
        struct device *device = *state;
        struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
        struct ibv_srq_attr attr = {.max_wr = 8, .srq_limit = 2};
        struct ibv_srq *srq = ibv_create_srq(device->pd, &init);

        if (device->attr.max_srq < 1) {
                assert_null(srq);
                return;
        }
        assert_non_null(srq);
        assert_int_equal(!!(device->attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE),
                         !device_profile.srq_resize);
        assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), device_profile.srq_resize);
        assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
        assert_int_equal(ibv_query_srq(srq, &attr), 0);
        assert_int_equal(attr.srq_limit, 2);
        assert_int_equal(ibv_destroy_srq(srq), 0);
        if (device->attr.max_srq_wr == INT32_MAX)
                return;
        init.attr.max_wr = (uint32_t)device->attr.max_srq_wr + 1;
        assert_null(ibv_create_srq(device->pd, &init));
}

/* Each limit can be had; whether they can be had together is the profile's to say. */
static void queue_pairs(void **state)
{
        struct device *device = *state;
        struct ibv_qp *qp = make_qp(device, NULL, 1, 1);

        assert_non_null(qp);
        assert_int_equal(ibv_destroy_qp(qp), 0);
        if (!device_profile.block)
                return;
        assert_null(make_qp(device, NULL, (uint32_t)device->attr.max_qp_wr,
                            (uint32_t)device->attr.max_sge));
        qp = make_qp(device, NULL, 8, (uint32_t)device->attr.max_sge);
        assert_non_null(qp);
        assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* A request that is flushed completes, and goes with its queue pair; another's stays. */
static void entries(void **state)
{
        struct device *device = *state;
        struct ibv_qp *qps[2];
        struct ibv_wc wc[4];
        int seen = 0;

        for (int i = 0; i < 2; i++) {
                struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
                struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
                struct ibv_send_wr send = {.wr_id = (uint64_t)i, .opcode = IBV_WR_SEND};
                struct ibv_send_wr *bad;

                qps[i] = make_qp(device, NULL, 1, 1);
                assert_non_null(qps[i]);
                assert_int_equal(ibv_modify_qp(qps[i], &init,
                                               IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
                                                   IBV_QP_ACCESS_FLAGS),
                                 0);
                assert_int_equal(ibv_modify_qp(qps[i], &error, IBV_QP_STATE), 0);
                send.send_flags = IBV_SEND_SIGNALED;
                assert_int_equal(ibv_post_send(qps[i], &send, &bad), 0);
        }
        assert_int_equal(ibv_destroy_qp(qps[0]), 0);
        for (int n; (n = ibv_poll_cq(device->cq, 4, wc)) > 0;) {
                for (int i = 0; i < n; i++)
                        seen |= 1 << wc[i].wr_id;
        }
        assert_int_equal(seen, device_profile.destroy_cleans ? 2 : 3);
        assert_int_equal(ibv_destroy_qp(qps[1]), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(completion_queues),
            cmocka_unit_test(srqs),
            cmocka_unit_test(queue_pairs),
            cmocka_unit_test(entries),
        };

        return cmocka_run_group_tests(tests, open_device, close_device);
}
