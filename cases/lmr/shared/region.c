/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/lmr/shared/region.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CANARY 0x3c

/*
 * LMRs
 */

static unsigned char *map(struct test *t, size_t length, int flags, int fd)
{
        size_t pages = (length + REGION_PAGE - 1) / REGION_PAGE;
        void *memory = mmap(NULL, pages * REGION_PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

        if (memory == MAP_FAILED)
                resource(t, "no memory of %zu pages", pages);
        return memory;
}

unsigned char *memory_private(struct test *t, size_t length)
{
        return map(t, length, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

unsigned char *memory_shared(struct test *t, size_t length)
{
        return map(t, length, MAP_SHARED | MAP_ANONYMOUS, -1);
}

unsigned char *memory_shared_twice(struct test *t, size_t length, unsigned char **other)
{
        int fd = memfd_create("shared", MFD_CLOEXEC);
        unsigned char *memory;

        if (fd < 0 || ftruncate(fd, (off_t)(length + REGION_PAGE)) != 0)
                resource(t, "no file in memory");
        memory = map(t, length, MAP_SHARED, fd);
        *other = map(t, length, MAP_SHARED, fd);
        close(fd);
        return memory;
}

static DAT_REGION_DESCRIPTION description(const struct region_opts *opts)
{
        static char zeros[COOKIE_SIZE];
        DAT_REGION_DESCRIPTION description = {.for_va = opts->addr};

        if (opts->type == DAT_MEM_TYPE_LMR)
                description.for_lmr_handle = opts->of->lmr;
        if (opts->type == DAT_MEM_TYPE_SHARED_VIRTUAL)
                description.for_shared_memory = (DAT_SHARED_MEMORY){
                    .virtual_address = opts->addr,
                    .shared_memory_id = opts->cookie ? opts->cookie : &zeros,
                };
        return description;
}

static DAT_MEM_PRIV_FLAGS privileges_of(const struct region_opts *opts)
{
        if (opts->unprivileged)
                return DAT_MEM_PRIV_NONE_FLAG;
        return opts->privileges ? opts->privileges : DAT_MEM_PRIV_ALL_FLAG;
}

static unsigned char *memory_for(struct test *t, const struct region_opts *opts)
{
        if (opts->addr)
                return opts->addr;
        return opts->type == DAT_MEM_TYPE_SHARED_VIRTUAL ? memory_shared(t, opts->length)
                                                         : memory_private(t, opts->length);
}

DAT_RETURN region_create(struct test *t, struct region_opts opts, struct region *region)
{
        DAT_RETURN ret;

        if (opts.type == DAT_MEM_TYPE_LMR && !opts.length && !opts.no_length)
                opts.length = opts.of->length;
        if (opts.type != DAT_MEM_TYPE_LMR && !opts.length)
                opts.length = REGION_PAGE;
        if (opts.type != DAT_MEM_TYPE_LMR)
                opts.addr = memory_for(t, &opts);
        memset(region, 0xa5, sizeof(*region));
        region->lmr = DAT_HANDLE_NULL;
        region->addr = opts.type == DAT_MEM_TYPE_LMR ? opts.of->addr : opts.addr;
        region->length = opts.type == DAT_MEM_TYPE_LMR ? opts.of->length : opts.length;
        ret = dat_lmr_create(opts.ia ? opts.ia : ia(t), opts.type, description(&opts), opts.length,
                             opts.pz ? opts.pz : pz(t), privileges_of(&opts), &region->lmr,
                             &region->lmr_context, &region->rmr_context, &region->registered_size,
                             &region->registered_address);
        if (dat_is(ret, DAT_SUCCESS) && region->lmr)
                adopt(t, DAT_HANDLE_TYPE_LMR, region->lmr);
        return ret;
}

struct region region_make(struct test *t, struct region_opts opts)
{
        struct region region;

        must(region_create(t, opts, &region));
        return region;
}

DAT_LMR_PARAM region_param(struct test *t, DAT_LMR_HANDLE lmr)
{
        DAT_LMR_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        expect(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
        return param;
}

struct region_opts of_type(struct test *t, const struct type_row *row, struct region_opts opts)
{
        static struct region source;

        opts.type = row->type;
        if (row->type != DAT_MEM_TYPE_LMR)
                return opts;
        source = region_with(t, .addr = opts.addr, .length = opts.length, .pz = opts.pz);
        opts.of = &source;
        return opts;
}

/*
 * The connection
 */

static bool has_reads(const DAT_IA_ATTR *attr)
{
        return attr->max_rdma_read_per_ep_in > 0 && attr->max_rdma_read_per_ep_out > 0 &&
               attr->max_iov_segments_per_rdma_read > 0;
}

void use_supported(struct test *t, const struct use *use)
{
        if (use->way == WAY_RDMA_READ && !has_reads(ia_attr(t)))
                unsupported(t, "max_rdma_read_per_ep_in, max_rdma_read_per_ep_out: none");
}

static struct wire wire_on(struct test *t, DAT_PZ_HANDLE zone, DAT_EVD_HANDLE request_evd)
{
        struct loop loop = transfer_with(t, .pz = zone, .reads = has_reads(ia_attr_if_told(t)),
                                         .request_evd = request_evd);

        return (struct wire){
            .here = loop.active,
            .there = loop.passive,
            .near = buf_with(t, .length = REGION_MOST + MESSAGE, .pz = zone),
            .far = buf_with(t, .length = REGION_MOST + MESSAGE),
        };
}

struct wire wire_in(struct test *t, DAT_PZ_HANDLE zone)
{
        return wire_on(t, zone, DAT_HANDLE_NULL);
}

struct wire wire_for_binds(struct test *t, DAT_PZ_HANDLE zone)
{
        return wire_on(t, zone, evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG));
}

/*
 * Uses
 */

/* One use: what is posted where, and the bytes at both ends. */
struct motion {
        const struct use *use;
        DAT_LMR_TRIPLET segment; /* of the LMR, and its remote form */
        DAT_RMR_TRIPLET remote;
        DAT_LMR_TRIPLET far_segment;
        DAT_RMR_TRIPLET far_remote;
        unsigned char *from;
        unsigned char *to;
        size_t length;
};

static struct motion motion_of(const struct wire *wire, const struct region *region,
                               const struct use *use, ptrdiff_t offset, size_t length)
{
        unsigned char *at = region->addr + offset;

        return (struct motion){
            .use = use,
            .segment = {.lmr_context = region->lmr_context,
                        .virtual_address = (DAT_VADDR)(uintptr_t)at,
                        .segment_length = length},
            .remote = {.rmr_context = region->rmr_context,
                       .target_address = (DAT_VADDR)(uintptr_t)at,
                       .segment_length = length},
            .far_segment = triplet(wire->far, 0, length),
            .far_remote = {.rmr_context = wire->far->rmr_context,
                           .target_address = (DAT_VADDR)(uintptr_t)wire->far->addr,
                           .segment_length = length},
            .from = use->into ? wire->far->addr : at,
            .to = use->into ? at : wire->far->addr,
            .length = length,
        };
}

static DAT_EP_HANDLE poster(const struct wire *wire, const struct use *use)
{
        return use->remote ? wire->there : wire->here;
}

static DAT_EVD_HANDLE told_on(struct test *t, const struct wire *wire, const struct use *use)
{
        return use->way == WAY_RECV ? ep_recv_evd(t, wire->here)
                                    : ep_request_evd(t, poster(wire, use));
}

static DAT_RETURN post(const struct wire *wire, struct motion *motion)
{
        const struct use *use = motion->use;
        DAT_EP_HANDLE ep = poster(wire, use);
        DAT_LMR_TRIPLET *segment = use->remote ? &motion->far_segment : &motion->segment;
        DAT_RMR_TRIPLET *remote = use->remote ? &motion->remote : &motion->far_remote;
        DAT_DTO_COOKIE cookie = COOKIE(wire->moved);

        if (use->way == WAY_SEND)
                return dat_ep_post_send(ep, 1, segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
        if (use->way == WAY_RECV)
                return dat_ep_post_recv(ep, 1, segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
        if (use->way == WAY_RDMA_READ)
                return dat_ep_post_rdma_read(ep, 1, segment, cookie, remote,
                                             DAT_COMPLETION_DEFAULT_FLAG);
        return dat_ep_post_rdma_write(ep, 1, segment, cookie, remote, DAT_COMPLETION_DEFAULT_FLAG);
}

static void post_other_end(struct test *t, const struct wire *wire, struct motion *motion)
{
        DAT_DTO_COOKIE cookie = COOKIE(wire->moved);

        if (motion->use->way == WAY_SEND)
                must(dat_ep_post_recv(wire->there, 1, &motion->far_segment, cookie,
                                      DAT_COMPLETION_DEFAULT_FLAG));
        else
                must(dat_ep_post_send(wire->there, 1, &motion->far_segment, cookie,
                                      DAT_COMPLETION_DEFAULT_FLAG));
}

/* What was written by RDMA is there when a later message of the same EP is. */
static void follow_up(struct test *t, const struct wire *wire, const struct use *use)
{
        DAT_LMR_TRIPLET near = triplet(wire->near, REGION_MOST, MESSAGE);
        DAT_LMR_TRIPLET far = triplet(wire->far, REGION_MOST, MESSAGE);
        DAT_EP_HANDLE from = poster(wire, use);
        DAT_EP_HANDLE to = use->remote ? wire->here : wire->there;

        must(dat_ep_post_recv(to, 1, use->remote ? &near : &far, COOKIE(0),
                              DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_post_send(from, 1, use->remote ? &far : &near, COOKIE(0),
                              DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_request_evd(t, from));
        must_dto(ep_recv_evd(t, to));
}

void expect_moves_out(struct test *t, struct wire *wire, const struct region *region,
                      const struct use *use, ptrdiff_t offset, size_t length, uint64_t sequence)
{
        struct motion motion = motion_of(wire, region, use, offset, length);
        DAT_DTO_COMPLETION_EVENT_DATA dto;

        wire->moved++;
        memset(motion.to, CANARY, length);
        if (use->way == WAY_SEND)
                post_other_end(t, wire, &motion);
        expect(post(wire, &motion), DAT_SUCCESS);
        if (use->way == WAY_RECV)
                post_other_end(t, wire, &motion);
        dto = expect_dto(told_on(t, wire, use));
        expect_eq(dto.transfered_length, length);
        expect_eq(dto.user_cookie.as_64, wire->moved);
        if (use->way == WAY_SEND)
                expect_dto(ep_recv_evd(t, wire->there));
        else if (use->way == WAY_RECV)
                must_dto(ep_request_evd(t, wire->there));
        else if (use->way == WAY_RDMA_WRITE)
                follow_up(t, wire, use);
        expect_that(message_holds(motion.to, length, sequence),
                    "%s: the bytes are not where they were to go", use->id);
}

void expect_moves(struct test *t, struct wire *wire, const struct region *region,
                  const struct use *use, ptrdiff_t offset, size_t length)
{
        struct motion motion = motion_of(wire, region, use, offset, length);
        uint64_t sequence = 1 + draw(t, 1000);

        message_fill(motion.from, length, sequence);
        expect_moves_out(t, wire, region, use, offset, length, sequence);
}

void expect_used(struct test *t, struct wire *wire, const struct region *region)
{
        for (size_t i = 0; i < USE_COUNT; i++)
                if (uses[i].way != WAY_RDMA_READ || has_reads(ia_attr_if_told(t)))
                        expect_moves(t, wire, region, &uses[i], 0, region->length);
}

static DAT_RETURN expect_refusal(struct test *t, const struct wire *wire, struct motion *motion)
{
        if (motion->use->remote)
                return expect(post(wire, motion), DAT_SUCCESS, DAT_PRIVILEGES_VIOLATION,
                              DAT_PROTECTION_VIOLATION);
        return expect(post(wire, motion), DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION,
                      DAT_INVALID_PARAMETER, DAT_SUCCESS);
}

static size_t canaries(const unsigned char *at, size_t length)
{
        size_t count = 0;

        while (count < length && at[count] == CANARY)
                count++;
        return count;
}

bool expect_refused_use(struct test *t, struct wire *wire, const struct region *region,
                        const struct use *use, ptrdiff_t offset, size_t length)
{
        struct motion motion = motion_of(wire, region, use, offset, length);
        DAT_DTO_COMPLETION_STATUS status;
        DAT_EVENT event;
        bool posted;

        wire->moved++;
        message_fill(motion.from, length, wire->moved);
        memset(motion.to, CANARY, length);
        if (use->way == WAY_SEND)
                post_other_end(t, wire, &motion);
        posted = dat_is(expect_refusal(t, wire, &motion), DAT_SUCCESS);
        if (posted && use->way == WAY_RECV)
                post_other_end(t, wire, &motion);
        if (posted) {
                event = expect_event(told_on(t, wire, use), DAT_DTO_COMPLETION_EVENT);
                status = event.event_data.dto_completion_event_data.status;
                if (use->remote)
                        expect_remote_refusal(t, wire->there, use->way == WAY_RDMA_READ, status);
                else
                        expect_eq(status, DAT_DTO_ERR_LOCAL_PROTECTION);
        }
        expect_eq(canaries(motion.to, length), length);
        return posted;
}

/*
 * RMRs
 */

struct region window_of(const struct region *region, ptrdiff_t offset, size_t length)
{
        struct region window = *region;

        window.addr += offset;
        window.length = length;
        return window;
}

DAT_RETURN window_open(struct test *t, const struct wire *wire, const struct region *region,
                       struct region window, DAT_MEM_PRIV_FLAGS privileges, struct bound *bound)
{
        DAT_LMR_TRIPLET segment = {
            .lmr_context = region->lmr_context,
            .virtual_address = (DAT_VADDR)(uintptr_t)window.addr,
            .segment_length = window.length,
        };
        DAT_LMR_PARAM param;

        *bound = (struct bound){.window = window};
        must(dat_lmr_query(region->lmr, DAT_LMR_FIELD_PZ_HANDLE, &param));
        must(dat_rmr_create(param.pz_handle, &bound->rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, bound->rmr);
        return dat_rmr_bind(bound->rmr, &segment, privileges, wire->here,
                            (DAT_RMR_COOKIE){.as_64 = 7}, DAT_COMPLETION_DEFAULT_FLAG,
                            &bound->window.rmr_context);
}

struct bound must_open(struct test *t, const struct wire *wire, const struct region *region,
                       struct region window, DAT_MEM_PRIV_FLAGS privileges)
{
        struct bound bound;
        DAT_EVENT event;

        must(window_open(t, wire, region, window, privileges, &bound));
        event = must_event(ep_request_evd(t, wire->here), DAT_RMR_BIND_COMPLETION_EVENT);
        must_that(event.event_data.rmr_completion_event_data.status == DAT_RMR_BIND_SUCCESS,
                  "the RMR was not bound");
        return bound;
}
