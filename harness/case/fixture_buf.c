/* SPDX-License-Identifier: BSD-2-Clause */
/* Registered memory between two guard areas. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "case/limits.h"
#include "case/test.h"

#define BUF_LENGTH 4096
#define PAGE       4096
/* The largest pages that a provider may register in whole. */
#define ROUNDED_MOST (UINT64_C(2) << 20)
#define PATTERN      256

#if UDAPL_CTS_API_MAJOR > 1
static const struct test *made_for; /* the process's one case, once it has a buffer */
#endif

/* The guard before the buffer fills a page; the one after it fills the last page and one more. */
static size_t mapped_length(const struct buf *buf)
{
        return PAGE + (buf->length + PAGE - 1) / PAGE * PAGE + PAGE;
}

static unsigned char *mapped_start(const struct buf *buf)
{
        return buf->addr - PAGE;
}

#define BYTE(n_)    (0xa5 ^ (n_))
#define FOUR(n_)    BYTE(n_), BYTE((n_) + 1), BYTE((n_) + 2), BYTE((n_) + 3)
#define SIXTEEN(n_) FOUR(n_), FOUR((n_) + 4), FOUR((n_) + 8), FOUR((n_) + 12)
#define MANY(n_)    SIXTEEN(n_), SIXTEEN((n_) + 16), SIXTEEN((n_) + 32), SIXTEEN((n_) + 48)

/* What a guard holds from a multiple of its length on: each byte depends on its address's last. */
static const unsigned char guard_pattern[PATTERN] = {MANY(0), MANY(64), MANY(128), MANY(192)};

static size_t shorter(size_t one, size_t other)
{
        return one < other ? one : other;
}

/* The bytes from `from` on that are of one pattern, but none from `to` on. */
static size_t of_pattern(const unsigned char *from, const unsigned char *to)
{
        return shorter((size_t)(to - from), PATTERN - (uintptr_t)from % PATTERN);
}

/* The first byte of [from, to) that is not the guard's, or `to`. */
static const unsigned char *first_damage(const unsigned char *from, const unsigned char *to)
{
        for (size_t size; from < to; from += size) {
                const unsigned char *held = guard_pattern + (uintptr_t)from % PATTERN;

                size = of_pattern(from, to);
                if (memcmp(from, held, size) == 0)
                        continue;
                while (size-- && *from == *held++)
                        from++;
                return from;
        }
        return from;
}

static void fill_guard(unsigned char *from, const unsigned char *to)
{
        for (size_t size; from < to; from += size) {
                size = of_pattern(from, to);
                memcpy(from, guard_pattern + (uintptr_t)from % PATTERN, size);
        }
}

static struct buf *buf_map(struct test *t, size_t length, DAT_MEM_TYPE type)
{
        int sharing = type == DAT_MEM_TYPE_SHARED_VIRTUAL ? MAP_SHARED : MAP_PRIVATE;
        struct buf *buf = calloc(1, sizeof(*buf));
        unsigned char *start;

        if (!buf)
                resource(t, "no memory for a buffer of %zu bytes", length);
        buf->length = length;
        start =
            mmap(NULL, mapped_length(buf), PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
        if (start == MAP_FAILED)
                resource(t, "no memory for a buffer of %zu bytes", length);
        buf->addr = start + PAGE;
        fill_guard(start, buf->addr);
        fill_guard(buf->addr + length, start + mapped_length(buf));
        return buf;
}

static void buf_unmap(struct buf *buf)
{
        munmap(mapped_start(buf), mapped_length(buf));
        free(buf);
}

/* Whether the guards of a buffer are whole; records the damage. */
static bool guards_whole(struct test *t, const struct buf *buf)
{
        const unsigned char *start = mapped_start(buf);
        const unsigned char *end = start + mapped_length(buf);
        const unsigned char *after = buf->addr + buf->length;
        const unsigned char *damage = first_damage(start, buf->addr);
        char seen[128];

        if (damage < buf->addr) {
                snprintf(seen, sizeof(seen),
                         "0x%02x in the guard, %td bytes before a buffer of %zu", *damage,
                         buf->addr - damage, buf->length);
                check_guard(t, seen);
                return false;
        }
        damage = first_damage(after, end);
        if (damage < end) {
                snprintf(seen, sizeof(seen), "0x%02x in the guard, %td bytes after a buffer of %zu",
                         *damage, damage - after, buf->length);
                check_guard(t, seen);
                return false;
        }
        return true;
}

/*
 * A provider may register more than was asked for, whole pages say, if it tells so: a transfer
 * there is no violation. What it tells may be nothing, or wrong, which is for dat_lmr_create.
 */
static void note_registered(struct buf *buf, DAT_VADDR address, DAT_VLEN length)
{
        DAT_VADDR start = (DAT_VADDR)(uintptr_t)buf->addr;

        buf->beyond = buf->length;
        if (address > start || start - address > ROUNDED_MOST ||
            length < start - address + buf->length ||
            length - (start - address) - buf->length > ROUNDED_MOST)
                return;
        buf->before = (size_t)(start - address);
        buf->beyond = (size_t)(length - buf->before);
}

static const struct buf_ops ops = {.check = guards_whole, .unmap = buf_unmap};

DAT_MEM_TYPE mem_type_in_turn(struct test *t, size_t number)
{
        static const DAT_MEM_TYPE types[] = {DAT_MEM_TYPE_VIRTUAL, DAT_MEM_TYPE_LMR,
                                             DAT_MEM_TYPE_SHARED_VIRTUAL};
        unsigned int type = (unsigned int)types[number % (sizeof(types) / sizeof(types[0]))];
        unsigned int declared = (unsigned int)provider_attr_if_told(t)->lmr_mem_types_supported;

        return (declared & type) == type ? (DAT_MEM_TYPE)type : DAT_MEM_TYPE_VIRTUAL;
}

/* The LMR of the buffer, of what `region` describes. */
static void register_buf(struct test *t, struct buf *buf, const struct buf_opts *opts,
                         DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region)
{
        DAT_PZ_HANDLE zone = opts->pz ? opts->pz : pz(t);
        DAT_MEM_PRIV_FLAGS privileges = opts->privileges ? opts->privileges : DAT_MEM_PRIV_ALL_FLAG;
        DAT_VLEN registered_length = 0;
        DAT_VADDR registered_address = 0;

        arrange_one(LMR,
                    dat_lmr_create(opts->ia ? opts->ia : t->ia, type, region, buf->length, zone,
                                   privileges, &buf->lmr, &buf->lmr_context, &buf->rmr_context,
                                   &registered_length, &registered_address));
        note_registered(buf, registered_address, registered_length);
}

struct buf *buf_make(struct test *t, struct buf_opts opts)
{
        struct buf *buf = buf_map(t, opts.length ? opts.length : BUF_LENGTH, opts.type);
        DAT_REGION_DESCRIPTION region = {.for_va = buf->addr};
        struct object *object;

        if (opts.type == DAT_MEM_TYPE_LMR) {
                register_buf(t, buf, &opts, DAT_MEM_TYPE_VIRTUAL, region);
                object_add(t, OBJECT_LMR, buf->lmr);
                region.for_lmr_handle = buf->lmr;
        }
        if (opts.type == DAT_MEM_TYPE_SHARED_VIRTUAL) {
                snprintf(buf->cookie, sizeof(buf->cookie), "%p", (void *)buf->addr);
                region.for_shared_memory = (DAT_SHARED_MEMORY){.virtual_address = buf->addr,
                                                               .shared_memory_id = &buf->cookie};
        }
        register_buf(t, buf, &opts, opts.type, region);
        object = object_add(t, OBJECT_LMR, buf->lmr);
        object->buf = buf;
        object->buf_ops = &ops;
#if UDAPL_CTS_API_MAJOR > 1
        made_for = t;
#endif
        return buf;
}

#if UDAPL_CTS_API_MAJOR > 1
static bool is_of(const struct object *object, DAT_LMR_CONTEXT context)
{
        DAT_LMR_PARAM param;

        if (object->buf)
                return object->buf->lmr_context == context;
        return object->kind == OBJECT_LMR &&
               dat_is(dat_lmr_query(object->handle, DAT_LMR_FIELD_LMR_CONTEXT, &param),
                      DAT_SUCCESS) &&
               param.lmr_context == context;
}

DAT_LMR_HANDLE lmr_of(const DAT_LMR_TRIPLET *segment)
{
        for (const struct object *o = segment && made_for ? made_for->objects : NULL; o;
             o = o->older)
                if (is_of(o, segment->lmr_context))
                        return o->handle;
        return DAT_HANDLE_NULL;
}
#endif

DAT_LMR_TRIPLET triplet(const struct buf *buf, size_t offset, size_t length)
{
        return (DAT_LMR_TRIPLET){
            .lmr_context = buf->lmr_context,
            .virtual_address = (DAT_VADDR)(uintptr_t)(buf->addr + offset),
            .segment_length = length,
        };
}

void check_guards(struct test *t)
{
        for (const struct object *o = t->objects; o; o = o->older)
                if (o->buf && !guards_whole(t, o->buf))
                        test_end(t, VERDICT_FAIL, "memory outside a registered buffer was written");
}
