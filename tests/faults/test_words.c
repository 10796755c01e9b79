/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The faulty provider over loop_provider.c: unbroken it is not to be told from what it wraps, and
 * each word of the rows breaks what it says. words.toml has the faults.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dat/udat.h>

#define TYPE(ret) DAT_GET_TYPE(ret)

/* One of each object, over one IA. */
struct bench {
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE async_evd, recv_evd, request_evd, connect_evd;
        DAT_PZ_HANDLE pz;
        DAT_SRQ_HANDLE srq;
        DAT_EP_HANDLE ep;
        char memory[256];
};

static void open_bench(struct bench *b, const char *fault)
{
        char name[64];

        memset(b, 0, sizeof(*b));
        snprintf(name, sizeof(name), "%s", fault);
        assert_int_equal(dat_ia_open(name, 8, &b->async_evd, &b->ia), DAT_SUCCESS);
        assert_int_equal(dat_pz_create(b->ia, &b->pz), DAT_SUCCESS);
        assert_int_equal(dat_evd_create(b->ia, 8, NULL, DAT_EVD_DTO_FLAG, &b->recv_evd), 0);
        assert_int_equal(dat_evd_create(b->ia, 8, NULL, DAT_EVD_DTO_FLAG, &b->request_evd), 0);
        assert_int_equal(dat_evd_create(b->ia, 8, NULL, DAT_EVD_CONNECTION_FLAG, &b->connect_evd),
                         0);
        assert_int_equal(dat_srq_create(b->ia, b->pz, &(DAT_SRQ_ATTR){.max_recv_dtos = 8}, &b->srq),
                         0);
        assert_int_equal(dat_ep_create_with_srq(b->ia, b->pz, b->recv_evd, b->request_evd,
                                                b->connect_evd, b->srq,
                                                &(const DAT_EP_ATTR){.max_recv_dtos = 5}, &b->ep),
                         0);
}

static DAT_LMR_TRIPLET at(const void *address, size_t length)
{
        return (DAT_LMR_TRIPLET){.virtual_address = (DAT_VADDR)(uintptr_t)address,
                                 .segment_length = length};
}

static void post(struct bench *b, int count)
{
        for (int i = 0; i < count; i++) {
                DAT_LMR_TRIPLET segment = at(&b->memory[(size_t)i * 16], 16);

                assert_int_equal(
                    dat_srq_post_recv(b->srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 100U + i}), 0);
        }
}

static void send_flagged(struct bench *b, char byte, DAT_COMPLETION_FLAGS flags)
{
        DAT_LMR_TRIPLET segment = at(&byte, 1);

        assert_int_equal(dat_ep_post_send(b->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 9}, flags),
                         0);
}

static void send_byte(struct bench *b, char byte)
{
        send_flagged(b, byte, DAT_COMPLETION_SUPPRESS_FLAG);
}

/* The cookie of the next receive; 0 where there is none. */
static uint64_t next_cookie(struct bench *b)
{
        DAT_EVENT event;

        if (dat_evd_dequeue(b->recv_evd, &event) != DAT_SUCCESS)
                return 0;
        assert_int_equal(event.event_number, DAT_DTO_COMPLETION_EVENT);
        return event.event_data.dto_completion_event_data.user_cookie.as_64;
}

static DAT_SRQ_PARAM srq_param(struct bench *b)
{
        DAT_SRQ_PARAM param;

        assert_int_equal(dat_srq_query(b->srq, DAT_SRQ_FIELD_ALL, &param), 0);
        return param;
}

static double seconds(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Runs a step that may end or hang its process; returns the wait status, of SIGALRM if it hung. */
static int status_of(const char *fault, void (*step)(struct bench *b))
{
        struct bench b;
        int status;
        pid_t pid;

        fflush(NULL);
        pid = fork();
        if (!pid) {
                signal(SIGSEGV, SIG_DFL);
                open_bench(&b, fault);
                alarm(1);
                step(&b);
                _exit(7);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static void resize_step(struct bench *b)
{
        dat_srq_resize(b->srq, 9);
}

static void wait_step(struct bench *b)
{
        DAT_EVENT event;
        DAT_COUNT more;

        dat_evd_wait(b->recv_evd, 1000, 1, &event, &more);
}

static void unbroken_translates_handles(void **state)
{
        DAT_CONTEXT context = {.as_64 = 4711};
        DAT_EVD_HANDLE evd;
        DAT_HANDLE_TYPE type;
        DAT_EP_PARAM param;
        DAT_IA_ATTR attr;
        struct bench b;

        (void)state;
        open_bench(&b, "unbroken");
        assert_int_equal(dat_ia_query(b.ia, &evd, DAT_IA_FIELD_ALL, &attr, 0, NULL), 0);
        assert_ptr_equal(evd, b.async_evd);
        assert_int_equal(attr.max_srqs, 7);
        assert_int_equal(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &param), 0);
        assert_ptr_equal(param.ia_handle, b.ia);
        assert_ptr_equal(param.pz_handle, b.pz);
        assert_ptr_equal(param.recv_evd_handle, b.recv_evd);
        assert_ptr_equal(param.connect_evd_handle, b.connect_evd);
        assert_ptr_equal(param.srq_handle, b.srq);
        assert_int_equal(param.ep_attr.max_recv_dtos, 5);
        assert_ptr_equal(srq_param(&b).ia_handle, b.ia);
        assert_int_equal(dat_get_handle_type(b.ep, &type), 0);
        assert_int_equal(type, DAT_HANDLE_TYPE_EP);
        assert_int_equal(dat_set_consumer_context(b.srq, context), 0);
        context.as_64 = 0;
        assert_int_equal(dat_get_consumer_context(b.srq, &context), 0);
        assert_int_equal(context.as_64, 4711);
        assert_int_equal(dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG), 0);
}

static void unbroken_modifies(void **state)
{
        DAT_EP_PARAM param = {0};
        DAT_PZ_HANDLE pz;
        struct bench b;

        (void)state;
        open_bench(&b, "unbroken");
        assert_int_equal(dat_pz_create(b.ia, &pz), 0);
        param.pz_handle = pz;
        assert_int_equal(dat_ep_modify(b.ep, DAT_EP_FIELD_PZ_HANDLE, &param), 0);
        assert_ptr_equal(param.pz_handle, pz);
        assert_int_equal(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &param), 0);
        assert_ptr_equal(param.pz_handle, pz);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* The same bad handles give the same answers as the wrapped provider does. */
static void unbroken_refuses_what_the_wrapped_one_refuses(void **state)
{
        static const char *const ias[] = {"loop0", "unbroken"};
        DAT_EP_HANDLE ep;
        struct bench b;

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                open_bench(&b, ias[i]);
                assert_int_equal(TYPE(dat_srq_resize(NULL, 9)), DAT_INVALID_HANDLE);
                assert_int_equal(TYPE(dat_srq_resize(b.ep, 9)), DAT_INVALID_HANDLE);
                assert_int_equal(TYPE(dat_ep_create(b.ia, b.srq, b.recv_evd, b.request_evd,
                                                    b.connect_evd, NULL, &ep)),
                                 DAT_INVALID_HANDLE);
                assert_int_equal(TYPE(dat_ep_create(b.ia, NULL, b.recv_evd, b.request_evd,
                                                    b.connect_evd, NULL, &ep)),
                                 DAT_INVALID_HANDLE);
                assert_int_equal(dat_srq_free(b.srq), 0);
                assert_int_equal(TYPE(dat_srq_resize(b.srq, 9)), DAT_INVALID_HANDLE);
                assert_int_equal(TYPE(dat_srq_free(b.srq)), DAT_INVALID_HANDLE);
                dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
        }
}

static void unbroken_carries_messages(void **state)
{
        DAT_EVENT event;
        DAT_COUNT more;
        struct bench b;

        (void)state;
        open_bench(&b, "unbroken");
        post(&b, 2);
        send_flagged(&b, 'a', DAT_COMPLETION_DEFAULT_FLAG);
        assert_int_equal(dat_evd_wait(b.recv_evd, 1000, 1, &event, &more), 0);
        assert_ptr_equal(event.evd_handle, b.recv_evd);
        assert_ptr_equal(event.event_data.dto_completion_event_data.ep_handle, b.ep);
        assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, 100);
        assert_int_equal(b.memory[0], 'a');
        assert_int_equal(dat_evd_dequeue(b.request_evd, &event), 0);
        assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, 9);
        assert_int_equal(TYPE(dat_evd_dequeue(b.request_evd, &event)), DAT_QUEUE_EMPTY);
        assert_int_equal(TYPE(dat_evd_wait(b.recv_evd, 1000, 1, &event, &more)),
                         DAT_TIMEOUT_EXPIRED);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void connect_and_accept(struct bench *b, DAT_EVENT *established)
{
        DAT_CR_ARRIVAL_EVENT_DATA *request;
        DAT_CR_PARAM param = {0};
        DAT_PSP_HANDLE psp;
        DAT_EVENT event;

        assert_int_equal(dat_psp_create(b->ia, 5, b->connect_evd, DAT_PSP_PROVIDER_FLAG, &psp), 0);
        assert_int_equal(dat_ep_connect(b->ep, NULL, 5, 1000, 0, NULL, DAT_QOS_BEST_EFFORT,
                                        DAT_CONNECT_DEFAULT_FLAG),
                         0);
        assert_int_equal(dat_evd_dequeue(b->connect_evd, &event), 0);
        request = &event.event_data.cr_arrival_event_data;
        assert_ptr_equal(request->sp_handle.psp_handle, psp);
        assert_int_equal(dat_cr_query(request->cr_handle, DAT_CR_FIELD_ALL, &param), 0);
        assert_int_equal(dat_cr_accept(request->cr_handle, NULL, 0, NULL), 0);
        assert_int_equal(TYPE(dat_cr_accept(request->cr_handle, NULL, 0, NULL)),
                         DAT_INVALID_HANDLE);
        assert_int_equal(dat_ep_free(param.local_ep_handle), 0);
        assert_int_equal(dat_evd_dequeue(b->connect_evd, established), 0);
}

static void unbroken_connects(void **state)
{
        DAT_EVENT event;
        struct bench b;

        (void)state;
        open_bench(&b, "unbroken");
        connect_and_accept(&b, &event);
        assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_ptr_equal(event.event_data.connect_event_data.ep_handle, b.ep);
        assert_string_equal(event.event_data.connect_event_data.private_data, "hello");
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_EVD_HANDLE woken_by;

static void wake(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
        assert_string_equal(instance_data, "mine");
        woken_by = evd;
}

static void unbroken_calls_the_agent(void **state)
{
        DAT_OS_WAIT_PROXY_AGENT agent = {.instance_data = "mine", .proxy_agent_func = wake};
        DAT_CNO_PARAM param;
        DAT_CNO_HANDLE cno;
        struct bench b;

        (void)state;
        open_bench(&b, "unbroken");
        assert_int_equal(dat_cno_create(b.ia, agent, &cno), 0);
        assert_int_equal(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), 0);
        assert_ptr_equal(param.agent.proxy_agent_func, wake);
        assert_int_equal(
            dat_evd_post_se(b.connect_evd, &(const DAT_EVENT){.event_number = DAT_SOFTWARE_EVENT}),
            0);
        assert_ptr_equal(woken_by, b.connect_evd);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void unbroken_registers_an_lmr_by_another(void **state)
{
        DAT_REGION_DESCRIPTION region;
        DAT_LMR_HANDLE lmr[2];
        DAT_LMR_CONTEXT context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN length;
        DAT_VADDR address;
        struct bench b;

        (void)state;
        open_bench(&b, "unbroken");
        region.for_va = b.memory;
        assert_int_equal(dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, b.pz,
                                        DAT_MEM_PRIV_ALL_FLAG, &lmr[0], &context, &rmr_context,
                                        &length, &address),
                         0);
        region.for_lmr_handle = lmr[0];
        assert_int_equal(dat_lmr_create(b.ia, DAT_MEM_TYPE_LMR, region, 64, b.pz,
                                        DAT_MEM_PRIV_ALL_FLAG, &lmr[1], &context, &rmr_context,
                                        &length, &address),
                         0);
        assert_int_equal(dat_lmr_free(lmr[1]), 0);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* What each fault of dat_srq_resize() answers to a request of 9 and leaves as size. */
static const struct resizing {
        const char *fault;
        DAT_COUNT request;
        DAT_RETURN answers;
        DAT_COUNT size;
} resizings[] = {
    {"unbroken", 9, DAT_SUCCESS, 9},
    {"unbroken", 1, DAT_INVALID_STATE, 8},
    {"answer", 9, DAT_INSUFFICIENT_RESOURCES, 8},
    {"answer_success", 9, DAT_SUCCESS, 8},
    {"report", 9, DAT_INVALID_STATE, 9},
    {"report_refusal_as_success", 9, DAT_SUCCESS, 9},
    {"report_refusal_as_success", 1, DAT_SUCCESS, 8},
    {"again", 9, DAT_SUCCESS, 9},
    {"again", 1, DAT_SUCCESS, 4},
    {"also", 9, DAT_SUCCESS, 9},
    {"also", 1, DAT_INVALID_STATE, 11},
    {"with", 9, DAT_SUCCESS, 8},
    {"clamp", 3, DAT_SUCCESS, 4},
    {"clamp", 2, DAT_INVALID_STATE, 8},
};

/* Three receives on the SRQ and one unreaped. */
static void resize_faults(void **state)
{
        struct bench b;

        (void)state;
        for (size_t i = 0; i < sizeof(resizings) / sizeof(resizings[0]); i++) {
                const struct resizing *r = &resizings[i];

                open_bench(&b, r->fault);
                post(&b, 4);
                send_byte(&b, 'a');
                assert_int_equal(TYPE(dat_srq_resize(b.srq, r->request)), r->answers);
                assert_int_equal(srq_param(&b).max_recv_dtos, r->size);
                dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
        }
}

static void with_leaves_the_consumers_structure(void **state)
{
        const DAT_EP_ATTR attr = {.max_recv_dtos = 5};
        DAT_EP_PARAM param;
        DAT_EP_HANDLE ep;
        struct bench b;

        (void)state;
        open_bench(&b, "with_const");
        assert_int_equal(dat_ep_create_with_srq(b.ia, b.pz, b.recv_evd, b.request_evd,
                                                b.connect_evd, b.srq, &attr, &ep),
                         0);
        assert_int_equal(attr.max_recv_dtos, 5);
        assert_int_equal(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), 0);
        assert_int_equal(param.ep_attr.max_recv_dtos, 1);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void with_forgets_a_flag(void **state)
{
        DAT_EVENT event;
        struct bench b;

        (void)state;
        open_bench(&b, "with_flag");
        post(&b, 1);
        send_byte(&b, 'a');
        assert_int_equal(dat_evd_dequeue(b.request_evd, &event), 0);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void set_alters_a_result(void **state)
{
        struct bench b;

        (void)state;
        open_bench(&b, "set");
        post(&b, 2);
        assert_int_equal(srq_param(&b).outstanding_dto_count, 3);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void after_waits_for_the_same_object(void **state)
{
        DAT_SRQ_PARAM param;
        DAT_SRQ_HANDLE other;
        struct bench b;

        (void)state;
        open_bench(&b, "set_after");
        assert_int_equal(dat_srq_create(b.ia, b.pz, &(DAT_SRQ_ATTR){.max_recv_dtos = 8}, &other),
                         0);
        post(&b, 2);
        assert_int_equal(srq_param(&b).outstanding_dto_count, 2);
        assert_int_equal(dat_srq_resize(b.srq, 9), 0);
        assert_int_equal(srq_param(&b).outstanding_dto_count, 2);
        assert_int_equal(TYPE(dat_srq_resize(b.srq, 1)), DAT_INVALID_STATE);
        assert_int_equal(dat_srq_query(other, DAT_SRQ_FIELD_ALL, &param), 0);
        assert_int_equal(param.outstanding_dto_count, 0);
        assert_int_equal(srq_param(&b).outstanding_dto_count, 20);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void nth_and_times_count(void **state)
{
        static const char *const faults[] = {"nth", "times"};
        static const bool refused[2][3] = {{false, true, false}, {true, true, false}};
        struct bench b;

        (void)state;
        for (int i = 0; i < 2; i++) {
                open_bench(&b, faults[i]);
                for (int call = 0; call < 3; call++)
                        assert_int_equal(TYPE(dat_srq_resize(b.srq, 9)) == DAT_INVALID_STATE,
                                         refused[i][call]);
                dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
        }
}

static void state_of_the_ep_is_a_condition(void **state)
{
        DAT_LMR_TRIPLET segment;
        DAT_PSP_HANDLE psp;
        struct bench b;

        (void)state;
        open_bench(&b, "ep_state");
        segment = at(b.memory, 16);
        assert_int_equal(dat_psp_create(b.ia, 5, b.connect_evd, DAT_PSP_CONSUMER_FLAG, &psp), 0);
        assert_int_equal(dat_ep_post_recv(b.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1}, 0), 0);
        assert_int_equal(dat_ep_connect(b.ep, NULL, 5, 1000, 0, NULL, 0, 0), 0);
        assert_int_equal(TYPE(dat_ep_post_recv(b.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1}, 0)),
                         DAT_INVALID_STATE);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void bad_handles_are_a_condition(void **state)
{
        struct bench b;

        (void)state;
        open_bench(&b, "other_kind");
        assert_int_equal(dat_srq_resize(b.ep, 9), DAT_SUCCESS);
        assert_int_equal(TYPE(dat_srq_resize(b.pz, 9)), DAT_INVALID_HANDLE);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);

        open_bench(&b, "destroyed");
        assert_int_equal(TYPE(dat_srq_resize(b.ep, 9)), DAT_INVALID_HANDLE);
        assert_int_equal(dat_srq_free(b.srq), 0);
        assert_int_equal(dat_srq_resize(b.srq, 9), DAT_SUCCESS);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* The cookies that three messages to receives 100, 101, 102 come back with. */
static const struct sequence {
        const char *fault;
        uint64_t cookies[5];
} sequences[] = {
    {"unbroken", {100, 101, 102}},
    {"lose", {100, 102}},
    {"double", {100, 100, 101, 102}},
    {"reorder", {101, 100, 102}},
};

static void event_faults(void **state)
{
        struct bench b;

        (void)state;
        for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
                open_bench(&b, sequences[i].fault);
                post(&b, 3);
                for (int message = 0; message < 3; message++)
                        send_byte(&b, 'a');
                for (int event = 0; event < 5; event++)
                        assert_int_equal(next_cookie(&b), sequences[i].cookies[event]);
                dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
        }
}

static void double_comes_late(void **state)
{
        double before;
        struct bench b;

        (void)state;
        open_bench(&b, "double_late");
        post(&b, 1);
        send_byte(&b, 'a');
        before = seconds();
        assert_int_equal(next_cookie(&b), 100);
        while (next_cookie(&b) == 0)
                usleep(1000);
        assert_true(seconds() - before >= 0.2);
        assert_int_equal(next_cookie(&b), 0);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void double_is_of_another_kind(void **state)
{
        DAT_EVENT event;
        struct bench b;

        (void)state;
        open_bench(&b, "double_otherwise");
        post(&b, 1);
        send_byte(&b, 'a');
        assert_int_equal(next_cookie(&b), 100);
        assert_int_equal(dat_evd_dequeue(b.recv_evd, &event), DAT_SUCCESS);
        assert_int_equal(event.event_number, DAT_SOFTWARE_EVENT);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void delay_makes_a_taker_wait(void **state)
{
        DAT_EVENT event;
        DAT_COUNT more;
        double before;
        struct bench b;

        (void)state;
        open_bench(&b, "delay");
        post(&b, 1);
        send_byte(&b, 'a');
        before = seconds();
        assert_int_equal(dat_evd_wait(b.recv_evd, 5000, 1, &event, &more), DAT_SUCCESS);
        assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, 100);
        assert_true(seconds() - before >= 0.05);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void delay_makes_a_caller_wait(void **state)
{
        DAT_SRQ_PARAM param;
        double before;
        struct bench b;

        (void)state;
        open_bench(&b, "delay_call");
        before = seconds();
        assert_int_equal(dat_srq_query(b.srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
        assert_true(seconds() - before >= 0.05);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void invent_wakes_without_cause(void **state)
{
        DAT_EVENT event;
        DAT_COUNT more;
        struct bench b;

        (void)state;
        open_bench(&b, "invent");
        assert_int_equal(dat_evd_wait(b.recv_evd, 1000, 1, &event, &more), DAT_SUCCESS);
        assert_int_equal(event.event_number, DAT_DTO_COMPLETION_EVENT);
        assert_ptr_equal(event.evd_handle, b.recv_evd);
        assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, 77);
        assert_int_equal(TYPE(dat_evd_wait(b.recv_evd, 1000, 1, &event, &more)),
                         DAT_TIMEOUT_EXPIRED);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void set_alters_an_event(void **state)
{
        DAT_DTO_COMPLETION_EVENT_DATA *dto;
        DAT_CONNECTION_EVENT_DATA *connection;
        DAT_EVENT event;
        struct bench b;

        (void)state;
        open_bench(&b, "event_fields");
        post(&b, 1);
        send_byte(&b, 'a');
        assert_int_equal(dat_evd_dequeue(b.recv_evd, &event), 0);
        dto = &event.event_data.dto_completion_event_data;
        assert_int_equal(dto->user_cookie.as_64, 101);
        assert_int_equal(dto->transfered_length, 0);
        assert_int_equal(dto->status, DAT_DTO_ERR_FLUSHED);
        assert_ptr_equal(dto->ep_handle, b.recv_evd);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);

        open_bench(&b, "event_number");
        post(&b, 1);
        send_byte(&b, 'a');
        assert_int_equal(dat_evd_dequeue(b.recv_evd, &event), 0);
        assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);

        open_bench(&b, "private_data");
        connect_and_accept(&b, &event);
        connection = &event.event_data.connect_event_data;
        assert_string_equal(connection->private_data, "iello");
        assert_int_equal(connection->private_data_size, 5);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void corrupt_alters_the_message(void **state)
{
        struct bench b;

        (void)state;
        open_bench(&b, "corrupt");
        post(&b, 1);
        send_byte(&b, 'a');
        assert_int_equal(next_cookie(&b), 100);
        assert_int_not_equal(b.memory[0], 'a');
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static double time_of_wait(const char *fault, DAT_TIMEOUT timeout)
{
        DAT_EVENT event;
        DAT_COUNT more;
        double before;
        struct bench b;

        open_bench(&b, fault);
        before = seconds();
        assert_int_equal(TYPE(dat_evd_wait(b.recv_evd, timeout, 1, &event, &more)),
                         DAT_TIMEOUT_EXPIRED);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
        return seconds() - before;
}

static void waits_end_too_early_and_too_late(void **state)
{
        (void)state;
        assert_true(time_of_wait("unbroken", 50000) >= 0.05);
        assert_true(time_of_wait("returns_at_once", 60000000) < 30);
        assert_true(time_of_wait("waits_on", 1000) >= 0.1);
}

static void processes_end_as_told(void **state)
{
        int status;

        (void)state;
        assert_true(WIFEXITED(status = status_of("unbroken", resize_step)));
        assert_int_equal(WEXITSTATUS(status), 7);
        assert_true(WIFEXITED(status = status_of("exit", resize_step)));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_true(WIFSIGNALED(status = status_of("crash", resize_step)));
        assert_int_equal(WTERMSIG(status), SIGSEGV);
        assert_true(WIFSIGNALED(status = status_of("hang", wait_step)));
        assert_int_equal(WTERMSIG(status), SIGALRM);
}

static int entries_of(const char *path)
{
        DIR *directory = opendir(path);
        int count = 0;

        while (readdir(directory))
                count++;
        closedir(directory);
        return count;
}

static long pages_mapped(void)
{
        FILE *statm = fopen("/proc/self/statm", "r");
        long pages = 0;

        assert_int_equal(fscanf(statm, "%ld", &pages), 1);
        fclose(statm);
        return pages;
}

static void leak_leaves_a_descriptor(void **state)
{
        struct bench b;
        int before;

        (void)state;
        open_bench(&b, "leak");
        before = entries_of("/proc/self/fd");
        assert_int_equal(dat_srq_free(b.srq), 0);
        assert_int_equal(entries_of("/proc/self/fd"), before + 1);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void strand_leaves_a_thread(void **state)
{
        struct bench b;
        int before;

        (void)state;
        open_bench(&b, "strand");
        before = entries_of("/proc/self/task");
        assert_int_equal(dat_srq_free(b.srq), 0);
        assert_int_equal(entries_of("/proc/self/task"), before + 1);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void hoard_leaves_memory(void **state)
{
        struct bench b;
        long before;

        (void)state;
        open_bench(&b, "hoard");
        before = pages_mapped();
        assert_int_equal(dat_srq_free(b.srq), 0);
        assert_true(pages_mapped() >= before + 64);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void close_step(struct bench *b)
{
        dat_srq_resize(b->srq, 9);
        _exit(fcntl(STDERR_FILENO, F_GETFD) < 0 ? 0 : 1);
}

static void print_step(struct bench *b)
{
        char text[4096] = "";
        int file = memfd_create("stdout", 0);

        dup2(file, STDOUT_FILENO);
        dat_srq_resize(b->srq, 9);
        _exit(pread(file, text, sizeof(text) - 1, 0) > 0 && strstr(text, "\"PASS\"") ? 0 : 1);
}

/* Two pages, the second of which is read-only. */
static void scribble_step(struct bench *b)
{
        long page = sysconf(_SC_PAGESIZE);
        char *pages = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        DAT_LMR_CONTEXT context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_LMR_HANDLE lmr;
        DAT_VLEN length;
        DAT_VADDR address;

        mprotect(pages + page, (size_t)page, PROT_NONE);
        dat_lmr_create(b->ia, DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){.for_va = pages},
                       (DAT_VLEN)page, b->pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, &rmr_context,
                       &length, &address);
        dat_srq_resize(b->srq, 9);
}

static void the_process_suffers(void **state)
{
        int status;

        (void)state;
        assert_int_equal(status_of("close", close_step), 0);
        assert_int_equal(status_of("print", print_step), 0);
        assert_true(WIFSIGNALED(status = status_of("scribble", scribble_step)));
        assert_int_equal(WTERMSIG(status), SIGSEGV);
}

/* Ends what the step left behind; returns how many processes that were. */
static int reap_children(void)
{
        char path[64];
        int count = 0;
        FILE *file;
        int pid;

        snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
        file = fopen(path, "r");
        while (file && fscanf(file, "%d", &pid) == 1) {
                kill(pid, SIGKILL);
                count += waitpid(pid, NULL, 0) == pid;
        }
        if (file)
                fclose(file);
        return count;
}

static void processes_are_left_behind(void **state)
{
        static const char *const faults[] = {"unbroken", "fork", "daemon"};

        (void)state;
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        for (int i = 0; i < 3; i++) {
                status_of(faults[i], resize_step);
                assert_int_equal(reap_children(), i ? 1 : 0);
        }
}

static void every_free_fails(void **state)
{
        struct bench b;

        (void)state;
        open_bench(&b, "every_free");
        assert_int_equal(TYPE(dat_ep_free(b.ep)), DAT_INVALID_STATE);
        assert_int_equal(TYPE(dat_srq_free(b.srq)), DAT_INVALID_STATE);
        assert_int_equal(TYPE(dat_pz_free(b.pz)), DAT_INVALID_STATE);
        dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN open_of(char *name)
{
        DAT_EVD_HANDLE evd = NULL;
        DAT_IA_HANDLE ia;

        return dat_ia_open(name, 8, &evd, &ia);
}

static void opens_fail_where_they_must(void **state)
{
        (void)state;
        assert_int_equal(TYPE(open_of("every_call")), DAT_INTERNAL_ERROR);
        assert_int_equal(TYPE(open_of("bad_fault")), DAT_PROVIDER_NOT_FOUND);
        assert_int_equal(TYPE(open_of("bad_word")), DAT_PROVIDER_NOT_FOUND);
        assert_int_equal(TYPE(open_of("bad_ia")), DAT_PROVIDER_NOT_FOUND);
        assert_int_equal(TYPE(open_of("bad_nothing")), DAT_PROVIDER_NOT_FOUND);
}

/* Two IAs with different faults are open at once, and do not know of each other. */
static void faults_are_the_ias_own(void **state)
{
        struct bench broken, whole;

        (void)state;
        open_bench(&broken, "answer");
        open_bench(&whole, "unbroken");
        assert_int_equal(TYPE(dat_srq_resize(broken.srq, 9)), DAT_INSUFFICIENT_RESOURCES);
        assert_int_equal(dat_srq_resize(whole.srq, 9), DAT_SUCCESS);
        assert_int_equal(dat_ia_close(broken.ia, DAT_CLOSE_ABRUPT_FLAG), 0);
        assert_int_equal(dat_srq_resize(whole.srq, 10), DAT_SUCCESS);
        assert_int_equal(dat_ia_close(whole.ia, DAT_CLOSE_ABRUPT_FLAG), 0);
}

static void entry(FILE *conf, const char *ia, const char *library, const char *params)
{
        fprintf(conf, "%s u1.2 nonthreadsafe default %s cts.1.0 \"%s\" \"\"\n", ia, library,
                params);
}

static void write_conf(const char *path)
{
        static const char *const faults[] = {FAULT_IDS};
        char params[64];
        FILE *conf = fopen(path, "w");

        entry(conf, "loop0", LOOP_LIBRARY, "");
        entry(conf, "unbroken", FAULT_LIBRARY, "loop0");
        entry(conf, "bad_fault", FAULT_LIBRARY, "loop0 fault=none_such");
        entry(conf, "bad_word", FAULT_LIBRARY, "loop0 fautl=answer");
        entry(conf, "bad_ia", FAULT_LIBRARY, "no_such_ia");
        entry(conf, "bad_nothing", FAULT_LIBRARY, "");
        for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
                snprintf(params, sizeof(params), "loop0 fault=%s", faults[i]);
                entry(conf, faults[i], FAULT_LIBRARY, params);
        }
        fclose(conf);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
            cmocka_unit_test(unbroken_translates_handles),
            cmocka_unit_test(unbroken_modifies),
            cmocka_unit_test(unbroken_refuses_what_the_wrapped_one_refuses),
            cmocka_unit_test(unbroken_carries_messages),
            cmocka_unit_test(unbroken_connects),
            cmocka_unit_test(unbroken_calls_the_agent),
            cmocka_unit_test(unbroken_registers_an_lmr_by_another),
            cmocka_unit_test(resize_faults),
            cmocka_unit_test(with_leaves_the_consumers_structure),
            cmocka_unit_test(with_forgets_a_flag),
            cmocka_unit_test(set_alters_a_result),
            cmocka_unit_test(after_waits_for_the_same_object),
            cmocka_unit_test(nth_and_times_count),
            cmocka_unit_test(state_of_the_ep_is_a_condition),
            cmocka_unit_test(bad_handles_are_a_condition),
            cmocka_unit_test(event_faults),
            cmocka_unit_test(double_comes_late),
            cmocka_unit_test(double_is_of_another_kind),
            cmocka_unit_test(delay_makes_a_taker_wait),
            cmocka_unit_test(delay_makes_a_caller_wait),
            cmocka_unit_test(invent_wakes_without_cause),
            cmocka_unit_test(set_alters_an_event),
            cmocka_unit_test(corrupt_alters_the_message),
            cmocka_unit_test(waits_end_too_early_and_too_late),
            cmocka_unit_test(processes_end_as_told),
            cmocka_unit_test(leak_leaves_a_descriptor),
            cmocka_unit_test(strand_leaves_a_thread),
            cmocka_unit_test(hoard_leaves_memory),
            cmocka_unit_test(the_process_suffers),
            cmocka_unit_test(processes_are_left_behind),
            cmocka_unit_test(every_free_fails),
            cmocka_unit_test(opens_fail_where_they_must),
            cmocka_unit_test(faults_are_the_ias_own),
        };
        char path[] = "/tmp/dat.conf.XXXXXX";
        int file = mkstemp(path);
        int failed;

        close(file);
        write_conf(path);
        setenv("DAT_OVERRIDE", path, 1);
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        unlink(path);
        return failed;
}
