/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udapl-soak IA PORT SECONDS [ADDRESS]: one end of a pair that exchanges mixed traffic for a time.
 *
 * Without ADDRESS it serves on PORT, else it connects there again and again. Messages are echoed;
 * the client writes and reads the server's memory; both ends resize their SRQ and their EVD; the
 * client ends each connection, gracefully or during messages. Every byte is compared. Each
 * few seconds a line of JSON on stdout has the counts, the resident memory and the descriptors. The
 * exit code is 0 if nothing unexpected happened.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dat/udat.h>

#define BUFFERS        16 /* of the SRQ, and as many to send from */
#define LENGTH         16384
#define WINDOW         65536
#define BURST          6
#define PATIENCE       60000000 /* microseconds: nothing takes as long */
#define IDLE           15000000 /* after its time, a server waits so long for another request */
#define TELL           5        /* seconds between two lines */
#define OF_SEND        1000     /* cookies of sends are their buffers' and this */
#define OF_RDMA        2000
#define SUCCEEDS(call) succeed(call, #call)

struct head {
        uint32_t seed;
        uint32_t length;
};

struct early {
        int buffer;
        size_t length;
};

static struct {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE events;
        DAT_SRQ_HANDLE srq;
        DAT_EP_HANDLE ep;
        DAT_CR_HANDLE request; /* that waits for the end of the connection before it */
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_TRIPLET window;    /* here */
        DAT_RMR_TRIPLET far;       /* the server's */
        uint8_t (*memory)[LENGTH]; /* BUFFERS to receive, BUFFERS to send, and the window */
        int port;
        bool serves;
        bool live; /* the connection is established */
        bool over; /* it has ended */
        int early; /* messages that came before its event */
        struct early earlies[BUFFERS];
        bool ending;
        int posted;
        int sending;
        int echoes;
        int rdmas;
        uint32_t random;
        time_t told;
        unsigned long messages, rdma, connections, resizes, broken;
} soak;

static void die(const char *what, const char *how)
{
        (void)fprintf(stderr, "udapl-soak %d: %s: %s\n", soak.port, what, how);
        exit(1);
}

static void succeed(DAT_RETURN ret, const char *call)
{
        const char *major = "?";
        const char *minor;

        if (ret == DAT_SUCCESS)
                return;
        (void)dat_strerror(ret, &major, &minor);
        die(call, major);
}

static uint32_t draw(uint32_t below)
{
        soak.random = soak.random * 1664525u + 1013904223u;
        return (soak.random >> 8) % below;
}

static uint8_t byte_of(uint32_t seed, size_t i)
{
        return (uint8_t)(seed + i * 7 + (i >> 8));
}

static void fill(uint8_t *at, uint32_t seed, size_t length)
{
        for (size_t i = 0; i < length; i++)
                at[i] = byte_of(seed, i);
}

static void compare(const uint8_t *at, uint32_t seed, size_t from, size_t length)
{
        for (size_t i = from; i < length; i++) {
                if (at[i] != byte_of(seed, i))
                        die("contents", "a byte is wrong");
        }
}

static DAT_LMR_TRIPLET piece(const void *at, size_t length)
{
        return (DAT_LMR_TRIPLET){
            .lmr_context = soak.lmr_context,
            .virtual_address = (DAT_VADDR)(uintptr_t)at,
            .segment_length = length,
        };
}

static DAT_DTO_COOKIE cookie(int number)
{
        return (DAT_DTO_COOKIE){.as_64 = (DAT_UINT64)number};
}

static void post(int buffer)
{
        DAT_LMR_TRIPLET iov = piece(soak.memory[buffer], LENGTH);

        SUCCEEDS(dat_srq_post_recv(soak.srq, 1, &iov, cookie(buffer)));
        soak.posted++;
}

static void transmit(int buffer, size_t length)
{
        DAT_LMR_TRIPLET iov = piece(soak.memory[buffer], length);

        SUCCEEDS(dat_ep_post_send(soak.ep, 1, &iov, cookie(OF_SEND + buffer), 0));
        soak.sending++;
}

static long resident_kib(void)
{
        FILE *file = fopen("/proc/self/statm", "re");
        long size = 0;
        long resident = 0;

        if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2)
                die("/proc/self/statm", "cannot be read");
        (void)fclose(file);
        return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int descriptors(void)
{
        DIR *folder = opendir("/proc/self/fd");
        int count = -3;

        if (!folder)
                die("/proc/self/fd", "cannot be read");
        while (readdir(folder))
                count++;
        (void)closedir(folder);
        return count;
}

/* At the end of a connection, where nothing is under way. */
static void tell(bool last)
{
        time_t now = time(NULL);

        if (!last && now < soak.told + TELL)
                return;
        soak.told = now;
        printf("{\"port\": %d, \"serves\": %s, \"messages\": %lu, \"rdma\": %lu, "
               "\"connections\": %lu, \"resizes\": %lu, \"broken\": %lu, \"resident_kib\": %ld, "
               "\"descriptors\": %d, \"last\": %s}\n",
               soak.port, soak.serves ? "true" : "false", soak.messages, soak.rdma,
               soak.connections, soak.resizes, soak.broken, resident_kib(), descriptors(),
               last ? "true" : "false");
        (void)fflush(stdout);
}

static void set_up(const char *name)
{
        DAT_SRQ_ATTR srq_attr = {
            .max_recv_dtos = BUFFERS, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_EP_ATTR attr = {
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = LENGTH,
            .max_rdma_size = WINDOW,
            .qos = DAT_QOS_BEST_EFFORT,
            .max_request_dtos = 2 * BUFFERS,
            .max_request_iov = 1,
            .max_rdma_read_in = 4,
            .max_rdma_read_out = 4,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_read_iov = 1,
            .max_rdma_write_iov = 1,
        };
        size_t size = (size_t)2 * BUFFERS * LENGTH + WINDOW;
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        DAT_REGION_DESCRIPTION region;
        DAT_RMR_CONTEXT rmr_context;
        DAT_LMR_HANDLE lmr;

        soak.memory = calloc(1, size);
        if (!soak.memory)
                die("memory", "there is too little");
        region.for_va = soak.memory;
        SUCCEEDS(dat_ia_open((DAT_NAME_PTR)name, 8, &async_evd, &soak.ia));
        SUCCEEDS(dat_pz_create(soak.ia, &soak.pz));
        SUCCEEDS(dat_evd_create(soak.ia, 256, DAT_HANDLE_NULL,
                                DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
                                &soak.events));
        SUCCEEDS(dat_lmr_create(soak.ia, DAT_MEM_TYPE_VIRTUAL, region, size, soak.pz,
                                DAT_MEM_PRIV_ALL_FLAG, &lmr, &soak.lmr_context, &rmr_context, NULL,
                                NULL));
        soak.window = (DAT_RMR_TRIPLET){
            .rmr_context = rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)soak.memory[(size_t)2 * BUFFERS],
            .segment_length = WINDOW,
        };
        SUCCEEDS(dat_srq_create(soak.ia, soak.pz, &srq_attr, &soak.srq));
        for (int i = 0; i < BUFFERS; i++)
                post(i);
        SUCCEEDS(dat_ep_create_with_srq(soak.ia, soak.pz, soak.events, soak.events, soak.events,
                                        soak.srq, &attr, &soak.ep));
}

static void check_message(int buffer, size_t length)
{
        struct head head;

        memcpy(&head, soak.memory[buffer], sizeof(head));
        if (head.length != length)
                die("contents", "the length is wrong");
        compare(soak.memory[buffer], head.seed, sizeof(head), length);
        soak.messages++;
}

/* Sends a message back from the buffer that it came in. */
static void echo(int buffer, size_t length)
{
        if (soak.live)
                transmit(buffer, length);
        else
                soak.earlies[soak.early++] = (struct early){buffer, length};
}

static void establish(const DAT_CONNECTION_EVENT_DATA *data)
{
        soak.connections++;
        soak.live = true;
        if (!soak.serves)
                memcpy(&soak.far, data->private_data, sizeof(soak.far));
        for (int i = 0; i < soak.early; i++)
                transmit(soak.earlies[i].buffer, soak.earlies[i].length);
        soak.early = 0;
}

/* What completed: a receive, a send from the buffer of a receive, one of another, or RDMA. */
static void take_completion(const DAT_DTO_COMPLETION_EVENT_DATA *data)
{
        int number = (int)data->user_cookie.as_64;
        bool well = data->status == DAT_DTO_SUCCESS;

        if (!well && !soak.serves && !soak.ending)
                die("completion", "a DTO failed in a live connection");
        if (number >= OF_RDMA) {
                soak.rdmas--;
        } else if (number >= OF_SEND) {
                soak.sending--;
                if (number - OF_SEND < BUFFERS)
                        post(number - OF_SEND);
        } else {
                soak.posted--;
                if (well)
                        check_message(number, data->transfered_length);
                if (well && soak.serves && !soak.over) {
                        echo(number, data->transfered_length);
                        return;
                }
                soak.echoes -= well;
                post(number);
        }
}

/* Takes the next event; false if none came in time. */
static bool take_event(DAT_TIMEOUT patience)
{
        DAT_EVENT event;
        DAT_COUNT nmore;
        DAT_RETURN ret = dat_evd_wait(soak.events, patience, 1, &event, &nmore);

        if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
                return false;
        SUCCEEDS(ret);
        switch (event.event_number) {
        case DAT_DTO_COMPLETION_EVENT:
                take_completion(&event.event_data.dto_completion_event_data);
                break;
        case DAT_CONNECTION_REQUEST_EVENT:
                if (soak.request)
                        die("event", "a second request came");
                soak.request = event.event_data.cr_arrival_event_data.cr_handle;
                break;
        case DAT_CONNECTION_EVENT_ESTABLISHED:
                establish(&event.event_data.connect_event_data);
                break;
        case DAT_CONNECTION_EVENT_BROKEN:
                soak.broken++;
                soak.over = true;
                break;
        case DAT_CONNECTION_EVENT_DISCONNECTED:
        case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
                soak.over = true;
                break;
        default:
                die("event", "an unexpected one came");
        }
        return true;
}

static void must_take_event(void)
{
        if (!take_event(PATIENCE))
                die("dat_evd_wait", "nothing came within a minute");
}

static void resize(void)
{
        SUCCEEDS(dat_srq_resize(soak.srq, (DAT_COUNT)(BUFFERS + draw(100))));
        SUCCEEDS(dat_evd_resize(soak.events, (DAT_COUNT)(256 + draw(512))));
        soak.resizes += 2;
}

/* After a connection every receive is in the SRQ again, and the EP can have another one. */
static void clear_up(void)
{
        /* What was posted after the end, and before its event was taken, is flushed behind that. */
        while (soak.posted != BUFFERS || soak.sending || soak.rdmas)
                must_take_event();
        SUCCEEDS(dat_ep_reset(soak.ep));
        resize();
        tell(false);
        soak.echoes = 0;
        soak.live = soak.over = soak.ending = false;
}

static void serve(time_t end)
{
        DAT_PSP_HANDLE psp;
        DAT_CR_HANDLE cr;

        SUCCEEDS(dat_psp_create(soak.ia, (DAT_CONN_QUAL)soak.port, soak.events,
                                DAT_PSP_CONSUMER_FLAG, &psp));
        for (;;) {
                if (!soak.request && !take_event(IDLE)) {
                        if (time(NULL) >= end)
                                break;
                        continue;
                }
                cr = soak.request;
                if (!cr)
                        die("event", "one came without a connection");
                soak.request = DAT_HANDLE_NULL;
                SUCCEEDS(dat_cr_accept(cr, soak.ep, sizeof(soak.window), &soak.window));
                while (!soak.over) {
                        must_take_event();
                        if (!draw(300))
                                resize();
                }
                clear_up();
        }
        SUCCEEDS(dat_psp_free(psp));
}

static void send_burst(int count)
{
        for (int i = 0; i < count; i++) {
                size_t length = sizeof(struct head) + draw(LENGTH - sizeof(struct head));
                struct head head = {draw(1u << 20), (uint32_t)length};

                fill(soak.memory[BUFFERS + i], head.seed, length);
                memcpy(soak.memory[BUFFERS + i], &head, sizeof(head));
                transmit(BUFFERS + i, length);
                soak.echoes++;
        }
}

/* Writes to the server's memory, and reads it back behind the write. */
static void write_and_read(void)
{
        uint8_t *out = soak.memory[(size_t)2 * BUFFERS];
        uint8_t *back = soak.memory[BUFFERS];
        size_t length = 1 + draw(LENGTH);
        uint32_t seed = draw(1u << 20);
        DAT_LMR_TRIPLET from = piece(out, length);
        DAT_LMR_TRIPLET to = piece(back, length);
        DAT_RMR_TRIPLET there = soak.far;

        there.target_address += draw(WINDOW - LENGTH);
        there.segment_length = length;
        fill(out, seed, length);
        memset(back, 0, length);
        SUCCEEDS(dat_ep_post_rdma_write(soak.ep, 1, &from, cookie(OF_RDMA), &there, 0));
        SUCCEEDS(dat_ep_post_rdma_read(soak.ep, 1, &to, cookie(OF_RDMA + 1), &there, 0));
        soak.rdmas += 2;
        while (soak.rdmas)
                must_take_event();
        compare(back, seed, 0, length);
        soak.rdma += 2;
}

static bool connect_once(struct sockaddr_in *address)
{
        unsigned long before = soak.connections;

        SUCCEEDS(dat_ep_connect(soak.ep, (DAT_IA_ADDRESS_PTR)address, (DAT_CONN_QUAL)soak.port,
                                PATIENCE, 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        while (soak.connections == before && !soak.over)
                must_take_event();
        if (soak.over)
                clear_up();
        return soak.connections != before;
}

static void converse(void)
{
        for (uint32_t rounds = 20 + draw(200); rounds; rounds--) {
                if (!draw(4))
                        write_and_read();
                send_burst(1 + (int)draw(BURST));
                while (soak.echoes || soak.sending)
                        must_take_event();
                if (!draw(50))
                        resize();
        }
}

static void request(struct sockaddr_in *address, time_t end)
{
        while (time(NULL) < end) {
                bool abrupt = draw(2);

                if (!connect_once(address))
                        continue;
                converse();
                soak.ending = true;
                if (abrupt)
                        send_burst(BURST);
                SUCCEEDS(dat_ep_disconnect(soak.ep, abrupt ? DAT_CLOSE_ABRUPT_FLAG
                                                           : DAT_CLOSE_GRACEFUL_FLAG));
                while (!soak.over)
                        must_take_event();
                clear_up();
        }
}

int main(int argc, char **argv)
{
        struct sockaddr_in address = {.sin_family = AF_INET};
        time_t end;

        if (argc < 4 || argc > 5 || (argc == 5 && !inet_aton(argv[4], &address.sin_addr))) {
                (void)fprintf(stderr, "usage: udapl-soak IA PORT SECONDS [ADDRESS]\n");
                return 64;
        }
        soak.port = atoi(argv[2]);
        soak.random = (uint32_t)soak.port;
        soak.serves = argc == 4;
        end = time(NULL) + atol(argv[3]);
        set_up(argv[1]);
        tell(true);
        if (soak.serves)
                serve(end);
        else
                request(&address, end);
        tell(true);
        SUCCEEDS(dat_ia_close(soak.ia, DAT_CLOSE_ABRUPT_FLAG));
        free(soak.memory);
        return 0;
}
