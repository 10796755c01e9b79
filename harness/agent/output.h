/* SPDX-License-Identifier: BSD-2-Clause */
/* What contained processes write to their standard streams: kept as evidence, never interpreted. */
#ifndef HARNESS_OUTPUT_H
#define HARNESS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#define OUTPUT_KEPT 16384

struct output {
        int read_fd;  /* non-blocking */
        int write_fd; /* for the processes */
        size_t length;
        char text[OUTPUT_KEPT];
};

/* False with errno where the host has no descriptors left. */
bool output_open(struct output *output);
void output_close(struct output *output);

/* Takes what is there, so that no writer ever waits for long; what is too much is dropped. */
void output_drain(struct output *output);

#endif
