/* SPDX-License-Identifier: BSD-2-Clause */
/* What the code under test prints on stderr. */

#ifndef TESTS_LIBDAT_CAPTURED_STDERR_H
#define TESTS_LIBDAT_CAPTURED_STDERR_H

/* Send stderr to a file that no other test has, until it is read. */
void capture_stderr(void);

/* Give stderr back, and return what was printed, at most 4095 characters, until the next call. */
const char *captured_stderr(void);

#endif
