/* SPDX-License-Identifier: BSD-2-Clause */
#include "event/evd_state.h"

/* So that the table is one. */
enum {
        FREE = EVD_FREE,
        UNWAIT = EVD_UNWAITABLE,
        CLOSING = EVD_CLOSING,
        LOOKED = EVD_RUNNING,
        AWAITED = EVD_SLEEPING,
        CALLED = EVD_WAKE_PENDING,
        WOKEN = EVD_WOKEN,
        NEVER = EVD_INVALID,
};

/*
 * What cannot be is NEVER: nobody but the waiter does anything while it holds the lock, and it does
 * nothing while another does. A thread enters only where evd_wait.c lets it. One that was sent away
 * has no part in this any more.
 */
/* clang-format off */
const unsigned char evd_next[EVD_INPUTS][EVD_STATES] = {
        /* from                    FREE     UNWAIT   CLOSING  LOOKED   AWAITED  CALLED   WOKEN */
        [EVD_ENTER]             = {LOOKED,  NEVER,   NEVER,   NEVER,   NEVER,   NEVER,   NEVER},
        [EVD_SLEEP]             = {NEVER,   NEVER,   NEVER,   AWAITED, NEVER,   NEVER,   NEVER},
        [EVD_ARRIVAL]           = {FREE,    UNWAIT,  CLOSING, LOOKED,  CALLED,  CALLED,  WOKEN},
        [EVD_UNLOCK]            = {FREE,    UNWAIT,  CLOSING, LOOKED,  AWAITED, WOKEN,   WOKEN},
        [EVD_RUN]               = {NEVER,   NEVER,   NEVER,   NEVER,   LOOKED,  NEVER,   LOOKED},
        [EVD_LEAVE]             = {NEVER,   NEVER,   NEVER,   FREE,    NEVER,   NEVER,   NEVER},
        [EVD_MAKE_UNWAITABLE]   = {UNWAIT,  UNWAIT,  CLOSING, NEVER,   UNWAIT,  UNWAIT,  UNWAIT},
        [EVD_CLOSE]             = {CLOSING, CLOSING, CLOSING, NEVER,   CLOSING, CLOSING, CLOSING},
        [EVD_MAKE_WAITABLE]     = {FREE,    FREE,    CLOSING, NEVER,   AWAITED, CALLED,  WOKEN},
};
/* clang-format on */
