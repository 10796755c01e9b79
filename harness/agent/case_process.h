/* SPDX-License-Identifier: BSD-2-Clause */
/* What the process of a case does, from its first instruction to its verdict. */
#ifndef HARNESS_CASE_PROCESS_H
#define HARNESS_CASE_PROCESS_H

#include "agent/child.h"
#include "case/registry.h"
#include "case/test.h"

struct case_job {
        const struct case_ref *ref;
        struct settings settings;
};

/* Its argument is a struct case_job. */
child_body case_process;

#endif
