/* SPDX-License-Identifier: BSD-2-Clause */
/* Is the device in front the one that its profile describes? Else nothing that stands on it says
 * anything. */
#include "front.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rdma/rdma_cma.h>
#include <sys/epoll.h>
#include <unistd.h>

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

        assert_int_equal(ibv_resize_cq(device->cq, 800), device_profile.cq_resize);
        assert_int_equal(device->cq->cqe >= 800,
                         !device_profile.cq_resize && !device_profile.resizes_in_name);
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
        if (device_profile.srq_wr) {
                init.attr.max_wr = device_profile.srq_wr + 1;
                assert_in_range(init.attr.max_wr, 1, device->attr.max_srq_wr);
                assert_null(ibv_create_srq(device->pd, &init));
        }
        if (device->attr.max_srq_wr == INT32_MAX)
                return;
        init.attr.max_wr = (uint32_t)device->attr.max_srq_wr + 1;
        assert_null(ibv_create_srq(device->pd, &init));
}

/* No test calls ibv_fork_init(), though processes with registered memory fork. */
static void forks(void **state)
{
        (void)state;
        assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
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

static void step(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
        assert_int_equal(ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE), 0);
}

/* Joins the queue pair to another of this device. */
static void join(struct device *device, struct ibv_qp *qp, const struct ibv_qp *peer)
{
        struct ibv_qp_attr to_peer = {
            .qp_state = IBV_QPS_RTR,
            .path_mtu = IBV_MTU_1024,
            .dest_qp_num = peer->qp_num,
            .rq_psn = 7,
            .min_rnr_timer = 12,
            .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}},
        };
        struct ibv_qp_attr ready = {
            .qp_state = IBV_QPS_RTS, .sq_psn = 7, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};

        assert_int_equal(ibv_query_gid(device->verbs, 1, 0, &to_peer.ah_attr.grh.dgid), 0);
        step(qp, (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1},
             IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
        step(qp, to_peer,
             IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
        step(qp, ready,
             IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                 IBV_QP_MAX_QP_RD_ATOMIC);
}

static void await_entry(struct ibv_cq *cq, uint64_t id)
{
        struct ibv_wc wc;
        int n = 0;

        for (int i = 0; i < 10000 && !n; i++) {
                (void)poll(NULL, 0, 1);
                n = ibv_poll_cq(cq, 1, &wc);
        }
        assert_int_equal(n, 1);
        assert_int_equal(wc.wr_id, id);
        assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static void await_last_wqe(struct device *device, const struct ibv_qp *qp)
{
        int set = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event ready = {.events = EPOLLIN};
        struct ibv_async_event event;

        assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, device->verbs->async_fd, &ready), 0);
        assert_int_equal(epoll_wait(set, &ready, 1, 10000), 1);
        (void)close(set);
        assert_int_equal(ibv_get_async_event(device->verbs, &event), 0);
        assert_int_equal(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
        assert_ptr_equal(event.element.qp, qp);
        ibv_ack_async_event(&event);
}

/* What the receiver says of a message of one packet that has come, and when it gives it out. */
static void a_message(void **state)
{
        struct device *device = *state;
        struct ibv_srq_init_attr attr = {.attr = {.max_wr = 4, .max_sge = 1}};
        struct ibv_send_wr send = {
            .wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
        struct ibv_recv_wr receive = {.wr_id = 2};
        struct ibv_send_wr *bad_send;
        struct ibv_recv_wr *bad_receive;
        struct ibv_qp_init_attr init;
        struct ibv_qp_attr now;
        struct ibv_srq *srq;
        struct ibv_cq *cq;
        struct ibv_qp *from;
        struct ibv_qp *to;
        struct ibv_wc wc;
        uint32_t number = device_profile.fixed_psn ? 7 : 8;

        if (device->attr.max_srq < 1)
                return;
        srq = ibv_create_srq(device->pd, &attr);
        cq = ibv_create_cq(device->verbs, 4, NULL, NULL, 0);
        assert_non_null(srq);
        assert_non_null(cq);
        from = make_qp(device, NULL, 1, 1);
        init = (struct ibv_qp_init_attr){
            .send_cq = cq,
            .recv_cq = cq,
            .srq = srq,
            .cap = {.max_send_wr = 1, .max_send_sge = 1},
            .qp_type = IBV_QPT_RC,
        };
        to = ibv_create_qp(device->pd, &init);
        assert_non_null(from);
        assert_non_null(to);
        join(device, from, to);
        join(device, to, from);
        assert_int_equal(ibv_post_srq_recv(srq, &receive, &bad_receive), 0);
        assert_int_equal(ibv_post_send(from, &send, &bad_send), 0);
        await_entry(device->cq, 1);
        assert_int_equal(ibv_query_qp(to, &now, IBV_QP_RQ_PSN, &init), 0);
        assert_int_equal(now.rq_psn, device_profile.no_psn ? 0 : number);
        assert_int_equal(ibv_query_qp(from, &now, IBV_QP_RETRY_CNT, &init), 0);
        assert_int_equal(now.retry_cnt, device_profile.finite_retries ? 6 : 7);
        assert_int_equal(ibv_query_qp(to, &now, IBV_QP_MIN_RNR_TIMER, &init), 0);
        assert_int_equal(now.min_rnr_timer == 0, device_profile.slow_rnr);
        step(to, (struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, 0);
        if (device_profile.last_wqe) {
                assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
                await_last_wqe(device, to);
        }
        await_entry(cq, 2);
        assert_int_equal(ibv_destroy_qp(to), 0);
        assert_int_equal(ibv_destroy_qp(from), 0);
        assert_int_equal(ibv_destroy_cq(cq), 0);
        assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* Who waits for librdmacm's events is woken at the ticks, and finds what came since the last. */
static void events_at_ticks(void **state)
{
        struct epoll_event ready = {.events = EPOLLIN};
        struct rdma_event_channel *channel;
        struct rdma_cm_event *event;
        int set;

        (void)state;
        if (!device_profile.slow_cm)
                return;
        channel = rdma_create_event_channel();
        set = epoll_create1(EPOLL_CLOEXEC);
        assert_non_null(channel);
        assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
        assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, channel->fd, &ready), 0);
        for (int i = 0; i < 2; i++) {
                assert_int_equal(epoll_wait(set, &ready, 1, 0), 0);
                assert_int_equal(rdma_get_cm_event(channel, &event), -1);
                assert_int_equal(errno, EAGAIN);
                assert_int_equal(epoll_wait(set, &ready, 1, 5000), 1);
                assert_int_equal(rdma_get_cm_event(channel, &event), -1);
        }
        (void)close(set);
        rdma_destroy_event_channel(channel);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(completion_queues),
            cmocka_unit_test(srqs),
            cmocka_unit_test(forks),
            cmocka_unit_test(queue_pairs),
            cmocka_unit_test(entries),
            cmocka_unit_test(a_message),
            cmocka_unit_test(events_at_ticks),
        };

        return cmocka_run_group_tests(tests, open_device, close_device);
}
