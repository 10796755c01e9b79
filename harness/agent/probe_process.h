/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that opens the IA once, asks it what it is, and closes it: see struct probe. Where
 * dat_ia_query gives no answer, another one does without it (docs/decisions/0254-unasked.md). One
 * more looks at an EP by the queries by which fixtures do
 * (docs/decisions/0264-looks-of-fixtures.md).
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
        bool looks; /* at an EP; what it learns beside is not kept */
        /* What became of calls that are not made again. */
        char unasked[UNASKED_COUNT][REASON_MAX];
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
