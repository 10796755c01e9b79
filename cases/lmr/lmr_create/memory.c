/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_create: memory that can and cannot be registered. */
#include "cases/lmr/lmr_create/fixtures.h"
#include "cases/lmr/shared/region.h"
#include "clauses/lmr_create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EDGE    8                   /* bytes, one of which is outside */
#define PRESENT (UINT64_C(1) << 63) /* in /proc/self/pagemap */

#define LARGEST_PAGE ((DAT_VLEN)2 << 20) /* of an adapter that registers pages */

/*
 * Where the memory is
 */

/* An LMR in the middle of memory: `offset` bytes behind its front. */
static const struct place {
        const char *id;
        size_t offset;
        size_t length;
} places[] = {
    {"page", 0, REGION_PAGE},
    {"pages", 0, 2 * REGION_PAGE},
    {"one_byte", 2053, 1},
    {"within_page", 17, 1001},
    {"end_of_page", REGION_PAGE - 77, 77},
    {"across_pages", REGION_PAGE - 3, 7},
    {"from_odd_to_odd", 1, 2 * REGION_PAGE + 101},
    {"from_last_byte", REGION_PAGE - 1, REGION_PAGE + 1},
};

static size_t untouched(const unsigned char *memory, size_t length)
{
        size_t count = 0;

        while (count < length && memory[count] == AROUND)
                count++;
        return count;
}

FAMILY(lmr_create, placed, places)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = arena(t);
        size_t front = FRONT + row->offset;
        struct region region = created_with(t, .addr = memory + front, .length = row->length);

        expect_eq(untouched(memory, ARENA), ARENA);
        expect_used(t, &wire, &region);
        expect_eq(untouched(memory, front), front);
        expect_eq(untouched(memory + front + row->length, ARENA - front - row->length),
                  ARENA - front - row->length);
}

/* What is registered, as far as it is of the arena: a page of the adapter may be larger. */
static struct region registered_of(const struct region *region, unsigned char *memory)
{
        struct region told = *region;
        unsigned char *end = registered_at(region) + region->registered_size;

        told.addr = registered_at(region);
        if (told.addr < memory)
                told.addr = memory;
        if (end > memory + ARENA)
                end = memory + ARENA;
        told.length = (size_t)(end - told.addr);
        return told;
}

/* Its first bytes can be used, and its last ones: all of it, unless it is more than moves at once.
 */
static void expect_both_ends(struct test *t, struct wire *wire, struct region told)
{
        size_t length = told.length < REGION_MOST ? told.length : REGION_MOST;
        ptrdiff_t last = (ptrdiff_t)(told.length - length);

        expect_moves(t, wire, &told, USE_RECV, 0, length);
        expect_moves(t, wire, &told, USE_SEND, last, length);
        if (!last)
                return;
        expect_moves(t, wire, &told, USE_RECV, last, length);
        expect_moves(t, wire, &told, USE_SEND, 0, length);
}

FAMILY(lmr_create, registered, places)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = arena(t);
        struct region region =
            created_with(t, .addr = memory + FRONT + row->offset, .length = row->length);
        DAT_VADDR start = (DAT_VADDR)(uintptr_t)region.addr;
        DAT_VADDR before = start - region.registered_address;

        expect_that(region.registered_address <= start && before <= LARGEST_PAGE,
                    "the registered address is none of the memory's");
        expect_that(region.registered_size <= before + region.length + LARGEST_PAGE,
                    "more was registered than there is");
        expect_that(region.registered_size >= before + region.length,
                    "less was registered than was asked for");
        expect_both_ends(t, &wire, registered_of(&region, memory));
}

/* The registered length, as reported, is exceeded by one byte. */
static void expect_bounded(struct test *t, const struct use *use, bool before)
{
        unsigned char *memory = arena(t);
        struct wire wire;
        struct region region;
        ptrdiff_t start;
        ptrdiff_t end;
        ptrdiff_t at;

        use_supported(t, use);
        wire = wire_in(t, pz(t));
        region = created_with(t, .addr = memory + FRONT + 100, .length = REGION_PAGE);
        start = registered_at(&region) - region.addr;
        end = start + (ptrdiff_t)region.registered_size;
        at = before ? start - 1 : end + 1 - EDGE;
        if (region.addr + at < memory || region.addr + at + EDGE > memory + ARENA)
                end_noted(t, "all memory of the case was registered (LMR-5)");
        expect_refused_use(t, &wire, &region, use, at, EDGE);
}

FAMILY(lmr_create, nothing_before, uses)
{
        expect_bounded(t, row, true);
}

FAMILY(lmr_create, nothing_behind, uses)
{
        expect_bounded(t, row, false);
}

CASE(lmr_create, contents_kept)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = memory_private(t, REGION_PAGE);
        struct region region;

        message_fill(memory, REGION_PAGE, 5);
        region = created_with(t, .addr = memory);

        expect_that(message_holds(memory, REGION_PAGE, 5), "the memory was changed");
        expect_moves_out(t, &wire, &region, USE_SEND, 0, REGION_PAGE, 5);
}

/* Where a consumer has memory of its own. */
static void expect_used_at(struct test *t, unsigned char *memory, size_t length)
{
        struct wire wire = wire_in(t, pz(t));
        struct region region = created_with(t, .addr = memory, .length = length);

        expect_used(t, &wire, &region);
        lmr_create_free_now(t, &region);
}

#define OWN (2 * REGION_PAGE + 77) /* bytes */

static void use_heap(struct test *t)
{
        unsigned char *memory = malloc(OWN);

        if (!memory)
                resource(t, "no memory");
        expect_used_at(t, memory, OWN);
        free(memory);
}

static void use_stack(struct test *t)
{
        unsigned char memory[OWN];

        expect_used_at(t, memory, sizeof(memory));
}

static void use_data(struct test *t)
{
        static unsigned char memory[OWN];

        expect_used_at(t, memory, sizeof(memory));
}

static void use_shared(struct test *t)
{
        expect_used_at(t, memory_shared(t, OWN), OWN);
}

static const struct own {
        const char *id;
        void (*use)(struct test *t);
} owns[] = {
    {"heap", use_heap},
    {"stack", use_stack},
    {"data", use_data},
    {"shared_mapping", use_shared},
};

FAMILY(lmr_create, memory_of, owns)
{
        row->use(t);
}

/* Memory that was never written has no pages yet: they come later, and the LMR has them. */
static const struct unwritten {
        const char *id;
        bool read_first;
        const struct use *use;
} unwritten[] = {
    {"then_sent", false, USE_SEND},
    {"read_then_sent", true, USE_SEND},
    {"received_into", false, USE_RECV},
    {"read_then_received_into", true, USE_RECV},
};

FAMILY(lmr_create, unwritten, unwritten)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = memory_private(t, 2 * REGION_PAGE);
        struct region region;

        if (row->read_first)
                suite_that(!memory[0] && !memory[REGION_PAGE], "new memory is not of zeros");
        region = created_with(t, .addr = memory, .length = 2 * REGION_PAGE,
                              .privileges = row->use->privilege);

        expect_moves(t, &wire, &region, row->use, 0, region.length);
}

/* The kernel has taken the page away. */
static bool is_gone(const unsigned char *page)
{
        int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        uint64_t entry = PRESENT;
        off_t at = (off_t)((uintptr_t)page / (uintptr_t)sysconf(_SC_PAGESIZE) * sizeof(entry));
        ssize_t got = pread(pagemap, &entry, sizeof(entry), at);

        close(pagemap);
        return got == sizeof(entry) && !(entry & PRESENT);
}

static void advise(struct test *t, unsigned char *memory, size_t length, int advice)
{
        if (madvise(memory, length, advice) != 0)
                resource(t, "the kernel does not take the advice: %s", strerror(errno));
}

/* The kernel was advised to take the memory away; adapter and consumer still have it. */
static const struct advised {
        const char *id;
        int advice;
        const struct use *use;
} advised[] = {
    {"cold_then_sent", MADV_COLD, USE_SEND},
    {"cold_then_received_into", MADV_COLD, USE_RECV},
    {"paged_out_then_sent", MADV_PAGEOUT, USE_SEND},
    {"paged_out_then_received_into", MADV_PAGEOUT, USE_RECV},
};

FAMILY(lmr_create, advised, advised)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = memory_private(t, 2 * REGION_PAGE);
        unsigned char *unregistered = memory_private(t, REGION_PAGE);
        struct region region;

        message_fill(memory, 2 * REGION_PAGE, 6);
        message_fill(unregistered, REGION_PAGE, 6);
        region = created_with(t, .addr = memory, .length = 2 * REGION_PAGE,
                              .privileges = row->use->privilege);
        advise(t, memory, 2 * REGION_PAGE, row->advice);
        advise(t, unregistered, REGION_PAGE, row->advice);
        if (row->advice == MADV_PAGEOUT && !is_gone(unregistered))
                note(t, "the kernel took no page away, not even one that is not registered");

        if (row->use->into)
                expect_moves(t, &wire, &region, row->use, 0, region.length);
        else
                expect_moves_out(t, &wire, &region, row->use, 0, region.length, 6);
}

/*
 * A child has the memory too. The kernel copies a page for whichever of the two writes to it first,
 * and a provider may have had no means to keep the consumer's the adapter's (LMR-13).
 */
CASE(lmr_create, forked)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = memory_private(t, REGION_PAGE);
        struct region region;
        DAT_LMR_TRIPLET from;
        DAT_LMR_TRIPLET to = triplet(wire.far, 0, REGION_PAGE);
        int ends[2];
        pid_t child;

        message_fill(memory, REGION_PAGE, 7);
        region = created_with(t, .addr = memory);
        from = (DAT_LMR_TRIPLET){.lmr_context = region.lmr_context,
                                 .virtual_address = (DAT_VADDR)(uintptr_t)memory,
                                 .segment_length = REGION_PAGE};
        if (pipe2(ends, O_CLOEXEC) != 0)
                resource(t, "no pipe");
        child = fork();
        if (child == 0) {
                close(ends[1]);
                _exit((int)read(ends[0], memory, 1));
        }
        if (child < 0)
                resource(t, "no process");
        close(ends[0]);
        message_fill(memory, REGION_PAGE, 8);
        must(dat_ep_post_recv(wire.there, 1, &to, COOKIE(1), DAT_COMPLETION_DEFAULT_FLAG));
        expect(dat_ep_post_send(wire.here, 1, &from, COOKIE(2), DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_completion(ep_recv_evd(t, wire.there), .ep = wire.there, .cookie = 1,
                          .length = REGION_PAGE);
        expect_completion(ep_request_evd(t, wire.here), .ep = wire.here, .cookie = 2,
                          .length = REGION_PAGE);
        close(ends[1]);
        waitpid(child, NULL, 0);
        if (!message_holds(wire.far->addr, REGION_PAGE, 8))
                end_noted(t, "after a fork the adapter has the page of before the write (LMR-13)");
        expect_moves(t, &wire, &region, USE_RECV, 0, REGION_PAGE);
}

static const struct overlap {
        const char *id;
        size_t offset;
        size_t length;
} overlaps[] = {
    {"same", 0, 2 * REGION_PAGE},
    {"within", 100, 1000},
    {"overlapping", REGION_PAGE + 5, 2 * REGION_PAGE},
    {"adjacent", 2 * REGION_PAGE, REGION_PAGE},
};

FAMILY(lmr_create, overlapping, overlaps)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = arena(t);
        struct region first = created_with(t, .addr = memory, .length = 2 * REGION_PAGE);
        struct region second = created_with(t, .addr = memory + row->offset, .length = row->length);

        expect_two(t, &first, &second);
        expect_used(t, &wire, &first);
        expect_used(t, &wire, &second);
        expect_moves(t, &wire, &first, USE_RECV, 0, first.length);
}

/* The second LMR over the same memory, and the use that it grants, or the one that it lacks. */
static const struct again {
        const char *id;
        DAT_MEM_PRIV_FLAGS first;
        DAT_MEM_PRIV_FLAGS second;
        const struct use *granted; /* NULL: all */
        const struct use *refused;
        bool other_zone;
} agains[] = {
    {"fewer", DAT_MEM_PRIV_ALL_FLAG, LOCAL_READ, USE_SEND, USE_RECV, false},
    {"more", LOCAL_READ, DAT_MEM_PRIV_ALL_FLAG, NULL, NULL, false},
    {"others", LOCAL_READ, LOCAL_WRITE, USE_RECV, USE_SEND, false},
    {"no_remote_write", DAT_MEM_PRIV_ALL_FLAG, LOCAL_READ | LOCAL_WRITE | REMOTE_READ,
     USE_REMOTE_READ, USE_REMOTE_SET, false},
    {"in_other_zone", DAT_MEM_PRIV_ALL_FLAG, DAT_MEM_PRIV_ALL_FLAG, NULL, NULL, true},
};

FAMILY(lmr_create, registered_again, agains)
{
        DAT_PZ_HANDLE zone = row->other_zone ? pz_new(t) : pz(t);
        unsigned char *memory = arena(t);
        struct region first;
        struct region second;
        struct wire wire;

        if (row->granted)
                use_supported(t, row->granted);
        wire = wire_in(t, zone);
        first = created_with(t, .addr = memory, .privileges = row->first);
        second = created_with(t, .addr = memory, .privileges = row->second, .pz = zone);
        expect_eq(region_param(t, first.lmr).mem_priv, row->first);
        expect_eq(region_param(t, second.lmr).mem_priv, row->second);
        if (!row->granted) {
                expect_used(t, &wire, &second);
                return;
        }
        if (row->granted == USE_REMOTE_READ && !second.rmr_context)
                end_noted(t, "no remote context for one remote privilege (LMR-1)");
        expect_moves(t, &wire, &second, row->granted, 0, second.length);
        expect_refused_use(t, &wire, &second, row->refused, 0, second.length);
}

/*
 * Memory that cannot be what it is to be
 */

static const struct read_only {
        const char *id;
        const struct use *use;
} read_only[] = {
    {"send", USE_SEND},
    {"remote_read", USE_REMOTE_READ},
};

static unsigned char *read_only_memory(struct test *t, uint64_t sequence)
{
        unsigned char *memory = memory_private(t, REGION_PAGE);

        message_fill(memory, REGION_PAGE, sequence);
        if (mprotect(memory, REGION_PAGE, PROT_READ) != 0)
                resource(t, "no memory that may not be written");
        return memory;
}

FAMILY(lmr_create, read_only, read_only)
{
        struct wire wire;
        struct region region;

        use_supported(t, row->use);
        wire = wire_in(t, pz(t));
        region = created_with(t, .addr = read_only_memory(t, 9), .privileges = row->use->privilege);
        if (row->use->remote && !region.rmr_context)
                end_noted(t, "no remote context for one remote privilege (LMR-1)");
        expect_moves_out(t, &wire, &region, row->use, 0, REGION_PAGE, 9);
}

static void expect_refused(struct test *t, struct region_opts opts)
{
        struct region region;

        expect_or_note(region_create(t, opts, &region), DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
                       DAT_INSUFFICIENT_RESOURCES);
}

static const struct written {
        const char *id;
        DAT_MEM_PRIV_FLAGS privileges;
} written[] = {
    {"local_write", LOCAL_WRITE},
    {"remote_write", REMOTE_WRITE},
    {"all", DAT_MEM_PRIV_ALL_FLAG},
};

FAMILY(lmr_create, not_writable, written)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        unsigned char *memory = read_only_memory(t, 9);

        expect_refused(
            t, (struct region_opts){.addr = memory, .pz = zone, .privileges = row->privileges});

        expect_that(message_holds(memory, REGION_PAGE, 9), "the memory was changed");
        created_with(t);
        expect_zone_unused(t, zone);
}

/* Of three pages so many from `first` on are not there. */
static const struct hole {
        const char *id;
        size_t first;
        size_t count;
        size_t length; /* 0: three pages */
} holes[] = {
    {"nothing_there", 0, 3, 0},         {"first_page", 0, 1, 0},
    {"middle_page", 1, 1, 0},           {"last_page", 2, 1, 0},
    {"last_byte", 2, 1, 8193},          {"longer_than_any_memory", 0, 0, SIZE_MAX / 2},
    {"around_the_end", 0, 0, SIZE_MAX},
};

FAMILY(lmr_create, not_there, holes)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        unsigned char *memory = memory_private(t, 3 * REGION_PAGE);

        memset(memory, AROUND, 3 * REGION_PAGE);
        if (row->count)
                suite_that(munmap(memory + row->first * REGION_PAGE, row->count * REGION_PAGE) == 0,
                           "the pages could not be unmapped");
        expect_refused(t,
                       (struct region_opts){.addr = memory,
                                            .length = row->length ? row->length : 3 * REGION_PAGE,
                                            .pz = zone});

        created_with(t);
        expect_zone_unused(t, zone);
}

CASE(lmr_create, no_length)
{
        DAT_REGION_DESCRIPTION description = {.for_va = memory_private(t, REGION_PAGE)};
        struct region made;
        DAT_RETURN ret = dat_lmr_create(
            ia(t), DAT_MEM_TYPE_VIRTUAL, description, 0, pz(t), DAT_MEM_PRIV_ALL_FLAG, &made.lmr,
            &made.lmr_context, &made.rmr_context, &made.registered_size, &made.registered_address);

        expect_may(ret, DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                adopt(t, DAT_HANDLE_TYPE_LMR, made.lmr);
        created_with(t);
}
