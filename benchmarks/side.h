/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the patterns of patterns.c ask of each of the two sides, which are uDAPL and raw verbs: two
 * connected ends, A and B, in one process, and the same operations on them.
 */
#ifndef SIDE_H
#define SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "dat_api.h"

#define DEPTH       64
#define RECVS       (2 * DEPTH)
#define MESSAGE_MAX ((size_t)1 << 20)
#define BATCH       16 /* completions that are taken at once, where there are so many */

enum end { END_A, END_B };

/* Each queue of completions belongs to one end, and holds either its requests' or its receives'. */
enum queue { A_REQUESTS, A_RECVS, B_REQUESTS, B_RECVS, QUEUES };

/* Where an IA is, for a process that has nothing open yet. */
struct place {
        char *ia;
        struct sockaddr_storage address;
        double seconds; /* of a processor, that the last visit took */
};

struct side {
        const char *name;

        /* Opens the IA, or what of verbs leads as far, and closes it. */
        void (*visit)(struct place *place);

        /*
         * Connects the two ends on the IA's device; the result is `self` below, and close()'s. What
         * B receives into is an SRQ's if it is to be `shared`: then NULL where there are no SRQs.
         */
        void *(*open)(DAT_IA_HANDLE ia, bool shared);
        void (*close)(void *self);

        void (*post_recv)(void *self, enum end end, size_t length);
        void (*post_send)(void *self, enum end end, size_t length);
        void (*post_write)(void *self, enum end end, size_t length); /* into the other's memory */
        void (*post_read)(void *self, enum end end, size_t length);

        /* Takes up to that many completions, all of them successful, and returns how many. */
        int (*reap)(void *self, enum queue queue, int most);
        /* Takes one completion, and sleeps until there is one. */
        void (*await)(void *self, enum queue queue);

        /* Makes one more connection, knows it established at both ends, and takes it down. */
        void (*reconnect)(void *self);
};

extern const struct side dat_side;
extern const struct side verbs_side;

/* Ends the program with a line that says what has failed, and how. */
_Noreturn void die(const char *what, const char *how);

#endif
