/* SPDX-License-Identifier: BSD-2-Clause */
#include "event/evd_state.h"

/* Short names for the table. */
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
 * NEVER marks inputs that cannot happen: while the waiter runs it holds the lock, and while it
 * sleeps it does nothing. evd_wait.c checks who may enter. A cancelled waiter takes no part.
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
