/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions that the flags of an EP make no notification, as rows of families. */
#ifndef CASES_EVD_SILENT_H
#define CASES_EVD_SILENT_H

#include "case.h"

static const struct silence {
        const char *id;
        bool of_receives;            /* else of requests */
        DAT_COMPLETION_FLAGS of_ep;  /* of that stream */
        DAT_COMPLETION_FLAGS silent; /* of a send that does not notify */
        DAT_COMPLETION_FLAGS heard;  /* of one that does */
} silences[] = {
    {"unsignalled", false, DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG,
     DAT_COMPLETION_DEFAULT_FLAG},
    {"unsolicited", true, DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_DEFAULT_FLAG,
     DAT_COMPLETION_SOLICITED_WAIT_FLAG},
};

/*
 * On the EVD of that stream the call is granted, if there is one. Then a completion of the row does
 * not wake a thread that waits on the CNO, and the next notification does.
 */
void expect_cno_silent(struct test *t, const struct silence *row,
                       DAT_RETURN (*call)(struct test *t, DAT_EVD_HANDLE evd));

#endif
