/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The faulty libdat: our own, with one thing broken in it. The variable LIBDAT_FAULT names the
 * fault, for the process and for those that it starts; without it nothing is broken.
 */
#ifndef FAULTS_LIBDAT_H
#define FAULTS_LIBDAT_H

#include <stdbool.h>
#include <stdint.h>

#include "slots.h"

#include <dat/udat.h>

/* Whether no fault is at work. */
bool libdat_is_whole(void);

/* Makes a call, or does what libdat does by itself, through the fault. */
DAT_RETURN libdat_run(enum slot_id slot, const uint64_t *arg);

#endif
