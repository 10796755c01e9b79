/* SPDX-License-Identifier: BSD-2-Clause */
/* The provider under test, as a consumer's process has it: by the run's dat.conf, and its entry
 * there. */
#ifndef CASES_REGISTRY_UNDER_TEST_H
#define CASES_REGISTRY_UNDER_TEST_H

#include "cases/registry/shared/consumer.h"

/* The key that the IA under test is opened by. */
DAT_PROVIDER_INFO key_under_test(struct test *t);

/* Whether it is the IA's name, or that of one in the run's dat.conf which a wrapper opens. */
bool is_under_test(struct test *t, const char *name);

/*
 * A process with the run's dat.conf and one more entry: that of the IA under test, by this name,
 * and with these instance data, or its own where they are NULL.
 */
struct consumer *consumer_of_run_and(struct test *t, const char *name, const char *params);

/*
 * The process loads the library of the IA under test and calls its init or fini for the key, with
 * the instance data of its entry. ERROR where the library cannot be loaded. Whether init left key
 * and data as they were is for a case to judge.
 */
void must_init(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key);
bool init_leaves_arguments(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key);
void must_fini(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key);

#endif
