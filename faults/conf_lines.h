/* SPDX-License-Identifier: BSD-2-Clause */
/* dat.conf as the faulty libdat reads it. Only one thread ever does. */
#ifndef FAULTS_CONF_LINES_H
#define FAULTS_CONF_LINES_H

/* The line comes after the next one. */
void conf_lines_hold(const char *line);

#endif
