/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trials: of a feature whose attribute dat_ia_query leaves unwritten, the calls are tried. A trial
 * is a run of a case that no catalogue has, so a crash or hang in it ends no more than itself.
 * Where the calls work, the feature counts as declared; where the provider answers that it has no
 * such feature, as declared absent; in all other cases it stays unknown, and what needs it is
 * BLOCKED (docs/decisions/0241-features-found-by-trying.md).
 */
#ifndef HARNESS_TRIALS_H
#define HARNESS_TRIALS_H

#include "agent/run.h"
#include "case/needs.h"

#define TRIALS_MAX 64

/* What --assume decides: features, and whether they count as declared. */
struct assumptions {
        uint64_t present;
        uint64_t absent;
};

/*
 * Takes "srq_supported=1" or "srq_supported=0"; false where it is neither, names no feature that
 * an attribute declares, or contradicts an earlier one.
 */
bool assume(struct assumptions *assumptions, const char *text);

struct trials {
        const struct probe *probe;
        struct found_features found;
        uint64_t untried;
        uint64_t until_ns; /* no trial begins after it */
        uint64_t under_way;
        struct case_ref ref; /* of the trial under way, and its id */
        char id[64];
        struct feature_found features[TRIALS_MAX];
};

/* Begins: what the two probes of an IA leave open, assumptions decide and trials are to show. */
void trials_begin(struct trials *trials, const struct assumptions *assumptions,
                  const struct probe *probe, const struct probe *threadsafe);

/* Starts the next trial as `run`, which is RUN_NONE; false if there is none left to start. */
bool trials_next(struct trials *trials, struct run *run);

/* Takes what the trial under way has shown; its run is done. */
void trials_take(struct trials *trials, const struct run *run);

/*
 * Each feature that no attribute tells of, with `by` ("assumption" or "trial"), `how` in words, and
 * `present` where it is known; NULL where each attribute was written.
 */
json_t *trials_json(const struct trials *trials);

#endif
