/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fixtures: what a case lives on. Each maker returns a usable object or ends the case as BLOCKED,
 * and puts the object on the case's list, from which it is freed in reverse order however the case
 * ends. What cannot be freed is reported, and the rest is still freed. Options that are 0 take the
 * default in the comment. What is refused for want of resources, where the fixtures have made as
 * many of its kind as the IA publishes, ends the case as UNSUPPORTED instead.
 */
#ifndef HARNESS_FIXTURE_H
#define HARNESS_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "case/check.h"
#include "dat_api.h"

struct test;
struct peer_ep;

/* The IA under test, opened before the case starts, and its async EVD. */
DAT_IA_HANDLE ia(struct test *t);
DAT_EVD_HANDLE async_evd(struct test *t);

/* Its name, as dat_ia_open takes it. */
DAT_NAME_PTR ia_name(struct test *t);

/*
 * The case has closed its IA: what the fixtures have made since it was opened is gone with it, and
 * is freed no more, but for IAs that were opened besides. Memory of buffers is given back, where a
 * byte around it that was written is FAIL. ia_reopen() opens the IA anew, with this asynchronous
 * EVD or, by DAT_HANDLE_NULL, one of its own: the fixtures make objects of that then.
 */
void ia_closed(struct test *t);
void ia_reopen(struct test *t, DAT_EVD_HANDLE async);

/* What the IA says of itself, all fields. */
const DAT_IA_ATTR *ia_attr(struct test *t);
const DAT_PROVIDER_ATTR *provider_attr(struct test *t);

/*
 * The same, for what a case can do without: where the probe got no answer from dat_ia_query it is
 * not called, and all is 0, but for the features that were found. ia_attr() and provider_attr()
 * end the case there, as BLOCKED by dat_ia_query.
 */
const DAT_IA_ATTR *ia_attr_if_told(struct test *t);
const DAT_PROVIDER_ATTR *provider_attr_if_told(struct test *t);

/* Whether ep_creator says that the provider makes the EPs of every PSP, or of those that ask so. */
bool provider_makes_all_eps(struct test *t);
bool provider_makes_some_eps(struct test *t);

/* Flags of a PSP that the provider grants, where a case needs one of either kind. */
DAT_PSP_FLAGS psp_flags_granted(struct test *t);

/* Its address. Where it tells none, the case is BLOCKED by dat_ia_query, which promises it. */
DAT_IA_ADDRESS_PTR ia_address(struct test *t);

/* Ends the case as BLOCKED where an attribute was left unwritten that declares one of `needs`. */
void must_be_told(struct test *t, uint64_t needs);

/*
 * As many of `wanted` as the IA's own limit leaves room for, where each takes so many objects of a
 * type beside what the fixtures have made. Fewer than two are UNSUPPORTED.
 */
DAT_COUNT cap_at_limit(struct test *t, DAT_COUNT wanted, DAT_HANDLE_TYPE type, DAT_COUNT each);

/* A second IA, of the same name, opened at the first call; nothing of the first one is its own. */
DAT_IA_HANDLE other_ia(struct test *t);

/* The case's PZ, the same at each call; pz_new makes one more, pz_of makes one of another IA. */
DAT_PZ_HANDLE pz(struct test *t);
DAT_PZ_HANDLE pz_new(struct test *t);
DAT_PZ_HANDLE pz_of(struct test *t, DAT_IA_HANDLE ia);

struct evd_opts {
        DAT_IA_HANDLE ia;    /* ia(t) */
        DAT_COUNT qlen;      /* 64 */
        DAT_EVD_FLAGS flags; /* DAT_EVD_DTO_FLAG */
        DAT_CNO_HANDLE cno;
};
/* Of several streams, the clause needs those that they are merged with: "merged_cr_dto_supported".
 */
DAT_EVD_HANDLE evd_make(struct test *t, struct evd_opts opts);
#define evd_with(t_, ...) evd_make((t_), (struct evd_opts){__VA_ARGS__})

/* Registered memory between two guard areas, which teardown checks: a byte written there is FAIL.
 */
struct buf {
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        unsigned char *addr; /* first usable byte */
        size_t length;       /* usable bytes */
        size_t beyond;       /* as an offset: the first byte behind what is registered */
        size_t before;       /* so many bytes before the first one are registered too */
        char cookie[DAT_LMR_COOKIE_SIZE]; /* of DAT_MEM_TYPE_SHARED_VIRTUAL: of this memory alone */
};
struct buf_opts {
        DAT_IA_HANDLE ia;              /* ia(t) */
        size_t length;                 /* 4096 */
        DAT_PZ_HANDLE pz;              /* pz(t) */
        DAT_MEM_PRIV_FLAGS privileges; /* all local and remote ones */
        DAT_MEM_TYPE type;             /* DAT_MEM_TYPE_VIRTUAL */
};
struct buf *buf_make(struct test *t, struct buf_opts opts);
#define buf_with(t_, ...) buf_make((t_), (struct buf_opts){__VA_ARGS__})

/*
 * The types of memory in turn, by any number: for cases that have several LMRs. A type that the
 * provider does not declare is DAT_MEM_TYPE_VIRTUAL instead.
 */
DAT_MEM_TYPE mem_type_in_turn(struct test *t, size_t number);

/* A triplet for `length` bytes at `offset` of `buf`; no bound is checked. */
DAT_LMR_TRIPLET triplet(const struct buf *buf, size_t offset, size_t length);

struct srq_opts {
        DAT_IA_HANDLE ia;        /* ia(t) */
        DAT_COUNT max_recv_dtos; /* 8 */
        DAT_COUNT max_recv_iov;  /* 1 */
        DAT_PZ_HANDLE pz;        /* pz(t) */
};
/* UNSUPPORTED where the IA's own limits are below what is asked for. */
DAT_SRQ_HANDLE srq_make(struct test *t, struct srq_opts opts);
#define srq_with(t_, ...) srq_make((t_), (struct srq_opts){__VA_ARGS__})

/* All fields of dat_srq_query; a failing query ends the case as BLOCKED. */
DAT_SRQ_PARAM srq_param(struct test *t, DAT_SRQ_HANDLE srq);

/*
 * Posts `count` receives of `size` bytes each, one segment, from consecutive slots of `buf`
 * beginning at slot `first`; receive i has the cookie as_64 = first + i.
 */
void srq_post(struct test *t, DAT_SRQ_HANDLE srq, const struct buf *buf, size_t size, int first,
              int count);

struct ep_opts {
        DAT_SRQ_HANDLE srq;         /* none: the EP has its own receive queue */
        DAT_PZ_HANDLE pz;           /* pz(t) */
        DAT_EVD_HANDLE recv_evd;    /* an own one with qlen 64 */
        DAT_EVD_HANDLE request_evd; /* an own one with qlen 64 */
        DAT_EVD_HANDLE connect_evd; /* an own one with qlen 8 */
        const DAT_EP_ATTR *attr;    /* modest depths: 16 receives, 16 requests, 1 segment */
};
DAT_EP_HANDLE ep_make(struct test *t, struct ep_opts opts);
#define ep_with(t_, ...) ep_make((t_), (struct ep_opts){__VA_ARGS__})

struct point_opts {
        DAT_CONN_QUAL first; /* qualifier of a range of */
        uint32_t count;      /* so many */
        DAT_EVD_HANDLE evd;
        DAT_PSP_FLAGS flags; /* of a PSP; or of an RSP: */
        bool reserved;
        DAT_EP_HANDLE ep;
};
/*
 * A service point at the first free qualifier from a drawn one of the range on. Returns what the
 * last call returned; the handle was poison before. The point is not put on the list.
 */
DAT_RETURN point_make(struct test *t, struct point_opts opts, DAT_CONN_QUAL *qual,
                      DAT_HANDLE *point);

/* The EVDs that an EP of ep_with() reports to. */
DAT_EVD_HANDLE ep_recv_evd(struct test *t, DAT_EP_HANDLE ep);
/* The PZ and the SRQ, or null, that ep_with() gave the EP; false if it did not make the EP. */
bool ep_made_with(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE *zone, DAT_SRQ_HANDLE *srq);
DAT_EVD_HANDLE ep_request_evd(struct test *t, DAT_EP_HANDLE ep);
DAT_EVD_HANDLE ep_connect_evd(struct test *t, DAT_EP_HANDLE ep);

/*
 * An EP in one of the nine states that dat_ep_query tells. It is made as ep_with() makes it, but
 * for Tentative Connection Pending, where it is the Provider's, without zone and EVDs. All states
 * but Unconnected and Reserved need the peer: the clause has check = "pair". A state that cannot
 * be had ends the case, as UNSUPPORTED where the provider or the transport has none.
 */
#define ep_in(t_, state_, ...) ep_make_in((t_), (state_), (struct ep_opts){__VA_ARGS__})
DAT_EP_HANDLE ep_make_in(struct test *t, DAT_EP_STATE state, struct ep_opts opts);

/*
 * A route of an EP into a state. ep_in() draws one by the seed, and the record names it. A clause
 * about the state itself asks all of them:
 *
 *	EACH_EP_ROUTE(route, DAT_EP_STATE_DISCONNECTED) {
 *		DAT_EP_HANDLE ep = ep_by(t, route);
 *
 *		...
 *	}
 *
 * ep_route_first() is for what asks for one route: the EP asked the peer, and made its disconnect.
 */
struct ep_route {
        const char *id;
        DAT_EP_STATE state;
        DAT_EP_HANDLE (*make)(struct test *t, struct ep_opts opts);
        void (*end)(struct test *t, DAT_EP_HANDLE ep); /* of the connection; NULL if it has none */
        bool undrawn; /* EACH_EP_ROUTE() has it, and ep_in() draws it never: it is long */
};
#define ep_by(t_, route_, ...) ep_make_by((t_), (route_), (struct ep_opts){__VA_ARGS__})
DAT_EP_HANDLE ep_make_by(struct test *t, const struct ep_route *route, struct ep_opts opts);
#define EACH_EP_ROUTE(route_, state_)                                                 \
        for (const struct ep_route *(route_) = ep_route_first(t, (state_)); (route_); \
             (route_) = ep_route_next(t, (state_), (route_)))
const struct ep_route *ep_route_first(struct test *t, DAT_EP_STATE state);
const struct ep_route *ep_route_next(struct test *t, DAT_EP_STATE state,
                                     const struct ep_route *before);

/*
 * The RSP of an EP of ep_in() that is Reserved or Passive Connection Pending, and the request for
 * one that is Passive or Tentative Connection Pending. release() frees the one and rejects the
 * other.
 */
DAT_RSP_HANDLE ep_rsp(struct test *t, DAT_EP_HANDLE ep);
DAT_CR_HANDLE ep_request(struct test *t, DAT_EP_HANDLE ep);

/* The peer's end of an EP of ep_in() that is Completion Pending, Connected or Disconnect Pending.
 */
struct peer_ep *ep_end(struct test *t, DAT_EP_HANDLE ep);

/* A state of those that only the header has counts as the plain one (GEN-7). */
DAT_EP_STATE plain_ep_state(DAT_EP_STATE state);

/* The EP's plain state as dat_ep_get_status tells it, or dat_ep_query if that gave no answer. */
DAT_EP_STATE ep_state(struct test *t, DAT_EP_HANDLE ep);

/*
 * Whether a case may look at an EP by dat_ep_query: not where a probe got no answer from it, which
 * the record then says. For a look beside the clause: what the clause needs is asked nevertheless.
 */
bool ep_query_answers(struct test *t);

/* Tells the fixtures to which EVD the EP reports from now on; `which` is of its EVDs' fields. */
void ep_reports_to(struct test *t, DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK which, DAT_EVD_HANDLE evd);

/*
 * Connects an EP that is Unconnected, Reserved, or Passive or Tentative Connection Pending, and
 * returns the peer's end; a Provider's EP is given what it lacks. must_connect: a failure of the
 * EP's side ends the case as BLOCKED. expect_connect: as FAIL.
 */
#define must_connect(ep_)   fixture_connect(t, CHECK_SITE_("the connection of an EP"), (ep_), false)
#define expect_connect(ep_) fixture_connect(t, CHECK_SITE_("the connection of an EP"), (ep_), true)
struct peer_ep *fixture_connect(struct test *t, const struct check_site *site, DAT_EP_HANDLE ep,
                                bool clause);

/*
 * An EP of ep_in(), in that state still, goes on from there as one does that nobody disturbed: its
 * connection is made, or is completed, or ends, or, once over, is followed by another; with the
 * events that belong to it, each the first on its EVD. Returns the peer's end of an EP that is
 * Connected then, and NULL where a disconnect was pending. Any failure is FAIL.
 */
#define expect_goes_on(ep_, state_) fixture_go_on(t, CHECK_SITE_(#ep_ " goes on"), (ep_), (state_))
struct peer_ep *fixture_go_on(struct test *t, const struct check_site *site, DAT_EP_HANDLE ep,
                              DAT_EP_STATE state);

/*
 * Frees now what a maker made, instead of at the end: srq, ep, evd, pz handles and bufs. The free
 * itself must succeed (BLOCKED otherwise). To have a case call the free under test itself, it first
 * takes the object off the list with disown().
 */
void release(struct test *t, void *handle);
/* The same of all that was made since the case's IA was opened, but for other IAs; newest first. */
void release_all(struct test *t);
void disown(struct test *t, void *handle);

/*
 * Puts what the case itself made on the list: an object of any kind. Of an EP the fixtures know no
 * EVDs until ep_reports_to() tells them; a CR is rejected, and an IA closed gracefully.
 */
void adopt(struct test *t, DAT_HANDLE_TYPE type, DAT_HANDLE handle);

/* The same of an RSP for `ep` with requests on `evd`: one that the EP still has is rejected. */
void adopt_rsp(struct test *t, DAT_RSP_HANDLE rsp, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd);

/* The name of an event number, or its value in `space`. */
const char *event_name(DAT_EVENT_NUMBER number, char *space, size_t size);

/*
 * expect_event: waits for one event on `evd`, up to the run's event deadline; none, or one with
 * another number, is FAIL. must_event: the same, as BLOCKED; for a rejection it takes the event of
 * either side's, and for the end of a connection DISCONNECTED or BROKEN.
 */
#define must_event(evd_, number_) \
        fixture_event(t, CHECK_SITE_("the event on an EVD"), (evd_), (number_), false)
#define expect_event(evd_, number_) \
        fixture_event(t, CHECK_SITE_("the event on an EVD"), (evd_), (number_), true)
DAT_EVENT fixture_event(struct test *t, const struct check_site *site, DAT_EVD_HANDLE evd,
                        DAT_EVENT_NUMBER number, bool clause);

/*
 * As expect_event(). `unless` is called before the event that did not come is held against a call,
 * and ends the case if it knows better.
 */
#define expect_event_unless(evd_, number_, unless_, arg_)                                    \
        fixture_event_unless(t, CHECK_SITE_("the event on an EVD"), (evd_), (number_), true, \
                             (unless_), (arg_))
DAT_EVENT fixture_event_unless(struct test *t, const struct check_site *site, DAT_EVD_HANDLE evd,
                               DAT_EVENT_NUMBER number, bool clause, void (*unless)(void *arg),
                               void *arg);

/* expect_quiet: nothing may arrive on `evd` for one quiet period of the run, else FAIL. */
#define expect_quiet(evd_) fixture_quiet(t, CHECK_SITE_("a quiet EVD"), (evd_))
void fixture_quiet(struct test *t, const struct check_site *site, DAT_EVD_HANDLE evd);

/*
 * Takes an event that is there, or returns DAT_QUEUE_EMPTY. The call is dat_evd_dequeue(); it is
 * dat_evd_wait() where a probe got an answer from this one only, and the page is another one.
 */
DAT_RETURN fixture_event_now(struct test *t, DAT_EVD_HANDLE evd, DAT_EVENT *event);

/*
 * For a loop that takes what is left: whether dat_evd_dequeue() gave an event. The case is BLOCKED
 * by that call, or FAIL on its page, if more come in a row than any EVD of a case holds.
 */
bool event_left(struct test *t, DAT_EVD_HANDLE evd, DAT_EVENT *event);

/*
 * Takes the async event that the last call may have raised about `handle` (a watermark already
 * passed, say), waiting one quiet period for it. Returns whether there was one.
 */
bool drain_async_event(struct test *t);

/*
 * expect_async_event: waits for an asynchronous event about `handle`, of whatever number: the pages
 * give none for watermarks. None up to the run's event deadline, or another event, is FAIL.
 */
#define expect_async_event(handle_) \
        fixture_async_event(t, CHECK_SITE_("the asynchronous event about an object"), (handle_))
void fixture_async_event(struct test *t, const struct check_site *site, DAT_HANDLE handle);

/* The same of an event that the case has taken itself. */
#define expect_async_about(event_, handle_)                                                     \
        fixture_async_about(t, CHECK_SITE_("the asynchronous event about an object"), (event_), \
                            (handle_))
void fixture_async_about(struct test *t, const struct check_site *site, const DAT_EVENT *event,
                         DAT_HANDLE handle);

/* An event with a successful DTO completion, else BLOCKED (must_dto) or FAIL (expect_dto). */
#define must_dto(evd_)   fixture_dto(t, CHECK_SITE_("the completion on an EVD"), (evd_), false)
#define expect_dto(evd_) fixture_dto(t, CHECK_SITE_("the completion on an EVD"), (evd_), true)
DAT_DTO_COMPLETION_EVENT_DATA fixture_dto(struct test *t, const struct check_site *site,
                                          DAT_EVD_HANDLE evd, bool clause);

/* The run's event deadline as a timeout of DAT, for a case that makes a wait itself. */
DAT_TIMEOUT event_timeout(struct test *t);

/*
 * Waits one quiet period, taking nothing, so that what is under way has arrived: after
 * peer_wait_sent(), say, the completions of the sent messages stand on their EVDs.
 */
void settle(struct test *t);

/* Waits a tenth of that: for a look at what is on its way, again and again. */
void settle_briefly(struct test *t);

/* Waits longer than two seconds, librdmacm's usual time-out, which none without end may become. */
void outlast_defaults(void);

/*
 * Handles that no call may take, for families of handle clauses: a null one, the handle of an
 * object of that kind already destroyed, a live handle of another kind, one of the kind that is
 * nearest (an RSP for a PSP, an SRQ for an EP), and a live PZ, EVD, CNO or SRQ of another IA. A
 * provider may give the handle of a destroyed object to the next one of its kind: a case asks for
 * one last, when it has made all that it needs.
 */
enum bad_handle {
        BAD_HANDLE_NULL,
        BAD_HANDLE_DESTROYED,
        BAD_HANDLE_OTHER_KIND,
        BAD_HANDLE_SIBLING,
        BAD_HANDLE_OTHER_IA,
};
DAT_HANDLE bad_handle(struct test *t, DAT_HANDLE_TYPE type, enum bad_handle how);
/* A live object of the type, one that destroyed and sibling handles are made of. */
DAT_HANDLE live_handle(struct test *t, DAT_HANDLE_TYPE type);
/* A live object of the type, one that needs no others; null if the provider makes none. */
DAT_HANDLE live_handle_if_made(struct test *t, DAT_HANDLE_TYPE type);
/* Of which type its object is, for that type of a good one. */
DAT_HANDLE_TYPE bad_handle_type(struct test *t, DAT_HANDLE_TYPE type, enum bad_handle how);

/*
 * Makes a call in a process of its own, for arguments on which a provider is free to fault, and
 * stores its return. Returns false where the call ended that process; how is recorded.
 */
bool subprocess_call(struct test *t, DAT_RETURN (*call)(void *arg), void *arg, DAT_RETURN *ret);

/*
 * The same for a call whose answer is not judged (GEN-4): its return, or how it ended its process,
 * is recorded with `what` in front. `makes`: if granted, the call leaves an object without an
 * owner, so teardown does not judge what that object prevents.
 */
void unjudged_call(struct test *t, const char *what, DAT_RETURN (*call)(void *arg), void *arg,
                   bool makes);

#endif
