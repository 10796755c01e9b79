/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that calls DAT 1.2, for `trace` to record: trace-consumer WHAT [COUNT [IA]]. It checks
 * little: `judge` says what the answers are worth.
 */
#include <dat/udat.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define QUEUE   64
#define SIZE    8
#define PORT    4791
#define TIMEOUT 20000000u

struct end_of {
        DAT_EVD_HANDLE connect, request, receive;
        DAT_EP_HANDLE ep;
        DAT_LMR_HANDLE lmr;
        DAT_LMR_TRIPLET segment;
        unsigned char memory[2 * SIZE];
};

struct ends {
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE async, requests;
        DAT_PZ_HANDLE pz;
        DAT_PSP_HANDLE psp;
        struct end_of end[2];
};

static char *ia_name = (char[]){"ref0"};

#define must(call) check(call, #call)

static void check(DAT_RETURN ret, const char *call)
{
        if (ret == DAT_SUCCESS)
                return;
        fprintf(stderr, "%s returned 0x%08x\n", call, ret);
        exit(EXIT_FAILURE);
}

static void open_ia(struct ends *ends)
{
        ends->async = DAT_HANDLE_NULL;
        must(dat_ia_open(ia_name, 8, &ends->async, &ends->ia));
        must(dat_pz_create(ends->ia, &ends->pz));
}

static void make_end(struct ends *ends, struct end_of *end)
{
        DAT_REGION_DESCRIPTION region = {.for_va = end->memory};
        DAT_RMR_CONTEXT rmr;
        DAT_VLEN length;
        DAT_VADDR address;

        must(dat_evd_create(ends->ia, QUEUE, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
                            &end->connect));
        must(dat_evd_create(ends->ia, QUEUE, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->request));
        must(dat_evd_create(ends->ia, QUEUE, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->receive));
        must(dat_ep_create(ends->ia, ends->pz, end->receive, end->request, end->connect, NULL,
                           &end->ep));
        must(dat_lmr_create(ends->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(end->memory), ends->pz,
                            DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &end->lmr,
                            &end->segment.lmr_context, &rmr, &length, &address));
        end->segment.virtual_address = (DAT_VADDR)(uintptr_t)end->memory;
        end->segment.segment_length = SIZE;
}

static DAT_EVENT await_event(DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT more;

        must(dat_evd_wait(evd, TIMEOUT, 1, &event, &more));
        return event;
}

static void connect_ends(struct ends *ends)
{
        DAT_IA_ATTR attr;
        DAT_EVENT event;

        must(dat_ia_query(ends->ia, &ends->async, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
                          DAT_PROVIDER_FIELD_NONE, NULL));
        must(dat_evd_create(ends->ia, QUEUE, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &ends->requests));
        must(dat_psp_create(ends->ia, PORT, ends->requests, DAT_PSP_CONSUMER_FLAG, &ends->psp));
        must(dat_ep_connect(ends->end[0].ep, attr.ia_address_ptr, PORT, TIMEOUT, 0, NULL,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        event = await_event(ends->requests);
        must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ends->end[1].ep, 0,
                           NULL));
        await_event(ends->end[0].connect);
        await_event(ends->end[1].connect);
}

static void close_all(struct ends *ends)
{
        must(dat_ia_close(ends->ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void poll_for(DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
                continue;
}

static void send_one(struct end_of *from, struct end_of *to)
{
        DAT_DTO_COOKIE cookie = {.as_64 = 1};

        must(dat_ep_post_recv(to->ep, 1, &to->segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_post_send(from->ep, 1, &from->segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
        poll_for(to->receive);
        poll_for(from->request);
}

static double seconds(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void ping_pong(long count)
{
        static struct ends ends;
        double began;

        open_ia(&ends);
        make_end(&ends, &ends.end[0]);
        make_end(&ends, &ends.end[1]);
        connect_ends(&ends);
        began = seconds();
        for (long i = 0; i < count; i++) {
                send_one(&ends.end[0], &ends.end[1]);
                send_one(&ends.end[1], &ends.end[0]);
        }
        printf("%.9f\n", (seconds() - began) / (double)(count ? count : 1));
        close_all(&ends);
}

static void resize(long count)
{
        struct ends ends;
        DAT_SRQ_ATTR attr = {.max_recv_dtos = 8, .max_recv_iov = 1};
        DAT_SRQ_HANDLE srq;

        open_ia(&ends);
        must(dat_srq_create(ends.ia, ends.pz, &attr, &srq));
        for (long i = 0; i < count; i++)
                (void)dat_srq_resize(srq, 16);
        must(dat_srq_free(srq));
        close_all(&ends);
}

static void *make_zones(void *context)
{
        struct ends *ends = context;

        for (int i = 0; i < 20; i++) {
                DAT_PZ_HANDLE pz;

                must(dat_pz_create(ends->ia, &pz));
                must(dat_pz_free(pz));
        }
        return NULL;
}

static void threads(long count)
{
        struct ends ends;
        pthread_t thread[16];

        if (count > 16)
                count = 16;
        open_ia(&ends);
        for (long i = 0; i < count; i++)
                if (pthread_create(&thread[i], NULL, make_zones, &ends) != 0)
                        exit(EXIT_FAILURE);
        for (long i = 0; i < count; i++)
                pthread_join(thread[i], NULL);
        close_all(&ends);
}

/* Each process opens an IA of its own. */
static void forks(long count)
{
        struct ends ends;

        open_ia(&ends);
        for (long i = 0; i < count; i++) {
                pid_t child = fork();

                if (child == 0) {
                        open_ia(&ends);
                        close_all(&ends);
                        exit(EXIT_SUCCESS);
                }
                waitpid(child, NULL, 0);
        }
        close_all(&ends);
}

/* It never returns: the IA has no event. */
static void waits(long count)
{
        struct ends ends;
        DAT_EVENT event;
        DAT_COUNT more;

        open_ia(&ends);
        alarm((unsigned int)count);
        (void)dat_evd_wait(ends.async, DAT_TIMEOUT_INFINITE, 1, &event, &more);
}

/* What needs no device: libdat itself answers. */
static void strings(long count)
{
        for (long i = 0; i < count; i++) {
                const char *major;
                const char *minor;

                must(dat_strerror(DAT_SUCCESS, &major, &minor));
        }
}

static void *first_call(void *unused)
{
        pthread_cancel(pthread_self());
        strings(1);
        return unused;
}

/* The thread that makes the first call is cancelled, and the next one does not wait for it. */
static void cancelled(long count)
{
        pthread_t thread;

        alarm(20);
        if (pthread_create(&thread, NULL, first_call, NULL) || pthread_join(thread, NULL))
                exit(EXIT_FAILURE);
        strings(count);
}

static void killed(long count)
{
        strings(count);
        raise(SIGKILL);
}

/* Unreadable pointers: libdat refuses the null handle before it looks at them. */
static void wild(long count)
{
        unsigned char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        DAT_DTO_COOKIE cookie = {.as_64 = 1};

        errno = 0;
        for (long i = 0; i < count; i++) {
                (void)dat_ep_post_send(DAT_HANDLE_NULL, 1, (DAT_LMR_TRIPLET *)(void *)page, cookie,
                                       DAT_COMPLETION_DEFAULT_FLAG);
                (void)dat_ep_connect(DAT_HANDLE_NULL, (DAT_IA_ADDRESS_PTR)(void *)page, 1, 1, 64,
                                     page, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
                (void)dat_evd_dequeue(DAT_HANDLE_NULL, (DAT_EVENT *)(void *)page);
        }
        if (errno)
                exit(EXIT_FAILURE);
}

static const struct {
        const char *name;
        void (*run)(long count);
} modes[] = {
    {"ping-pong", ping_pong}, {"resize", resize}, {"threads", threads},
    {"forks", forks},         {"waits", waits},   {"strings", strings},
    {"killed", killed},       {"wild", wild},     {"cancelled", cancelled},
};

int main(int argc, char **argv)
{
        long count = argc > 2 ? strtol(argv[2], NULL, 10) : 1;

        if (argc > 3)
                ia_name = argv[3];
        for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
                if (strcmp(modes[i].name, argv[1]) == 0) {
                        modes[i].run(count);
                        return EXIT_SUCCESS;
                }
        }
        fprintf(stderr, "usage: %s WHAT [COUNT [IA]]\n", argv[0]);
        return EXIT_FAILURE;
}
