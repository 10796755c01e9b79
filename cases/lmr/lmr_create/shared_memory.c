/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_create: shared memory. */
#include "case/exec_process.h"
#include "cases/lmr/lmr_create/fixtures.h"
#include "cases/lmr/shared/region.h"
#include "clauses/lmr_create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        lmr_create_free_now(t, &there);
        expect_used(t, &wire, &here);
}

/* A consumer in a process of its own, which begins anew. */
struct elsewhere {
        char name[DAT_NAME_MAX_LENGTH];
        char cookie[COOKIE_SIZE];
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE zone;
        DAT_LMR_HANDLE lmr;
};

#define COMMON (2 * REGION_PAGE)

/* Whole pages of the memory that both processes have. */
static unsigned char *common_pages(unsigned char *shared)
{
        return shared + (REGION_PAGE - (uintptr_t)shared % REGION_PAGE) % REGION_PAGE;
}

static DAT_RETURN open_elsewhere(void *arg)
{
        struct elsewhere *there = arg;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_ia_open(there->name, 8, &async, &there->ia);

        return dat_is(ret, DAT_SUCCESS) ? dat_pz_create(there->ia, &there->zone) : ret;
}

static DAT_RETURN register_elsewhere(void *arg)
{
        struct elsewhere *there = arg;
        unsigned char *shared = exec_process_own_shared();
        struct region made;
        DAT_REGION_DESCRIPTION description = {
            .for_shared_memory = {.virtual_address = common_pages(shared),
                                  .shared_memory_id = &there->cookie}};

        return dat_lmr_create(there->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, description, COMMON,
                              there->zone, DAT_MEM_PRIV_ALL_FLAG, &there->lmr, &made.lmr_context,
                              &made.rmr_context, &made.registered_size, &made.registered_address);
}

static DAT_RETURN free_elsewhere(void *arg)
{
        const struct elsewhere *there = arg;

        return dat_lmr_free(there->lmr);
}

CASE(lmr_create, two_processes)
{
        struct wire wire = wire_in(t, pz(t));
        struct elsewhere there = {.cookie = "two processes"};
        char cookie[COOKIE_SIZE] = "two processes";
        struct exec_process *process =
            exec_process_start(t, NULL, 0, "DAT_OVERRIDE", getenv("DAT_OVERRIDE"));
        unsigned char *shared = exec_process_shared(process);
        struct region here;

        snprintf(there.name, sizeof(there.name), "%s", ia_name(t));
        must(exec_process_call(process, open_elsewhere, &there, sizeof(there)));
        expect(exec_process_call(process, register_elsewhere, &there, sizeof(there)), DAT_SUCCESS);
        here = created_with(t, .type = DAT_MEM_TYPE_SHARED_VIRTUAL, .addr = common_pages(shared),
                            .length = COMMON, .cookie = &cookie);
        expect_used(t, &wire, &here);
        expect(exec_process_call(process, free_elsewhere, &there, sizeof(there)), DAT_SUCCESS);
        expect_used(t, &wire, &here);
        lmr_create_free_now(t, &here);
        exec_process_end(process);
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

/* What the LMR was made with, whole; a query of the LMR is what shows it. */
static void expect_cookie(struct test *t, const struct region *region, const char *cookie)
{
        DAT_LMR_PARAM param = region_param(t, region->lmr);
        const DAT_SHARED_MEMORY *told = &param.region_desc.for_shared_memory;

        expect_that(told->virtual_address == region->addr, "the LMR is of another region");
        expect_that(told->shared_memory_id &&
                        memcmp(*told->shared_memory_id, cookie, COOKIE_SIZE) == 0,
                    "the LMR's cookie is not the one that was given");
}

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
        for (int i = 0; i < 2; i++) {
                expect_cookie(t, &regions[i], cookies[i]);
                expect_used(t, &wire, &regions[i]);
        }
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

struct no_cookie {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_REGION_DESCRIPTION description;
};

static DAT_RETURN create_without_cookie(void *arg)
{
        const struct no_cookie *given = arg;
        struct region made;

        return dat_lmr_create(given->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, given->description,
                              REGION_PAGE, given->pz, DAT_MEM_PRIV_ALL_FLAG, &made.lmr,
                              &made.lmr_context, &made.rmr_context, &made.registered_size,
                              &made.registered_address);
}

CASE(lmr_create, null_cookie)
{
        struct no_cookie given = {
            .ia = ia(t),
            .pz = pz(t),
            .description.for_shared_memory.virtual_address = memory_shared(t, REGION_PAGE),
        };

        unjudged_call(t, "dat_lmr_create with a null cookie", create_without_cookie, &given, true);
        created_with(t, .type = DAT_MEM_TYPE_SHARED_VIRTUAL);
}
