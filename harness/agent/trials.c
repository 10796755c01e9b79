/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/trials.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/verdict.h"
#include "case/ep_attr.h"
#include "case/test.h"
#include "evidence/api.h"

/* A trial has the limits of a case. */
#define EVENT_MS 3000
#define QUIET_MS 150
/* For so long trials may begin: where each of them hangs, the run is not to wait for all. */
#define TRIALS_MS 120000

struct trial {
        uint64_t need;
        const char *call; /* that the feature is tried by */
        void (*ask)(struct test *t, const struct trial *trial);
        /* DAT_INVALID_PARAMETER is an answer too: the same call without the feature is granted */
        bool or_invalid;
        bool of_srq;
        unsigned int peers;
        unsigned int value;
        unsigned int other;
};

/* Ends the trial: the provider answers that it has no such feature. */
static _Noreturn void has_none(struct test *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static _Noreturn void has_none(struct test *t, const char *format, ...)
{
        char text[REASON_MAX];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        atomic_store(&t->evidence->absent, 1);
        test_end(t, VERDICT_UNSUPPORTED, "%s", text);
}

/* Looks at what the call of the feature returned, which may have made an object. */
static void look_at(struct test *t, const struct trial *trial, DAT_RETURN ret, DAT_HANDLE_TYPE type,
                    void *made)
{
        char name[API_NAME_SPACE];

        if (dat_is(ret, DAT_SUCCESS) && made)
                adopt(t, type, *(DAT_HANDLE *)made);
        if (dat_is(ret, DAT_MODEL_NOT_SUPPORTED) || dat_is(ret, DAT_NOT_IMPLEMENTED) ||
            (trial->or_invalid && dat_is(ret, DAT_INVALID_PARAMETER)))
                has_none(t, "%s returned %s", trial->call, api_return_name(ret, name));
        check_expect(t, CHECK_SITE_(trial->call), ret, DAT_SET_(DAT_SUCCESS), 1);
}

static void look_at_return(struct test *t, const struct trial *trial, DAT_RETURN ret)
{
        look_at(t, trial, ret, DAT_HANDLE_TYPE_IA, NULL);
}

static DAT_SRQ_HANDLE some_srq(struct test *t)
{
        return srq_with(t, .max_recv_dtos = 2);
}

static void ask_srq(struct test *t, const struct trial *trial)
{
        DAT_SRQ_ATTR attr = {
            .max_recv_dtos = 1, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_SRQ_HANDLE made = DAT_HANDLE_NULL;

        look_at(t, trial, dat_srq_create(ia(t), pz(t), &attr, &made), DAT_HANDLE_TYPE_SRQ, &made);
}

static void ask_srq_watermarks(struct test *t, const struct trial *trial)
{
        look_at_return(t, trial, dat_srq_set_lw(some_srq(t), 1));
}

/* A count that is never known is one that the provider does not have. */
static void look_at_count(struct test *t, const struct trial *trial, DAT_COUNT count)
{
        if (count == DAT_VALUE_UNKNOWN)
                has_none(t, "%s told DAT_VALUE_UNKNOWN", trial->call);
        look_at_return(t, trial, DAT_SUCCESS);
}

static void ask_srq_available(struct test *t, const struct trial *trial)
{
        look_at_count(t, trial, srq_param(t, some_srq(t)).available_dto_count);
}

static void ask_srq_outstanding(struct test *t, const struct trial *trial)
{
        look_at_count(t, trial, srq_param(t, some_srq(t)).outstanding_dto_count);
}

static void ask_ep_recv_info(struct test *t, const struct trial *trial)
{
        DAT_COUNT count = 0;
        DAT_COUNT span = 0;
        DAT_RETURN ret = dat_ep_recv_query(ep_with(t), &count, &span);

        look_at_return(t, trial, ret);
        look_at_count(t, trial, count == DAT_VALUE_UNKNOWN ? span : count);
}

static void ask_ep_watermarks(struct test *t, const struct trial *trial)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = some_srq(t));

        look_at_return(t, trial, dat_ep_set_watermark(ep, 1, 2));
}

/* The EVDs of an EP that was granted without the feature, and is freed for one with it. */
struct evds {
        DAT_EVD_HANDLE recv, request, connect;
};

static struct evds evds_of_granted(struct test *t, DAT_EP_HANDLE ep)
{
        struct evds evds = {
            .recv = ep_recv_evd(t, ep),
            .request = ep_request_evd(t, ep),
            .connect = ep_connect_evd(t, ep),
        };

        release(t, ep);
        return evds;
}

static void ask_pz_difference(struct test *t, const struct trial *trial)
{
        DAT_SRQ_HANDLE srq = some_srq(t);
        struct evds evds = evds_of_granted(t, ep_with(t, .srq = srq));
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        DAT_EP_HANDLE made = DAT_HANDLE_NULL;

        look_at(t, trial,
                dat_ep_create_with_srq(ia(t), pz_new(t), evds.recv, evds.request, evds.connect, srq,
                                       &attr, &made),
                DAT_HANDLE_TYPE_EP, &made);
}

/* `other`: the flag is for requests, and not for receives. */
static void ask_flag_of_ep(struct test *t, const struct trial *trial)
{
        struct evds evds = evds_of_granted(t, ep_with(t));
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        DAT_EP_HANDLE made = DAT_HANDLE_NULL;

        *(trial->other ? &attr.request_completion_flags : &attr.recv_completion_flags) =
            (DAT_COMPLETION_FLAGS)trial->value;
        look_at(t, trial,
                dat_ep_create(ia(t), pz(t), evds.recv, evds.request, evds.connect, &attr, &made),
                DAT_HANDLE_TYPE_EP, &made);
}

/* A send is granted without the flag first. */
static void ask_flag_of_send(struct test *t, const struct trial *trial)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, 8);
        struct peer_ep *end = peer_connect(peer(t), ep);
        DAT_DTO_COOKIE cookie = {.as_64 = 1};

        peer_post_recv(end, 2, 8);
        must(dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
        look_at_return(
            t, trial,
            dat_ep_post_send(ep, 1, &segment, cookie, (DAT_COMPLETION_FLAGS)trial->value));
}

static void ask_ep_creator(struct test *t, const struct trial *trial)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CR_FLAG);
        DAT_PSP_HANDLE made = DAT_HANDLE_NULL;
        DAT_CONN_QUAL qual;
        DAT_RETURN ret = dat_psp_create_any(ia(t), &qual, evd, (DAT_PSP_FLAGS)trial->value, &made);

        look_at(t, trial, ret, DAT_HANDLE_TYPE_PSP, &made);
}

/* Each of the two streams is granted alone first, but for the IA's own asynchronous one (EVD-13).
 */
static void ask_merged(struct test *t, const struct trial *trial)
{
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        release(t, evd_with(t, .flags = (DAT_EVD_FLAGS)trial->value));
        if (trial->other != DAT_EVD_ASYNC_FLAG)
                release(t, evd_with(t, .flags = (DAT_EVD_FLAGS)trial->other));
        ret = dat_evd_create(ia(t), 8, DAT_HANDLE_NULL,
                             (DAT_EVD_FLAGS)(trial->value | trial->other), &made);
        look_at(t, trial, ret, DAT_HANDLE_TYPE_EVD, &made);
}

static void ask_mem_type(struct test *t, const struct trial *trial,
                         DAT_REGION_DESCRIPTION description, DAT_VLEN length)
{
        DAT_LMR_HANDLE made = DAT_HANDLE_NULL;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN size;
        DAT_VADDR address;
        DAT_RETURN ret = dat_lmr_create(ia(t), (DAT_MEM_TYPE)trial->value, description, length,
                                        pz(t), DAT_MEM_PRIV_ALL_FLAG, &made, &lmr_context,
                                        &rmr_context, &size, &address);

        look_at(t, trial, ret, DAT_HANDLE_TYPE_LMR, &made);
}

static void ask_lmr_memory(struct test *t, const struct trial *trial)
{
        const struct buf *buf = buf_with(t);

        ask_mem_type(t, trial, (DAT_REGION_DESCRIPTION){.for_lmr_handle = buf->lmr}, buf->length);
}

static void ask_shared_memory(struct test *t, const struct trial *trial)
{
        static char cookie[sizeof(*(DAT_LMR_COOKIE)0)];
        const size_t length = 4096;
        void *memory =
            mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                resource(t, "no memory to share: %s", strerror(errno));
        ask_mem_type(t, trial,
                     (DAT_REGION_DESCRIPTION){.for_shared_memory = {.virtual_address = memory,
                                                                    .shared_memory_id = &cookie}},
                     length);
}

/* In the order in which they are tried: SRQs come before what needs them. */
static const struct trial rows[] = {
#define TRIAL(need_, call_, ask_) .need = NEED_##need_, .call = (call_), .ask = (ask_)
    {TRIAL(SRQ, "dat_srq_create", ask_srq)},
    {TRIAL(SRQ_WATERMARKS, "dat_srq_set_lw", ask_srq_watermarks), .of_srq = true},
    {TRIAL(SRQ_INFO_AVAILABLE, "dat_srq_query", ask_srq_available), .of_srq = true},
    {TRIAL(SRQ_INFO_OUTSTANDING, "dat_srq_query", ask_srq_outstanding), .of_srq = true},
    {TRIAL(SRQ_PZ_DIFFERENCE, "dat_ep_create_with_srq", ask_pz_difference), .of_srq = true,
     .or_invalid = true},
    {TRIAL(EP_RECV_INFO, "dat_ep_recv_query", ask_ep_recv_info)},
    {TRIAL(EP_WATERMARKS, "dat_ep_set_watermark", ask_ep_watermarks), .of_srq = true},
#define FLAG(flag_, call_, ask_) \
        TRIAL(flag_##_FLAG, call_, ask_), .or_invalid = true, .value = DAT_COMPLETION_##flag_##_FLAG
    {FLAG(SUPPRESS, "dat_ep_post_send", ask_flag_of_send), .peers = 1},
    {FLAG(SOLICITED_WAIT, "dat_ep_create", ask_flag_of_ep)},
    {FLAG(UNSIGNALLED, "dat_ep_create", ask_flag_of_ep), .other = 1},
    {FLAG(BARRIER_FENCE, "dat_ep_post_send", ask_flag_of_send), .peers = 1},
    {FLAG(EVD_THRESHOLD, "dat_ep_create", ask_flag_of_ep)},
#undef FLAG
    {TRIAL(PROVIDER_MADE_EP, "dat_psp_create_any", ask_ep_creator), .value = DAT_PSP_PROVIDER_FLAG},
    {TRIAL(CONSUMER_MADE_EP, "dat_psp_create_any", ask_ep_creator), .value = DAT_PSP_CONSUMER_FLAG},
#define MERGED(one_, other_)                                                   \
        {                                                                      \
                TRIAL(MERGED_##one_##_##other_, "dat_evd_create", ask_merged), \
                    .or_invalid = true, .value = DAT_EVD_##one_##_FLAG,        \
                    .other = DAT_EVD_##other_##_FLAG                           \
        }
    MERGED(SOFTWARE, CR),
    MERGED(SOFTWARE, DTO),
    MERGED(SOFTWARE, CONNECTION),
    MERGED(SOFTWARE, RMR_BIND),
    MERGED(SOFTWARE, ASYNC),
    MERGED(CR, DTO),
    MERGED(CR, CONNECTION),
    MERGED(CR, RMR_BIND),
    MERGED(CR, ASYNC),
    MERGED(DTO, CONNECTION),
    MERGED(DTO, RMR_BIND),
    MERGED(DTO, ASYNC),
    MERGED(CONNECTION, RMR_BIND),
    MERGED(CONNECTION, ASYNC),
    MERGED(RMR_BIND, ASYNC),
#undef MERGED
    {TRIAL(MEM_TYPE_LMR, "dat_lmr_create", ask_lmr_memory), .value = DAT_MEM_TYPE_LMR},
    {TRIAL(MEM_TYPE_SHARED, "dat_lmr_create", ask_shared_memory),
     .value = DAT_MEM_TYPE_SHARED_VIRTUAL},
#undef TRIAL
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void trial_body(struct test *t, const void *row)
{
        const struct trial *trial = row;

        trial->ask(t, trial);
}

/* The two entries that a trial's case can have: alone, and with a peer on this host. */
static const struct case_entry entries[] = {
    {.page = "trials", .file = __FILE__, .line = __LINE__, .body = trial_body},
    {.page = "trials", .file = __FILE__, .line = __LINE__, .body = trial_body, .peers = 1},
};

bool assume(struct assumptions *assumptions, const char *text)
{
        const char *equals = strchr(text, '=');
        char name[64];
        uint64_t need;

        if (!equals || (strcmp(equals, "=0") != 0 && strcmp(equals, "=1") != 0) ||
            (size_t)(equals - text) >= sizeof(name))
                return false;
        snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
        need = need_named(name);
        *(equals[1] == '1' ? &assumptions->present : &assumptions->absent) |= need;
        return need && !(assumptions->present & assumptions->absent);
}

static void find_out(struct trials *trials, uint64_t need, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void find_out(struct trials *trials, uint64_t need, const char *format, ...)
{
        struct feature_found *found = &trials->features[trials->found.count++];
        va_list args;

        found->need = need;
        va_start(args, format);
        vsnprintf(found->how, sizeof(found->how), format, args);
        va_end(args);
}

static const struct trial *trial_of(uint64_t need)
{
        for (size_t i = 0; i < ROW_COUNT; i++)
                if (rows[i].need == need)
                        return &rows[i];
        return NULL;
}

void trials_begin(struct trials *trials, const struct assumptions *assumptions,
                  const struct probe *probe, const struct probe *threadsafe)
{
        uint64_t unwritten = probe->open ? needs_unwritten(probe, threadsafe) : 0;

        *trials = (struct trials){
            .probe = probe,
            .found = {.present = assumptions->present & unwritten,
                      .absent = assumptions->absent & unwritten,
                      .features = trials->features},
            .until_ns = now_ns() + TRIALS_MS * NS_PER_MS,
        };
        trials->found.assumed = trials->found.present | trials->found.absent;
        for (uint64_t need = 1; need; need <<= 1) {
                if (trials->found.assumed & need)
                        find_out(trials, need, "--assume says so");
                else if ((unwritten & need) && !trial_of(need))
                        find_out(trials, need, "no call answers whether it is there");
                else
                        trials->untried |= unwritten & need;
        }
}

/* Why a trial would show nothing, or NULL; without SRQs, what is of SRQs is absent. */
static const char *prevented(struct trials *trials, const struct trial *trial)
{
        char text[128];

        if (trial->of_srq &&
            needs_missing(NEED_SRQ, trials->probe, &trials->found, text, sizeof(text))) {
                trials->found.absent |= trial->need;
                return "not tried: there are no SRQs";
        }
        if (trial->of_srq &&
            needs_untold(NEED_SRQ, trials->probe, &trials->found, text, sizeof(text)))
                return "not tried: it is not known whether there are SRQs";
        if (now_ns() >= trials->until_ns)
                return "not tried: the trials before it took too long";
        return NULL;
}

static bool start(struct trials *trials, struct run *run, const struct trial *trial)
{
        struct case_job job = {
            .ref = &trials->ref,
            .settings = {.ia = trials->probe->ia,
                         .deadline_ms = DEADLINE_MS_DEFAULT,
                         .event_ms = EVENT_MS,
                         .quiet_ms = QUIET_MS,
                         .peer_mode = trial->peers ? PEER_MODE_LOCAL : PEER_MODE_NONE,
                         .probe = trials->probe,
                         .found = trials->found},
        };

        snprintf(trials->id, sizeof(trials->id), "trials/%s", need_name(trial->need));
        trials->ref =
            (struct case_ref){.id = trials->id, .entry = &entries[trial->peers], .row = trial};
        return run_case(run, 0, &job);
}

bool trials_next(struct trials *trials, struct run *run)
{
        for (size_t i = 0; i < ROW_COUNT; i++) {
                const struct trial *trial = &rows[i];
                const char *why;

                if (!(trials->untried & trial->need))
                        continue;
                trials->untried &= ~trial->need;
                trials->under_way = trial->need;
                why = prevented(trials, trial);
                if (!why && start(trials, run, trial))
                        return true;
                find_out(trials, trial->need, "%s", why ? why : strerror(errno));
        }
        return false;
}

static const char *text_of(const json_t *verdict, const char *key)
{
        const char *text = json_string_value(json_object_get(verdict, key));

        return text ? text : "";
}

void trials_take(struct trials *trials, const struct run *run)
{
        json_t *verdict = run_verdict(run);
        const char *word = text_of(verdict, "verdict");
        const char *reason = text_of(verdict, "reason");
        const char *pending = text_of(verdict, "pending");
        bool is_told = !*pending || strstr(reason, pending);
        uint64_t need = trials->under_way;

        if (strcmp(word, "PASS") == 0 || strcmp(word, "NOTE") == 0) {
                trials->found.present |= need;
                find_out(trials, need, "%s worked", trial_of(need)->call);
        } else if (strcmp(word, "UNSUPPORTED") == 0 && atomic_load(&run->main.evidence->absent)) {
                trials->found.absent |= need;
                find_out(trials, need, "%s", reason);
        } else {
                find_out(trials, need, "its trial ended in %s: %s%s%s", word, reason,
                         is_told ? "" : " in ", is_told ? "" : pending);
        }
        json_decref(verdict);
}

json_t *trials_json(const struct trials *trials)
{
        const struct found_features *found = &trials->found;
        json_t *object = found->count ? json_object() : NULL;

        for (size_t i = 0; i < found->count; i++) {
                const struct feature_found *feature = &trials->features[i];
                bool assumed = found->assumed & feature->need;
                json_t *said = json_pack("{s:s}", "by", assumed ? "assumption" : "trial");

                json_object_set_new(said, "how", text_json(feature->how, strlen(feature->how)));
                if ((found->present | found->absent) & feature->need)
                        json_object_set_new(said, "present",
                                            json_boolean(found->present & feature->need));
                json_object_set_new(object, need_name(feature->need), said);
        }
        return object;
}
