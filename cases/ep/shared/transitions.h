/* SPDX-License-Identifier: BSD-2-Clause */
/* The ways of an EP from one state to the next. */
#ifndef CASES_EP_TRANSITIONS_H
#define CASES_EP_TRANSITIONS_H

#include "cases/shared/loop.h"

/* What may happen to the active EP of a new loop; each ends in ERROR where it fails. */
void ep_turn_ask(struct test *t, struct loop *loop);
void ep_turn_reject(struct test *t, struct loop *loop);
void ep_turn_find_nobody(struct test *t, struct loop *loop);
void ep_turn_time_out(struct test *t, struct loop *loop);
void ep_turn_give_up(struct test *t, struct loop *loop);
void ep_turn_leave(struct test *t, struct loop *loop);
void ep_turn_leave_in_peace(struct test *t, struct loop *loop);
void ep_turn_be_left(struct test *t, struct loop *loop);
void ep_turn_reset(struct test *t, struct loop *loop);
void ep_turn_ask_again(struct test *t, struct loop *loop);

/*
 * Aborts the EP's request. One event may tell of it, or none (EP-21): what comes in a short time is
 * taken.
 */
void ep_give_up(struct test *t, DAT_EP_HANDLE ep);

/* As rows of families, with the state that the active EP is in then. */
static const struct ep_turn {
        const char *id;
        void (*make)(struct test *t, struct loop *loop);
        DAT_EP_STATE state;
} ep_turns[] = {
    {"asks", ep_turn_ask, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"rejected", ep_turn_reject, DAT_EP_STATE_DISCONNECTED},
    {"nobody_listens", ep_turn_find_nobody, DAT_EP_STATE_DISCONNECTED},
    {"times_out", ep_turn_time_out, DAT_EP_STATE_DISCONNECTED},
    {"gives_up", ep_turn_give_up, DAT_EP_STATE_DISCONNECTED},
    {"established", loop_join, DAT_EP_STATE_CONNECTED},
    {"disconnects", ep_turn_leave, DAT_EP_STATE_DISCONNECTED},
    {"disconnects_gracefully", ep_turn_leave_in_peace, DAT_EP_STATE_DISCONNECTED},
    {"other_end_disconnects", ep_turn_be_left, DAT_EP_STATE_DISCONNECTED},
    {"reset", ep_turn_reset, DAT_EP_STATE_UNCONNECTED},
    {"asks_again", ep_turn_ask_again, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
};

/*
 * Sends a message that is longer than its receive, which ends the connection of most transports;
 * takes no event of it. ep_break(): over a connection that is there.
 */
void ep_turn_break(struct test *t, struct loop *loop);
void ep_break(struct test *t, const struct loop *loop);

/*
 * Takes the event by which the EP's connection ended after ep_break(). No page promises that it
 * ends (DTO-4): without an event in time the case ends as NOTE.
 */
void must_have_broken(struct test *t, DAT_EP_HANDLE ep);
/* Takes the event by which the EP's connection ended, at a peer's or an error's doing alike. */
void must_have_ended(struct test *t, DAT_EP_HANDLE ep);

/*
 * How an EP may come to be connected, but by its own first request: the loop's active EP is that
 * one then, and the provider's takes the place of the one that was made.
 */
void ep_join_as_another(struct test *t, struct loop *loop);
void ep_join_by_rsp(struct test *t, struct loop *loop);
void ep_join_by_provider(struct test *t, struct loop *loop);
void ep_join_again(struct test *t, struct loop *loop);

static const struct ep_join {
        const char *id;
        void (*join)(struct test *t, struct loop *loop);
} ep_joins[] = {
    {"as_another", ep_join_as_another},
    {"by_rsp", ep_join_by_rsp},
    {"by_provider", ep_join_by_provider},
    {"again", ep_join_again},
};

/*
 * Both ends are Disconnected, and their events taken: they are reset, and joined by
 * loop_join_either().
 */
void ep_join_anew(struct test *t, struct loop *loop);

/* Of the first, what it follows: a connection of two more EPs. */
struct loop ep_follow(struct test *t, struct loop *loop);

/* The one EP asks the other, at a point of its own, and both are Connected; else FAIL. */
struct loop expect_joined(struct test *t, DAT_EP_HANDLE active, DAT_EP_HANDLE passive);

#endif
