/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The secrets of one process. Those of its seals are in the agent's memory and in signals that wait
 * for the process, blocked: each can be taken once, and is in no memory of the process that a
 * provider could look through before. The canaries' is another one, since they can be read.
 */
#ifndef HARNESS_SEAL_H
#define HARNESS_SEAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "evidence/evidence.h"

/* What a process seals: its body's verdict, that again when teardown has changed it, and its last.
 */
enum seal { SEAL_BODY, SEAL_AGAIN, SEAL_END, SEALS };

struct secrets {
        uint64_t canary;
        uint64_t keys[SEALS];
        siginfo_t letter;
};

/* Fresh ones, in memory that no forked process has; NULL with errno. */
struct secrets *secrets_new(void);
void secrets_free(struct secrets *secrets);

/*
 * Keeps the signals from this process and those forked from now on, until verdict_seal() takes
 * them; `how` is sigprocmask()'s.
 */
void seals_block(int how);

/* Gives a process its keys; false with errno. */
bool seals_give(struct secrets *secrets, pid_t pid);

/* Writes a verdict, sealed by the calling process: each of its seals holds once. */
void verdict_seal(struct sealed_verdict *to, enum seal seal, enum verdict verdict,
                  const char *reason, const struct blocked *blocked);

/* Reads back a verdict that has one of two seals. */
bool seal_opens(const struct secrets *secrets, const struct sealed_verdict *from, enum seal seal,
                enum seal or_seal, struct sealed_verdict *to);

#endif
