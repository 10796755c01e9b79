/* SPDX-License-Identifier: BSD-2-Clause */
/* A verdict counts only as its own harness wrote it; a log keeps its first and last entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "evidence/evidence.h"
#include "evidence/names.h"

static const uint64_t key = UINT64_C(0x1234567890abcdef);
static const uint64_t next_key = UINT64_C(0x1234567890abcdf0);
static const uint64_t no_key;

static void verdict_comes_back(void **state)
{
        struct sealed_verdict written;
        struct sealed_verdict read;

        (void)state;
        verdict_put(&written, &key, VERDICT_FAIL, "because", NULL);
        assert_true(verdict_get(&written, &key, &read));
        assert_int_equal(read.verdict, VERDICT_FAIL);
        assert_string_equal(read.reason, "because");
}

static void nothing_is_no_verdict(void **state)
{
        struct sealed_verdict written;
        struct sealed_verdict read;

        (void)state;
        memset(&written, 0, sizeof(written));
        assert_false(verdict_get(&written, &key, &read));
        assert_false(verdict_get(&written, &no_key, &read));
}

static void any_change_breaks_the_seal(void **state)
{
        struct sealed_verdict written;
        struct sealed_verdict read;
        unsigned char *bytes = (unsigned char *)&written;

        (void)state;
        verdict_put(&written, &key, VERDICT_PASS, "", NULL);
        for (size_t i = 0; i < offsetof(struct sealed_verdict, reason) + REASON_MAX; i++) {
                bytes[i] ^= 0x10;
                assert_false(verdict_get(&written, &key, &read));
                bytes[i] ^= 0x10;
        }
        assert_true(verdict_get(&written, &key, &read));
}

static void another_run_breaks_the_seal(void **state)
{
        struct sealed_verdict written;
        struct sealed_verdict read;

        (void)state;
        verdict_put(&written, &key, VERDICT_PASS, "", NULL);
        assert_false(verdict_get(&written, &next_key, &read));
}

static void long_reasons_are_cut(void **state)
{
        struct sealed_verdict written;
        struct sealed_verdict read;
        char reason[REASON_MAX + 100];

        (void)state;
        memset(reason, 'x', sizeof(reason) - 1);
        reason[sizeof(reason) - 1] = '\0';
        verdict_put(&written, &key, VERDICT_PASS, reason, NULL);
        assert_true(verdict_get(&written, &key, &read));
        assert_int_equal(strlen(read.reason), REASON_MAX - 1);
}

static void canaries_tell_of_a_change(void **state)
{
        struct evidence *evidence = evidence_new(key);

        (void)state;
        assert_non_null(evidence);
        assert_true(evidence_whole(evidence, key));
        assert_false(evidence_whole(evidence, next_key));
        evidence->last.words[0]++;
        assert_false(evidence_whole(evidence, key));
        evidence_free(evidence);
}

static void logs_keep_both_ends(void **state)
{
        (void)state;
        for (uint64_t n = 0; n < LOG_FIRST; n++)
                assert_int_equal(log_slot(n), n);
        for (uint64_t n = LOG_FIRST; n < UINT64_C(10) * LOG_SLOTS; n++) {
                assert_in_range(log_slot(n), LOG_FIRST, LOG_SLOTS - 1);
                assert_int_equal(log_slot(n), log_slot(n + LOG_LAST));
        }
}

static size_t resident_pages(void *from, size_t length)
{
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        size_t pages = (length + page - 1) / page;
        unsigned char *resident = calloc(pages, 1);
        size_t count = 0;

        assert_non_null(resident);
        assert_int_equal(mincore(from, length, resident), 0);
        for (size_t i = 0; i < pages; i++)
                count += resident[i] & 1;
        free(resident);
        return count;
}

static void slots_in_use_are_counted(void **state)
{
        struct evidence *evidence = evidence_new(key);

        (void)state;
        assert_non_null(evidence);
        assert_int_equal(evidence_calls(evidence), 0);
        assert_int_equal(evidence_entries(evidence), 0);
        atomic_store(&evidence->call_count, 3);
        atomic_store(&evidence->entry_count, 5);
        assert_int_equal(evidence_calls(evidence), 3);
        assert_int_equal(evidence_entries(evidence), 5);
        atomic_store(&evidence->call_count, UINT64_MAX);
        atomic_store(&evidence->entry_count, LOG_SLOTS + 1);
        assert_int_equal(evidence_calls(evidence), LOG_SLOTS);
        assert_int_equal(evidence_entries(evidence), LOG_SLOTS);
        evidence_free(evidence);
}

static void a_smaller_count_hides_no_slot(void **state)
{
        struct evidence *evidence = evidence_new(key);

        (void)state;
        assert_non_null(evidence);
        for (uint64_t n = 0; n < 7; n++) {
                evidence->calls[n].number = n + 1;
                atomic_store(&evidence->entries[n].number, n + 1);
        }
        assert_int_equal(evidence_calls(evidence), 7);
        assert_int_equal(evidence_entries(evidence), 7);
        atomic_store(&evidence->call_count, 2);
        atomic_store(&evidence->entry_count, 2);
        assert_int_equal(evidence_calls(evidence), 7);
        assert_int_equal(evidence_entries(evidence), 7);
        evidence_free(evidence);
}

static void counting_slots_costs_no_memory(void **state)
{
        struct evidence *evidence = evidence_new(key);
        size_t before;

        (void)state;
        assert_non_null(evidence);
        before = resident_pages(evidence, sizeof(*evidence));
        evidence_calls(evidence);
        evidence_entries(evidence);
        /* The first slot of either log, which may reach into the next page. */
        assert_in_range(resident_pages(evidence, sizeof(*evidence)), before, before + 4);
        evidence_free(evidence);
}

static struct name *memory_made(struct names *names, uint64_t handle, uint32_t lmr, uint32_t rmr)
{
        struct name *name = names_made(names, handle, "lmr");

        assert_non_null(name);
        name->is_memory = true;
        name->lmr_context = lmr;
        name->rmr_context = rmr;
        return name;
}

static void contexts_of_lmr_and_rmr_are_two(void **state)
{
        struct names names = {.list = NULL};

        (void)state;
        memory_made(&names, 1, 7, 8);
        memory_made(&names, 2, 8, 9);
        assert_string_equal(names_of_lmr_context(&names, 8)->text, "lmr#2");
        assert_string_equal(names_of_rmr_context(&names, 8)->text, "lmr#1");
        assert_null(names_of_lmr_context(&names, 9));
        assert_null(names_of_rmr_context(&names, 7));
        names_clear(&names);
}

static void a_handle_is_of_its_process(void **state)
{
        struct names names = {.list = NULL};

        (void)state;
        names_made(&names, 1, "ia");
        names.process = 3;
        assert_null(names_find(&names, 1));
        assert_string_equal(names_made(&names, 1, "ia")->text, "ia#2");
        memory_made(&names, 2, 7, 8)->length = 16;
        assert_non_null(names_of_address(&names, 0));
        names.process = 0;
        assert_string_equal(names_find(&names, 1)->text, "ia");
        assert_null(names_of_lmr_context(&names, 7));
        assert_null(names_of_address(&names, 0));
        names_clear(&names);
}

static void a_handle_is_used_again(void **state)
{
        struct names names = {.list = NULL};

        (void)state;
        names_made(&names, 1, "psp");
        names_made(&names, 2, "lmr")->freed_by = 7;
        assert_string_equal(names_made(&names, 1, "ep")->text, "ep#1");
        assert_string_equal(names_made(&names, 1, "ep")->text, "ep#1");
        assert_string_equal(names_find_kind(&names, 1, "sp")->text, "ep#1");
        names.in_event = true;
        assert_string_equal(names_find_kind(&names, 1, "sp")->text, "psp#1");
        assert_string_equal(names_find_kind(&names, 1, "ep")->text, "ep#1");
        names.in_event = false;
        names.now = 6;
        assert_string_equal(names_made(&names, 2, "lmr")->text, "lmr#2");
        assert_string_equal(names_find(&names, 2)->text, "lmr#2");
        names.now = 5;
        assert_string_equal(names_find(&names, 2)->text, "lmr#1");
        names_made(&names, 3, "pz");
        names.now = 4;
        assert_string_equal(names_made(&names, 3, "pz")->text, "pz#2");
        names.now = 5;
        assert_string_equal(names_find(&names, 3)->text, "pz#1");
        names_clear(&names);
}

static void a_call_tells_of_what_is_made_in_a_later_line(void **state)
{
        struct names names = {.list = NULL, .now = 9};

        (void)state;
        assert_string_equal(names_told(&names, 1, "evd")->text, "evd#1");
        names.now = 5;
        assert_string_equal(names_made(&names, 1, "evd")->text, "evd#1");
        names_find(&names, 1)->freed = true;
        names.now = 9;
        assert_string_equal(names_told(&names, 1, "evd")->text, "evd#2");
        names.now = 7;
        assert_string_equal(names_made(&names, 1, "evd")->text, "evd#2");
        names_clear(&names);
}

static void an_async_evd_is_an_evd(void **state)
{
        struct names names = {.list = NULL};

        (void)state;
        names_made(&names, 1, "evd");
        assert_string_equal(names_made(&names, 1, "async_evd")->text, "evd#1");
        names_clear(&names);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(contexts_of_lmr_and_rmr_are_two),
            cmocka_unit_test(a_handle_is_of_its_process),
            cmocka_unit_test(a_handle_is_used_again),
            cmocka_unit_test(a_call_tells_of_what_is_made_in_a_later_line),
            cmocka_unit_test(an_async_evd_is_an_evd),
            cmocka_unit_test(verdict_comes_back),
            cmocka_unit_test(nothing_is_no_verdict),
            cmocka_unit_test(any_change_breaks_the_seal),
            cmocka_unit_test(another_run_breaks_the_seal),
            cmocka_unit_test(long_reasons_are_cut),
            cmocka_unit_test(canaries_tell_of_a_change),
            cmocka_unit_test(logs_keep_both_ends),
            cmocka_unit_test(slots_in_use_are_counted),
            cmocka_unit_test(a_smaller_count_hides_no_slot),
            cmocka_unit_test(counting_slots_costs_no_memory),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
