/* SPDX-License-Identifier: BSD-2-Clause */
/* What the high watermarks of an EP count. */
#ifndef CASES_SRQ_SHARED_MARKS_H
#define CASES_SRQ_SHARED_MARKS_H

#include "case.h"

/*
 * The provider counts receives whose completions stand unreaped, as EPs of an SRQ of their own show
 * by either mark; where none does, what the case asks for cannot be seen, and it ends as NOTE
 * (EP-43). No two messages come together: receives that are not complete yet would be counted too.
 */
void require_unreaped_counted(struct test *t);

#endif
