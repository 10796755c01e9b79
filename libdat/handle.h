/* SPDX-License-Identifier: BSD-2-Clause */
/* From a handle to the table of the provider that made it. */

#ifndef LIBDAT_HANDLE_H
#define LIBDAT_HANDLE_H

#include <dat/udat_redirection.h>
#include <stdbool.h>

/* Different tables that handles can be of at one time. */
#define HANDLE_MAX_TABLES 256

/*
 * The table of the provider that made the handle, or NULL where none did: it is null, misaligned,
 * or its first word is no table that is trusted now. One load from the handle's memory, which must
 * be mapped: for calls that move data.
 */
const DAT_PROVIDER *handle_provider(DAT_HANDLE handle);

/* The same at the price of a system call, so that an unmapped handle gives NULL too. */
const DAT_PROVIDER *handle_provider_probed(DAT_HANDLE handle);

/* The first word of the object, unless the handle is null, misaligned or unmapped. */
const DAT_PROVIDER *handle_first_word(DAT_HANDLE handle);

/*
 * Trust handles with this first word, until distrusted as many times. False where
 * HANDLE_MAX_TABLES are trusted already.
 */
bool handle_trust(const DAT_PROVIDER *table);
void handle_distrust(const DAT_PROVIDER *table);

#endif
