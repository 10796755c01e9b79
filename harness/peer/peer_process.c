/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread does everything, since a provider need not be thread-safe: commands are obeyed as they
 * come, and between them what has been queued to be sent is posted as completions allow.
 */
#include "peer/peer_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case/ep_attr.h"
#include "evidence/address.h"
#include "evidence/api.h"
#include "evidence/seal.h"
#include "evidence/trace.h"
#include "peer/hex.h"
#include "peer/peer.h"

#define ENDS_MAX        128
#define POINTS_MAX      64
#define REQUESTS_MAX    256
#define RECVS_MAX       1024
#define RECV_QLEN       256
#define REQUEST_QLEN    64
#define CONNECT_QLEN    8
#define CR_QLEN         128
#define RECV_DTOS       256
#define READS           4
#define CONN_QUAL_FIRST 22000
#define US_PER_MS       1000
#define RDMA_COOKIE     UINT64_MAX /* no send has it */
/* How long completions are waited for while commands may come. */
#define BETWEEN_COMMANDS_US 2000

/* Messages that are to be sent; in its memory there is a slot for each that is under way. */
struct job {
        struct job *next;
        unsigned char *memory;
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT context;
        size_t slot;
        int window;
        int count;
        int posted;
        int completed;
        size_t length;
        size_t step;
        uint64_t first;
        DAT_COMPLETION_FLAGS flags;
        uint64_t due_ns; /* none is posted before */
};

struct posted_recv {
        unsigned char *at;
        size_t length;
};

struct end {
        DAT_EP_HANDLE ep;
        DAT_EVD_HANDLE recv_evd;
        DAT_EVD_HANDLE request_evd;
        DAT_EVD_HANDLE connect_evd;
        struct job *jobs;
        char failure[160]; /* of a send, until it is asked for */
        struct posted_recv recvs[RECVS_MAX];
        int recv_count;
        uint64_t made_ns; /* its EP; the call that connects it follows */
};

/* A qualifier that is listened at. */
struct point {
        DAT_PSP_HANDLE psp; /* null again when it is no more */
        DAT_CONN_QUAL qual;
};

struct side {
        struct lines channel;
        unsigned int event_ms;
        DAT_IA_HANDLE ia;
        DAT_IA_ATTR attr;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE cr_evd; /* of all points; made with the first */
        struct point points[POINTS_MAX];
        int point_count;
        DAT_CR_HANDLE requests[REQUESTS_MAX]; /* null again when they are answered */
        int request_count;
        DAT_EVENT pending; /* a request that has been seen, and not been taken */
        bool has_pending;
        char address[64];
        char broken[160]; /* why the IA is not open */
        struct end *ends[ENDS_MAX];
        int end_count;
        struct end *awaited; /* whose sends wait_sent waits for */
        uint64_t progress_ns;
};

static json_t *yes(void)
{
        return json_pack("{s:b}", "ok", 1);
}

static json_t *no(const char *format, ...) __attribute__((format(printf, 1, 2)));
static json_t *no(const char *format, ...)
{
        char why[256];
        va_list args;

        va_start(args, format);
        vsnprintf(why, sizeof(why), format, args);
        va_end(args);
        return json_pack("{s:b s:s}", "ok", 0, "why", why);
}

static json_t *no_call(const char *call, DAT_RETURN ret)
{
        char type[API_NAME_SPACE];
        char subtype[API_NAME_SPACE];

        return no("%s returned %s, %s", call, api_return_name(ret, type),
                  api_subtype_name(ret, subtype));
}

/* Leaves the function with an answer where a call fails. */
#define TRY(function_, ...)                               \
        do {                                              \
                DAT_RETURN ret_ = function_(__VA_ARGS__); \
                if (!dat_is(ret_, DAT_SUCCESS))           \
                        return no_call(#function_, ret_); \
        } while (0)

static void reply(struct side *side, json_t *data)
{
        lines_put(&side->channel, json_pack("{s:s s:o}", "op", "data", "data", data));
        lines_wait_written(&side->channel, (int)side->event_ms);
}

static json_t *wait_event(const struct side *side, DAT_EVD_HANDLE evd, DAT_EVENT *event,
                          const char *what)
{
        DAT_COUNT more;
        DAT_RETURN ret = dat_evd_wait(evd, side->event_ms * US_PER_MS, 1, event, &more);

        if (dat_is(ret, DAT_TIMEOUT_EXPIRED))
                return no("no %s within %u ms", what, side->event_ms);
        return dat_is(ret, DAT_SUCCESS) ? NULL : no_call("dat_evd_wait", ret);
}

static const char *event_name(const DAT_EVENT *event)
{
        const char *name =
            api_member_name(api_enum_named("DAT_EVENT_NUMBER"), (uint64_t)event->event_number);

        return name ? name : "an unknown event";
}

static json_t *wait_for(const struct side *side, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
                        DAT_EVENT *event)
{
        const char *wanted = api_member_name(api_enum_named("DAT_EVENT_NUMBER"), (uint64_t)number);
        json_t *refusal = wait_event(side, evd, event, wanted);

        if (refusal)
                return refusal;
        return event->event_number == number
                   ? NULL
                   : no("%s came instead of %s", event_name(event), wanted);
}

static long long number(const json_t *command, const char *key)
{
        return json_integer_value(json_object_get(command, key));
}

static json_t *open_ia(struct side *side, const char *name)
{
        static DAT_PROVIDER_ATTR provider;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

        TRY(dat_ia_open, (DAT_NAME_PTR)name, 64, &async, &side->ia);
        TRY(dat_ia_query, side->ia, &async, DAT_IA_FIELD_ALL, &side->attr, DAT_PROVIDER_FIELD_ALL,
            &provider);
        address_text(side->attr.ia_address_ptr, side->address, sizeof(side->address));
        TRY(dat_pz_create, side->ia, &side->pz);
        return NULL;
}

static DAT_COUNT at_most(DAT_COUNT limit, DAT_COUNT wanted)
{
        return wanted < limit ? wanted : limit;
}

static json_t *do_listen(struct side *side, const json_t *command)
{
        struct point *point = &side->points[side->point_count];
        DAT_CONN_QUAL first = (DAT_CONN_QUAL)number(command, "from");
        DAT_RETURN ret;

        if (side->point_count == POINTS_MAX)
                return no("no more than %d qualifiers", POINTS_MAX);
        if (!side->cr_evd)
                TRY(dat_evd_create, side->ia, at_most(side->attr.max_evd_qlen, CR_QLEN),
                    DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &side->cr_evd);
        for (DAT_CONN_QUAL i = 0; i < PEER_CONN_QUALS; i++) {
                point->qual = CONN_QUAL_FIRST + (first + i) % PEER_CONN_QUALS;
                ret = dat_psp_create(side->ia, point->qual, side->cr_evd, DAT_PSP_CONSUMER_FLAG,
                                     &point->psp);
                if (dat_is(ret, DAT_SUCCESS)) {
                        side->point_count++;
                        return json_pack("{s:b s:s s:I}", "ok", 1, "address", side->address, "qual",
                                         (json_int_t)point->qual);
                }
                if (!dat_is(ret, DAT_CONN_QUAL_IN_USE) && !dat_is(ret, DAT_CONN_QUAL_UNAVAILABLE))
                        return no_call("dat_psp_create", ret);
        }
        return no("no connection qualifier is free");
}

static json_t *do_stop_listening(struct side *side, const json_t *command)
{
        DAT_CONN_QUAL qual = (DAT_CONN_QUAL)number(command, "qual");

        for (int i = 0; i < side->point_count; i++) {
                struct point *point = &side->points[i];

                if (!point->psp || point->qual != qual)
                        continue;
                TRY(dat_psp_free, point->psp);
                point->psp = DAT_HANDLE_NULL;
                return yes();
        }
        return no("no qualifier %llu is listened at", (unsigned long long)qual);
}

/*
 * Any EP of the case may read from the peer's; which may read itself only when it is told so, for
 * one that reads more than the other end lets may be refused a connection.
 */
static json_t *make_ep(struct side *side, struct end *end, DAT_COUNT reads_out)
{
        DAT_EP_ATTR attr = ep_attr_modest(&side->attr);

        attr.max_recv_dtos = at_most(side->attr.max_dto_per_ep, RECV_DTOS);
        attr.max_rdma_read_in = at_most(side->attr.max_rdma_read_per_ep_in, READS);
        attr.max_rdma_read_out = at_most(side->attr.max_rdma_read_per_ep_out, reads_out);
        attr.max_rdma_read_iov = attr.max_rdma_read_out ? 1 : 0;
        TRY(dat_evd_create, side->ia, at_most(side->attr.max_evd_qlen, RECV_QLEN), DAT_HANDLE_NULL,
            DAT_EVD_DTO_FLAG, &end->recv_evd);
        TRY(dat_evd_create, side->ia, REQUEST_QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
            &end->request_evd);
        TRY(dat_evd_create, side->ia, CONNECT_QLEN, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
            &end->connect_evd);
        TRY(dat_ep_create, side->ia, side->pz, end->recv_evd, end->request_evd, end->connect_evd,
            &attr, &end->ep);
        return NULL;
}

/* An end with an EP, or NULL and the refusal. */
static struct end *new_end(struct side *side, const json_t *command, json_t **refusal)
{
        struct end *end = NULL;

        if (side->end_count < ENDS_MAX)
                end = calloc(1, sizeof(*end));
        if (!end) {
                *refusal = no("no more than %d connections", ENDS_MAX);
                return NULL;
        }
        side->ends[side->end_count++] = end;
        *refusal = make_ep(side, end, (DAT_COUNT)number(command, "reads"));
        end->made_ns = now_ns();
        return *refusal ? NULL : end;
}

/* The private data that the case gave with the command, and its size. */
static DAT_COUNT parse_private_data(const json_t *command, unsigned char bytes[PEER_PRIVATE_MAX])
{
        const char *text = json_string_value(json_object_get(command, "private"));

        return text ? (DAT_COUNT)hex_parse(text, bytes, PEER_PRIVATE_MAX) : 0;
}

/* Private data that came, as the case reads it. */
static json_t *private_data_json(const void *bytes, DAT_COUNT size)
{
        return hex_json(bytes, bytes && size > 0 ? (size_t)at_most(PEER_PRIVATE_MAX, size) : 0);
}

static json_t *do_request(struct side *side, const json_t *command)
{
        const char *text = json_string_value(json_object_get(command, "address"));
        unsigned char bytes[PEER_PRIVATE_MAX];
        DAT_COUNT size = parse_private_data(command, bytes);
        struct sockaddr_storage address;
        json_t *refusal;
        struct end *end = new_end(side, command, &refusal);

        if (!end)
                return refusal;
        if (!text || !address_parse(text, &address))
                return no("the case's IA has no usable address");
        TRY(dat_ep_connect, end->ep, (DAT_IA_ADDRESS_PTR)&address,
            (DAT_CONN_QUAL)number(command, "qual"), (DAT_TIMEOUT)number(command, "timeout"), size,
            size ? bytes : NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
        return json_pack("{s:b s:i}", "ok", 1, "ep", side->end_count - 1);
}

static json_t *do_give_up(struct side *side, const json_t *command)
{
        TRY(dat_ep_disconnect, side->ends[number(command, "ep")]->ep, DAT_CLOSE_ABRUPT_FLAG);
        return yes();
}

static json_t *do_port(struct side *side, const json_t *command)
{
        DAT_EP_PARAM param = {.local_port_qual = 0};

        TRY(dat_ep_query, side->ends[number(command, "ep")]->ep, DAT_EP_FIELD_LOCAL_PORT_QUAL,
            &param);
        return json_pack("{s:b s:I}", "ok", 1, "port", (json_int_t)param.local_port_qual);
}

static json_t *do_wait_event(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        const DAT_CONNECTION_EVENT_DATA *data;
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret =
            dat_evd_wait(end->connect_evd, side->event_ms * US_PER_MS, 1, &event, &more);

        if (dat_is(ret, DAT_TIMEOUT_EXPIRED))
                return yes();
        if (!dat_is(ret, DAT_SUCCESS))
                return no_call("dat_evd_wait", ret);
        data = &event.event_data.connect_event_data;
        return json_pack("{s:b s:s s:I s:i s:i s:o}", "ok", 1, "event", event_name(&event),
                         "number", (json_int_t)event.event_number, "after_ms",
                         (int)((now_ns() - end->made_ns) / 1000000), "size",
                         (int)data->private_data_size, "private",
                         private_data_json(data->private_data, data->private_data_size));
}

static json_t *do_has_event(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        DAT_EVENT event;
        DAT_RETURN ret = dat_evd_dequeue(end->connect_evd, &event);

        if (!dat_is(ret, DAT_SUCCESS) && !dat_is(ret, DAT_QUEUE_EMPTY))
                return no_call("dat_evd_dequeue", ret);
        return json_pack("{s:b s:b}", "ok", 1, "there", dat_is(ret, DAT_SUCCESS));
}

/* The next request, be it that a look has found it already. */
static json_t *next_request(struct side *side, DAT_EVENT *event)
{
        if (!side->cr_evd)
                return no("the peer listens nowhere");
        if (!side->has_pending)
                return wait_for(side, side->cr_evd, DAT_CONNECTION_REQUEST_EVENT, event);
        *event = side->pending;
        side->has_pending = false;
        return NULL;
}

static json_t *do_has_request(struct side *side, const json_t *command)
{
        DAT_RETURN ret;

        (void)command;
        if (side->cr_evd && !side->has_pending) {
                ret = dat_evd_dequeue(side->cr_evd, &side->pending);
                if (!dat_is(ret, DAT_SUCCESS) && !dat_is(ret, DAT_QUEUE_EMPTY))
                        return no_call("dat_evd_dequeue", ret);
                side->has_pending = dat_is(ret, DAT_SUCCESS);
        }
        return json_pack("{s:b s:b}", "ok", 1, "there", side->has_pending);
}

static json_t *do_take_request(struct side *side, const json_t *command)
{
        const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
        DAT_CR_PARAM param;
        char address[64];
        DAT_EVENT event = {.evd_handle = DAT_HANDLE_NULL};
        json_t *refusal;

        (void)command;
        if (side->request_count == REQUESTS_MAX)
                return no("no more than %d requests", REQUESTS_MAX);
        refusal = next_request(side, &event);
        if (refusal)
                return refusal;
        arrival = &event.event_data.cr_arrival_event_data;
        TRY(dat_cr_query, arrival->cr_handle, DAT_CR_FIELD_ALL, &param);
        side->requests[side->request_count++] = arrival->cr_handle;
        address_text(param.remote_ia_address_ptr, address, sizeof(address));
        return json_pack("{s:b s:i s:I s:s s:I s:i s:o}", "ok", 1, "cr", side->request_count - 1,
                         "qual", (json_int_t)arrival->conn_qual, "address", address, "port",
                         (json_int_t)param.remote_port_qual, "size", (int)param.private_data_size,
                         "private", private_data_json(param.private_data, param.private_data_size));
}

/* The request that the command names, which it is to answer; or NULL and the refusal. */
static DAT_CR_HANDLE answered(struct side *side, const json_t *command, json_t **refusal)
{
        long long at = number(command, "cr");
        DAT_CR_HANDLE request = DAT_HANDLE_NULL;

        *refusal = NULL;
        if (at >= 0 && at < side->request_count) {
                request = side->requests[at];
                side->requests[at] = DAT_HANDLE_NULL;
        }
        if (!request)
                *refusal = no("there is no request %lld to be answered", at);
        return request;
}

static json_t *do_accept_request(struct side *side, const json_t *command)
{
        unsigned char bytes[PEER_PRIVATE_MAX];
        DAT_COUNT size = parse_private_data(command, bytes);
        json_t *refusal;
        DAT_CR_HANDLE request = answered(side, command, &refusal);
        struct end *end;

        if (!request)
                return refusal;
        end = new_end(side, command, &refusal);
        if (!end)
                return refusal;
        TRY(dat_cr_accept, request, end->ep, size, size ? bytes : NULL);
        return json_pack("{s:b s:i}", "ok", 1, "ep", side->end_count - 1);
}

static json_t *do_reject(struct side *side, const json_t *command)
{
        json_t *refusal;
        DAT_CR_HANDLE request = answered(side, command, &refusal);

        if (!request)
                return refusal;
        TRY(dat_cr_reject, request);
        return yes();
}

static json_t *do_wait_connected(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        DAT_EVENT event;
        json_t *refusal =
            wait_for(side, end->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);

        return refusal ? refusal : yes();
}

/*
 * Whether a request carries the token that the command names. Where the provider does not say what
 * it carries, that is for another clause's case to find.
 */
static bool is_the_cases(const json_t *command, DAT_CR_HANDLE request)
{
        const char *text = json_string_value(json_object_get(command, "token"));
        unsigned char token[PEER_TOKEN];
        DAT_CR_PARAM param;

        if (!text || hex_parse(text, token, sizeof(token)) != sizeof(token))
                return true;
        if (!dat_is(dat_cr_query(request, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS))
                return true;
        return param.private_data && param.private_data_size >= PEER_TOKEN &&
               memcmp(param.private_data, token, sizeof(token)) == 0;
}

/* The next request of the case; `strangers` counts those of others, which are rejected. */
static json_t *next_of_the_case(struct side *side, const json_t *command, DAT_CR_HANDLE *request,
                                int *strangers)
{
        DAT_EVENT event = {.evd_handle = DAT_HANDLE_NULL};

        for (*strangers = 0; *strangers < REQUESTS_MAX; ++*strangers) {
                json_t *refusal = next_request(side, &event);

                if (refusal && *strangers)
                        json_object_set_new(
                            refusal, "why",
                            json_pack("s+",
                                      "no request with the token of the case; one without "
                                      "it, of a stranger, was rejected: ",
                                      json_string_value(json_object_get(refusal, "why"))));
                if (refusal)
                        return refusal;
                *request = event.event_data.cr_arrival_event_data.cr_handle;
                if (is_the_cases(command, *request))
                        return NULL;
                TRY(dat_cr_reject, *request);
        }
        return no("strangers have asked at the peer's port %d times", *strangers);
}

static json_t *do_accept(struct side *side, const json_t *command)
{
        json_t *refusal;
        struct end *end = new_end(side, command, &refusal);
        DAT_CR_HANDLE request;
        DAT_EVENT event;
        int strangers;

        if (!end)
                return refusal;
        refusal = next_of_the_case(side, command, &request, &strangers);
        if (refusal)
                return refusal;
        TRY(dat_cr_accept, request, end->ep, 0, NULL);
        refusal = wait_for(side, end->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
        if (refusal)
                return refusal;
        return json_pack("{s:b s:i s:i}", "ok", 1, "ep", side->end_count - 1, "strangers",
                         strangers);
}

/* Memory of `length` bytes, registered. */
static json_t *register_memory(const struct side *side, size_t length, unsigned char **memory,
                               DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context)
{
        DAT_REGION_DESCRIPTION region;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN registered_length;
        DAT_VADDR registered_address;

        *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (*memory == MAP_FAILED)
                return no("no memory for %zu bytes", length);
        region.for_va = *memory;
        TRY(dat_lmr_create, side->ia, DAT_MEM_TYPE_VIRTUAL, region, length, side->pz,
            DAT_MEM_PRIV_ALL_FLAG, lmr, context, &rmr_context, &registered_length,
            &registered_address);
        return NULL;
}

/* A job is what the command says; there is no memory for it yet. */
static struct job parse_job(const json_t *command)
{
        struct job job = {
            .count = (int)number(command, "count"),
            .length = (size_t)number(command, "length"),
            .step = (size_t)number(command, "step"),
            .first = (uint64_t)number(command, "first"),
            .flags = (DAT_COMPLETION_FLAGS)number(command, "flags"),
            .due_ns = now_ns() + (uint64_t)number(command, "late") * 1000000,
        };

        job.window = job.count < EP_ATTR_DTOS ? job.count : EP_ATTR_DTOS;
        job.slot = job.length + job.step * (size_t)(job.count - 1);
        if (!job.slot)
                job.slot = 1; /* no memory of no bytes can be registered */
        return job;
}

static json_t *do_send(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        struct job job = parse_job(command);
        struct job **last = &end->jobs;
        json_t *refusal;

        if (job.count < 1)
                return no("there is nothing to send");
        if (job.flags & DAT_COMPLETION_SUPPRESS_FLAG)
                return no("sends without completions cannot be counted");
        refusal = register_memory(side, job.slot * (size_t)job.window, &job.memory, &job.lmr,
                                  &job.context);
        if (refusal)
                return refusal;
        while (*last)
                last = &(*last)->next;
        *last = malloc(sizeof(job));
        if (!*last)
                return no("no memory");
        **last = job;
        side->progress_ns = now_ns();
        return yes();
}

static void end_job(struct end *end)
{
        struct job *job = end->jobs;

        dat_lmr_free(job->lmr);
        munmap(job->memory, job->slot * (size_t)job->window);
        end->jobs = job->next;
        free(job);
}

static void fail_sends(struct end *end, const char *what, const char *how)
{
        snprintf(end->failure, sizeof(end->failure), "%s: %s", what, how);
        while (end->jobs)
                end_job(end);
}

static void post_sends(struct end *end)
{
        struct job *job = end->jobs;

        if (job && now_ns() < job->due_ns)
                return;
        while (job && job->posted < job->count && job->posted - job->completed < job->window) {
                size_t slot = (size_t)(job->posted % job->window);
                size_t length = job->length + job->step * (size_t)job->posted;
                unsigned char *at = job->memory + slot * job->slot;
                DAT_LMR_TRIPLET segment = {
                    .lmr_context = job->context,
                    .virtual_address = (DAT_VADDR)(uintptr_t)at,
                    .segment_length = length,
                };
                DAT_DTO_COOKIE cookie = {.as_64 = (DAT_UINT64)job->posted};
                char space[API_NAME_SPACE];
                DAT_RETURN ret;

                message_fill(at, length, job->first + (uint64_t)job->posted);
                ret = dat_ep_post_send(end->ep, length ? 1 : 0, length ? &segment : NULL, cookie,
                                       job->flags);
                if (!dat_is(ret, DAT_SUCCESS)) {
                        fail_sends(end, "dat_ep_post_send", api_return_name(ret, space));
                        return;
                }
                job->posted++;
        }
}

static void reap_send(struct side *side, struct end *end, const DAT_EVENT *event)
{
        DAT_DTO_COMPLETION_STATUS status = event->event_data.dto_completion_event_data.status;
        struct job *job = end->jobs;

        side->progress_ns = now_ns();
        if (!job)
                return;
        if (event->event_number != DAT_DTO_COMPLETION_EVENT || status != DAT_DTO_SUCCESS) {
                const char *name =
                    api_member_name(api_enum_named("DAT_DTO_COMPLETION_STATUS"), (uint64_t)status);

                fail_sends(end, "a send completed with", name ? name : "an unknown status");
                return;
        }
        if (++job->completed == job->count)
                end_job(end);
}

/* Moves all sends on; returns an end that has some under way, or NULL. */
static struct end *move_sends(struct side *side)
{
        struct end *busy = NULL;

        for (int i = 0; i < side->end_count; i++) {
                struct end *end = side->ends[i];
                DAT_EVENT event;

                post_sends(end);
                while (end->jobs &&
                       dat_is(dat_evd_dequeue(end->request_evd, &event), DAT_SUCCESS)) {
                        reap_send(side, end, &event);
                        post_sends(end);
                }
                if (end->jobs)
                        busy = end;
        }
        return busy;
}

static void wait_completion(struct side *side, struct end *end)
{
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret = dat_evd_wait(end->request_evd, BETWEEN_COMMANDS_US, 1, &event, &more);

        if (dat_is(ret, DAT_SUCCESS)) {
                reap_send(side, end, &event);
        } else if (!dat_is(ret, DAT_TIMEOUT_EXPIRED)) {
                char space[API_NAME_SPACE];

                fail_sends(end, "dat_evd_wait", api_return_name(ret, space));
        }
}

/* Answers wait_sent as soon as there is an answer. */
static void answer_awaited(struct side *side)
{
        struct end *end = side->awaited;
        json_t *data = NULL;

        if (!end)
                return;
        if (end->failure[0]) {
                data = no("%s", end->failure);
                end->failure[0] = '\0';
        } else if (!end->jobs) {
                data = yes();
        } else if (now_ns() - side->progress_ns > (uint64_t)side->event_ms * 1000000) {
                data = no("%d of %d sends have completed, and no more within %u ms",
                          end->jobs->completed, end->jobs->count, side->event_ms);
        }
        if (!data)
                return;
        side->awaited = NULL;
        reply(side, data);
}

static json_t *do_wait_sent(struct side *side, const json_t *command)
{
        side->awaited = side->ends[number(command, "ep")];
        side->progress_ns = now_ns();
        return NULL;
}

static json_t *do_post_recv(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        int count = (int)number(command, "count");
        size_t length = (size_t)number(command, "length");
        unsigned char *memory;
        DAT_LMR_CONTEXT context;
        DAT_LMR_HANDLE lmr;
        json_t *refusal;

        if (count > RECVS_MAX - end->recv_count)
                return no("no more than %d receives", RECVS_MAX);
        refusal = register_memory(side, (size_t)count * length, &memory, &lmr, &context);
        if (refusal)
                return refusal;
        for (int i = 0; i < count; i++) {
                unsigned char *at = memory + (size_t)i * length;
                DAT_LMR_TRIPLET segment = {
                    .lmr_context = context,
                    .virtual_address = (DAT_VADDR)(uintptr_t)at,
                    .segment_length = length,
                };
                DAT_DTO_COOKIE cookie = {.as_64 = (DAT_UINT64)end->recv_count};

                end->recvs[end->recv_count++] = (struct posted_recv){at, length};
                TRY(dat_ep_post_recv, end->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
        }
        return yes();
}

static json_t *do_wait_recv(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        uint64_t sequence = (uint64_t)number(command, "sequence");
        size_t length = (size_t)number(command, "length");
        const DAT_DTO_COMPLETION_EVENT_DATA *dto;
        DAT_EVENT event;
        json_t *refusal = wait_for(side, end->recv_evd, DAT_DTO_COMPLETION_EVENT, &event);

        if (refusal)
                return refusal;
        dto = &event.event_data.dto_completion_event_data;
        if (dto->status != DAT_DTO_SUCCESS)
                return no("a receive completed with status %d", (int)dto->status);
        if (dto->transfered_length != length)
                return no("%zu bytes were received, not %zu", (size_t)dto->transfered_length,
                          length);
        if (dto->user_cookie.as_64 >= (DAT_UINT64)end->recv_count)
                return no("a receive completed with a cookie that no receive has");
        if (!message_holds(end->recvs[dto->user_cookie.as_64].at, length, sequence))
                return no("what was received is not message %llu", (unsigned long long)sequence);
        return yes();
}

static json_t *do_take_recv(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        const DAT_DTO_COMPLETION_EVENT_DATA *dto;
        DAT_EVENT event;
        json_t *none = wait_for(side, end->recv_evd, DAT_DTO_COMPLETION_EVENT, &event);
        bool holds;

        if (none) {
                json_decref(none);
                return json_pack("{s:b s:b}", "ok", 1, "came", 0);
        }
        dto = &event.event_data.dto_completion_event_data;
        if (dto->user_cookie.as_64 >= (DAT_UINT64)end->recv_count)
                return no("a receive completed with a cookie that no receive has");
        holds = dto->transfered_length <= end->recvs[dto->user_cookie.as_64].length &&
                message_holds(end->recvs[dto->user_cookie.as_64].at, dto->transfered_length,
                              (uint64_t)number(command, "sequence"));
        return json_pack("{s:b s:b s:i s:I s:b}", "ok", 1, "came", 1, "status", (int)dto->status,
                         "length", (json_int_t)dto->transfered_length, "holds", holds);
}

static json_t *do_disconnect(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        json_t *refusal;
        DAT_EVENT event;

        TRY(dat_ep_disconnect, end->ep, (DAT_CLOSE_FLAGS)number(command, "flags"));
        refusal = wait_for(side, end->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
        return refusal ? refusal : yes();
}

static json_t *do_wait_disconnected(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        DAT_EVENT event;
        json_t *refusal = wait_event(side, end->connect_evd, &event, "end of the connection");

        if (refusal)
                return refusal;
        if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED &&
            event.event_number != DAT_CONNECTION_EVENT_BROKEN)
                return no("%s came instead of the end of the connection", event_name(&event));
        return yes();
}

static json_t *do_expose(struct side *side, const json_t *command)
{
        size_t length = (size_t)number(command, "length");
        DAT_REGION_DESCRIPTION region;
        unsigned char *memory;
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN registered_length;
        DAT_VADDR registered_address;

        memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
                return no("no memory for %zu bytes", length);
        message_fill(memory, length, 0);
        region.for_va = memory;
        TRY(dat_lmr_create, side->ia, DAT_MEM_TYPE_VIRTUAL, region, length, side->pz,
            DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context, &registered_length,
            &registered_address);
        return json_pack("{s:b s:I s:I}", "ok", 1, "context", (json_int_t)rmr_context, "address",
                         (json_int_t)(uintptr_t)memory);
}

static json_t *do_holds(struct side *side, const json_t *command)
{
        union {
                uintptr_t number;
                const unsigned char *pointer;
        } memory = {.number = (uintptr_t)number(command, "address")};
        size_t offset = (size_t)number(command, "offset");
        size_t length = (size_t)number(command, "length");
        unsigned char *message = malloc(offset + length + 1);
        bool holds;

        (void)side;
        if (!message)
                return no("no memory for %zu bytes", offset + length);
        message_fill(message, offset + length, (uint64_t)number(command, "sequence"));
        holds = memcmp(memory.pointer + offset, message + offset, length) == 0;
        free(message);
        return json_pack("{s:b s:b}", "ok", 1, "holds", holds);
}

/* Waits for the end's only RDMA. Sends before it may complete yet, and go on meanwhile. */
static json_t *wait_rdma(struct side *side, struct end *end, DAT_DTO_COMPLETION_STATUS *status)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto;
        DAT_EVENT event;

        for (;;) {
                json_t *refusal =
                    wait_for(side, end->request_evd, DAT_DTO_COMPLETION_EVENT, &event);

                if (refusal)
                        return refusal;
                dto = &event.event_data.dto_completion_event_data;
                *status = dto->status;
                if (dto->user_cookie.as_64 == RDMA_COOKIE)
                        return NULL;
                reap_send(side, end, &event);
                post_sends(end);
        }
}

static json_t *do_read(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        size_t length = (size_t)number(command, "length");
        DAT_RMR_TRIPLET from = {
            .rmr_context = (DAT_RMR_CONTEXT)number(command, "context"),
            .target_address = (DAT_VADDR)number(command, "address"),
            .segment_length = length,
        };
        DAT_LMR_TRIPLET to = {.segment_length = length};
        DAT_DTO_COMPLETION_STATUS status;
        unsigned char *memory;
        DAT_LMR_HANDLE lmr;
        json_t *refusal = register_memory(side, length, &memory, &lmr, &to.lmr_context);

        if (refusal)
                return refusal;
        to.virtual_address = (DAT_VADDR)(uintptr_t)memory;
        TRY(dat_ep_post_rdma_read, end->ep, 1, &to, (DAT_DTO_COOKIE){.as_64 = RDMA_COOKIE}, &from,
            DAT_COMPLETION_DEFAULT_FLAG);
        refusal = wait_rdma(side, end, &status);
        if (refusal)
                return refusal;
        return json_pack("{s:b s:b}", "ok", 1, "holds",
                         status == DAT_DTO_SUCCESS && message_holds(memory, length, 0));
}

static json_t *do_write(struct side *side, const json_t *command)
{
        struct end *end = side->ends[number(command, "ep")];
        size_t length = (size_t)number(command, "length");
        DAT_RMR_TRIPLET to = {
            .rmr_context = (DAT_RMR_CONTEXT)number(command, "context"),
            .target_address = (DAT_VADDR)number(command, "address"),
            .segment_length = length,
        };
        DAT_LMR_TRIPLET from = {.segment_length = length};
        DAT_DTO_COMPLETION_STATUS status;
        unsigned char *memory;
        DAT_LMR_HANDLE lmr;
        json_t *refusal = register_memory(side, length, &memory, &lmr, &from.lmr_context);

        if (refusal)
                return refusal;
        message_fill(memory, length, (uint64_t)number(command, "sequence"));
        from.virtual_address = (DAT_VADDR)(uintptr_t)memory;
        TRY(dat_ep_post_rdma_write, end->ep, 1, &from, (DAT_DTO_COOKIE){.as_64 = RDMA_COOKIE}, &to,
            DAT_COMPLETION_DEFAULT_FLAG);
        refusal = wait_rdma(side, end, &status);
        if (refusal)
                return refusal;
        return status == DAT_DTO_SUCCESS
                   ? yes()
                   : no("an RDMA write completed with status %d", (int)status);
}

/* Whether the process whose stat this is has stopped, as far as the kernel tells. */
static bool is_stopped(int stat)
{
        char text[256] = "";
        const char *state;

        if (pread(stat, text, sizeof(text) - 1, 0) <= 0)
                return false;
        state = strrchr(text, ')');
        return state && state[1] == ' ' && state[2] == 'T';
}

/* Stops `pid` until something comes on its channel, or the channel ends. */
static _Noreturn void hold(struct side *side, pid_t pid, int stat)
{
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        kill(pid, SIGSTOP);
        while (getppid() == pid && !is_stopped(stat))
                sched_yield();
        reply(side, yes());
        lines_wait_readable(&side->channel, -1);
        kill(pid, SIGCONT);
        _exit(0);
}

/*
 * Another process does it, since one that is stopped can neither answer nor go on by itself. It is
 * given the stat of this one: /proc may know it by another number than this PID namespace does.
 */
static json_t *do_freeze(struct side *side, const json_t *command)
{
        pid_t self = getpid();
        int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        pid_t holder = fork();
        int status;

        (void)command;
        if (holder == 0)
                hold(side, self, stat);
        close(stat);
        if (holder < 0)
                return no("no process to hold the peer: %s", strerror(errno));
        while (waitpid(holder, &status, 0) < 0 && errno == EINTR)
                ;
        return NULL;
}

static json_t *do_kill(struct side *side, const json_t *command)
{
        (void)command;
        reply(side, yes());
        raise(SIGKILL);
        return NULL;
}

static json_t *obey(struct side *side, const json_t *command)
{
        static const struct {
                const char *name;
                json_t *(*function)(struct side *side, const json_t *command);
                bool of_end;
        } commands[] = {
            {"listen", do_listen, false},
            {"accept", do_accept, false},
            {"send", do_send, true},
            {"wait_sent", do_wait_sent, true},
            {"post_recv", do_post_recv, true},
            {"wait_recv", do_wait_recv, true},
            {"take_recv", do_take_recv, true},
            {"disconnect", do_disconnect, true},
            {"wait_disconnected", do_wait_disconnected, true},
            {"stop_listening", do_stop_listening, false},
            {"take_request", do_take_request, false},
            {"has_request", do_has_request, false},
            {"accept_request", do_accept_request, false},
            {"reject", do_reject, false},
            {"request", do_request, false},
            {"give_up", do_give_up, true},
            {"port", do_port, true},
            {"wait_event", do_wait_event, true},
            {"has_event", do_has_event, true},
            {"wait_connected", do_wait_connected, true},
            {"expose", do_expose, true},
            {"holds", do_holds, true},
            {"read", do_read, true},
            {"write", do_write, true},
            {"freeze", do_freeze, false},
            {"kill", do_kill, false},
        };
        const char *name = json_string_value(json_object_get(command, "do"));

        if (side->broken[0])
                return no("%s", side->broken);
        for (size_t i = 0; name && i < sizeof(commands) / sizeof(commands[0]); i++) {
                long long ep = number(command, "ep");

                if (strcmp(commands[i].name, name) != 0)
                        continue;
                if (commands[i].of_end && (ep < 0 || ep >= side->end_count))
                        return no("there is no connection %lld", ep);
                return commands[i].function(side, command);
        }
        return no("the command \"%s\" is unknown", name ? name : "");
}

/* What it has goes with its IA, in whatever state: an abrupt close is refused by nobody. */
static void close_ia(const struct side *side, struct evidence *evidence)
{
        atomic_store(&evidence->phase, PHASE_TEARDOWN);
        if (side->ia && !dat_is(dat_ia_close(side->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS))
                atomic_store(&evidence->refused, trace_count());
}

/* Obeys what has come; false when the peer is to end. */
static bool take_commands(struct side *side)
{
        char *line;

        lines_read(&side->channel);
        while ((line = lines_next(&side->channel))) {
                json_t *message = json_loads(line, 0, NULL);
                const char *op = json_string_value(json_object_get(message, "op"));
                json_t *command = json_object_get(message, "data");
                bool stop = op && strcmp(op, "stop") == 0;
                json_t *data = NULL;

                /* A provider of the case's that writes to descriptors at random commands nothing.
                 */
                if (!stop && json_is_object(command))
                        data = obey(side, command);
                json_decref(message);
                if (stop)
                        return false;
                if (data)
                        reply(side, data);
        }
        return !side->channel.ended;
}

void peer_process(const void *arg, struct evidence *evidence, int channel)
{
        static struct side side;
        const struct peer_job *job = arg;
        json_t *refusal;

        side.event_ms = job->event_ms;
        lines_open(&side.channel, channel, channel);
        refusal = open_ia(&side, job->ia);
        if (refusal)
                snprintf(side.broken, sizeof(side.broken), "open its IA: %s",
                         json_string_value(json_object_get(refusal, "why")));
        do {
                struct end *busy = move_sends(&side);

                answer_awaited(&side);
                if (busy)
                        wait_completion(&side, busy);
                else if (!side.awaited)
                        lines_wait_readable(&side.channel, -1);
        } while (take_commands(&side));
        close_ia(&side, evidence);
        verdict_seal(&evidence->end, SEAL_END, VERDICT_PASS, "");
        atomic_store(&evidence->phase, PHASE_DONE);
}
