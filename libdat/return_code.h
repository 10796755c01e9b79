/* SPDX-License-Identifier: BSD-2-Clause */
/* Composing a DAT_RETURN, which the public headers leave to implementations. */

#ifndef LIBDAT_RETURN_CODE_H
#define LIBDAT_RETURN_CODE_H

#include <dat/dat_error.h>

#define DAT_ERROR(type, subtype) ((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

#endif
