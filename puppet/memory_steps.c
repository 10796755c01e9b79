/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of PZs, LMRs and RMRs. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "case.h"
#include "walk.h"

static DAT_RETURN pz_create(struct walk *walk, const long *arg)
{
        DAT_PZ_HANDLE made = DAT_HANDLE_NULL;

        if (!walk_is_free(walk, arg[0], PZ))
                return walk->said;
        return walk_keep(walk, arg[0], dat_pz_create(walk_ia_of(walk, arg[0]), &made), &made);
}

static DAT_RETURN pz_query(struct walk *walk, const long *arg)
{
        DAT_PZ_PARAM param;

        return dat_pz_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_PZ_FIELD_ALL), &param);
}

static DAT_RETURN pz_free(struct walk *walk, const long *arg)
{
        return walk_gone(walk, arg[0], dat_pz_free(walk_object(walk, arg[0])));
}

static DAT_RETURN lmr_create(struct walk *walk, const long *arg)
{
        struct memory *memory = &walk->memory[slot_of(arg[0])];
        DAT_REGION_DESCRIPTION region;
        DAT_LMR_HANDLE made = DAT_HANDLE_NULL;
        DAT_VLEN length;
        DAT_VADDR address;

        if (!walk_is_free(walk, arg[0], LMR))
                return walk->said;
        if (!memory->bytes)
                memory->bytes = calloc(1, MEMORY_BYTES);
        if (!memory->bytes)
                resource(walk->t, "no memory for a registration");
        memset(&region, 0, sizeof(region));
        region.for_va = memory->bytes;
        return walk_keep(walk, arg[0],
                         dat_lmr_create(walk_ia_of(walk, arg[0]), DAT_MEM_TYPE_VIRTUAL, region,
                                        MEMORY_BYTES, walk_object(walk, arg[1]),
                                        (DAT_MEM_PRIV_FLAGS)arg[2], &made, &memory->lmr_context,
                                        &memory->rmr_context, &length, &address),
                         &made);
}

/* Another mapping of the pages that all of them share. */
static void map_shared(struct walk *walk, struct memory *memory)
{
        if (!walk->pages)
                walk->pages = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (walk->pages != MAP_FAILED)
                memory->bytes = mremap(walk->pages, 0, MEMORY_BYTES, MREMAP_MAYMOVE);
        if (walk->pages == MAP_FAILED || memory->bytes == MAP_FAILED)
                resource(walk->t, "no memory to share");
        memory->shared = true;
}

static DAT_RETURN lmr_create_shared(struct walk *walk, const long *arg)
{
        static char cookie[sizeof(*(DAT_LMR_COOKIE)0)] = "walk";
        struct memory *memory = &walk->memory[slot_of(arg[0])];
        DAT_LMR_HANDLE made = DAT_HANDLE_NULL;
        DAT_REGION_DESCRIPTION region;
        DAT_VLEN length;
        DAT_VADDR address;

        if (!walk_is_free(walk, arg[0], LMR) || (memory->bytes && !memory->shared))
                return walk->said;
        if (!memory->bytes)
                map_shared(walk, memory);
        memset(&region, 0, sizeof(region));
        region.for_shared_memory.virtual_address = memory->bytes;
        region.for_shared_memory.shared_memory_id = &cookie;
        return walk_keep(walk, arg[0],
                         dat_lmr_create(walk_ia_of(walk, arg[0]), DAT_MEM_TYPE_SHARED_VIRTUAL,
                                        region, MEMORY_BYTES, walk_object(walk, arg[1]),
                                        (DAT_MEM_PRIV_FLAGS)arg[2], &made, &memory->lmr_context,
                                        &memory->rmr_context, &length, &address),
                         &made);
}

static DAT_RETURN lmr_create_of(struct walk *walk, const long *arg)
{
        struct memory *memory = &walk->memory[slot_of(arg[0])];
        const struct memory *of = walk_memory(walk, arg[2]);
        DAT_LMR_HANDLE made = DAT_HANDLE_NULL;
        DAT_REGION_DESCRIPTION region;
        DAT_VLEN length;
        DAT_VADDR address;

        if (!walk_is_free(walk, arg[0], LMR) || memory->bytes)
                return walk->said;
        memset(&region, 0, sizeof(region));
        region.for_lmr_handle = walk_object(walk, arg[2]);
        memory->bytes = of->bytes;
        memory->of_other_lmr = true;
        return walk_keep(walk, arg[0],
                         dat_lmr_create(walk_ia_of(walk, arg[0]), DAT_MEM_TYPE_LMR, region,
                                        MEMORY_BYTES, walk_object(walk, arg[1]),
                                        (DAT_MEM_PRIV_FLAGS)arg[3], &made, &memory->lmr_context,
                                        &memory->rmr_context, &length, &address),
                         &made);
}

static DAT_RETURN lmr_query(struct walk *walk, const long *arg)
{
        DAT_LMR_PARAM param;

        return dat_lmr_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_LMR_FIELD_ALL), &param);
}

static DAT_RETURN lmr_sync_rdma_read(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET synced = walk_segment(walk, arg[0], arg[1], arg[2]);

        return dat_lmr_sync_rdma_read(walk_ia_of(walk, arg[0]), &synced, 1);
}

static DAT_RETURN lmr_sync_rdma_write(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET synced = walk_segment(walk, arg[0], arg[1], arg[2]);

        return dat_lmr_sync_rdma_write(walk_ia_of(walk, arg[0]), &synced, 1);
}

static DAT_RETURN lmr_free(struct walk *walk, const long *arg)
{
        return walk_gone(walk, arg[0], dat_lmr_free(walk_object(walk, arg[0])));
}

static DAT_RETURN rmr_create(struct walk *walk, const long *arg)
{
        DAT_RMR_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        if (!walk_is_free(walk, arg[0], RMR))
                return walk->said;
        ret = walk_keep(walk, arg[0], dat_rmr_create(walk_object(walk, arg[1]), &made), &made);
        if (dat_is(ret, DAT_SUCCESS))
                walk_belongs(walk, arg[0], arg[1]);
        return ret;
}

static DAT_RETURN rmr_query(struct walk *walk, const long *arg)
{
        DAT_RMR_PARAM param;

        return dat_rmr_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_RMR_FIELD_ALL), &param);
}

static DAT_RETURN rmr_bind(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET bound = walk_segment(walk, arg[1], arg[2], arg[3]);

        return rmr_bind_in(walk_object(walk, arg[0]), walk_object(walk, arg[1]), &bound,
                           (DAT_MEM_PRIV_FLAGS)arg[4], walk_object(walk, arg[5]),
                           (DAT_RMR_COOKIE){.as_64 = walk->steps}, (DAT_COMPLETION_FLAGS)arg[6],
                           &walk->bound[slot_of(arg[0])]);
}

static DAT_RETURN rmr_free(struct walk *walk, const long *arg)
{
        return walk_gone(walk, arg[0], dat_rmr_free(walk_object(walk, arg[0])));
}

const struct move memory_moves[] = {
    STEP(pz_create, 1),  STEP(pz_query, 2),           STEP(pz_free, 1),
    STEP(lmr_create, 3), STEP(lmr_create_of, 4),      STEP(lmr_create_shared, 3),
    STEP(lmr_query, 2),  STEP(lmr_sync_rdma_read, 3), STEP(lmr_sync_rdma_write, 3),
    STEP(lmr_free, 1),   STEP(rmr_create, 2),         STEP(rmr_query, 2),
    STEP(rmr_bind, 7),   STEP(rmr_free, 1),           {.name = NULL},
};
