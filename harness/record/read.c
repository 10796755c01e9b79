/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udapl-trace-read FILE...: prints each file of a recorder (layout.h) as one line of JSON, which
 * `judge` reads (docs/trace.md). A file may be of a process that was killed, or that still runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "case/needs.h"
#include "evidence/api.h"
#include "evidence/render.h"
#include "record/layout.h"

#define EXIT_USAGE 64

struct file {
        unsigned char *at;
        uint64_t size;
        const struct record_header *header;
};

struct numbered {
        uint64_t number;
        const struct record_entry *entry;
};

/* The entries of calls, in the order of their numbers. */
struct entries {
        struct numbered *at;
        size_t count, capacity;
};

/* A call that had no entry when the process ended, in the form of one. */
struct open_call {
        struct record_entry head;
        const struct call_record *record; /* or NULL, and then `args` */
        uint64_t args[RECORD_POLL_ARGS];
};

struct reading {
        struct file file;
        struct entries calls;
        const struct record_entry *attributes; /* of all IAs alike, or NULL */
        bool differing;                        /* they are not alike */
        size_t next;
        struct call_record record; /* the call that was handed out last */
        bool first;                /* nothing was printed yet */
        struct open_call open[RECORD_THREADS * (1 + 2 * RECORD_POLLS)];
        size_t open_count;
};

static bool entries_add(struct entries *entries, const struct record_entry *entry)
{
        if (entries->count == entries->capacity) {
                size_t larger = entries->capacity ? 2 * entries->capacity : 4096;
                struct numbered *moved = realloc(entries->at, larger * sizeof(*moved));

                if (!moved)
                        return false;
                entries->at = moved;
                entries->capacity = larger;
        }
        entries->at[entries->count++] = (struct numbered){.number = entry->number, .entry = entry};
        return true;
}

static int by_number(const void *a, const void *b)
{
        const struct numbered *one = a;
        const struct numbered *other = b;

        return (one->number > other->number) - (one->number < other->number);
}

static bool is_whole(const struct record_entry *entry)
{
        size_t size = sizeof(*entry) + entry->args * sizeof(uint64_t) +
                      entry->pointees * sizeof(struct call_pointee) +
                      ((size_t)entry->ins + entry->outs) * sizeof(struct call_span) + entry->bytes;

        if (size > entry->size)
                return false;
        if (entry->kind == RECORD_ATTRIBUTES)
                return entry->bytes == sizeof(struct probe) &&
                       size == sizeof(*entry) + entry->bytes;
        return entry->kind == RECORD_CALL && entry->number > 0 &&
               entry->function < api_function_count && entry->args <= CALL_ARGS_MAX &&
               entry->ins <= CALL_ARGS_MAX && entry->outs <= CALL_ARGS_MAX &&
               entry->pointees <= CALL_POINTEES_MAX && entry->bytes <= CALL_BYTES_MAX;
}

static const struct probe *probe_of(const struct record_entry *entry)
{
        return (const struct probe *)(entry + 1);
}

/* IAs of several providers declare several things, of which a record has one. */
static void take_attributes(struct reading *reading, const struct record_entry *entry)
{
        const struct probe *probe = probe_of(entry);

        if (!reading->attributes)
                reading->attributes = entry;
        else if (strcmp(probe->address, probe_of(reading->attributes)->address) != 0 ||
                 strncmp(probe->ia, probe_of(reading->attributes)->ia, sizeof(probe->ia)) != 0)
                reading->differing = true;
}

static bool take_entry(struct reading *reading, const struct record_entry *entry)
{
        if (entry->kind == RECORD_CALL)
                return entries_add(&reading->calls, entry);
        take_attributes(reading, entry);
        return true;
}

/* Where a writer was killed, or still writes, an entry is missing: the next one is looked for. */
static bool take_segment(struct reading *reading, uint64_t place)
{
        const struct record_header *header = reading->file.header;
        const struct record_segment *segment = &header->segments[place];
        const unsigned char *at =
            reading->file.at + header->header_size + place * header->segment_size;
        uint64_t turn = atomic_load(&segment->turn);
        uint64_t used = atomic_load(&segment->used);
        uint64_t end = used < header->segment_size ? used : header->segment_size;

        for (uint64_t i = 0; turn && i + sizeof(struct record_entry) <= end;) {
                const struct record_entry *entry = (const struct record_entry *)(at + i);
                bool here = atomic_load(&entry->commit) == RECORD_COMMIT(turn - 1) &&
                            entry->size <= end - i && entry->size >= sizeof(*entry) &&
                            entry->size % RECORD_ALIGN == 0 && is_whole(entry);

                if (here && !take_entry(reading, entry))
                        return false;
                i += here ? entry->size : RECORD_ALIGN;
        }
        return true;
}

/* A call of a thread that has no entry yet. */
static struct open_call *take_open(struct reading *reading, uint32_t thread, uint32_t function,
                                   uint64_t number)
{
        struct open_call *open = &reading->open[reading->open_count++];

        open->head = (struct record_entry){.kind = RECORD_CALL,
                                           .function = (uint16_t)function,
                                           .thread = thread,
                                           .number = number,
                                           .args = (uint8_t)api_functions[function].count};
        return entries_add(&reading->calls, &open->head) ? open : NULL;
}

/* The last of a row of polls, which has returned; or the one that the process ended in. */
static bool take_poll(struct reading *reading, const struct record_poll *poll, uint32_t thread,
                      bool returned)
{
        uint64_t number = atomic_load(&reading->file.header->calls) + reading->open_count + 1;
        struct open_call *open = take_open(reading, thread, poll->function, number);

        if (!open)
                return false;
        open->head.began_ns = returned ? poll->ended_ns : poll->began_ns;
        open->head.ended_ns = returned ? poll->ended_ns : 0;
        open->head.ret = poll->ret;
        memcpy(open->args, poll->args, sizeof(open->args));
        return true;
}

static bool take_thread(struct reading *reading, const struct record_thread *place)
{
        uint32_t thread = atomic_load(&place->number);
        const struct call_record *call = &place->call;
        struct open_call *open;

        if (!thread)
                return true;
        if (atomic_load(&call->state) == CALL_BEGUN && call->function < api_function_count) {
                open = take_open(reading, thread, call->function, call->number);
                if (!open)
                        return false;
                open->record = call;
                open->head.began_ns = call->began_ns;
        }
        for (size_t i = 0; i < RECORD_POLLS; i++) {
                const struct record_poll *poll = &place->polls[i];

                if (!poll->valid || poll->function >= api_function_count ||
                    api_functions[poll->function].count > RECORD_POLL_ARGS)
                        continue;
                if (poll->count && !take_poll(reading, poll, thread, true))
                        return false;
                if (atomic_load(&poll->inside) && !take_poll(reading, poll, thread, false))
                        return false;
        }
        return true;
}

static bool take_all(struct reading *reading)
{
        for (uint64_t i = 0; i < RECORD_SEGMENTS; i++)
                if (!take_segment(reading, i))
                        return false;
        for (size_t i = 0; i < RECORD_THREADS; i++)
                if (!take_thread(reading, &reading->file.header->threads[i]))
                        return false;
        qsort(reading->calls.at, reading->calls.count, sizeof(*reading->calls.at), by_number);
        return true;
}

static const unsigned char *take(void *to, const unsigned char *from, size_t size)
{
        memcpy(to, from, size);
        return from + size;
}

/* All of a call that has returned. */
static void fill_whole(struct call_record *record, const struct record_entry *entry)
{
        const unsigned char *from = (const unsigned char *)(entry + 1);

        from = take(record->args, from, entry->args * sizeof(record->args[0]));
        from = take(record->pointees, from, entry->pointees * sizeof(record->pointees[0]));
        from = take(record->in, from, entry->ins * sizeof(record->in[0]));
        from = take(record->out, from, entry->outs * sizeof(record->out[0]));
        take(record->bytes, from, entry->bytes);
        record->pointee_count = entry->pointees;
}

static void fill_open(struct call_record *record, const struct open_call *open)
{
        if (!open->record) {
                memcpy(record->args, open->args, sizeof(open->args));
                return;
        }
        memcpy(record->args, open->record->args, sizeof(record->args));
        memcpy(record->in, open->record->in, sizeof(record->in));
        memcpy(record->pointees, open->record->pointees, sizeof(record->pointees));
        memcpy(record->bytes, open->record->bytes, sizeof(record->bytes));
        record->pointee_count = open->record->pointee_count;
}

static bool is_open(const struct reading *reading, const struct record_entry *entry)
{
        const void *at = entry;

        return at >= (const void *)reading->open &&
               at < (const void *)(reading->open + reading->open_count);
}

static const struct call_record *next_call(void *calls)
{
        struct reading *reading = calls;
        const struct record_header *header = reading->file.header;
        struct call_record *record = &reading->record;
        const struct record_entry *entry;

        if (reading->next == reading->calls.count)
                return NULL;
        entry = reading->calls.at[reading->next++].entry;
        memset(record, 0, offsetof(struct call_record, bytes));
        record->function = entry->function;
        record->thread = (uint16_t)entry->thread;
        record->pid = header->pid;
        record->number = entry->number;
        record->ret = entry->ret;
        record->began_ns = entry->began_ns;
        record->at_ns =
            entry->began_ns > header->started_ns ? entry->began_ns - header->started_ns : 0;
        if (entry->ended_ns > entry->began_ns)
                record->took_ns = entry->ended_ns - entry->began_ns;
        atomic_store(&record->state, entry->ended_ns ? CALL_DONE : CALL_BEGUN);
        if (is_open(reading, entry))
                fill_open(record, (const struct open_call *)(const void *)entry);
        else
                fill_whole(record, entry);
        return record;
}

static void print_call(void *context, const char *event, size_t length)
{
        struct reading *reading = context;

        if (!reading->first)
                putchar(',');
        reading->first = false;
        fwrite(event, 1, length, stdout);
}

static json_t *ia_json(const struct reading *reading)
{
        static const struct found_features none; /* the recorder tries nothing */
        const struct probe *probe;

        if (!reading->attributes || reading->differing)
                return json_null();
        probe = probe_of(reading->attributes);
        return json_pack("{s:s# s:o s:o}", "name", probe->ia,
                         (int)strnlen(probe->ia, sizeof(probe->ia)), "attributes",
                         render_attributes(probe), "needs",
                         needs_declared_json(probe, probe, &none));
}

static void print_record(struct reading *reading)
{
        const struct record_header *header = reading->file.header;
        const char *program = header->program;
        uint32_t stopped = atomic_load(&header->stopped);
        json_t *head = json_pack(
            "{s:s s:s s:i s:i s:s# s:f s:I s:I s:I s:s s:o}", "type", "trace", "api", UDAPL_CTS_API,
            "pid", (int)header->pid, "parent", (int)header->parent, "program", program,
            (int)strnlen(program, sizeof(header->program)), "started",
            (double)header->started_clock / 1e9, "made", (json_int_t)atomic_load(&header->calls),
            "polls", (json_int_t)atomic_load(&header->polls), "lost",
            (json_int_t)atomic_load(&header->lost), "stopped",
            stopped ? strerror((int)stopped) : "", "ia", ia_json(reading));
        char *text = head ? json_dumps(head, JSON_COMPACT) : NULL;

        if (text) {
                printf("%.*s,\"calls\":[", (int)strlen(text) - 1, text);
                reading->first = true;
                render_calls(next_call, reading, header->pid, print_call, reading);
                puts("]}");
        }
        free(text);
        json_decref(head);
}

static bool is_record(const struct file *file)
{
        const struct record_header *header = file->header;

        return file->size >= sizeof(*header) && header->magic == RECORD_MAGIC &&
               header->header_size >= sizeof(*header) && header->header_size <= file->size &&
               header->segment_size <= (file->size - header->header_size) / RECORD_SEGMENTS &&
               header->segment_size % RECORD_ALIGN == 0;
}

static bool read_file(const char *path, struct reading *reading)
{
        int descriptor = open(path, O_RDONLY | O_CLOEXEC);
        struct stat about;
        void *at;

        if (descriptor < 0)
                return false;
        if (fstat(descriptor, &about) || about.st_size == 0)
                goto close_file;
        at = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (at == MAP_FAILED)
                goto close_file;
        close(descriptor);
        reading->file = (struct file){.at = at, .size = (uint64_t)about.st_size, .header = at};
        return true;
close_file:
        close(descriptor);
        return false;
}

/* What is wrong with a file that was read, after it is printed; or NULL. */
static const char *print_reading(struct reading *reading)
{
        if (!is_record(&reading->file))
                return "it is no record of calls";
        if (reading->file.header->api_major != UDAPL_CTS_API_MAJOR)
                return "it is a record of calls of another DAT API";
        if (!take_all(reading))
                return "there is no memory for it";
        print_record(reading);
        return NULL;
}

static bool print_file(const char *path)
{
        struct reading *reading = calloc(1, sizeof(*reading));
        const char *wrong;

        errno = reading ? 0 : ENOMEM;
        if (reading && read_file(path, reading)) {
                wrong = print_reading(reading);
                free(reading->calls.at);
                munmap(reading->file.at, reading->file.size);
        } else {
                wrong = errno ? strerror(errno) : "it is empty";
        }
        if (wrong)
                fprintf(stderr, "%s: %s\n", path, wrong);
        free(reading);
        return !wrong;
}

int main(int argc, char **argv)
{
        bool whole = true;

        if (argc < 2) {
                fprintf(stderr, "usage: %s FILE...\n", argv[0]);
                return EXIT_USAGE;
        }
        for (int i = 1; i < argc; i++)
                whole = print_file(argv[i]) && whole;
        return whole && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
