/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON lines over a descriptor, in both directions, without ever blocking. */
#ifndef HARNESS_LINES_H
#define HARNESS_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The longest line that either side may write, its newline included. */
#define LINE_MAX_BYTES ((size_t)1 << 20)

/* What may wait to be written; a reader that lets more gather is as good as gone. */
#define QUEUE_MAX_BYTES ((size_t)16 << 20)

struct lines {
        int in;  /* non-blocking, or -1 */
        int out; /* non-blocking, or -1 */
        char *text;
        size_t length;
        size_t capacity;
        size_t taken; /* bytes of `text` that lines_next() has handed out */
        char *queue;
        size_t queued;
        size_t queue_capacity;
        size_t number; /* of the last line handed out, from 1 */
        bool ended;    /* nothing more will come */
        bool overlong; /* because a line was over the limit */
        bool lost;     /* nothing more can be written */
};

/* Takes over both descriptors (which may be one) and makes them non-blocking. */
void lines_open(struct lines *lines, int in, int out);
void lines_close(struct lines *lines);

/* Reads what is there; sets `ended` at the end of the stream or on an error. */
void lines_read(struct lines *lines);

/*
 * The next whole line, without its newline and terminated, or NULL; valid until lines_read().
 * A line over the limit sets `ended`.
 */
char *lines_next(struct lines *lines);

/* Queues a message, which it takes over. */
void lines_put(struct lines *lines, json_t *message);

/* Queues a message that is text already, `length` bytes without a newline. */
void lines_put_text(struct lines *lines, const char *message, size_t length);

/* Writes as much of the queue as goes. */
void lines_write(struct lines *lines);

/* Waits up to `ms` (-1: no limit) for something to read, or for everything queued to be written. */
bool lines_wait_readable(struct lines *lines, int ms);
bool lines_wait_written(struct lines *lines, int ms);

/* A string made of `length` bytes of anything: what is no UTF-8 becomes U+FFFD. */
json_t *text_json(const char *text, size_t length);

#endif
