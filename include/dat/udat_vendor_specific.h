/* SPDX-License-Identifier: BSD-2-Clause */
/* uDAPL 1.2: the same as dat_vendor_specific.h, by its other name. */

#ifndef UDAT_VENDOR_SPECIFIC_H
#define UDAT_VENDOR_SPECIFIC_H

#include <dat/dat_vendor_specific.h>

#endif
