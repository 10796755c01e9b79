/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The case's side of its peer. Commands and answers are JSON objects, on a socket to the process of
 * a peer on this host (peer_process.c), or on the channel to the agent, which carries them to one
 * elsewhere. What is no command, as that the peer is to start, is always the agent's.
 */
#include "peer/peer.h"

#include <jansson.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "case/in_vain.h"
#include "case/step.h"
#include "case/test.h"
#include "case/transport.h"
#include "evidence/address.h"
#include "evidence/lines.h"
#include "peer/hex.h"
#include "peer/netdev.h"
#include "peer/peer_process.h"

/* Beyond what the peer itself may wait: the way there and back. */
#define ANSWER_SLACK_MS 2000
#define HEED_MS         300 /* for an answer that may come after the event only */
#define US_PER_MS       1000
#define ACCEPT          "dat_cr_accept"
#define CONNECT         "dat_ep_connect"

struct peer {
        struct test *t;
        struct lines channel; /* to the agent */
        struct lines direct;  /* to a peer on this host */
        json_t *stopped;      /* what the agent said of the end of the peer's process */
        json_t *early;        /* an answer that was read before it was asked for */
        bool accepting;       /* the peer is to answer that it has accepted */
        int accepted;         /* the end that did so last on command, or -1 */
        int asking;           /* the end that connected last, or -1 */
        bool listened;        /* at any qualifier */
        bool listening;       /* at this one, for what fixtures ask: */
        struct peer_place place;
        DAT_COUNT reads_out;
        unsigned char token[PEER_TOKEN];      /* that the case's requests carry, and */
        DAT_COUNT token_size;                 /* how much of it: all, or nothing */
        bool counted;                         /* of a disturbed network: */
        char counter[64];                     /* what counts the packets out of order, and */
        unsigned long long out_of_order_then; /* how many they were when it began */
};

struct peer_ep {
        struct peer *peer;
        int number;
};

static const char *text_of(const json_t *object, const char *key, const char *otherwise)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : otherwise;
}

static bool is_local(const struct peer *peer)
{
        return peer->t->to_peer >= 0;
}

static void post(struct peer *peer, const char *op, json_t *data)
{
        struct lines *lines =
            is_local(peer) && strcmp(op, "data") == 0 ? &peer->direct : &peer->channel;

        lines_put(lines, json_pack("{s:s s:o}", "op", op, "data", data));
        if (lines_wait_written(lines, (int)peer->t->settings->event_ms))
                return;
        if (lines == &peer->channel)
                test_end(peer->t, VERDICT_ERROR, "the channel to the agent is gone");
        /* To one that is gone nothing can be said: how it ended, the agent tells. */
        if (!lines->lost)
                test_end(peer->t, VERDICT_ERROR, "the peer takes no commands");
}

/* Each IA has room for 64 bytes: one that dat_ia_query tells nothing of, too. */
static bool has_room_for_token(const struct probe *probe)
{
        return probe->unasked[UNASKED_IA_QUERY][0] ||
               probe->provider_attr.max_private_data_size >= PEER_TOKEN;
}

static void ask(struct peer *peer, const char *call);

struct peer *peer(struct test *t)
{
        struct peer *made;

        if (t->peer)
                return t->peer;
        if (t->entry->peers == 0)
                test_end(t, VERDICT_ERROR,
                         "the case uses a peer, and its clause has not check = \"pair\"");
        if (t->settings->peer_mode == PEER_MODE_NONE)
                test_end(t, VERDICT_ERROR, "the case was run without a place for its peer");
        made = calloc(1, sizeof(*made));
        if (!made)
                resource(t, "no memory for the peer");
        made->t = t;
        made->accepted = -1;
        made->asking = -1;
        t->ask_peer = ask;
        if (has_room_for_token(t->settings->probe) &&
            getrandom(made->token, PEER_TOKEN, 0) == PEER_TOKEN)
                made->token_size = PEER_TOKEN;
        lines_open(&made->channel, t->channel, t->channel);
        lines_open(&made->direct, t->to_peer, t->to_peer);
        t->peer = made;
        post(made, "start",
             json_pack("{s:i s:i}", "event_ms", (int)t->settings->event_ms, "quiet_ms",
                       (int)t->settings->quiet_ms));
        return made;
}

/* A line of a peer on this host, whose provider may write what it likes: or NULL. */
static json_t *parse_answer(struct peer *peer, const char *line)
{
        json_t *message = json_loads(line, 0, NULL);

        if (strcmp(text_of(message, "op", ""), "data") == 0 &&
            json_is_object(json_object_get(message, "data")))
                return message;
        json_decref(message);
        note(peer->t, "a line on the suite's own channel to the peer that it did not write");
        return NULL;
}

/* What has been read and not been taken; of the agent only behind all of the peer. */
static json_t *take_message(struct peer *peer)
{
        json_t *message = NULL;
        char *line;

        while (!message && (line = lines_next(&peer->direct)))
                message = parse_answer(peer, line);
        if (message || !(line = lines_next(&peer->channel)))
                return message;
        message = json_loads(line, 0, NULL);
        if (!message)
                test_end(peer->t, VERDICT_ERROR, "garbage on the peer's channel");
        return message;
}

/* The next message of the peer, or of the agent about it; NULL after `ms` (-1: no limit). */
static json_t *receive(struct peer *peer, int ms)
{
        for (;;) {
                struct pollfd fds[] = {
                    {.fd = peer->channel.in, .events = POLLIN},
                    {.fd = peer->direct.ended ? -1 : peer->direct.in, .events = POLLIN},
                };
                json_t *message = take_message(peer);

                if (message)
                        return message;
                if (peer->channel.ended)
                        test_end(peer->t, VERDICT_ERROR, "the channel to the agent is gone");
                if (poll(fds, 2, ms) <= 0)
                        return NULL;
                /* Of a peer that has ended all is there when the agent tells of it. */
                lines_read(&peer->channel);
                lines_read(&peer->direct);
        }
}

/* The `data` of the next message; an end of the peer is kept, and NULL returned. */
static json_t *receive_data(struct peer *peer, int ms, const char *what)
{
        json_t *message = receive(peer, ms);
        json_t *data;

        if (!message)
                test_end(peer->t, VERDICT_ERROR, "the peer did not answer to %s within %d ms", what,
                         ms);
        data = json_incref(json_object_get(message, "data"));
        if (strcmp(text_of(message, "op", ""), "stopped") == 0) {
                peer->stopped = data;
                data = NULL;
        }
        json_decref(message);
        return data;
}

/* A peer that ended in a call was ended by the provider; else the suite or the host ended it. */
static _Noreturn void peer_gone(struct peer *peer, const char *what)
{
        const char *reason = text_of(peer->stopped, "reason", "no reason given");
        const char *call = text_of(peer->stopped, "pending", NULL);

        if (call)
                step_failed(peer->t, STEP_SITE_(peer->t), call, reason,
                            "%s: the peer has ended (%s)", what, reason);
        test_end(peer->t, VERDICT_ERROR, "%s: the peer has ended (%s)", what, reason);
}

/* What the peer could not do is the provider's failure where the peer names a call. */
static _Noreturn void peer_refused(struct peer *peer, const json_t *data, const char *what)
{
        const char *why = text_of(data, "why", "it does not say why");
        const char *call = text_of(data, "call", NULL);

        if (call && strcmp(what, "wait_connected") == 0)
                accepts_must_show(peer->t, true);
        if (call && strcmp(what, "take_request") == 0)
                connects_must_show(peer->t, true);
        if (call)
                step_failed(peer->t, STEP_SITE_(peer->t), call, text_of(data, "ret", why),
                            "the peer could not %s: %s", what, why);
        test_end(peer->t, VERDICT_ERROR, "the peer could not %s: %s", what, why);
}

/* Whether the peer may ask an EP for its state. */
static bool may_look(const struct peer *peer)
{
        return !peer->t->settings->probe->unasked[UNASKED_EP_STATUS][0];
}

/* Whether the peer could not connect, or answer a request, because its call failed. */
static bool was_refused(const json_t *data)
{
        const char *call = text_of(data, "call", "");
        const char *ret = text_of(data, "ret", "");

        return (strncmp(call, "dat_cr_", strlen("dat_cr_")) == 0 || strcmp(call, CONNECT) == 0) &&
               *ret && !strstr(ret, "_EVENT_");
}

/*
 * A peer that could not answer a request blocks the case by its call, before the event that does
 * not come for it is held against the case's own. Whatever else the peer says is for later: that
 * no event came to it either is the case's finding. So is a call of the case's page, where the
 * connection is its clause (`clause`).
 */
static void heed(struct peer *peer, int ms, const char *what, bool clause)
{
        json_t *message = peer->early || peer->stopped ? NULL : receive(peer, ms);
        json_t *data = json_incref(json_object_get(message, "data"));

        if (message && strcmp(text_of(message, "op", ""), "stopped") == 0)
                peer->stopped = data;
        else if (message)
                peer->early = data;
        json_decref(message);
        data = peer->early;
        if (was_refused(data) &&
            (!clause || !step_is_own(peer->t->entry->page, text_of(data, "call", ""))))
                peer_refused(peer, data, what);
}

/* The end that the peer made this call with last, or -1. It makes no dat_ep_dup_connect. */
static int end_by(const struct peer *peer, const char *call)
{
        if (strcmp(call, ACCEPT) == 0)
                return peer->accepted;
        return strcmp(call, CONNECT) == 0 ? peer->asking : -1;
}

/*
 * A connection was not established, or a request did not arrive: ends the case as BLOCKED by the
 * peer's call if that did nothing. A peer that accepts by itself has waited for its own event as
 * long as the case has. One that is gone, or says nothing, is for later.
 */
static void ask(struct peer *peer, const char *call)
{
        int end = end_by(peer, call);
        bool accepts = strcmp(call, ACCEPT) == 0;
        bool commanded = !peer->accepting;

        if (peer->stopped || (commanded ? end < 0 || !may_look(peer) : !accepts))
                return;
        if (commanded)
                post(peer, "data",
                     json_pack("{s:s s:s s:i}", "do", "show", "call", call, "ep", end));
        heed(peer, (int)peer->t->settings->event_ms + HEED_MS, accepts ? "accept" : "connect",
             false);
        if (commanded) {
                json_decref(peer->early);
                peer->early = NULL;
        }
}

static json_t *answer(struct peer *peer, int ms, const char *what)
{
        json_t *data;

        if (peer->stopped && !peer->early)
                peer_gone(peer, what);
        data = peer->early ? peer->early : receive_data(peer, ms, what);
        peer->early = NULL;
        if (!data)
                peer_gone(peer, what);
        if (!json_is_true(json_object_get(data, "ok")))
                peer_refused(peer, data, what);
        return data;
}

static int answer_ms(const struct peer *peer)
{
        return (int)(2 * peer->t->settings->event_ms + ANSWER_SLACK_MS);
}

/* Has the peer obey one command and drops its answer. */
static void obey(struct peer *peer, json_t *command, int ms)
{
        char what[32];

        strncpy(what, text_of(command, "do", "?"), sizeof(what) - 1);
        what[sizeof(what) - 1] = '\0';
        post(peer, "data", command);
        json_decref(answer(peer, ms, what));
}

static void parse_address(struct peer *peer, const char *text, struct sockaddr_storage *address)
{
        if (!address_parse(text, address))
                test_end(peer->t, VERDICT_ERROR, "the peer's IA has no usable address: \"%s\"",
                         text);
}

struct peer_place peer_listen(struct peer *peer)
{
        struct peer_place place;
        json_t *data;

        post(peer, "data",
             json_pack("{s:s s:I s:b s:i}", "do", "listen", "from",
                       (json_int_t)draw(peer->t, PEER_CONN_QUALS), "rsp",
                       provider_makes_all_eps(peer->t), "reads", (int)peer->reads_out));
        data = answer(peer, answer_ms(peer), "listen");
        parse_address(peer, text_of(data, "address", ""), &place.address);
        place.qual = (DAT_CONN_QUAL)json_integer_value(json_object_get(data, "qual"));
        json_decref(data);
        peer->listened = true;
        return place;
}

void peer_stop_listening(struct peer *peer, DAT_CONN_QUAL qual)
{
        obey(peer, json_pack("{s:s s:I}", "do", "stop_listening", "qual", (json_int_t)qual),
             answer_ms(peer));
}

static void listen_once(struct peer *peer)
{
        if (peer->listening)
                return;
        peer->place = peer_listen(peer);
        peer->listening = true;
}

void peer_reads(struct peer *peer, DAT_COUNT reads_out)
{
        bool changed = peer->reads_out != reads_out;

        peer->reads_out = reads_out;
        /* The EPs of its RSPs are made already. */
        if (changed && peer->listened && provider_makes_all_eps(peer->t))
                obey(peer, json_pack("{s:s s:i}", "do", "reads", "reads", (int)reads_out),
                     answer_ms(peer));
}

/* An end by the number that the peer's answer gives it. */
static struct peer_ep *end_of(struct peer *peer, json_t *data)
{
        struct peer_ep *end = calloc(1, sizeof(*end));

        if (!end)
                resource(peer->t, "no memory for an end of a connection");
        end->peer = peer;
        end->number = (int)json_integer_value(json_object_get(data, "ep"));
        json_decref(data);
        return end;
}

static DAT_PVOID token_of(struct peer *peer)
{
        return peer->token_size ? peer->token : NULL;
}

static void accept_next(struct peer *peer)
{
        listen_once(peer);
        peer->accepting = true;
        post(peer, "data",
             json_pack("{s:s s:i s:b s:b s:o}", "do", "accept", "reads", (int)peer->reads_out,
                       "rsp", provider_makes_all_eps(peer->t), "look", may_look(peer), "token",
                       hex_json(peer->token, (size_t)peer->token_size)));
}

/* The peer's answer that it has accepted, and how many others wanted that port. */
static json_t *accepted(struct peer *peer)
{
        json_t *data = answer(peer, answer_ms(peer), "accept");
        json_int_t strangers = json_integer_value(json_object_get(data, "strangers"));

        peer->accepting = false;
        if (strangers)
                record(peer->t, "requests of strangers at the peer's port that were rejected: %d",
                       (int)strangers);
        return data;
}

/*
 * A provider may go on with a connection only while the case waits for its event, so this is brief.
 * A step heeds it when another event came.
 */
static void heed_refusal(void *arg)
{
        heed(arg, HEED_MS, "accept", false);
}

/* The call that asked the accepting peer was made. */
static struct peer_ep *await_connected(struct peer *peer, const struct check_site *site,
                                       DAT_EP_HANDLE ep, DAT_RETURN asked, bool clause)
{
        struct test *t = peer->t;

        check_ret(t, site, asked, clause);
        if (clause)
                heed(peer, HEED_MS, "accept", true);
        fixture_event_unless(t, site, ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_ESTABLISHED,
                             clause, clause ? NULL : heed_refusal, peer);
        must_be_connected(t, ep);
        return end_of(peer, accepted(peer));
}

struct peer_ep *peer_connect_by(struct peer *peer, const struct check_site *site, DAT_EP_HANDLE ep,
                                bool clause)
{
        accept_next(peer);
        return await_connected(
            peer, site, ep,
            dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&peer->place.address, peer->place.qual,
                           peer->t->settings->event_ms * US_PER_MS, peer->token_size,
                           token_of(peer), DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
            clause);
}

static struct peer_ep *duplicate(struct peer *peer, DAT_EP_HANDLE ep, DAT_EP_HANDLE like,
                                 bool clause)
{
        accept_next(peer);
        return await_connected(peer, CHECK_SITE_("the connection to where another EP is"), ep,
                               dat_ep_dup_connect(ep, like, peer->t->settings->event_ms * US_PER_MS,
                                                  peer->token_size, token_of(peer),
                                                  DAT_QOS_BEST_EFFORT),
                               clause);
}

struct peer_ep *peer_connect_like(struct peer *peer, DAT_EP_HANDLE ep, DAT_EP_HANDLE like)
{
        return duplicate(peer, ep, like, true);
}

struct peer_ep *peer_duplicate(struct peer *peer, DAT_EP_HANDLE ep, DAT_EP_HANDLE like)
{
        return duplicate(peer, ep, like, false);
}

struct peer_ep *peer_connect(struct peer *peer, DAT_EP_HANDLE ep)
{
        return peer_connect_by(peer, CHECK_SITE_("the connection to the peer"), ep, false);
}

void peer_leave_asking(struct peer *peer, DAT_EP_HANDLE ep)
{
        struct test *t = peer->t;

        /* An RSP takes one request, and more may be left. */
        if (provider_makes_all_eps(t))
                peer->listening = false;
        listen_once(peer);
        arrange(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&peer->place.address, peer->place.qual,
                               DAT_TIMEOUT_INFINITE, peer->token_size, token_of(peer),
                               DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

struct peer_ep *peer_accept_asking(struct peer *peer, const struct check_site *site,
                                   DAT_EP_HANDLE ep)
{
        accept_next(peer);
        return await_connected(peer, site, ep, DAT_SUCCESS, true);
}

static void must_fit(struct peer *peer, DAT_COUNT size)
{
        if (size < 0 || size > PEER_PRIVATE_MAX)
                test_end(peer->t, VERDICT_ERROR,
                         "the peer is given no more than %d bytes of private data, not %d",
                         PEER_PRIVATE_MAX, (int)size);
}

static DAT_COUNT parse_private_data(const json_t *data, unsigned char bytes[PEER_PRIVATE_MAX])
{
        hex_parse(text_of(data, "private", ""), bytes, PEER_PRIVATE_MAX);
        return (DAT_COUNT)json_integer_value(json_object_get(data, "size"));
}

struct peer_ep *peer_ask_by(struct peer *peer, DAT_CONN_QUAL qual, struct peer_ask_opts opts)
{
        DAT_TIMEOUT timeout = opts.timeout ? opts.timeout : DAT_TIMEOUT_INFINITE;
        struct peer_ep *end;
        char address[64];

        must_fit(peer, opts.private_data_size);
        address_text(ia_address(peer->t), address, sizeof(address));
        post(peer, "data",
             json_pack("{s:s s:s s:I s:i s:I s:o}", "do", "request", "address", address, "qual",
                       (json_int_t)qual, "reads", (int)peer->reads_out, "timeout",
                       (json_int_t)timeout, "private",
                       hex_json(opts.private_data, (size_t)opts.private_data_size)));
        end = end_of(peer, answer(peer, answer_ms(peer), "request"));
        peer->asking = end->number;
        return end;
}

struct peer_ep *peer_request(struct peer *peer, DAT_CONN_QUAL qual)
{
        return peer_ask(peer, qual, .private_data_size = 0);
}

void peer_wait_connected(struct peer_ep *end)
{
        obey(end->peer, json_pack("{s:s s:i}", "do", "wait_connected", "ep", end->number),
             answer_ms(end->peer));
}

void peer_give_up(struct peer_ep *end)
{
        obey(end->peer, json_pack("{s:s s:i}", "do", "give_up", "ep", end->number),
             answer_ms(end->peer));
}

DAT_PORT_QUAL peer_port(struct peer_ep *end)
{
        DAT_PORT_QUAL port;
        json_t *data;

        post(end->peer, "data", json_pack("{s:s s:i}", "do", "port", "ep", end->number));
        data = answer(end->peer, answer_ms(end->peer), "port");
        port = (DAT_PORT_QUAL)json_integer_value(json_object_get(data, "port"));
        json_decref(data);
        return port;
}

struct peer_event peer_wait_event(struct peer_ep *end)
{
        struct peer_event event = {.number = (DAT_EVENT_NUMBER)0};
        json_t *data;

        post(end->peer, "data", json_pack("{s:s s:i}", "do", "wait_event", "ep", end->number));
        data = answer(end->peer, answer_ms(end->peer), "wait_event");
        event.number = (DAT_EVENT_NUMBER)json_integer_value(json_object_get(data, "number"));
        event.after_ms = (int)json_integer_value(json_object_get(data, "after_ms"));
        event.private_data_size = parse_private_data(data, event.private_data);
        json_decref(data);
        return event;
}

/* Whether the peer says that there is one. */
static bool there_is(struct peer *peer, json_t *command, const char *what)
{
        json_t *data;
        bool there;

        post(peer, "data", command);
        data = answer(peer, answer_ms(peer), what);
        there = json_is_true(json_object_get(data, "there"));
        json_decref(data);
        return there;
}

bool peer_has_event(struct peer_ep *end)
{
        return there_is(end->peer, json_pack("{s:s s:i}", "do", "has_event", "ep", end->number),
                        "has_event");
}

bool peer_has_request(struct peer *peer)
{
        return there_is(peer, json_pack("{s:s}", "do", "has_request"), "has_request");
}

struct peer_cr peer_take_request(struct peer *peer)
{
        struct peer_cr request = {.peer = peer};
        json_t *data;

        post(peer, "data", json_pack("{s:s}", "do", "take_request"));
        data = answer(peer, answer_ms(peer), "take_request");
        request.number = (int)json_integer_value(json_object_get(data, "cr"));
        request.qual = (DAT_CONN_QUAL)json_integer_value(json_object_get(data, "qual"));
        request.port = (DAT_PORT_QUAL)json_integer_value(json_object_get(data, "port"));
        address_parse(text_of(data, "address", ""), &request.address);
        request.private_data_size = parse_private_data(data, request.private_data);
        json_decref(data);
        return request;
}

struct peer_ep *peer_accept(const struct peer_cr *request, const void *data, DAT_COUNT size)
{
        struct peer *peer = request->peer;
        struct peer_ep *end;

        must_fit(peer, size);
        post(peer, "data",
             json_pack("{s:s s:i s:i s:o}", "do", "accept_request", "cr", request->number, "reads",
                       (int)peer->reads_out, "private", hex_json(data, (size_t)size)));
        end = end_of(peer, answer(peer, answer_ms(peer), "accept_request"));
        peer->accepted = end->number;
        return end;
}

void peer_reject(const struct peer_cr *request)
{
        obey(request->peer, json_pack("{s:s s:i}", "do", "reject", "cr", request->number),
             answer_ms(request->peer));
}

/* How many packets have come to this host out of order; false where none counts them. */
static bool out_of_order(struct peer *peer, unsigned long long *packets)
{
        char address[64];
        char netdev[IF_NAMESIZE];

        address_text(ia_address(peer->t), address, sizeof(address));
        return netdev_of(address, netdev) > 0 &&
               netdev_out_of_order(netdev, packets, peer->counter, sizeof(peer->counter));
}

void peer_disturb_by(struct peer *peer, struct peer_disturb_opts opts)
{
        json_t *data;

        if (!peer->t->entry->network)
                test_end(
                    peer->t, VERDICT_ERROR,
                    "the case disturbs the network, and its clause has not check = \"network\"");
        post(peer, "disturb",
             json_pack("{s:i s:i s:i s:i}", "delay_ms", opts.delay_ms, "reorder_percent",
                       opts.reorder_percent, "loss_percent", opts.loss_percent, "kbit_per_s",
                       opts.kbit_per_s));
        data = answer(peer, answer_ms(peer), "disturb the network");
        record(peer->t, "what the peer's host sends is disturbed: %s",
               text_of(data, "network", "it does not say how"));
        json_decref(data);
        peer->counted = out_of_order(peer, &peer->out_of_order_then);
}

static unsigned long long overtaken(struct peer *peer)
{
        unsigned long long now = peer->out_of_order_then;

        out_of_order(peer, &now);
        return now - peer->out_of_order_then;
}

bool peer_overtook(struct peer *peer)
{
        return !peer->counted || overtaken(peer) > 0;
}

void must_have_overtaken(struct peer *peer)
{
        struct test *t = peer->t;
        unsigned long long packets;

        if (!peer->counted) {
                note(t, "whether packets came out of order is not known: no RDMA device of this"
                        " host counts them");
                return;
        }
        packets = overtaken(peer);
        if (packets == 0)
                test_end(t, VERDICT_ERROR,
                         "the network was disturbed, and no packet came out of order (%s)",
                         peer->counter);
        record(t, "packets that came out of order: %llu (%s)", packets, peer->counter);
}

void peer_freeze(struct peer *peer)
{
        obey(peer, json_pack("{s:s}", "do", "freeze"), answer_ms(peer));
}

struct peer_memory peer_expose(struct peer_ep *end, size_t length)
{
        struct peer_memory memory;
        json_t *data;

        post(end->peer, "data",
             json_pack("{s:s s:i s:I}", "do", "expose", "ep", end->number, "length",
                       (json_int_t)length));
        data = answer(end->peer, answer_ms(end->peer), "expose");
        memory.rmr_context = (DAT_RMR_CONTEXT)json_integer_value(json_object_get(data, "context"));
        memory.address = (DAT_VADDR)json_integer_value(json_object_get(data, "address"));
        json_decref(data);
        return memory;
}

bool peer_holds(struct peer_ep *end, struct peer_memory memory, size_t offset, size_t length,
                uint64_t sequence)
{
        json_t *data;
        bool holds;

        post(end->peer, "data",
             json_pack("{s:s s:i s:I s:I s:I s:I}", "do", "holds", "ep", end->number, "address",
                       (json_int_t)memory.address, "offset", (json_int_t)offset, "length",
                       (json_int_t)length, "sequence", (json_int_t)sequence));
        data = answer(end->peer, answer_ms(end->peer), "look at its memory");
        holds = json_is_true(json_object_get(data, "holds"));
        json_decref(data);
        return holds;
}

bool peer_read(struct peer_ep *end, DAT_RMR_CONTEXT context, DAT_VADDR address, size_t length)
{
        json_t *data;
        bool holds;

        post(end->peer, "data",
             json_pack("{s:s s:i s:I s:I s:I}", "do", "read", "ep", end->number, "context",
                       (json_int_t)context, "address", (json_int_t)address, "length",
                       (json_int_t)length));
        data = answer(end->peer, answer_ms(end->peer), "read");
        holds = json_is_true(json_object_get(data, "holds"));
        json_decref(data);
        return holds;
}

void peer_write(struct peer_ep *end, DAT_RMR_CONTEXT context, DAT_VADDR address, size_t length,
                uint64_t sequence)
{
        obey(end->peer,
             json_pack("{s:s s:i s:I s:I s:I s:I}", "do", "write", "ep", end->number, "context",
                       (json_int_t)context, "address", (json_int_t)address, "length",
                       (json_int_t)length, "sequence", (json_int_t)sequence),
             answer_ms(end->peer));
}

void peer_send_all(struct peer_ep *end, struct peer_send_opts opts)
{
        size_t length = opts.length ? opts.length : 64;
        json_t *command =
            json_pack("{s:s s:i s:i s:I s:I s:I s:i s:i}", "do", "send", "ep", end->number, "count",
                      opts.count ? opts.count : 1, "length", (json_int_t)(opts.empty ? 0 : length),
                      "step", (json_int_t)opts.length_step, "first", (json_int_t)opts.first,
                      "flags", (int)opts.flags, "late", opts.late_ms);

        obey(end->peer, command, answer_ms(end->peer));
}

void peer_wait_sent(struct peer_ep *end)
{
        obey(end->peer, json_pack("{s:s s:i}", "do", "wait_sent", "ep", end->number), -1);
}

void peer_post_recv(struct peer_ep *end, int count, size_t length)
{
        obey(end->peer,
             json_pack("{s:s s:i s:i s:I}", "do", "post_recv", "ep", end->number, "count", count,
                       "length", (json_int_t)length),
             answer_ms(end->peer));
}

void peer_wait_recv(struct peer_ep *end, uint64_t sequence, size_t length)
{
        obey(end->peer,
             json_pack("{s:s s:i s:I s:I}", "do", "wait_recv", "ep", end->number, "sequence",
                       (json_int_t)sequence, "length", (json_int_t)length),
             answer_ms(end->peer));
}

struct peer_received peer_take_recv(struct peer_ep *end, uint64_t sequence)
{
        json_t *data;
        struct peer_received received;

        post(end->peer, "data",
             json_pack("{s:s s:i s:I}", "do", "take_recv", "ep", end->number, "sequence",
                       (json_int_t)sequence));
        data = answer(end->peer, answer_ms(end->peer), "take_recv");
        received = (struct peer_received){
            .came = json_is_true(json_object_get(data, "came")),
            .status =
                (DAT_DTO_COMPLETION_STATUS)json_integer_value(json_object_get(data, "status")),
            .length = (size_t)json_integer_value(json_object_get(data, "length")),
            .holds = json_is_true(json_object_get(data, "holds")),
        };
        json_decref(data);
        return received;
}

void peer_disconnect(struct peer_ep *end, DAT_CLOSE_FLAGS flags)
{
        obey(end->peer,
             json_pack("{s:s s:i s:i}", "do", "disconnect", "ep", end->number, "flags", (int)flags),
             answer_ms(end->peer));
}

void peer_wait_disconnected(struct peer_ep *end)
{
        obey(end->peer, json_pack("{s:s s:i}", "do", "wait_disconnected", "ep", end->number),
             answer_ms(end->peer));
}

/*
 * The kernel holds a process with an iWARP request for as long as that is out, ten seconds at most:
 * there the last word of the process has to do.
 */
void peer_kill(struct peer *peer)
{
        post(peer, "data", json_pack("{s:s}", "do", "kill"));
        do
                json_decref(receive_data(peer, answer_ms(peer), "kill"));
        while (!peer->stopped && !host_is_iwarp());
}
