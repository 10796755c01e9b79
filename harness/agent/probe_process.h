/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that opens the IA once, asks it what it is, and closes it: see struct probe. Where
 * dat_ia_query gives no answer, another one does without it (docs/decisions/0254-unasked.md).
 */
#ifndef HARNESS_PROBE_PROCESS_H
#define HARNESS_PROBE_PROCESS_H

#include "agent/child.h"
#include "case/registry.h"

enum probe_asks {
        PROBE_ASKS_ALL,
        PROBE_ASKS_ADDRESS, /* by an EP, and not by dat_ia_query */
        PROBE_ASKS_NOTHING,
};

struct probe_job {
        const char *ia;  /* NULL: the first one of the registry */
        bool threadsafe; /* by its threadsafe entry */
        enum probe_asks asks;
        char unasked[REASON_MAX]; /* what became of dat_ia_query, if it is not called */
};

/* Its argument is a struct probe_job. */
child_body probe_process;

/*
 * Of what the probes of an IA's two entries saw, that of the entry which the case is to open: the
 * threadsafe one, where it is listed and the case needs safety under threads.
 */
const struct probe *case_probe(const struct case_ref *ref, const struct probe *probe,
                               const struct probe *threadsafe);

#endif
