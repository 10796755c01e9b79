/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network that delays, reorders, loses or slows down what this host sends: Linux netem, put on
 * the netdev that has the IA's address for as long as a case asks for it. It needs the privilege to
 * configure the network. A queueing discipline that someone else has put there is never touched.
 */
#ifndef HARNESS_DISTURBANCE_H
#define HARNESS_DISTURBANCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define DISTURBANCE_TEXT 160
/* How long it may last at most, in milliseconds. */
#define DISTURBED_MAX_MS 600000

struct disturbance {
        int netdev; /* index of the netdev, 0: none is disturbed */
        char text[DISTURBANCE_TEXT];
};

/* Whether `wanted` is well-formed, and no stronger than what cases need. */
bool disturbance_permits(const json_t *wanted);

/*
 * Begins what `wanted` asks for (members as of struct peer_disturb_opts) on the netdev that has
 * `address`, an IP address as text; `text` then tells what in words. False where it cannot, with
 * `why`.
 */
bool disturbance_begin(struct disturbance *disturbance, const char *address, const json_t *wanted,
                       char *why, size_t why_size);

/*
 * Ends it, if there is any, and tells how many packets went through it. False where it cannot, with
 * `why`: the netdev is then as disturbed as before.
 */
bool disturbance_end(struct disturbance *disturbance, unsigned long long *packets, char *why,
                     size_t why_size);

/* Has `text` tell that it was ended after `ms`, before the case did. */
void disturbance_note_limit(struct disturbance *disturbance, unsigned int ms);

/* Ends what an agent that was killed has left on the netdev that has `address`. */
void disturbance_forget(const char *address);

#endif
