/* SPDX-License-Identifier: BSD-2-Clause */
/* DAT 1.2: which provider dat_ia_open() asks the registry for. */

#ifndef UDAT_CONFIG_H
#define UDAT_CONFIG_H

#define DAT_VERSION_MAJOR 1
#define DAT_VERSION_MINOR 2

/* dat_ia_openv() takes DAT_TRUE where a thread-safe provider is wanted. */
#define DAT_THREADSAFE DAT_FALSE

#endif
