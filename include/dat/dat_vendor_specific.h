/* SPDX-License-Identifier: BSD-2-Clause */
/* DAT 1.2: where a vendor's own values would stand. There are none; programs include it by name. */

#ifndef DAT_VENDOR_SPECIFIC_H
#define DAT_VENDOR_SPECIFIC_H

#include <dat/dat.h>

#endif
