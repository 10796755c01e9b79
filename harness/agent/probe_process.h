/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that opens the IA once, asks it what it is, and closes it: see struct probe. */
#ifndef HARNESS_PROBE_PROCESS_H
#define HARNESS_PROBE_PROCESS_H

#include "agent/child.h"
#include "case/registry.h"

struct probe_job {
        const char *ia;  /* NULL: the first one of the registry */
        bool threadsafe; /* by its threadsafe entry */
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
