/* SPDX-License-Identifier: BSD-2-Clause */
#include "evd_state.h"

/* So that the table is one. */
enum {
        FREE = EVD_FREE,
        LOOKED = EVD_LOOKED_AT,
        AWAITED = EVD_AWAITED,
        CALLED = EVD_CALLED,
        WOKEN = EVD_WOKEN,
        UNWAIT = EVD_UNWAITABLE,
        CLOSING = EVD_CLOSING,
        NEVER = EVD_NEVER,
};

/*
 * What cannot be is NEVER: nobody but the waiter does anything while it holds the lock, and it does
 * nothing while another does. A thread enters only where evd_wait.c lets it. One that was sent away
 * has no part in this any more.
 */
/* clang-format off */
const unsigned char evd_next[EVD_INPUTS][EVD_STATES] = {
        /* from                    FREE     LOOKED   AWAITED  CALLED   WOKEN    UNWAIT   CLOSING */
        [EVD_ENTER]             = {LOOKED,  NEVER,   NEVER,   NEVER,   NEVER,   NEVER,   NEVER},
        [EVD_SLEEP]             = {NEVER,   AWAITED, NEVER,   NEVER,   NEVER,   NEVER,   NEVER},
        [EVD_ARRIVAL]           = {FREE,    LOOKED,  CALLED,  CALLED,  WOKEN,   UNWAIT,  CLOSING},
        [EVD_UNLOCK]            = {FREE,    LOOKED,  AWAITED, WOKEN,   WOKEN,   UNWAIT,  CLOSING},
        [EVD_RUN]               = {NEVER,   NEVER,   LOOKED,  NEVER,   LOOKED,  NEVER,   NEVER},
        [EVD_LEAVE]             = {NEVER,   FREE,    NEVER,   NEVER,   NEVER,   NEVER,   NEVER},
        [EVD_MAKE_UNWAITABLE]   = {UNWAIT,  NEVER,   UNWAIT,  UNWAIT,  UNWAIT,  UNWAIT,  CLOSING},
        [EVD_CLOSE]             = {CLOSING, NEVER,   CLOSING, CLOSING, CLOSING, CLOSING, CLOSING},
        [EVD_MAKE_WAITABLE]     = {FREE,    NEVER,   AWAITED, CALLED,  WOKEN,   FREE,    CLOSING},
};
/* clang-format on */
