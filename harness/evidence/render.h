/* SPDX-License-Identifier: BSD-2-Clause */
/* Evidence as the protocol's events (docs/protocol.md). The processes that wrote it are gone. */
#ifndef HARNESS_RENDER_H
#define HARNESS_RENDER_H

#include <jansson.h>

#include "evidence/evidence.h"

/* Is given each event as JSON, `length` bytes that are valid until it returns. */
typedef void render_emit(void *context, const char *event, size_t length);

/* Emits an event that is a tree, which it takes over. */
void render_tree(render_emit *emit, void *context, json_t *event);

/* All events of one process: calls, then checks and remarks, then its crash. */
void render_evidence(const struct evidence *evidence, unsigned long long seq, const char *who,
                     render_emit *emit, void *context);

/*
 * Calls that are in no evidence, as events of the process `own_pid`. `next` returns them in the
 * order of their numbers, each valid until it is asked for another, and NULL at the end.
 */
typedef const struct call_record *render_next(void *calls);
void render_calls(render_next *next, void *calls, int32_t own_pid, render_emit *emit,
                  void *context);

/* The call that a process was in when it ended, and its name; or NULL. */
const struct call_record *render_pending_call(const struct evidence *evidence);
const char *render_pending(const struct evidence *evidence);

/* The call that a thread, by its number in the records, was in; or NULL. */
const char *render_pending_of(const struct evidence *evidence, uint32_t thread);

/* A backtrace: a list of lines. */
json_t *render_frames(const struct frames *frames);

/* The first free that teardown was refused, as a verdict's `teardown` has it, or NULL. */
json_t *render_refused(const struct evidence *evidence);

/* "SIGSEGV". */
const char *signal_name(int signal);

/* The scalar attributes of an IA and its provider, by name. */
json_t *render_attributes(const struct probe *probe);

#endif
