/* SPDX-License-Identifier: BSD-2-Clause */
/* What a provider can do to the process that called it. */
#ifndef FAKES_MISBEHAVIOUR_H
#define FAKES_MISBEHAVIOUR_H

#include <stdbool.h>

#include <dat/udat.h>

/* Takes words such as "resize=crash free=fail". */
void misbehaviour_want(const char *words);

/* Whether exactly this word is wanted. */
bool is_wanted(const char *word);

/* Does what is wanted of this site; returns what the call is to answer, DAT_SUCCESS: go on. */
DAT_RETURN misbehave(const char *site);

#endif
