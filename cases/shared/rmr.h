/* SPDX-License-Identifier: BSD-2-Clause */
/* An RMR as one of several objects, for clauses that can be asked without it too. */
#ifndef CASES_RMR_H
#define CASES_RMR_H

#include "case.h"

/* An RMR of the zone, on the case's list; DAT_HANDLE_NULL, and a record, where none can be made. */
DAT_RMR_HANDLE rmr_if_any(struct test *t, DAT_PZ_HANDLE zone);

#endif
