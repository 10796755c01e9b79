/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long what an event leads to is valid: the private data of DAT_CONNECTION_EVENT_ESTABLISHED
 * until the active side's EP is freed or reset, and the parameters of a request until the request
 * is destroyed (EVD-14).
 */
#ifndef CASES_EVD_PRIVATE_DATA_H
#define CASES_EVD_PRIVATE_DATA_H

#include "cases/shared/loop.h"

/* The next event of an EVD, by the call under test; FAIL if none comes. */
typedef DAT_EVENT take_event(struct test *t, DAT_EVD_HANDLE evd);

/* A connection whose active side has taken its event, and the data that the passive side sent. */
struct lasting {
        take_event *take;
        DAT_EVD_HANDLE evd; /* of the active side's connection events */
        struct loop loop;
        unsigned char sent[PRIVATE_SIZE];
        DAT_CONNECTION_EVENT_DATA told;
};

/* What happens between the event and the second look. */
void lasting_next_connection(struct test *t, struct lasting *lasting);
void lasting_other_freed(struct test *t, struct lasting *lasting);
void lasting_messages(struct test *t, struct lasting *lasting);
void lasting_passive_freed(struct test *t, struct lasting *lasting);
void lasting_graceful(struct test *t, struct lasting *lasting);
void lasting_disconnected(struct test *t, struct lasting *lasting);
void lasting_left(struct test *t, struct lasting *lasting);

static const struct lasting_row {
        const char *id;
        void (*pass)(struct test *t, struct lasting *lasting);
} lasting_rows[] = {
    {"next_connection", lasting_next_connection},
    {"other_freed", lasting_other_freed},
    {"messages", lasting_messages},
    {"passive_freed", lasting_passive_freed},
    {"graceful", lasting_graceful},
    {"disconnected", lasting_disconnected},
    {"left", lasting_left},
};

/* The data is as it was sent when the event is taken, and after what the row does. */
void expect_private_data_lasts(struct test *t, const struct lasting_row *row, take_event *take);

/* A request that was taken and queried, and the address that its event names. */
struct asked {
        struct loop loop;
        unsigned char sent[PRIVATE_SIZE];
        DAT_CR_PARAM param;
        DAT_IA_ADDRESS_PTR local;
};

void asked_other_request(struct test *t, struct asked *asked);
void asked_queried_again(struct test *t, struct asked *asked);
void asked_other_accepted(struct test *t, struct asked *asked);

static const struct asked_row {
        const char *id;
        void (*pass)(struct test *t, struct asked *asked);
} asked_rows[] = {
    {"other_request", asked_other_request},
    {"queried_again", asked_queried_again},
    {"other_accepted", asked_other_accepted},
};

/*
 * What event and query led to is as it was sent, at once and after what the row does. An event that
 * names no address is a NOTE.
 */
void expect_request_lasts(struct test *t, const struct asked_row *row, take_event *take);

#endif
