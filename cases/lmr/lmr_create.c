/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_create: which memory it takes, what it tells of it, and every byte of it in use. */
#include "clauses/lmr_create.h"
#include "cases/lmr/shared/region.h"
#include "cases/shared/handles.h"

#include <string.h>
#include <sys/mman.h>

#define ARENA     (5 * REGION_PAGE) /* memory in whose middle an LMR is */
#define AROUND    0x77              /* what its other bytes are */
#define OFTEN     300
#define AT_ONCE   50 /* LMRs */
#define MOST_LMRS 1024
#define LARGE     ((size_t)16 << 20)
#define MET       3 /* rounds in which their calls met are enough */
#define THREADS   3
#define EDGE      8 /* bytes, one of which is outside */

static struct region created(struct test *t, struct region_opts opts)
{
        struct region region;

        expect(region_create(t, opts, &region), DAT_SUCCESS);
        return region;
}
#define created_with(t_, ...) created((t_), (struct region_opts){__VA_ARGS__})

static void free_now(struct test *t, const struct region *region)
{
        expect(dat_lmr_free(region->lmr), DAT_SUCCESS);
        disown(t, region->lmr);
}

static void expect_two(struct test *t, const struct region *one, const struct region *other)
{
        expect_that(one->lmr != other->lmr, "two LMRs have one handle");
        expect_that(one->lmr_context != other->lmr_context, "two LMRs have one context");
        expect_that(one->rmr_context != other->rmr_context, "two LMRs have one remote context");
}

/*
 * What is made
 */

FAMILY(lmr_create, created, types)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct region_opts opts = {.pz = zone};
        struct region region = created(t, of_type(t, row, opts));
        DAT_LMR_PARAM param = region_param(t, region.lmr);

        expect_that(param.ia_handle == ia(t), "the LMR is of another IA");
        expect_that(param.pz_handle == zone, "the LMR is in another PZ");
        expect_eq(param.mem_type, row->type);
        expect_eq(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
        expect_eq(param.lmr_context, region.lmr_context);
        expect_eq(param.rmr_context, region.rmr_context);
        expect_eq(param.registered_size, region.registered_size);
        expect_eq(param.registered_address, region.registered_address);
}

static void expect_one_use(struct test *t, DAT_MEM_TYPE type, const struct use *use)
{
        struct type_row row = {.type = type};
        struct region_opts opts = {.length = 2 * REGION_PAGE};
        struct wire wire;
        struct region region;

        use_supported(t, use);
        wire = wire_in(t, pz(t));
        region = created(t, of_type(t, &row, opts));
        expect_moves(t, &wire, &region, use, 0, region.length);
        expect_moves(t, &wire, &region, use, 1, region.length - 1);
}

FAMILY(lmr_create, virtual_used, uses)
{
        expect_one_use(t, DAT_MEM_TYPE_VIRTUAL, row);
}

FAMILY(lmr_create, of_lmr_used, uses)
{
        expect_one_use(t, DAT_MEM_TYPE_LMR, row);
}

FAMILY(lmr_create, shared_used, uses)
{
        expect_one_use(t, DAT_MEM_TYPE_SHARED_VIRTUAL, row);
}

static const struct part {
        const char *id;
        ptrdiff_t offset;
        size_t length;
} parts[] = {
    {"whole", 0, 2 * REGION_PAGE},
    {"middle", 1001, REGION_PAGE + 7},
};

FAMILY(lmr_create, bound, parts)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = created_with(t, .length = 2 * REGION_PAGE);
        struct region window = window_of(&region, row->offset, row->length);
        struct bound bound;
        DAT_EVENT event;

        use_supported(t, USE_REMOTE_READ);
        expect(window_open(t, &wire, &region, window, REMOTE_READ | REMOTE_WRITE, &bound),
               DAT_SUCCESS);
        event = expect_event(ep_request_evd(t, wire.here), DAT_RMR_BIND_COMPLETION_EVENT);
        expect_eq(event.event_data.rmr_completion_event_data.status, DAT_RMR_BIND_SUCCESS);
        expect_moves(t, &wire, &bound.window, USE_REMOTE_SET, 0, row->length);
        expect_moves(t, &wire, &bound.window, USE_REMOTE_READ, 0, row->length);
}

FAMILY(lmr_create, by_peer, types)
{
        DAT_EP_HANDLE ep;
        struct peer_ep *end;
        struct region_opts opts = {.length = REGION_PAGE + 77};
        struct region region = created(t, of_type(t, row, opts));
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.reads = 1});
        DAT_LMR_TRIPLET segment = {.lmr_context = region.lmr_context,
                                   .virtual_address = (DAT_VADDR)(uintptr_t)region.addr,
                                   .segment_length = region.length};

        use_supported(t, USE_REMOTE_READ);
        peer_reads(peer(t), 1);
        ep = ep_with(t, .attr = &attr);
        end = must_connect(ep);
        must(dat_ep_post_recv(ep, 1, &segment, COOKIE(1), DAT_COMPLETION_DEFAULT_FLAG));
        peer_send(end, .length = region.length, .first = 3);
        expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, region.length);
        expect_that(message_holds(region.addr, region.length, 3), "the memory has not the message");
        message_fill(region.addr, region.length, 0);
        expect_that(
            peer_read(end, region.rmr_context, (DAT_VADDR)(uintptr_t)region.addr, region.length),
            "the peer could not read the memory");
}

/*
 * Privileges
 */

FAMILY(lmr_create, privilege, uses)
{
        struct wire wire;
        struct region region;

        use_supported(t, row);
        wire = wire_in(t, pz(t));
        region = created_with(t, .privileges = row->privilege);
        if (row->remote && !region.rmr_context)
                end_noted(t, "no remote context for one remote privilege (LMR-1)");
        expect_moves(t, &wire, &region, row, 0, region.length);
}

CASE(lmr_create, every_privilege)
{
        for (unsigned int bits = 0; bits <= DAT_MEM_PRIV_ALL_FLAG; bits++) {
                DAT_MEM_PRIV_FLAGS privileges = (DAT_MEM_PRIV_FLAGS)bits;
                struct region region;

                if (bits & ~(unsigned int)DAT_MEM_PRIV_ALL_FLAG)
                        continue;
                region = created_with(t, .privileges = privileges, .unprivileged = !bits);
                expect_eq(region_param(t, region.lmr).mem_priv, privileges);
        }
}

/* What is not asked for is tried, with what context there is. */
static const struct unasked {
        const char *id;
        DAT_MEM_PRIV_FLAGS privileges;
        const struct use *use;
} unasked[] = {
    {"read_of_none", DAT_MEM_PRIV_NONE_FLAG, USE_REMOTE_READ},
    {"write_of_none", DAT_MEM_PRIV_NONE_FLAG, USE_REMOTE_SET},
    {"read_of_local", LOCAL_READ | LOCAL_WRITE, USE_REMOTE_READ},
    {"write_of_local", LOCAL_READ | LOCAL_WRITE, USE_REMOTE_SET},
    {"read_of_write", LOCAL_READ | LOCAL_WRITE | REMOTE_WRITE, USE_REMOTE_READ},
    {"write_of_read", LOCAL_READ | LOCAL_WRITE | REMOTE_READ, USE_REMOTE_SET},
};

FAMILY(lmr_create, unasked, unasked)
{
        struct wire wire;
        struct region region;

        use_supported(t, row->use);
        wire = wire_in(t, pz(t));
        region = created_with(t, .privileges = row->privileges, .unprivileged = !row->privileges);
        if (!region.rmr_context)
                region.rmr_context = region.lmr_context;
        expect_refused_use(t, &wire, &region, row->use, 0, region.length);
}

static const struct local_only {
        const char *id;
        DAT_MEM_PRIV_FLAGS privileges;
} local_only[] = {
    {"none", DAT_MEM_PRIV_NONE_FLAG},
    {"read", LOCAL_READ},
    {"write", LOCAL_WRITE},
    {"both", LOCAL_READ | LOCAL_WRITE},
};

FAMILY(lmr_create, no_remote_context, local_only)
{
        struct region region =
            created_with(t, .privileges = row->privileges, .unprivileged = !row->privileges);

        expect_eq(region.rmr_context, 0);
        expect_eq(region_param(t, region.lmr).rmr_context, 0);
}

/*
 * Where the memory is
 */

/* An LMR in the middle of memory: from `offset` behind the second page on. */
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

static unsigned char *arena(struct test *t)
{
        unsigned char *memory = memory_private(t, ARENA);

        memset(memory, AROUND, ARENA);
        return memory;
}

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
        size_t front = REGION_PAGE + row->offset;
        struct region region = created_with(t, .addr = memory + front, .length = row->length);

        expect_eq(untouched(memory, ARENA), ARENA);
        expect_used(t, &wire, &region);
        expect_eq(untouched(memory, front), front);
        expect_eq(untouched(memory + front + row->length, ARENA - front - row->length),
                  ARENA - front - row->length);
}

static unsigned char *registered_at(const struct region *region)
{
        return region->addr +
               (ptrdiff_t)(region->registered_address - (DAT_VADDR)(uintptr_t)region->addr);
}

FAMILY(lmr_create, registered, places)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = arena(t);
        struct region region =
            created_with(t, .addr = memory + REGION_PAGE + row->offset, .length = row->length);
        struct region told = region;

        expect_that(region.registered_address <= (DAT_VADDR)(uintptr_t)region.addr &&
                        region.registered_address >= (DAT_VADDR)(uintptr_t)memory,
                    "the registered address is none of the memory's");
        told.addr = registered_at(&region);
        told.length = region.registered_size;
        expect_that(told.length <= (size_t)(memory + ARENA - told.addr),
                    "more was registered than there is");
        expect_that(told.addr + told.length >= region.addr + region.length,
                    "less was registered than was asked for");
        expect_moves(t, &wire, &told, USE_RECV, 0, told.length);
        expect_moves(t, &wire, &told, USE_SEND, 0, told.length);
}

/* By how much what is told of as registered is exceeded: by one byte. */
static void expect_bounded(struct test *t, const struct use *use, bool before)
{
        unsigned char *memory = arena(t);
        struct wire wire;
        struct region region;
        ptrdiff_t start;
        ptrdiff_t end;

        use_supported(t, use);
        wire = wire_in(t, pz(t));
        region = created_with(t, .addr = memory + REGION_PAGE + 100, .length = REGION_PAGE);
        start = registered_at(&region) - region.addr;
        end = start + (ptrdiff_t)region.registered_size;
        suite_that(start > -2 * (ptrdiff_t)REGION_PAGE && end < 4 * (ptrdiff_t)REGION_PAGE,
                   "all of the memory was registered");
        expect_refused_use(t, &wire, &region, use, before ? start - 1 : end + 1 - EDGE, EDGE);
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

/* Memory that nobody wrote yet has no pages of its own: they come later, and the LMR has them. */
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

/* A refused LMR is in no zone. */
static void expect_zone_unused(struct test *t, DAT_PZ_HANDLE zone)
{
        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
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

        expect(ret, DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                adopt(t, DAT_HANDLE_TYPE_LMR, made.lmr);
        created_with(t);
}

/*
 * LMRs over LMRs
 */

static const struct ignored {
        const char *id;
        size_t length;
} ignored[] = {
    {"none", 0},
    {"one", 1},
    {"longer", 7 * REGION_PAGE},
    {"endless", SIZE_MAX},
};

FAMILY(lmr_create, length_ignored, ignored)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = arena(t);
        struct region source = region_with(t, .addr = memory + 100, .length = REGION_PAGE);
        struct region region =
            created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source, .length = row->length);

        expect_two(t, &source, &region);
        expect_that(registered_at(&region) <= source.addr,
                    "it does not begin where the other does");
        expect_that(registered_at(&region) + region.registered_size >= source.addr + source.length,
                    "it ends before the other does");
        expect_used(t, &wire, &region);
        expect_used(t, &wire, &source);
}

CASE(lmr_create, of_lmr_other_zone)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct wire wire = wire_in(t, pz(t));
        struct wire other = wire_in(t, zone);
        struct region source = region_with(t, .length = REGION_PAGE);
        struct region region = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source, .pz = zone);

        expect_that(region_param(t, region.lmr).pz_handle == zone, "the LMR is in another PZ");
        expect_used(t, &other, &region);
        expect_used(t, &wire, &source);
}

CASE(lmr_create, of_lmr_wider)
{
        struct wire wire = wire_in(t, pz(t));
        struct region source = region_with(t, .privileges = LOCAL_READ);
        struct region region = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source);

        expect_used(t, &wire, &region);
        expect_eq(region_param(t, source.lmr).mem_priv, LOCAL_READ);
}

CASE(lmr_create, of_lmr_narrower)
{
        struct wire wire = wire_in(t, pz(t));
        struct region source = region_with(t);
        struct region region = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source,
                                            .privileges = LOCAL_READ | LOCAL_WRITE);

        expect_eq(region.rmr_context, 0);
        region.rmr_context = region.lmr_context;
        expect_used(t, &wire, &source);
        expect_refused_use(t, &wire, &region, USE_REMOTE_SET, 0, region.length);
}

CASE(lmr_create, of_lmr_of_lmr)
{
        struct wire wire = wire_in(t, pz(t));
        struct region regions[4] = {region_with(t)};

        for (int i = 1; i < 4; i++) {
                regions[i] = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &regions[i - 1]);
                expect_two(t, &regions[i - 1], &regions[i]);
        }
        for (int i = 3; i >= 0; i--)
                expect_used(t, &wire, &regions[i]);
}

CASE(lmr_create, of_lmr_of_shared)
{
        struct wire wire = wire_in(t, pz(t));
        struct region shared = region_with(t, .type = DAT_MEM_TYPE_SHARED_VIRTUAL);
        struct region over = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &shared);

        expect_two(t, &shared, &over);
        expect_used(t, &wire, &over);
        expect_used(t, &wire, &shared);
}

FAMILY(lmr_create, not_an_lmr, invalid_handles)
{
        struct region source = region_with(t);
        struct region bad = {.lmr = bad_handle(t, DAT_HANDLE_TYPE_LMR, row->how)};
        struct region region;

        expect(
            region_create(t, (struct region_opts){.type = DAT_MEM_TYPE_LMR, .of = &bad}, &region),
            DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
        created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source);
}

CASE(lmr_create, lmr_of_other_ia)
{
        struct region source = region_with(t, .ia = other_ia(t), .pz = pz_of(t, other_ia(t)));
        struct region region;
        DAT_RETURN ret =
            expect(region_create(t, (struct region_opts){.type = DAT_MEM_TYPE_LMR, .of = &source},
                                 &region),
                   DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                note(t, "granted, though the LMR is another IA's (GEN-12)");
        expect_that(region_param(t, source.lmr).ia_handle == other_ia(t),
                    "the LMR of the other IA has changed");
}

/*
 * Shared memory
 */

CASE(lmr_create, two_mappings)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *second;
        unsigned char *first = memory_shared_twice(t, REGION_PAGE, &second);
        char cookie[COOKIE_SIZE] = "two mappings";
        struct region one =
            created_with(t, .type = DAT_MEM_TYPE_SHARED_VIRTUAL, .addr = first, .cookie = &cookie);
        struct region other =
            created_with(t, .type = DAT_MEM_TYPE_SHARED_VIRTUAL, .addr = second, .cookie = &cookie);

        expect_two(t, &one, &other);
        expect_moves(t, &wire, &one, USE_RECV, 0, REGION_PAGE);
        expect_that(memcmp(first, second, REGION_PAGE) == 0, "the mappings differ");
        message_fill(first, REGION_PAGE, 77);
        expect_moves_out(t, &wire, &other, USE_SEND, 0, REGION_PAGE, 77);
        expect_used(t, &wire, &one);
        expect_used(t, &wire, &other);
}

CASE(lmr_create, two_consumers)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *second;
        unsigned char *first = memory_shared_twice(t, REGION_PAGE, &second);
        char cookie[COOKIE_SIZE] = "two consumers";
        struct region there =
            created_with(t, .ia = other_ia(t), .pz = pz_of(t, other_ia(t)),
                         .type = DAT_MEM_TYPE_SHARED_VIRTUAL, .addr = second, .cookie = &cookie);
        struct region here =
            created_with(t, .type = DAT_MEM_TYPE_SHARED_VIRTUAL, .addr = first, .cookie = &cookie);

        expect_that(region_param(t, there.lmr).ia_handle == other_ia(t), "it is of another IA");
        expect_moves(t, &wire, &here, USE_RECV, 0, REGION_PAGE);
        expect_that(memcmp(first, second, REGION_PAGE) == 0, "the mappings differ");
        free_now(t, &there);
        expect_used(t, &wire, &here);
}

/* Two regions' cookies that are alike but for one byte; byte 4 of both is 0. */
static const struct differing {
        const char *id;
        size_t at;
} differing[] = {
    {"first_byte", 0},
    {"behind_a_zero", 5},
    {"last_byte", COOKIE_SIZE - 1},
};

FAMILY(lmr_create, cookies_differ, differing)
{
        struct wire wire = wire_in(t, pz(t));
        char cookies[2][COOKIE_SIZE] = {"abcd", "abcd"};
        struct region regions[2];

        cookies[1][row->at] = 'x';
        for (int i = 0; i < 2; i++)
                regions[i] =
                    created_with(t, .type = DAT_MEM_TYPE_SHARED_VIRTUAL, .cookie = &cookies[i]);

        expect_two(t, &regions[0], &regions[1]);
        for (int i = 0; i < 2; i++)
                expect_used(t, &wire, &regions[i]);
        message_fill(regions[0].addr, REGION_PAGE, 21);
        message_fill(regions[1].addr, REGION_PAGE, 22);
        expect_moves_out(t, &wire, &regions[0], USE_SEND, 0, REGION_PAGE, 21);
        expect_moves_out(t, &wire, &regions[1], USE_SEND, 0, REGION_PAGE, 22);
}

CASE(lmr_create, not_shared)
{
        struct region_opts opts = {.type = DAT_MEM_TYPE_SHARED_VIRTUAL,
                                   .addr = memory_private(t, REGION_PAGE)};
        struct wire wire = wire_in(t, pz(t));
        struct region region;

        if (dat_is(expect_or_note(region_create(t, opts, &region), DAT_INVALID_STATE, DAT_SUCCESS),
                   DAT_SUCCESS))
                expect_used(t, &wire, &region);
        opts.addr = NULL;
        region = created(t, opts);
        expect_used(t, &wire, &region);
}

CASE(lmr_create, null_cookie)
{
        DAT_REGION_DESCRIPTION description = {
            .for_shared_memory = {.virtual_address = memory_shared(t, REGION_PAGE)}};
        struct region made;
        DAT_RETURN ret =
            dat_lmr_create(ia(t), DAT_MEM_TYPE_SHARED_VIRTUAL, description, REGION_PAGE, pz(t),
                           DAT_MEM_PRIV_ALL_FLAG, &made.lmr, &made.lmr_context, &made.rmr_context,
                           &made.registered_size, &made.registered_address);

        record(t, "a null cookie: 0x%x", (unsigned int)ret);
        if (dat_is(ret, DAT_SUCCESS))
                adopt(t, DAT_HANDLE_TYPE_LMR, made.lmr);
        created_with(t, .type = DAT_MEM_TYPE_SHARED_VIRTUAL);
}

/*
 * Many
 */

CASE(lmr_create, many_at_once)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = memory_private(t, AT_ONCE * MESSAGE);
        struct region regions[AT_ONCE];
        size_t count = (size_t)ia_attr(t)->max_lmrs / 2;

        if (count > AT_ONCE)
                count = AT_ONCE;
        for (size_t i = 0; i < count; i++) {
                regions[i] = created_with(t, .addr = memory + i * MESSAGE, .length = MESSAGE);
                for (size_t j = 0; j < i; j++)
                        expect_two(t, &regions[i], &regions[j]);
        }
        for (size_t i = 0; i < count; i++)
                expect_moves(t, &wire, &regions[i], i % 2 ? USE_SEND : USE_RECV, 0, MESSAGE);
}

/* As many as the IA says, or MOST_LMRS; only a lack of resources can stand in their way. */
CASE(lmr_create, as_many_as_the_ia_has)
{
        DAT_COUNT limit = ia_attr(t)->max_lmrs;
        unsigned char *memory = memory_private(t, REGION_PAGE);
        struct region region;
        DAT_RETURN ret = DAT_SUCCESS;
        DAT_COUNT made;

        for (made = 0; made < limit && made < MOST_LMRS; made++) {
                ret =
                    expect(region_create(t, (struct region_opts){.addr = memory, .length = MESSAGE},
                                         &region),
                           DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
                if (!dat_is(ret, DAT_SUCCESS))
                        break;
        }
        if (!dat_is(ret, DAT_SUCCESS))
                resource(t, "no resources for more than %d of %d LMRs", made, limit);
}

CASE(lmr_create, large)
{
        struct wire wire = wire_in(t, pz(t));
        DAT_VLEN most = ia_attr(t)->max_lmr_block_size;
        size_t length = most < LARGE ? (size_t)most : LARGE;
        struct region region = created_with(t, .length = length);

        expect_moves(t, &wire, &region, USE_RECV, 0, MESSAGE);
        expect_moves(t, &wire, &region, USE_RECV, (ptrdiff_t)(length - MESSAGE), MESSAGE);
        expect_moves(t, &wire, &region, USE_SEND, (ptrdiff_t)(length - MESSAGE), MESSAGE);
        expect_moves(t, &wire, &region, USE_REMOTE_SET, (ptrdiff_t)(length / 2), MESSAGE);
}

CASE(lmr_create, often)
{
        unsigned char *memory = memory_private(t, REGION_PAGE);
        struct wire wire = wire_in(t, pz(t));
        struct region region;

        for (int i = 0; i < OFTEN; i++) {
                region = created_with(t, .addr = memory, .length = REGION_PAGE);
                free_now(t, &region);
        }
        region = created_with(t, .addr = memory, .length = REGION_PAGE);
        expect_used(t, &wire, &region);
}

CASE(lmr_create, beside_others)
{
        struct wire wire = wire_in(t, pz(t));
        struct region older = region_with(t);
        struct region newer;

        expect_used(t, &wire, &older);
        newer = created_with(t, .privileges = LOCAL_READ);
        expect_moves(t, &wire, &newer, USE_SEND, 0, newer.length);
        expect_used(t, &wire, &older);
}

CASE(lmr_create, two_eps)
{
        struct wire one = wire_in(t, pz(t));
        struct wire other = wire_in(t, pz(t));
        struct region region = created_with(t);

        expect_used(t, &one, &region);
        expect_used(t, &other, &region);
}

/* The rows of `uses` that are of the LMR's own side. */
static const struct local_use {
        const char *id;
        const struct use *use;
} local_uses[] = {
    {"send", USE_SEND},
    {"recv", USE_RECV},
    {"rdma_write_from", USE_WRITE},
    {"rdma_read_into", USE_READ},
};

FAMILY(lmr_create, other_zone, local_uses)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct wire wire;
        struct wire other;
        struct region region;

        use_supported(t, row->use);
        wire = wire_in(t, zone);
        other = wire_in(t, pz(t));
        region = created_with(t, .pz = zone);
        expect_moves(t, &wire, &region, row->use, 0, region.length);
        expect_refused_use(t, &other, &region, row->use, 0, region.length);
}

/*
 * Several threads
 */

struct creation {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE zone;
        struct region made;
};

static DAT_RETURN create_by(void *arg)
{
        struct creation *creation = arg;
        struct region *made = &creation->made;
        DAT_REGION_DESCRIPTION description = {.for_va = made->addr};

        return dat_lmr_create(creation->ia, DAT_MEM_TYPE_VIRTUAL, description, made->length,
                              creation->zone, DAT_MEM_PRIV_ALL_FLAG, &made->lmr, &made->lmr_context,
                              &made->rmr_context, &made->registered_size,
                              &made->registered_address);
}

CASE(lmr_create, any_thread, DEADLINE_MS(20000))
{
        struct stress stress = stress_of(t, 3000);
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = memory_private(t, THREADS * MESSAGE);

        while (stress.met < MET && stress_round(&stress)) {
                struct creation creations[THREADS];
                struct racer racers[THREADS];

                for (size_t i = 0; i < THREADS; i++) {
                        creations[i] = (struct creation){.ia = ia(t), .zone = pz(t)};
                        creations[i].made.addr = memory + i * MESSAGE;
                        creations[i].made.length = MESSAGE;
                        racers[i] = (struct racer){.call = create_by, .arg = &creations[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        adopt(t, DAT_HANDLE_TYPE_LMR, creations[i].made.lmr);
                        expect_moves(t, &wire, &creations[i].made, USE_RECV, 0, MESSAGE);
                }
                expect_two(t, &creations[0].made, &creations[1].made);
                expect_two(t, &creations[1].made, &creations[2].made);
                for (int i = 0; i < THREADS; i++)
                        free_now(t, &creations[i].made);
        }
        must_have_met(&stress);
}

/*
 * Arguments
 */

static const struct undefined {
        const char *id;
        unsigned int value;
} undefined_types[] = {
    {"far_behind", 100},
    {"high_bit", 1U << 31},
    {"all_bits", ~0U},
};

FAMILY(lmr_create, undefined_type, undefined_types)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_REGION_DESCRIPTION description = {.for_va = memory_private(t, REGION_PAGE)};
        struct region made;

        expect(dat_lmr_create(ia(t), (DAT_MEM_TYPE)row->value, description, REGION_PAGE, zone,
                              DAT_MEM_PRIV_ALL_FLAG, &made.lmr, &made.lmr_context,
                              &made.rmr_context, &made.registered_size, &made.registered_address),
               DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
        created_with(t);
        expect_zone_unused(t, zone);
}

static const struct undefined undefined_privileges[] = {
    {"between", 0x4},      {"between_among_all", 0x33 | 0x8},
    {"next", 0x100},       {"next_among_all", 0x33 | 0x100},
    {"highest", 1U << 31}, {"all_bits", ~0U},
};

FAMILY(lmr_create, undefined_privilege, undefined_privileges)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct region region;

        expect(region_create(
                   t,
                   (struct region_opts){.pz = zone, .privileges = (DAT_MEM_PRIV_FLAGS)row->value},
                   &region),
               DAT_INVALID_PARAMETER);
        created_with(t);
        expect_zone_unused(t, zone);
}

LEGAL(lmr_create)
{
        static struct region made;

        call->ia_handle = ia(t);
        call->mem_type = DAT_MEM_TYPE_VIRTUAL;
        call->region_description.for_va = memory_private(t, REGION_PAGE);
        call->length = REGION_PAGE;
        call->pz_handle = pz(t);
        call->privileges = DAT_MEM_PRIV_ALL_FLAG;
        call->lmr_context = &made.lmr_context;
        call->rmr_context = &made.rmr_context;
        call->registered_length = &made.registered_size;
        call->registered_address = &made.registered_address;
}
