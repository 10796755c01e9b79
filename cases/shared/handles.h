/* SPDX-License-Identifier: BSD-2-Clause */
/* The handles that no call may take, as rows of a family. */
#ifndef CASES_HANDLES_H
#define CASES_HANDLES_H

#include "case.h"

static const struct invalid_handle {
        const char *id;
        enum bad_handle how;
} invalid_handles[] = {
    {"null", BAD_HANDLE_NULL},
    {"other_kind", BAD_HANDLE_OTHER_KIND},
    {"sibling", BAD_HANDLE_SIBLING},
};

#endif
