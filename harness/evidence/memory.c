/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/memory.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "evidence/api.h"
#include "evidence/digest.h"

#define POSTS_MAX     512
#define WRITES_MAX    128 /* of the posts */
#define QUEUES_MAX    512
#define SEGMENTS_MAX  16
#define FUNCTIONS_MAX 128
/* Of a receive, so many bytes are kept until it completes, to see which a message has changed. */
#define KEPT_MAX 1024

enum effect {
        EFFECT_NONE,
        EFFECT_SEND,
        EFFECT_WRITE,
        EFFECT_RECEIVE,
        EFFECT_READ,
        EFFECT_TAKE,    /* takes an event, the last parameters being OUT */
        EFFECT_MAKE,    /* makes an EP */
        EFFECT_MAKE_OF, /* makes one with an SRQ */
        EFFECT_FREE,
        EFFECT_RESET,
};

static const struct {
        const char *name;
        enum effect effect;
        size_t out; /* the parameter that it makes or takes */
} effects[] = {
    {"dat_ep_post_send", EFFECT_SEND, 0},
    {"dat_ep_post_rdma_write", EFFECT_WRITE, 0},
    {"dat_ep_post_recv", EFFECT_RECEIVE, 0},
    {"dat_srq_post_recv", EFFECT_RECEIVE, 0},
    {"dat_evd_dequeue", EFFECT_TAKE, 1},
    {"dat_evd_wait", EFFECT_TAKE, 3},
    {"dat_ep_create", EFFECT_MAKE, 6},
    {"dat_ep_free", EFFECT_FREE, 0},
    {"dat_ep_create_with_srq", EFFECT_MAKE_OF, 7},
    {"dat_srq_free", EFFECT_FREE, 0},
    {"dat_ep_reset", EFFECT_RESET, 0},
    {"dat_ep_post_rdma_read", EFFECT_READ, 0},
};

/* An EP that this process has made, and what its completions are known by. */
struct queue {
        uint64_t ep;
        uint64_t srq; /* 0: it has receives of its own */
        uint64_t recv_evd;
        uint64_t request_evd;
};

enum post_kind { POST_RECEIVE, POST_READ, POST_WRITE };

/* A receive or an RDMA that has not completed; of a write, the vector is the remote buffer. */
struct post {
        uint64_t number; /* of its call */
        uint64_t queue;  /* the EP's or SRQ's handle */
        uint64_t cookie;
        uint64_t total; /* bytes of its vector */
        size_t count;
        size_t kept_length;
        enum post_kind kind;
        bool unclear;          /* its memory is that of another one too, or is not known */
        bool suppressed;       /* a write that does not complete if it succeeds */
        struct segment remote; /* of a read */
        struct segment vector[SEGMENTS_MAX];
        unsigned char kept[KEPT_MAX];
};

static struct {
        pthread_mutex_t lock;
        pid_t owner;      /* 0: nothing is followed */
        bool lost;        /* posts or EPs were too many: nothing is known of what arrives */
        bool writes_lost; /* a write that may change memory is not among the posts */
        bool prepared;
        unsigned char effect[FUNCTIONS_MAX]; /* 1 + its place in effects, or 0 */
        struct queue queues[QUEUES_MAX];
        size_t queue_count;
        struct post posts[POSTS_MAX];
        size_t write_count;
        uint16_t order[POSTS_MAX]; /* those that are used, the oldest first, and then the others */
        size_t post_count;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

void memory_prepare(void)
{
        if (memory.prepared)
                return;
        for (size_t i = 0; i < api_function_count && i < FUNCTIONS_MAX; i++)
                for (size_t k = 0; k < sizeof(effects) / sizeof(effects[0]); k++)
                        if (strcmp(api_functions[i].name, effects[k].name) == 0)
                                memory.effect[i] = (unsigned char)(k + 1);
        memory.prepared = true;
}

void memory_start(void)
{
        memory_prepare();
        memory.owner = getpid();
        for (size_t i = 0; i < POSTS_MAX; i++)
                memory.order[i] = (uint16_t)i;
}

static enum effect effect_of(unsigned int function, size_t *out)
{
        size_t k = function < FUNCTIONS_MAX ? memory.effect[function] : 0;

        if (k == 0 || memory.owner != getpid())
                return EFFECT_NONE;
        *out = effects[k - 1].out;
        return effects[k - 1].effect;
}

/* The vector of a post, whose second and third parameters tell it; false where it is not known. */
static bool vector_of(const struct trace_arg *args, struct segment *vector, size_t *count,
                      uint64_t *total)
{
        const DAT_LMR_TRIPLET *from = trace_pointer(&args[2]);
        DAT_LMR_TRIPLET triplets[SEGMENTS_MAX];
        DAT_COUNT segments;

        *count = 0;
        *total = 0;
        memcpy(&segments, args[1].at, sizeof(segments));
        if (segments < 0 || segments > SEGMENTS_MAX)
                return false;
        if (segments > 0 && !trace_read(triplets, from, (size_t)segments * sizeof(*from)))
                return false;
        for (; *count < (size_t)segments; (*count)++) {
                uint64_t length = triplets[*count].segment_length;

                if (length > UINT32_MAX)
                        return false;
                vector[*count] = (struct segment){triplets[*count].virtual_address, length};
                *total += length;
        }
        return true;
}

static bool overlap(const struct post *post, const struct segment *vector, size_t count)
{
        for (size_t i = 0; i < post->count; i++)
                for (size_t k = 0; k < count; k++)
                        if (post->vector[i].at < vector[k].at + vector[k].length &&
                            vector[k].at < post->vector[i].at + post->vector[i].length)
                                return true;
        return false;
}

/* Whether bytes may arrive in that memory. Of two posts that await them there, neither is clear. */
static bool is_awaited(const struct segment *vector, size_t count, bool awaits)
{
        bool awaited = memory.lost;

        for (size_t i = 0; i < memory.post_count; i++) {
                struct post *post = &memory.posts[memory.order[i]];

                if (!overlap(post, vector, count))
                        continue;
                post->unclear = post->unclear || awaits;
                awaited = awaited || post->kind != POST_WRITE;
        }
        return awaited;
}

/*
 * Whether others than a write may change its remote buffer. It tells nothing of a receive there:
 * the buffer may be of another process, which has other memory at these addresses.
 */
static bool is_shared(const struct segment *remote)
{
        bool shared = memory.lost || memory.writes_lost;

        for (size_t i = 0; i < memory.post_count; i++) {
                struct post *post = &memory.posts[memory.order[i]];

                if (!overlap(post, remote, 1))
                        continue;
                post->unclear = post->unclear || post->kind == POST_WRITE;
                shared = true;
        }
        return shared;
}

/* The remote buffer of an RDMA, as far as `total` bytes of a vector fill it. */
static bool remote_of(const struct trace_arg *args, uint64_t total, struct segment *remote)
{
        DAT_RMR_TRIPLET triplet;

        *remote = (struct segment){0};
        if (!trace_read(&triplet, trace_pointer(&args[4]), sizeof(triplet)))
                return false;
        *remote = (struct segment){triplet.target_address, triplet.segment_length};
        if (remote->length > total)
                remote->length = total;
        return remote->length > 0;
}

static void tell_remote(const struct segment *remote, struct call_memory *told)
{
        told->has_remote = digest_vector(remote, 1, remote->length, &told->remote);
}

/* A post in the first place that is free, which is not yet counted. */
static struct post *begin_post(uint64_t number, const struct trace_arg *args, enum post_kind kind)
{
        struct post *post = &memory.posts[memory.order[memory.post_count]];

        post->number = number;
        post->queue = trace_word(&args[0]);
        post->cookie = trace_word(&args[3]);
        post->kind = kind;
        post->remote = (struct segment){0};
        post->suppressed = false;
        return post;
}

static void begin_send(const struct trace_arg *args, struct call_memory *told)
{
        struct segment vector[SEGMENTS_MAX];
        bool awaited;
        uint64_t total;
        size_t count;

        if (!told || !vector_of(args, vector, &count, &total))
                return;
        pthread_mutex_lock(&memory.lock);
        awaited = is_awaited(vector, count, false);
        pthread_mutex_unlock(&memory.lock);
        if (awaited || !digest_vector(vector, count, total, &told->digest))
                return;
        told->kind = MEMORY_SENT;
        told->length = total;
}

/* Entered before the call is made, as a receive is. */
static void begin_write(uint64_t number, const struct trace_arg *args)
{
        struct segment vector[SEGMENTS_MAX];
        struct segment remote;
        struct post *post;
        uint64_t total;
        size_t count;
        bool known = vector_of(args, vector, &count, &total);
        bool reaches = remote_of(args, known ? total : UINT64_MAX, &remote);

        pthread_mutex_lock(&memory.lock);
        if (memory.lost || memory.post_count == POSTS_MAX || memory.write_count == WRITES_MAX) {
                memory.writes_lost = true;
        } else {
                post = begin_post(number, args, POST_WRITE);
                post->count = reaches ? 1 : 0;
                post->vector[0] = remote;
                post->total = remote.length;
                post->suppressed = (trace_word(&args[5]) & DAT_COMPLETION_SUPPRESS_FLAG) != 0;
                post->unclear = is_shared(&remote) || !known || !reaches;
                memory.write_count++;
                memory.post_count++;
        }
        pthread_mutex_unlock(&memory.lock);
}

static void tell_to_read(const struct post *post, struct call_memory *told)
{
        tell_remote(&post->remote, told);
        told->kind = told->has_remote ? MEMORY_TO_READ : MEMORY_NONE;
        told->length = post->remote.length;
}

/* Entered before the call is made: the post may complete before it returns. */
static void begin_receive(uint64_t number, const struct trace_arg *args, struct call_memory *told,
                          bool read)
{
        struct post *post;

        pthread_mutex_lock(&memory.lock);
        memory.lost = memory.lost || memory.post_count == POSTS_MAX;
        if (!memory.lost) {
                post = begin_post(number, args, read ? POST_READ : POST_RECEIVE);
                post->unclear = !vector_of(args, post->vector, &post->count, &post->total);
                if (is_awaited(post->vector, post->count, true))
                        post->unclear = true;
                post->kept_length = post->total < KEPT_MAX ? (size_t)post->total : KEPT_MAX;
                if (!post->unclear &&
                    !vector_read(post->vector, post->count, 0, post->kept, post->kept_length))
                        post->unclear = true;
                memory.post_count++;
                if (read && !post->unclear && remote_of(args, post->total, &post->remote) && told)
                        tell_to_read(post, told);
        }
        pthread_mutex_unlock(&memory.lock);
}

/* Ends the post in this place of the order. It stays whole until another one begins. */
static struct post *end_post(size_t place)
{
        uint16_t at = memory.order[place];

        memory.post_count--;
        memory.write_count -= memory.posts[at].kind == POST_WRITE;
        memmove(&memory.order[place], &memory.order[place + 1],
                (memory.post_count - place) * sizeof(at));
        memory.order[memory.post_count] = at;
        return &memory.posts[at];
}

static void end_refused(uint64_t number)
{
        for (size_t i = memory.post_count; i-- > 0;)
                if (memory.posts[memory.order[i]].number == number) {
                        end_post(i);
                        return;
                }
}

static void forget_posts(uint64_t handle)
{
        for (size_t i = memory.post_count; i-- > 0;)
                if (memory.posts[memory.order[i]].queue == handle)
                        end_post(i);
}

static void forget(uint64_t handle)
{
        forget_posts(handle);
        for (size_t i = 0; i < memory.queue_count; i++)
                if (memory.queues[i].ep == handle) {
                        memory.queues[i] = memory.queues[--memory.queue_count];
                        return;
                }
}

static void make(const struct trace_arg *args, const struct trace_arg *out, bool of_srq)
{
        struct queue queue = {.recv_evd = trace_word(&args[2]),
                              .request_evd = trace_word(&args[3]),
                              .srq = of_srq ? trace_word(&args[5]) : 0};

        if (!trace_read(&queue.ep, trace_pointer(out), sizeof(queue.ep)))
                return;
        forget(queue.ep);
        if (memory.queue_count == QUEUES_MAX)
                memory.lost = true;
        else
                memory.queues[memory.queue_count++] = queue;
}

static bool is_of(const struct post *post, const struct queue *queue, uint64_t evd)
{
        if (post->kind != POST_RECEIVE)
                return post->queue == queue->ep && queue->request_evd == evd;
        return post->queue == (queue->srq ? queue->srq : queue->ep) && queue->recv_evd == evd;
}

/* The oldest post that the completion may be of. */
static struct post *take_post(uint64_t ep, uint64_t evd, uint64_t cookie)
{
        struct queue queue = {.ep = ep, .recv_evd = evd, .request_evd = evd};

        for (size_t i = 0; i < memory.queue_count; i++)
                if (memory.queues[i].ep == ep)
                        queue = memory.queues[i];
        for (size_t i = 0; i < memory.post_count && !memory.lost; i++) {
                struct post *post = &memory.posts[memory.order[i]];

                if (post->cookie == cookie && !post->suppressed && is_of(post, &queue, evd))
                        return end_post(i);
        }
        return NULL;
}

/* The first byte of those kept behind a message that is not as it was; their number, if all are. */
static size_t first_changed(const struct post *post, size_t from)
{
        unsigned char now[KEPT_MAX];

        if (!vector_read(post->vector, post->count, 0, now, post->kept_length))
                return post->kept_length;
        while (from < post->kept_length && now[from] == post->kept[from])
                from++;
        return from;
}

static void tell_written(const struct post *post, struct call_memory *told)
{
        if (post->unclear || memory.writes_lost || is_awaited(post->vector, 1, false))
                return;
        tell_remote(&post->vector[0], told);
        told->kind = told->has_remote ? MEMORY_WRITTEN : MEMORY_NONE;
        told->length = post->total;
}

static void tell(const struct post *post, uint64_t length, struct call_memory *told)
{
        told->post = post->number;
        if (post->kind == POST_WRITE) {
                tell_written(post, told);
                return;
        }
        if (post->unclear || length > post->total ||
            !digest_vector(post->vector, post->count, length, &told->digest))
                return;
        told->kind = MEMORY_ARRIVED;
        told->length = length;
        if (post->remote.length > 0 && post->remote.length == length)
                tell_remote(&post->remote, told);
        if (length >= post->kept_length)
                return;
        told->changed = (uint32_t)first_changed(post, (size_t)length);
        told->kept = (uint32_t)post->kept_length;
}

static void end_take(const struct trace_arg *out, struct call_memory *told)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto;
        struct post *post;
        DAT_EVENT event;

        if (!trace_read(&event, trace_pointer(out), sizeof(event)) ||
            event.event_number != DAT_DTO_COMPLETION_EVENT)
                return;
        dto = &event.event_data.dto_completion_event_data;
        post = take_post((uintptr_t)dto->ep_handle, (uintptr_t)event.evd_handle,
                         dto->user_cookie.as_64);
        if (post && told && dto->status == DAT_DTO_SUCCESS)
                tell(post, dto->transfered_length, told);
}

void memory_begin(uint64_t number, unsigned int function, const struct trace_arg *args,
                  struct call_memory *told)
{
        size_t out;
        enum effect effect = effect_of(function, &out);

        switch (effect) {
        case EFFECT_SEND:
                begin_send(args, told);
                break;
        case EFFECT_WRITE:
                begin_send(args, told);
                begin_write(number, args);
                break;
        case EFFECT_RECEIVE:
        case EFFECT_READ:
                begin_receive(number, args, told, effect == EFFECT_READ);
                break;
        default:
                break;
        }
}

void memory_end(uint64_t number, unsigned int function, const struct trace_arg *args,
                DAT_RETURN ret, struct call_memory *told)
{
        size_t out;
        enum effect effect = effect_of(function, &out);
        bool refused = !dat_is(ret, DAT_SUCCESS);
        bool awaits = effect == EFFECT_RECEIVE || effect == EFFECT_READ || effect == EFFECT_WRITE;

        if (effect == EFFECT_NONE || refused != awaits)
                return;
        pthread_mutex_lock(&memory.lock);
        switch (effect) {
        case EFFECT_RECEIVE:
        case EFFECT_READ:
        case EFFECT_WRITE:
                end_refused(number);
                break;
        case EFFECT_TAKE:
                end_take(&args[out], told);
                break;
        case EFFECT_MAKE:
        case EFFECT_MAKE_OF:
                make(args, &args[out], effect == EFFECT_MAKE_OF);
                break;
        case EFFECT_FREE:
                forget(trace_word(&args[0]));
                break;
        case EFFECT_RESET:
                forget_posts(trace_word(&args[0]));
                break;
        default:
                break;
        }
        pthread_mutex_unlock(&memory.lock);
}
