/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
/* Linux 5.14 has it; before, it is refused and pages are mapped by faults. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
/* As many programs as one process may execute one after the other. */
#define FILES_MAX 10000

/* What a process needs beside its mapping; a fork begins with a store of its own. */
static struct {
        int file;
        atomic_flag moving; /* a thread begins the next segment */
} own = {.moving = ATOMIC_FLAG_INIT};

static void complain(const char *what)
{
        fprintf(stderr, "libdattrace: nothing is recorded: %s: %s\n", what, strerror(errno));
}

static uint64_t size_wanted(void)
{
        const char *text = getenv("UDAPL_CTS_TRACE_SIZE");
        uint64_t size = text ? strtoull(text, NULL, 10) : 0;

        return size > RECORD_SIZE_MIN ? size : RECORD_SIZE_MIN;
}

/* A program that the process executes later makes another file with the same pid in its name. */
static int file_new(void)
{
        const char *folder = getenv("UDAPL_CTS_TRACE");
        char path[4096];

        if (!folder) {
                errno = ENOENT;
                return -1;
        }
        for (int i = 1; i < FILES_MAX; i++) {
                int file;

                snprintf(path, sizeof(path), "%s/%d-%d.calls-" UDAPL_CTS_API, folder, (int)getpid(),
                         i);
                file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                if (file >= 0 || errno != EEXIST)
                        return file;
        }
        return -1;
}

static uint64_t clock_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint32_t header_size(void)
{
        return (uint32_t)((sizeof(struct record_header) + PAGE - 1) & ~(size_t)(PAGE - 1));
}

static void fill(struct record_header *header, uint64_t segment_size)
{
        header->header_size = header_size();
        header->api_major = UDAPL_CTS_API_MAJOR;
        header->segment_size = segment_size;
        header->pid = getpid();
        header->parent = getppid();
        header->started_ns = now_ns();
        header->started_clock = clock_ns();
        snprintf(header->program, sizeof(header->program), "%s", program_invocation_name);
        atomic_store(&header->segments[0].turn, 1);
        header->magic = RECORD_MAGIC;
}

/*
 * A full disk would end the consumer by SIGBUS when it writes to the mapping: so the disk gives its
 * blocks first.
 */
static int give_blocks(uint64_t from, uint64_t length)
{
        return posix_fallocate(own.file, (off_t)from, (off_t)length);
}

/* Pages that are mapped at once cost a part of what a fault each costs. */
static void map_pages(struct record_header *header, uint64_t from, uint64_t length)
{
        (void)madvise((unsigned char *)header + from, length, MADV_POPULATE_WRITE);
}

struct record_header *store_open(void)
{
        uint64_t segment = (size_wanted() / RECORD_SEGMENTS) & ~(uint64_t)(PAGE - 1);
        uint64_t size = header_size() + RECORD_SEGMENTS * segment;
        struct record_header *header;

        own.file = file_new();
        if (own.file < 0) {
                complain("a file in the folder that UDAPL_CTS_TRACE names");
                return NULL;
        }
        atomic_flag_clear(&own.moving);
        errno = give_blocks(0, header_size() + segment);
        if (errno || ftruncate(own.file, (off_t)size)) {
                complain("room for the file");
                goto close_file;
        }
        header = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, own.file, 0);
        if (header == MAP_FAILED) {
                complain("a mapping of the file");
                goto close_file;
        }
        map_pages(header, 0, header_size() + segment);
        fill(header, segment);
        return header;
close_file:
        close(own.file);
        return NULL;
}

/* The next segment begins, unless a thread still writes to it from a round ago. */
static bool advance_locked(struct record_header *header, uint64_t turn)
{
        struct record_segment *next = &header->segments[record_place(turn + 1)];
        uint64_t at = header->header_size + record_place(turn + 1) * header->segment_size;
        int failed;

        if (atomic_load(&header->turn) != turn)
                return true;
        if (atomic_load(&next->writers) != 0)
                return false;
        failed = turn + 1 < RECORD_SEGMENTS ? give_blocks(at, header->segment_size) : 0;
        if (failed) {
                atomic_store(&header->stopped, (uint32_t)failed);
                return false;
        }
        map_pages(header, at, header->segment_size);
        atomic_store(&next->used, 0);
        atomic_store(&next->turn, turn + 2);
        atomic_store(&header->turn, turn + 1);
        return true;
}

/*
 * Where the disk gives no blocks by one system call, posix_fallocate() writes, and a thread that is
 * cancelled there would not clear the flag.
 */
static bool advance(struct record_header *header, uint64_t turn)
{
        int saved = errno;
        int cancel;
        bool moved;

        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
        while (atomic_flag_test_and_set(&own.moving))
                sched_yield();
        moved = advance_locked(header, turn);
        atomic_flag_clear(&own.moving);
        pthread_setcancelstate(cancel, NULL);
        errno = saved;
        return moved;
}

/* Room for an entry in a segment, whose writers count the caller; or NULL. */
static void *reserve(struct record_header *header, uint64_t size, struct store_room *room)
{
        unsigned char *segments = (unsigned char *)header + header->header_size;

        while (atomic_load_explicit(&header->stopped, memory_order_relaxed) == 0) {
                uint64_t turn = atomic_load_explicit(&header->turn, memory_order_acquire);
                uint64_t place = record_place(turn);
                struct record_segment *segment = &header->segments[place];
                uint64_t at;

                atomic_fetch_add(&segment->writers, 1);
                /* Now the segment stays, if it was still that of the turn. */
                if (atomic_load(&header->turn) == turn) {
                        at = atomic_fetch_add(&segment->used, size);
                        if (at + size <= header->segment_size) {
                                *room = (struct store_room){.segment = segment, .turn = turn};
                                return segments + place * header->segment_size + at;
                        }
                }
                atomic_fetch_sub(&segment->writers, 1);
                if (!advance(header, turn))
                        break;
        }
        return NULL;
}

struct record_entry *store_reserve(struct record_header *store, uint32_t size,
                                   struct store_room *room)
{
        struct record_entry *entry = reserve(store, size, room);

        if (entry)
                entry->size = size;
        else
                atomic_fetch_add(&store->lost, 1);
        return entry;
}

void store_commit(struct record_entry *entry, const struct store_room *room)
{
        atomic_store_explicit(&entry->commit, RECORD_COMMIT(room->turn), memory_order_release);
        atomic_fetch_sub(&room->segment->writers, 1);
}
