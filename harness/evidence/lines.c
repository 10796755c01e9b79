/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "evidence/evidence.h"
#include "evidence/writer.h"

/* What most messages fit in. */
#define MESSAGE_ROOM 1024

static void make_nonblocking(int fd)
{
        if (fd >= 0)
                fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void lines_open(struct lines *lines, int in, int out)
{
        *lines = (struct lines){.in = in, .out = out};
        make_nonblocking(in);
        make_nonblocking(out);
}

void lines_close(struct lines *lines)
{
        if (lines->in >= 0)
                close(lines->in);
        if (lines->out >= 0 && lines->out != lines->in)
                close(lines->out);
        free(lines->text);
        free(lines->queue);
        *lines = (struct lines){.in = -1, .out = -1, .ended = true, .lost = true};
}

static bool make_room(char **buffer, size_t *capacity, size_t wanted)
{
        size_t larger = *capacity ? *capacity : 4096;
        char *moved;

        if (wanted <= *capacity)
                return true;
        while (larger < wanted)
                larger *= 2;
        moved = realloc(*buffer, larger);
        if (!moved)
                return false;
        *buffer = moved;
        *capacity = larger;
        return true;
}

void lines_read(struct lines *lines)
{
        if (lines->taken) {
                lines->length -= lines->taken;
                memmove(lines->text, lines->text + lines->taken, lines->length);
                lines->taken = 0;
        }
        while (!lines->ended && lines->length <= LINE_MAX_BYTES) {
                ssize_t got;

                if (!make_room(&lines->text, &lines->capacity, lines->length + 4096)) {
                        lines->ended = true;
                        break;
                }
                got = read(lines->in, lines->text + lines->length, lines->capacity - lines->length);
                if (got > 0)
                        lines->length += (size_t)got;
                else if (got < 0 && errno == EINTR)
                        continue;
                else if (got < 0 && errno == EAGAIN)
                        break;
                else
                        lines->ended = true;
        }
}

char *lines_next(struct lines *lines)
{
        size_t left = lines->length - lines->taken;
        char *start, *end;
        size_t line;

        if (left == 0)
                return NULL;
        start = lines->text + lines->taken;
        end = memchr(start, '\n', left);
        line = end ? (size_t)(end - start) + 1 : left;
        if (line > LINE_MAX_BYTES || (!end && line == LINE_MAX_BYTES)) {
                lines->overlong = true;
                lines->ended = true;
                lines->number++;
                return NULL;
        }
        if (!end)
                return NULL;
        *end = '\0';
        lines->taken += line;
        lines->number++;
        return start;
}

void lines_write(struct lines *lines)
{
        size_t written = 0;

        while (!lines->lost && written < lines->queued) {
                const char *from = lines->queue + written;
                size_t left = lines->queued - written;
                ssize_t put = send(lines->out, from, left, MSG_NOSIGNAL);

                if (put < 0 && errno == ENOTSOCK)
                        put = write(lines->out, from, left);
                if (put >= 0)
                        written += (size_t)put;
                else if (errno == EAGAIN)
                        break;
                else if (errno != EINTR)
                        lines->lost = true;
        }
        if (lines->lost)
                written = lines->queued;
        lines->queued -= written;
        if (written)
                memmove(lines->queue, lines->queue + written, lines->queued);
}

/* The message behind the queue; returns its length, or 0 where there is no room for it. */
static size_t dump(struct lines *lines, const json_t *message)
{
        size_t room = MESSAGE_ROOM;

        while (make_room(&lines->queue, &lines->queue_capacity, lines->queued + room)) {
                size_t length =
                    json_dumpb(message, lines->queue + lines->queued, room, JSON_COMPACT);

                if (length < room)
                        return length;
                room = length + 1;
        }
        return 0;
}

/* What lies behind the queue becomes a line of it. */
static void queue_line(struct lines *lines, size_t length)
{
        lines->queue[lines->queued + length] = '\n';
        lines->queued += length + 1;
        if (lines->queued > QUEUE_MAX_BYTES)
                lines_write(lines);
        if (lines->queued > QUEUE_MAX_BYTES) {
                lines->lost = true;
                lines->queued = 0;
        }
}

void lines_put(struct lines *lines, json_t *message)
{
        size_t length = lines->lost ? 0 : dump(lines, message);

        json_decref(message);
        if (length > 0 && length < LINE_MAX_BYTES)
                queue_line(lines, length);
}

void lines_put_text(struct lines *lines, const char *message, size_t length)
{
        if (lines->lost || length >= LINE_MAX_BYTES ||
            !make_room(&lines->queue, &lines->queue_capacity, lines->queued + length + 1))
                return;
        memcpy(lines->queue + lines->queued, message, length);
        queue_line(lines, length);
}

static bool wait_for(int fd, short events, uint64_t until_ns, int ms)
{
        struct pollfd wanted = {.fd = fd, .events = events};
        int left = -1;

        if (ms >= 0) {
                uint64_t now = now_ns();

                left = now >= until_ns ? 0 : (int)((until_ns - now + 999999) / 1000000);
        }
        return poll(&wanted, 1, left) > 0;
}

bool lines_wait_readable(struct lines *lines, int ms)
{
        return !lines->ended &&
               wait_for(lines->in, POLLIN, now_ns() + (uint64_t)(ms < 0 ? 0 : ms) * 1000000, ms);
}

bool lines_wait_written(struct lines *lines, int ms)
{
        uint64_t until = now_ns() + (uint64_t)(ms < 0 ? 0 : ms) * 1000000;

        for (;;) {
                lines_write(lines);
                if (lines->lost || !lines->queued)
                        return !lines->lost;
                if (!wait_for(lines->out, POLLOUT, until, ms))
                        return false;
        }
}

json_t *text_json(const char *text, size_t length)
{
        static const char replacement[] = "\xef\xbf\xbd";
        char *clean = malloc(length * 3 + 1);
        size_t used = 0;
        json_t *string;

        if (!clean)
                return json_string("");
        for (size_t i = 0; i < length;) {
                size_t step = utf8_length((const unsigned char *)text + i, length - i);
                const char *from = step ? text + i : replacement;

                memcpy(clean + used, from, step ? step : 3);
                used += step ? step : 3;
                i += step ? step : 1;
        }
        string = json_stringn(clean, used);
        free(clean);
        return string;
}
