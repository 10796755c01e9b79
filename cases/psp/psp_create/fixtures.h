/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_psp_create use. */
#ifndef CASES_PSP_CREATE_FIXTURES_H
#define CASES_PSP_CREATE_FIXTURES_H

#include "case.h"
#include "cases/psp/shared/psp.h"

#define PLACES   4 /* of a queue that requests fill */
#define REQUESTS 6

/* Qualifiers of many PSPs, one after the other. */
#define MANY_FIRST 25000
#define MANY_COUNT 5000

static const struct psp_maker makers[] = {PSP_MAKERS};

#endif
