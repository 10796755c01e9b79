/* SPDX-License-Identifier: BSD-2-Clause */
/* The DAT API that the cases are compiled against: the one place where its version shows. */
#ifndef HARNESS_DAT_API_H
#define HARNESS_DAT_API_H

#include <dat/udat.h>
#include <stdbool.h>

/* Compares what a page promises: the type of a return, not its subtype or class. */
static inline bool dat_is(DAT_RETURN ret, DAT_RETURN type)
{
        return DAT_GET_TYPE(ret) == DAT_GET_TYPE(type);
}

#endif
