/* SPDX-License-Identifier: BSD-2-Clause */
/* One DAT call as an event: as text for readers, and as data for the executable specification. */
#ifndef HARNESS_RENDER_CALL_H
#define HARNESS_RENDER_CALL_H

#include "evidence/evidence.h"
#include "evidence/names.h"
#include "evidence/render.h"
#include "evidence/writer.h"

/* One rendering: where it goes, and what it has learned of handles so far. */
struct render {
        unsigned long long seq;
        const char *who;
        render_emit *emit;
        void *context;
        struct names names;
        int32_t own_pid;
        const struct evidence *evidence; /* that has the calls behind; NULL where none are known */
        struct writer writer;            /* of the event that is being rendered */
};

/* Begins an event of a kind; and ends and emits it. */
void render_begin(struct render *render, const char *kind);
void render_end(struct render *render);

/* Emits a call, and learns from it what handles stand for. */
void render_call(struct render *render, const struct call_record *call);

#endif
