/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/shared/transfer.h"
#include "case/ep_attr.h"
#include "case/limits.h"
#include "case/transport.h"
#include "evidence/api.h"
#include "evidence/evidence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LOOKS 300 /* for what comes of itself; each lasts as long as settle_briefly() */

#define CANARY   0x5c
#define WRONG    0xa9 /* what the memory of a wrong vector is full of */
#define CELL     64   /* bytes: what the addresses of segments are aligned to, and shifted from */
#define FAR      (UINT64_C(1) << 36)
#define FAR_PAGE (UINT64_C(1) << 16) /* no page is larger */
#define WINDOW   8                   /* bytes by which it is found where a byte belongs */

/*
 * Vectors
 */

static DAT_COUNT segments_of(const struct vector_opts *opts)
{
        if (opts->split)
                return opts->split->segments;
        return opts->segments ? opts->segments : 1;
}

/* The bytes of the first `count` segments. */
static size_t end_of(const struct vector_opts *opts, DAT_COUNT count)
{
        size_t all = 0;
        size_t front = 0;

        if (!opts->split)
                return opts->length * (size_t)count / (size_t)segments_of(opts);
        for (DAT_COUNT i = 0; i < opts->split->segments; i++) {
                all += opts->split->parts[i];
                front += i < count ? opts->split->parts[i] : 0;
        }
        return (opts->length * front + all - 1) / all;
}

static size_t shift_of(const struct vector_opts *opts, DAT_COUNT segment)
{
        return opts->aligned ? opts->shift : ((size_t)segment * 22 + 1) % CELL;
}

struct vector vector_make(struct test *t, struct vector_opts opts)
{
        struct vector vector = {.count = segments_of(&opts), .length = opts.length};
        size_t count = (size_t)vector.count;
        size_t at = 0;

        opts.buf.length = opts.length + (count + 1) * 3 * CELL;
        vector.buf = buf_make(t, opts.buf);
        vector.iov = calloc(count, sizeof(*vector.iov));
        if (!vector.iov)
                resource(t, "no memory for a vector of %zu segments", count);
        memset(vector.buf->addr, CANARY, vector.buf->length);
        for (DAT_COUNT i = vector.count - 1; i >= 0; i--) {
                size_t length = end_of(&opts, i + 1) - end_of(&opts, i);

                at = (at + CELL) / CELL * CELL + shift_of(&opts, i);
                vector.iov[i] = triplet(vector.buf, at, length);
                at += length;
        }
        return vector;
}

static unsigned char *memory_of(const struct vector *vector, DAT_COUNT segment)
{
        return vector->buf->addr +
               (vector->iov[segment].virtual_address - (DAT_VADDR)(uintptr_t)vector->buf->addr);
}

unsigned char *vector_at(const struct vector *vector)
{
        return memory_of(vector, 0);
}

struct vector vector_over(struct test *t, struct buf *buf)
{
        struct vector vector = {.buf = buf, .count = 1, .length = buf->length};

        vector.iov = calloc(1, sizeof(*vector.iov));
        if (!vector.iov)
                resource(t, "no memory for a vector");
        memset(buf->addr, CANARY, buf->length);
        *vector.iov = triplet(buf, 0, buf->length);
        return vector;
}

static unsigned char *allocated(struct test *t, size_t length)
{
        unsigned char *memory = calloc(1, length + 1);

        if (!memory)
                resource(t, "no memory for %zu bytes", length);
        return memory;
}

void vector_fill(struct test *t, const struct vector *vector, uint64_t sequence)
{
        unsigned char *message = allocated(t, vector->length);
        size_t at = 0;

        message_fill(message, vector->length, sequence);
        for (DAT_COUNT i = 0; i < vector->count; i++) {
                memcpy(memory_of(vector, i), message + at, vector->iov[i].segment_length);
                at += vector->iov[i].segment_length;
        }
        free(message);
}

DAT_RMR_TRIPLET vector_remote(const struct vector *vector)
{
        return (DAT_RMR_TRIPLET){
            .rmr_context = vector->buf->rmr_context,
            .target_address = vector->iov[0].virtual_address,
            .segment_length = vector->iov[0].segment_length,
        };
}

static void judge(struct test *t, const struct check_site *site, bool clause, bool holds,
                  const char *seen)
{
        if (clause)
                check_expect_that(t, site, holds, "%s", seen);
        else
                check_must_that(t, site, NULL, holds, "%s", seen);
}

/* What the bytes of a message, as far as they are there, have at `at` that does not belong there.
 */
static void tell(const unsigned char *seen, const unsigned char *message, size_t length, size_t at,
                 char *text, size_t size)
{
        size_t window = length - at < WINDOW ? length - at : WINDOW;
        const unsigned char *place = memmem(message, length, seen + at, window);

        if (seen[at] == CANARY)
                snprintf(text, size, "byte %zu of %zu was not written", at, length);
        else if (place && window == WINDOW)
                snprintf(text, size, "byte %zu of %zu is what belongs at %td", at, length,
                         place - message);
        else
                snprintf(text, size, "byte %zu of %zu is 0x%02x, not 0x%02x", at, length, seen[at],
                         message[at]);
}

static size_t same(const unsigned char *a, const unsigned char *b, size_t length)
{
        size_t at = 0;

        while (at < length && a[at] == b[at])
                at++;
        return at;
}

static size_t run_of(const unsigned char *at, size_t length, unsigned char byte)
{
        size_t count = 0;

        while (count < length && at[count] == byte)
                count++;
        return count;
}

static void gather(const struct vector *vector, unsigned char *flat)
{
        for (DAT_COUNT i = 0; i < vector->count; i++) {
                memcpy(flat, memory_of(vector, i), vector->iov[i].segment_length);
                flat += vector->iov[i].segment_length;
        }
}

/* The first byte of the memory, in no segment, that is no canary; else its length. */
static size_t written_around(struct test *t, const struct vector *vector)
{
        size_t length = vector->buf->length;
        unsigned char *copy = allocated(t, length);
        size_t at;

        memcpy(copy, vector->buf->addr, length);
        for (DAT_COUNT i = 0; i < vector->count; i++)
                memset(copy + (memory_of(vector, i) - vector->buf->addr), CANARY,
                       vector->iov[i].segment_length);
        at = run_of(copy, length, CANARY);
        free(copy);
        return at;
}

static void judge_around(struct test *t, const struct check_site *site, const struct vector *vector,
                         bool clause)
{
        size_t at = written_around(t, vector);
        char text[80];

        snprintf(text, sizeof(text), "byte %zu of the memory, in no segment, was written", at);
        judge(t, site, clause, at == vector->buf->length, text);
}

void vector_kept_around(struct test *t, const struct check_site *site, const struct vector *vector)
{
        judge_around(t, site, vector, true);
}

static bool has(struct test *t, const struct vector *vector, uint64_t sequence, size_t length)
{
        unsigned char *seen = allocated(t, vector->length);
        unsigned char *message = allocated(t, length);
        bool there;

        gather(vector, seen);
        message_fill(message, length, sequence);
        there = same(seen, message, length) == length;
        free(message);
        free(seen);
        return there;
}

void vector_await(struct test *t, const struct vector *vector, uint64_t sequence, size_t length)
{
        if (length > vector->length)
                return;
        for (int look = 0; look < LOOKS && !has(t, vector, sequence, length); look++)
                settle_briefly(t);
}

void vector_holds(struct test *t, const struct check_site *site, const struct vector *vector,
                  uint64_t sequence, size_t length, bool clause)
{
        unsigned char *seen = allocated(t, vector->length);
        unsigned char *message = allocated(t, length);
        char text[120] = "";
        size_t at;

        suite_that(length <= vector->length, "%zu bytes are asked of a vector of %zu", length,
                   vector->length);
        gather(vector, seen);
        message_fill(message, length, sequence);
        at = same(seen, message, length);
        if (at < length)
                tell(seen, message, length, at, text, sizeof(text));
        judge(t, site, clause, at == length, text);
        at = length + run_of(seen + length, vector->length - length, CANARY);
        snprintf(text, sizeof(text), "byte %zu of the vector, behind the %zu, was written", at,
                 length);
        judge(t, site, clause, at == vector->length, text);
        judge_around(t, site, vector, clause);
        free(message);
        free(seen);
}

/*
 * Wrong segments
 */

/* Which remote privilege a transport takes for a local one is its own: both are asked for. */
static DAT_MEM_PRIV_FLAGS other_privileges(DAT_MEM_PRIV_FLAGS needed, bool remote)
{
        DAT_MEM_PRIV_FLAGS both = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
        DAT_MEM_PRIV_FLAGS other = needed == DAT_MEM_PRIV_LOCAL_READ_FLAG
                                       ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG
                                       : DAT_MEM_PRIV_LOCAL_READ_FLAG;

        return other | (remote ? both : DAT_MEM_PRIV_NONE_FLAG);
}

static struct buf *wrong_buf(struct test *t, enum wrong_kind kind, DAT_MEM_PRIV_FLAGS needed)
{
        struct buf_opts opts = {.length = 0};
        struct buf *buf;

        if (kind == WRONG_ZONE)
                opts.pz = pz_new(t);
        if (kind == WRONG_PRIVILEGE || kind == WRONG_PRIVILEGES)
                opts.privileges = other_privileges(needed, kind == WRONG_PRIVILEGES);
        if (kind == WRONG_IA) {
                opts.ia = other_ia(t);
                opts.pz = pz_of(t, opts.ia);
        }
        buf = buf_make(t, opts);
        memset(buf->addr, WRONG, buf->length);
        return buf;
}

/*
 * Makes memory before that of an LMR, by so much that no 32 bits hold it: a provider that copies it
 * is wrong, and does not crash.
 */
static void map_far(struct test *t, const struct buf *buf)
{
        unsigned char *page = buf->addr - FAR - (uintptr_t)buf->addr % FAR_PAGE;
        void *memory = mmap(page, FAR_PAGE * 2, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

        if (memory != MAP_FAILED)
                memset(memory, WRONG, FAR_PAGE * 2);
        else if (errno != EEXIST)
                resource(t, "no memory far before an LMR: %s", strerror(errno));
}

static DAT_LMR_TRIPLET wrong_segment(const struct buf *buf, const struct wrong_row *row)
{
        DAT_LMR_TRIPLET segment = triplet(buf, 0, row->bytes);

        switch (row->kind) {
        case WRONG_CONTEXT:
                segment.lmr_context ^= 0x5a5a00;
                break;
        case WRONG_BEFORE:
                segment.virtual_address -= buf->before + 1;
                break;
        case WRONG_AFTER:
                segment.virtual_address += buf->beyond - row->bytes + 1;
                break;
        case WRONG_LONGER:
                segment.segment_length = buf->beyond + 1;
                break;
        case WRONG_BEHIND:
                segment.virtual_address += buf->beyond;
                segment.segment_length = 1;
                break;
        case WRONG_FAR:
                segment.virtual_address -= FAR;
                break;
        case WRONG_LONG:
                segment.segment_length += SEGMENT_LONG;
                break;
        case WRONG_WRAPS:
                segment.segment_length -= 2 * row->bytes;
                break;
        default:
                break;
        }
        return segment;
}

/* The context of an LMR that has no byte in common with this one, as either was registered. */
static DAT_LMR_CONTEXT context_elsewhere(struct test *t, const struct buf *buf)
{
        const struct buf *other = buf_with(t);
        DAT_VADDR start = (DAT_VADDR)(uintptr_t)buf->addr;
        DAT_VADDR from = (DAT_VADDR)(uintptr_t)other->addr - other->before;

        must_that(start + buf->length <= from ||
                      start >= (DAT_VADDR)(uintptr_t)other->addr + other->beyond,
                  "the other LMR was registered with this one's memory");
        return other->lmr_context;
}

struct wrong wrong_with(struct test *t, const struct wrong_row *row, DAT_MEM_PRIV_FLAGS needed)
{
        struct wrong wrong = {
            .kind = row->kind,
            .at = row->at,
            .vector = vector_with(t, .length = (size_t)row->segments * WRONG_BYTES,
                                  .segments = row->segments),
            .named = wrong_buf(t, row->kind, needed),
            .gathers = needed == DAT_MEM_PRIV_LOCAL_READ_FLAG,
        };

        memset(wrong.vector.buf->addr, WRONG, wrong.vector.buf->length);
        wrong.vector.iov[row->at] = wrong_segment(wrong.named, row);
        if (row->kind == WRONG_FAR)
                map_far(t, wrong.named);
        if (row->kind == WRONG_OTHERS)
                wrong.vector.iov[row->at].lmr_context = context_elsewhere(t, wrong.named);
        /* The memory stays: a provider that copies it in the call is wrong, and does not crash. */
        if (row->kind == WRONG_FREED) {
                must(dat_lmr_free(wrong.named->lmr));
                disown(t, wrong.named);
        }
        return wrong;
}

bool wrong_answered(struct test *t, const struct check_site *site, DAT_RETURN ret,
                    const struct wrong *wrong)
{
        static const DAT_RETURN zone[] = {DAT_SUCCESS, DAT_PROTECTION_VIOLATION};
        static const DAT_RETURN privilege[] = {DAT_SUCCESS, DAT_PRIVILEGES_VIOLATION};
        static const DAT_RETURN bounds[] = {DAT_SUCCESS, DAT_INVALID_PARAMETER};
        static const DAT_RETURN length[] = {DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_LENGTH_ERROR,
                                            DAT_INSUFFICIENT_RESOURCES};
        static const DAT_RETURN any[] = {DAT_SUCCESS, DAT_PRIVILEGES_VIOLATION,
                                         DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER};

        switch (wrong->kind) {
        case WRONG_ZONE:
                check_expect(t, site, ret, zone, 2);
                break;
        case WRONG_PRIVILEGE:
        case WRONG_PRIVILEGES:
                check_expect(t, site, ret, privilege, 2);
                break;
        case WRONG_FREED:
        case WRONG_CONTEXT:
        case WRONG_IA:
                check_expect(t, site, ret, any, 4);
                break;
        case WRONG_LONG:
        case WRONG_WRAPS:
                check_expect(t, site, ret, length, wrong->gathers ? 4 : 2);
                break;
        default:
                check_expect(t, site, ret, bounds, 2);
        }
        return !dat_is(ret, DAT_SUCCESS);
}

void expect_wrong_told(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
                       const struct wrong *wrong)
{
        bool too_long = wrong->gathers && wrong->kind >= WRONG_LONG;
        DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);
        DAT_DTO_COMPLETION_STATUS status = event.event_data.dto_completion_event_data.status;

        if (!too_long || status != DAT_DTO_ERR_LOCAL_LENGTH)
                status = DAT_DTO_ERR_LOCAL_PROTECTION;
        completion_is(t, CHECK_SITE_("the completion of a wrong vector"), &event,
                      &(struct completion){.ep = ep, .cookie = cookie, .status = status}, true);
}

void expect_named_untouched(struct test *t, const struct wrong *wrong)
{
        const struct buf *buf = wrong->named;
        size_t at = run_of(buf->addr, buf->length, WRONG);

        expect_that(at == buf->length, "byte %zu of what the wrong segment names was written", at);
}

void expect_wrong_untouched(struct test *t, const struct wrong *wrong)
{
        const struct buf *buf = wrong->vector.buf;
        size_t at = run_of(buf->addr, buf->length, WRONG);

        expect_that(at == buf->length, "byte %zu of the good segments was written", at);
        expect_named_untouched(t, wrong);
}

void expect_late_untouched(struct test *t, const struct wrong *wrong)
{
        bool unusable = wrong->kind <= WRONG_PRIVILEGES || wrong->kind == WRONG_CONTEXT ||
                        wrong->kind == WRONG_IA;

        if (unusable)
                expect_named_untouched(t, wrong);
}

bool wrong_at_once(const struct wrong *wrong)
{
        return wrong->at == 0 && wrong->kind != WRONG_AFTER && wrong->kind != WRONG_LONGER &&
               wrong->kind < WRONG_LONG;
}

size_t length_of(struct test *t, const struct length_row *row, DAT_VLEN most)
{
        if (row->length == LENGTH_MOST)
                return most;
        if (row->length > most)
                unsupported(t, "max_message_size, max_rdma_size: less than the row's length");
        return row->length;
}

/*
 * Two EPs
 */

/* As many as any EP of a case has are asked for where the IA publishes no limit. */
static bool has_dtos(struct test *t, DAT_COUNT wanted)
{
        DAT_COUNT most =
            wanted > EP_ATTR_DTOS ? ia_attr(t)->max_dto_per_ep : limit_or_none(max_dto_per_ep);

        return wanted <= most;
}

DAT_EP_ATTR transfer_attr(struct test *t, struct transfer_opts opts)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        DAT_COUNT segments = opts.segments ? opts.segments : 1;

        if (segments > 1 && segments > ia_attr(t)->max_iov_segments_per_dto)
                unsupported(t, "max_iov_segments_per_dto: fewer than the case has");
        if (segments > 1 && segments > ia_attr(t)->max_iov_segments_per_rdma_write)
                unsupported(t, "max_iov_segments_per_rdma_write: fewer than the case has");
        if (opts.reads && segments > ia_attr(t)->max_iov_segments_per_rdma_read)
                unsupported(t, "max_iov_segments_per_rdma_read: fewer than the case has");
        if (opts.reads && (opts.reads > ia_attr(t)->max_rdma_read_per_ep_in ||
                           opts.reads > ia_attr(t)->max_rdma_read_per_ep_out))
                unsupported(t, "max_rdma_read_per_ep: fewer than the case has");
        attr.max_recv_iov = segments;
        attr.max_request_iov = segments;
        attr.max_rdma_write_iov = segments;
        attr.max_rdma_read_iov = opts.reads ? segments : 0;
        attr.max_rdma_read_in = opts.reads;
        attr.max_rdma_read_out = opts.reads;
        attr.recv_completion_flags = opts.recv_flags;
        attr.request_completion_flags = opts.request_flags;
        if (!has_dtos(t, opts.dtos))
                unsupported(t, "max_dto_per_ep: fewer than the case posts");
        if (opts.dtos) {
                attr.max_recv_dtos = opts.dtos;
                attr.max_request_dtos = opts.dtos;
        }
        if (opts.most) {
                attr.max_message_size = opts.most;
                attr.max_rdma_size = opts.most;
        }
        return attr;
}

void must_carry(struct test *t, size_t length)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = 1});

        if (length > attr.max_message_size || length > attr.max_rdma_size)
                unsupported(t, "max_message_size, max_rdma_size: less than the case transfers");
}

struct loop transfer_make(struct test *t, struct transfer_opts opts)
{
        DAT_EP_ATTR active = transfer_attr(t, opts);
        DAT_EP_ATTR passive = active;
        struct loop loop;

        passive.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
        loop = loop_of(
            t, (struct ep_opts){.attr = &active, .request_evd = opts.request_evd, .pz = opts.pz},
            (struct ep_opts){.attr = &passive, .recv_evd = opts.recv_evd});
        loop_join_either(t, &loop);
        return loop;
}

/* Kept until the case ends: a provider may look at it for as long as the DTO lasts. */
static DAT_LMR_TRIPLET *copied(const struct vector *vector)
{
        size_t size = (size_t)vector->count * sizeof(*vector->iov);
        DAT_LMR_TRIPLET *copy = malloc(size);

        return copy ? memcpy(copy, vector->iov, size) : vector->iov;
}

DAT_RETURN send_vector(DAT_EP_HANDLE ep, const struct vector *vector, uint64_t cookie,
                       DAT_COMPLETION_FLAGS flags)
{
        return dat_ep_post_send(ep, vector->length ? vector->count : 0, copied(vector),
                                COOKIE(cookie), flags);
}

DAT_RETURN recv_vector(DAT_EP_HANDLE ep, const struct vector *vector, uint64_t cookie,
                       DAT_COMPLETION_FLAGS flags)
{
        return dat_ep_post_recv(ep, vector->length ? vector->count : 0, copied(vector),
                                COOKIE(cookie), flags);
}

/*
 * Completions
 */

void completion_is(struct test *t, const struct check_site *site, const DAT_EVENT *event,
                   const struct completion *completion, bool clause)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
        char text[160];

        judge(t, site, clause, dto->ep_handle == completion->ep, "the completion names another EP");
        snprintf(text, sizeof(text), "the cookie is 0x%llx, not 0x%llx",
                 (unsigned long long)dto->user_cookie.as_64,
                 (unsigned long long)completion->cookie);
        judge(t, site, clause, dto->user_cookie.as_64 == completion->cookie, text);
        snprintf(text, sizeof(text), "the status is %s, not %s", api_status_name(dto->status),
                 api_status_name(completion->status));
        judge(t, site, clause, dto->status == completion->status, text);
        if (completion->status != DAT_DTO_SUCCESS)
                return;
        snprintf(text, sizeof(text), "the length is %llu, not %zu",
                 (unsigned long long)dto->transfered_length, completion->length);
        judge(t, site, clause, dto->transfered_length == completion->length, text);
}

void completion_comes(struct test *t, const struct check_site *site, DAT_EVD_HANDLE evd,
                      const struct completion *completion, bool clause)
{
        DAT_EVENT event = fixture_event(t, site, evd, DAT_DTO_COMPLETION_EVENT, clause);

        judge(t, site, clause, event.evd_handle == evd, "the event names another EVD");
        completion_is(t, site, &event, completion, clause);
}

void completion_woke(struct test *t, const struct check_site *site, struct waiter *waiter,
                     const struct completion *completion)
{
        struct woken woken = waiter_awake(t, site, waiter, true);

        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        completion_is(t, site, &woken.event, completion, true);
}

void peer_has(struct test *t, const struct check_site *site, struct peer_ep *end, uint64_t sequence,
              size_t length)
{
        struct peer_received received = peer_take_recv(end, sequence);

        check_expect_that(t, site, received.came, "no message came to the peer");
        check_expect_that(t, site, received.status == DAT_DTO_SUCCESS,
                          "the peer's receive completed with: %s",
                          api_status_name((unsigned int)received.status));
        check_expect_that(t, site, received.length == length,
                          "the peer received %zu bytes, not %zu", received.length, length);
        check_expect_that(t, site, received.holds, "the peer received other bytes than were sent");
}

/*
 * Lines of messages
 */

bool held_up(struct test *t, const struct loop *loop, const struct vector *message, uint64_t cookie)
{
        DAT_EVENT event;

        must(send_vector(loop->active, message, cookie, DAT_COMPLETION_DEFAULT_FLAG));
        settle_briefly(t);
        if (dat_is(dat_evd_dequeue(ep_request_evd(t, loop->active), &event), DAT_QUEUE_EMPTY))
                return true;
        note(t, "the transport keeps no message for a receive to come: nothing was held up");
        return false;
}

struct line line_between(struct test *t, DAT_EP_HANDLE from, DAT_EP_HANDLE to, uint64_t slots)
{
        struct line line = {
            .from = from,
            .to = to,
            .source = buf_with(t, .length = slots * MESSAGE),
            .target = buf_with(t, .length = slots * MESSAGE),
            .slots = slots,
        };

        memset(line.target->addr, CANARY, line.target->length);
        return line;
}

struct line line_make(struct test *t, struct transfer_opts opts)
{
        struct loop loop = transfer_make(t, opts);

        return line_between(t, loop.active, loop.passive, LINE_SLOTS);
}

DAT_RETURN line_send(struct line *line, DAT_COMPLETION_FLAGS flags)
{
        size_t at = line->sent % line->slots * MESSAGE;
        DAT_LMR_TRIPLET segment = triplet(line->source, at, MESSAGE);
        DAT_RETURN ret;

        message_fill(line->source->addr + at, MESSAGE, line->sent);
        ret = dat_ep_post_send(line->from, 1, &segment, COOKIE(line->sent), flags);
        if (dat_is(ret, DAT_SUCCESS))
                line->sent++;
        return ret;
}

DAT_RETURN line_recv(struct line *line, DAT_COMPLETION_FLAGS flags)
{
        DAT_LMR_TRIPLET segment =
            triplet(line->target, line->awaited % line->slots * MESSAGE, MESSAGE);
        DAT_RETURN ret = dat_ep_post_recv(line->to, 1, &segment, COOKIE(line->awaited), flags);

        if (dat_is(ret, DAT_SUCCESS))
                line->awaited++;
        return ret;
}

void must_line_recv(struct test *t, struct line *line, int count)
{
        for (int i = 0; i < count; i++)
                must(line_recv(line, DAT_COMPLETION_DEFAULT_FLAG));
}

static void expect_whole(struct test *t, const struct line *line, uint64_t sequence)
{
        const unsigned char *at = line->target->addr + sequence % line->slots * MESSAGE;

        expect_that(message_holds(at, MESSAGE, sequence), "message %llu is not whole",
                    (unsigned long long)sequence);
}

void expect_arrivals(struct test *t, struct line *line, int count)
{
        for (int i = 0; i < count; i++) {
                uint64_t sequence = line->arrived++;

                expect_completion(ep_recv_evd(t, line->to), .ep = line->to, .cookie = sequence,
                                  .length = MESSAGE);
                expect_whole(t, line, sequence);
        }
}

/* The event is asked for until it is there, for as long as a wait would last at most. */
static DAT_EVENT event_asked_for(struct test *t, DAT_EVD_HANDLE evd)
{
        uint64_t until_ns = now_ns() + (uint64_t)event_timeout(t) * 1000;
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

        while (!dat_is(expect(fixture_event_now(t, evd, &event), DAT_SUCCESS, DAT_QUEUE_EMPTY),
                       DAT_SUCCESS)) {
                expect_that(now_ns() < until_ns, "no completion has come");
                settle_briefly(t);
        }
        return event;
}

void expect_arrivals_unheard(struct test *t, struct line *line, int count)
{
        DAT_EVD_HANDLE evd = ep_recv_evd(t, line->to);

        for (int i = 0; i < count; i++) {
                uint64_t sequence = line->arrived++;
                DAT_EVENT event = event_asked_for(t, evd);

                expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
                expect_that(event.evd_handle == evd, "the event names another EVD");
                completion_is(t, CHECK_SITE_("the completion on an EVD"), &event,
                              &(const struct completion){
                                  .ep = line->to, .cookie = sequence, .length = MESSAGE},
                              true);
                expect_whole(t, line, sequence);
        }
}

void expect_sends_complete(struct test *t, struct line *line, int count)
{
        for (int i = 0; i < count; i++)
                expect_completion(ep_request_evd(t, line->from), .ep = line->from,
                                  .cookie = line->complete++, .length = MESSAGE);
}

DAT_EVD_HANDLE evd_of_at_most(struct test *t, DAT_COUNT events)
{
        DAT_COUNT most = ia_attr(t)->max_evd_qlen;

        return evd_with(t, .qlen = events < most ? events : most);
}

void must_have_room(struct test *t, DAT_EVD_HANDLE evd, DAT_COUNT events)
{
        DAT_EVD_PARAM param;

        must(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
        if (param.evd_qlen < events)
                unsupported(t, "max_evd_qlen: fewer completions than the EP has places");
}

void must_end(struct test *t, const struct loop *loop)
{
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * Vectors after the call
 */

void vector_overwrite(DAT_LMR_TRIPLET *iov, size_t length)
{
        memset(iov, 0xff, length);
}

void vector_protect(DAT_LMR_TRIPLET *iov, size_t length)
{
        mprotect(iov, length, PROT_NONE);
}

void vector_unmap(DAT_LMR_TRIPLET *iov, size_t length)
{
        munmap(iov, length);
}

size_t vector_mapped(const struct vector *vector)
{
        return (size_t)vector->count * sizeof(*vector->iov);
}

DAT_LMR_TRIPLET *vector_mapping(struct test *t, const struct vector *vector)
{
        size_t length = vector_mapped(vector);
        DAT_LMR_TRIPLET *iov =
            mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (iov == MAP_FAILED)
                resource(t, "no memory for a vector");
        memcpy(iov, vector->iov, length);
        return iov;
}

struct marked marked_of(struct test *t, const struct vector *vector)
{
        size_t segments = (size_t)vector->count;
        struct marked marked = {.size = (segments + 1) * sizeof(*marked.iov)};

        marked.iov = calloc(2, marked.size);
        if (!marked.iov)
                resource(t, "no memory for a vector of %zu segments", segments);
        memcpy(marked.iov, vector->iov, segments * sizeof(*marked.iov));
        marked.iov[segments] = vector->iov[0];
        marked.before = marked.iov + segments + 1;
        memcpy(marked.before, marked.iov, marked.size);
        return marked;
}

void expect_unmarked(struct test *t, const struct marked *marked)
{
        expect_that(memcmp(marked->iov, marked->before, marked->size) == 0,
                    "the provider changed the vector, or what is behind it");
}

void need_ownership(struct test *t, DAT_IOV_OWNERSHIP most)
{
        if (provider_attr(t)->iov_ownership_on_return > most)
                unsupported(t, most == DAT_IOV_CONSUMER
                                   ? "iov_ownership_on_return: not DAT_IOV_CONSUMER"
                                   : "iov_ownership_on_return = DAT_IOV_PROVIDER_MOD");
}

void expect_remote_refusal(struct test *t, DAT_EP_HANDLE ep, bool reads,
                           DAT_DTO_COMPLETION_STATUS status)
{
        if (!host_is_iwarp()) {
                expect_eq(status, DAT_DTO_ERR_REMOTE_ACCESS);
                return;
        }
        expect_that(!reads || status != DAT_DTO_SUCCESS, "what may not be read completed well");
        for (int look = 0; look < LOOKS && ep_state(t, ep) == DAT_EP_STATE_CONNECTED; look++)
                settle_briefly(t);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
}

void expect_connection_gone(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EVENT event = {.event_number = 0};
        DAT_COUNT more;

        expect(dat_evd_wait(ep_connect_evd(t, ep), event_timeout(t), 1, &event, &more),
               DAT_SUCCESS);
        expect_that(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
                        event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
                    "%s is not of a connection that is gone", name_of_event(event.event_number));
        expect_that(event.event_data.connect_event_data.ep_handle == ep, "another EP is named");
        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
}

void post_bind(struct test *t, DAT_EP_HANDLE ep, uint64_t cookie)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;

        must(dat_rmr_create(pz(t), &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        must(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                          (DAT_RMR_COOKIE){.as_64 = cookie}, DAT_COMPLETION_DEFAULT_FLAG,
                          &context));
}
