/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A writer faster than this in one go has to wait for the agent's next turn. */
#define DRAIN_AT_ONCE (1 << 20)

bool output_open(struct output *output)
{
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return false;
        fcntl(fds[0], F_SETFL, O_NONBLOCK);
        output->read_fd = fds[0];
        output->write_fd = fds[1];
        output->length = 0;
        return true;
}

void output_close(struct output *output)
{
        close(output->read_fd);
        close(output->write_fd);
}

void output_drain(struct output *output)
{
        char block[4096];
        size_t total = 0;

        while (total < DRAIN_AT_ONCE) {
                ssize_t got = read(output->read_fd, block, sizeof(block));
                size_t room = sizeof(output->text) - output->length;
                size_t keep;

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return;
                keep = (size_t)got < room ? (size_t)got : room;
                memcpy(output->text + output->length, block, keep);
                output->length += keep;
                total += (size_t)got;
        }
}
