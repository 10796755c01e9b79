/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udapl-bench IA ROUNDS MILLISECONDS [PATTERN]: the same patterns over uDAPL and over raw verbs.
 *
 * The rounds of the two sides alternate, so that what else the machine does meets both. Each round
 * is a line of JSON on stdout: the pattern, the side, how many operations, and in how many seconds.
 */
#include "side.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS 1000000000.0
#define ROUND_TRIPS 32 /* between two looks at the clock */
#define VISIT       "IA, opened and closed"

struct pattern {
        const char *name;
        /* Does some operations, and returns how many. */
        int (*run)(const struct side *side, void *self, size_t length);
        size_t length;
        bool shared; /* what B receives into is an SRQ's */
};

void die(const char *what, const char *how)
{
        (void)fprintf(stderr, "udapl-bench: %s: %s\n", what, how);
        exit(1);
}

static void reap_one(const struct side *side, void *self, enum queue queue)
{
        while (!side->reap(self, queue, 1))
                ;
}

static int ping_pong(const struct side *side, void *self, size_t length)
{
        for (int i = 0; i < ROUND_TRIPS; i++) {
                side->post_recv(self, END_B, length);
                side->post_send(self, END_A, length);
                reap_one(side, self, B_RECVS);
                reap_one(side, self, A_REQUESTS);
                side->post_recv(self, END_A, length);
                side->post_send(self, END_B, length);
                reap_one(side, self, A_RECVS);
                reap_one(side, self, B_REQUESTS);
        }
        return ROUND_TRIPS;
}

struct echo {
        const struct side *side;
        void *self;
        size_t length;
};

static void *echo(void *argument)
{
        const struct echo *echo = argument;

        for (int i = 0; i < ROUND_TRIPS; i++) {
                echo->side->await(echo->self, B_RECVS);
                if (i + 1 < ROUND_TRIPS)
                        echo->side->post_recv(echo->self, END_B, echo->length);
                echo->side->post_send(echo->self, END_B, echo->length);
                echo->side->await(echo->self, B_REQUESTS);
        }
        return NULL;
}

/* The same between two threads that sleep until something has come for them. */
static int sleeping_ping_pong(const struct side *side, void *self, size_t length)
{
        struct echo other = {.side = side, .self = self, .length = length};
        pthread_t thread;

        side->post_recv(self, END_B, length);
        if (pthread_create(&thread, NULL, echo, &other))
                die("the echo", "no thread");
        for (int i = 0; i < ROUND_TRIPS; i++) {
                side->post_recv(self, END_A, length);
                side->post_send(self, END_A, length);
                side->await(self, A_REQUESTS);
                side->await(self, A_RECVS);
        }
        pthread_join(thread, NULL);
        return ROUND_TRIPS;
}

/* B has twice as many receives as A has sends, so that A never meets a receiver not ready. */
static int stream(const struct side *side, void *self, size_t length)
{
        int received = 0;
        int posted = 0;
        int sent = 0;

        for (int i = 0; i < RECVS; i++)
                side->post_recv(self, END_B, length);
        while (received < 8 * RECVS) {
                int n;

                for (; posted < 8 * RECVS && posted - sent < DEPTH; posted++)
                        side->post_send(self, END_A, length);
                sent += side->reap(self, A_REQUESTS, BATCH);
                n = side->reap(self, B_RECVS, BATCH);
                for (int i = 0; i < n && received + i < 7 * RECVS; i++)
                        side->post_recv(self, END_B, length);
                received += n;
        }
        while (sent < posted)
                sent += side->reap(self, A_REQUESTS, BATCH);
        return received;
}

static int rdma_write(const struct side *side, void *self, size_t length)
{
        side->post_write(self, END_A, length);
        reap_one(side, self, A_REQUESTS);
        return 1;
}

static int rdma_read(const struct side *side, void *self, size_t length)
{
        side->post_read(self, END_A, length);
        reap_one(side, self, A_REQUESTS);
        return 1;
}

static int reconnect(const struct side *side, void *self, size_t length)
{
        (void)length;
        side->reconnect(self);
        return 1;
}

static const struct pattern patterns[] = {
    {"send ping-pong, 8 B", ping_pong, 8, false},
    {"send ping-pong, 4 KiB", ping_pong, 4096, false},
    {"send ping-pong, 8 B, asleep", sleeping_ping_pong, 8, false},
    {"message rate, 8 B, depth 64", stream, 8, false},
    {"message rate, 8 B, depth 64, SRQ", stream, 8, true},
    {"RDMA write, 4 KiB", rdma_write, 4096, false},
    {"RDMA write, 1 MiB", rdma_write, MESSAGE_MAX, false},
    {"RDMA read, 4 KiB", rdma_read, 4096, false},
    {"RDMA read, 1 MiB", rdma_read, MESSAGE_MAX, false},
    {"connections", reconnect, 0, false},
};

static double now(clockid_t clock)
{
        struct timespec time;

        clock_gettime(clock, &time);
        return (double)time.tv_sec + (double)time.tv_nsec / NANOSECONDS;
}

static void tell(const char *pattern, const struct side *side, long operations, double seconds)
{
        printf("{\"pattern\": \"%s\", \"side\": \"%s\", \"operations\": %ld, \"seconds\": %.9f}\n",
               pattern, side->name, operations, seconds);
        (void)fflush(stdout);
}

static void one_round(const struct pattern *pattern, const struct side *side, void *self,
                      double seconds)
{
        double start = now(CLOCK_MONOTONIC);
        double elapsed = 0;
        long operations = 0;

        while (elapsed < seconds) {
                operations += pattern->run(side, self, pattern->length);
                elapsed = now(CLOCK_MONOTONIC) - start;
        }
        tell(pattern->name, side, operations, elapsed);
}

/*
 * Returns how many seconds of a processor it takes, by a process that has nothing open yet. For how
 * long it sleeps, as when the kernel waits for all processors to have passed, is not counted.
 */
static double apart(void (*visit)(struct place *), struct place *place)
{
        pid_t process = fork();
        int status;

        if (process < 0)
                die("fork", "no process");
        if (!process) {
                double start = now(CLOCK_PROCESS_CPUTIME_ID);

                visit(place);
                place->seconds = now(CLOCK_PROCESS_CPUTIME_ID) - start;
                _exit(0);
        }
        if (waitpid(process, &status, 0) != process || status)
                die("a process of its own", "ended otherwise");
        return place->seconds;
}

static void learn_address(struct place *place)
{
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;
        DAT_IA_ATTR attr;
        size_t size = sizeof(struct sockaddr_in);

        if (dat_ia_open(place->ia, 8, &async_evd, &ia) != DAT_SUCCESS)
                die("dat_ia_open", place->ia);
        if (dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL) !=
            DAT_SUCCESS)
                die("dat_ia_query", "no address");
        if (((struct sockaddr *)attr.ia_address_ptr)->sa_family == AF_INET6)
                size = sizeof(struct sockaddr_in6);
        memcpy(&place->address, attr.ia_address_ptr, size);
}

/* Each operation in a process of its own, as each case of the suite is. */
static void measure_visits(char *ia, long rounds, double seconds)
{
        const struct side *sides[] = {&verbs_side, &dat_side};
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        DAT_IA_HANDLE refused;
        struct place *place =
            mmap(NULL, sizeof(*place), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (place == MAP_FAILED)
                die("mmap", "no memory");
        place->ia = ia;
        /* Has libdat load the provider, as the suite's agent does for all of its processes. */
        (void)dat_ia_open(ia, -1, &async_evd, &refused);
        (void)apart(learn_address, place);
        for (long round = 0; round < rounds; round++) {
                for (int i = 0; i < 2; i++) {
                        double elapsed = 0;
                        long visits = 0;

                        for (; elapsed < seconds; visits++)
                                elapsed += apart(sides[i]->visit, place);
                        tell(VISIT, sides[i], visits, elapsed);
                }
        }
        (void)munmap(place, sizeof(*place));
}

static void measure(const struct pattern *pattern, DAT_IA_HANDLE ia, long rounds, double seconds)
{
        const struct side *sides[] = {&verbs_side, &dat_side};
        void *selves[] = {NULL, dat_side.open(ia, pattern->shared)};

        if (!selves[1])
                return;
        selves[0] = verbs_side.open(ia, pattern->shared);
        /* What is done only once, such as touching memory, is done before the first round. */
        for (int i = 0; i < 2; i++)
                (void)pattern->run(sides[i], selves[i], pattern->length);
        for (long round = 0; round < rounds; round++) {
                for (int i = 0; i < 2; i++)
                        one_round(pattern, sides[i], selves[i], seconds);
        }
        for (int i = 0; i < 2; i++)
                sides[i]->close(selves[i]);
}

int main(int argc, char **argv)
{
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;
        double seconds;
        long rounds;

        if (argc != 4 && argc != 5) {
                (void)fprintf(stderr, "usage: %s IA ROUNDS MILLISECONDS [PATTERN]\n", argv[0]);
                return 64;
        }
        rounds = strtol(argv[2], NULL, 10);
        seconds = (double)strtol(argv[3], NULL, 10) / 1000;
        if (argc < 5 || strstr(VISIT, argv[4]))
                measure_visits(argv[1], rounds, seconds);
        if (dat_ia_open(argv[1], 8, &async_evd, &ia) != DAT_SUCCESS)
                die("dat_ia_open", argv[1]);
        for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
                if (argc < 5 || strstr(patterns[i].name, argv[4]))
                        measure(&patterns[i], ia, rounds, seconds);
        }
        if (dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS)
                die("dat_ia_close", argv[1]);
        return 0;
}
