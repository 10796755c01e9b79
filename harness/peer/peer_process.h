/* SPDX-License-Identifier: BSD-2-Clause */
/* The process of a peer: opens an IA of its own and obeys the commands of peer.c. */
#ifndef HARNESS_PEER_PROCESS_H
#define HARNESS_PEER_PROCESS_H

#include "agent/child.h"

/* How many connection qualifiers a peer listens at one of; the case draws which one is first. */
#define PEER_CONN_QUALS 10000

struct peer_job {
        const char *ia;
        const char *address; /* of the IA, as text */
        const char *unasked; /* why dat_ia_query is not called; "": it is */
        unsigned int event_ms;
        bool may_disturb;          /* of a case elsewhere: it may ask for a disturbed network, */
        unsigned int disturbed_ms; /* which lasts so long at most */
};

/* Its argument is a struct peer_job. */
child_body peer_process;

/* The bytes by which the peer knows the case's own requests: their private data. */
#define PEER_TOKEN 16

#endif
