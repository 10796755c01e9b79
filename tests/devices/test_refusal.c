/* SPDX-License-Identifier: BSD-2-Clause */
/* A device that cannot serve: dat_ia_open fails, and says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dat/udat.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Opens the IA with standard error in a file, whose text is then in `said`. */
static DAT_RETURN open_and_listen(const char *name, char *said, size_t size)
{
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;
        FILE *heard = tmpfile();
        int before = dup(STDERR_FILENO);
        DAT_RETURN ret;
        size_t length;

        assert_non_null(heard);
        assert_true(before >= 0);
        assert_true(dup2(fileno(heard), STDERR_FILENO) >= 0);
        ret = dat_ia_open((DAT_NAME_PTR)name, 8, &async_evd, &ia);
        assert_true(dup2(before, STDERR_FILENO) >= 0);
        (void)close(before);
        rewind(heard);
        length = fread(said, 1, size - 1, heard);
        said[length] = '\0';
        (void)fclose(heard);
        return ret;
}

static void assert_refused(const char *name, const char *why)
{
        char said[1024];
        DAT_RETURN ret = open_and_listen(name, said, sizeof(said));

        print_message("%s", said);
        assert_int_equal(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
        assert_non_null(strstr(said, name));
        assert_non_null(strstr(said, why));
}

static void by_its_name(void **state)
{
        (void)state;
        assert_refused("ref0", "no reliable connections");
}

static void as_any(void **state)
{
        (void)state;
        assert_refused("any0", "no reliable connections");
}

static void by_an_address(void **state)
{
        (void)state;
        assert_refused("net0", "no RDMA device serves the address");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(by_its_name),
            cmocka_unit_test(as_any),
            cmocka_unit_test(by_an_address),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
