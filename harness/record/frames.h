/* SPDX-License-Identifier: BSD-2-Clause */
/* The frames of the calling thread, which trace_read.c reads without asking the kernel. */
#ifndef HARNESS_RECORD_FRAMES_H
#define HARNESS_RECORD_FRAMES_H

/* Learns where the calling thread's stack lies. Without it, the kernel is asked for all memory. */
void frames_find(void);

#endif
