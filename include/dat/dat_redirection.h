/* SPDX-License-Identifier: BSD-2-Clause */
/* DAT 1.2: for programs that include the provider's table by this name. */

#ifndef DAT_REDIRECTION_H
#define DAT_REDIRECTION_H

#include <dat/udat_redirection.h>

#endif
