/* SPDX-License-Identifier: BSD-2-Clause */
/* Which kernel a host has, by the names that distributions give to theirs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "case/transport.h"

static void test_releases(void **state)
{
        static const struct {
                const char *release;
                bool reaches;
        } rows[] = {
            {"6.4.0", true},
            {"6.4", true},
            {"6.12.117+deb13-amd64", true},
            {"6.11.0-29-generic", true},
            {"7.0.0-rc1", true},
            {"10.0", true},
            {"6.3.13", false},
            {"6.1.0-56-amd64", false},
            {"5.14.0-570.el9.x86_64", false},
            {"4.18.0", false},
            {"6", false},
            {"", false},
            {"next-20250101", false},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                print_message("%s\n", rows[i].release);
                assert_int_equal(release_reaches(rows[i].release, 6, 4), rows[i].reaches);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_releases)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
