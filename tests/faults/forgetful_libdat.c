/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a libdat of its own of the faulty one: it has one fault, wherever it is loaded. */
#include <stdlib.h>

__attribute__((constructor)) static void have_the_fault(void)
{
        setenv("LIBDAT_FAULT", "libdat/forgetful", 1);
}
