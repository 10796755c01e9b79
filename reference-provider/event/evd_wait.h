/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that waits on an EVD. */
#ifndef DAPLREF_EVD_WAIT_H
#define DAPLREF_EVD_WAIT_H

#include <stdbool.h>

#include "base/daplref.h"
#include "event/evd_state.h"

struct evd;

DAT_RETURN ref_evd_wait(DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT *, DAT_COUNT *);
DAT_RETURN ref_evd_set_unwaitable(DAT_EVD_HANDLE);
DAT_RETURN ref_evd_clear_unwaitable(DAT_EVD_HANDLE);
void evd_cancel_wait(struct evd *evd, enum evd_input input);
void evd_wake(struct evd *evd);
void evd_hold_wakes(void);
void evd_release_wakes(void);
bool evd_defers_wake(struct evd *evd);

#endif
