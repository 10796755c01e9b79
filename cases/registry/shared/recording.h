/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a provider of the suite's own does, and tells, in the process of a consumer. Its library
 * (recorder/) calls these; they are in the program, so that nothing is lost with the library.
 */
#ifndef CASES_REGISTRY_RECORDING_H
#define CASES_REGISTRY_RECORDING_H

#define PROGRAMS __attribute__((visibility("default")))

/* `here` is in the library that calls. */
PROGRAMS void recording_loaded(const void *here);
PROGRAMS void recording_unloaded(const void *here);
PROGRAMS void recording_init(const void *here, const void *info, const char *instance_data);
PROGRAMS void recording_fini(const void *here, const void *info);

#endif
