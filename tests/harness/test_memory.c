/* SPDX-License-Identifier: BSD-2-Clause */
/* Digests of messages: what a post sends, and which receive a completion seems to be of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "evidence/api.h"
#include "evidence/digest.h"
#include "evidence/memory.h"

#define EP     ((DAT_EP_HANDLE)0x1000)
#define SRQ    ((DAT_SRQ_HANDLE)0x2000)
#define EVD    ((DAT_EVD_HANDLE)0x3000)
#define COOKIE 5

static unsigned char buffer[4 * DIGEST_WHOLE];

/* The trace's, of which only these are asked. */
const struct api_function api_functions[] = {
    {.name = "dat_ep_post_send"}, {.name = "dat_ep_post_rdma_write"},
    {.name = "dat_ep_post_recv"}, {.name = "dat_srq_post_recv"},
    {.name = "dat_evd_dequeue"},  {.name = "dat_ep_create_with_srq"},
    {.name = "dat_ep_free"},      {.name = "dat_ep_post_rdma_read"},
};
const size_t api_function_count = sizeof(api_functions) / sizeof(api_functions[0]);

static unsigned int function_named(const char *name)
{
        for (unsigned int i = 0; i < api_function_count; i++)
                if (strcmp(api_functions[i].name, name) == 0)
                        return i;
        fail_msg("no call %s", name);
        return 0;
}

/* The remote buffer of RDMA posts, and their flags. */
static DAT_RMR_TRIPLET remote;
static DAT_COMPLETION_FLAGS flags;

/* A post of `count` segments of `vector`, which returns `ret`. */
static struct call_memory post(const char *name, const void *queue, uint64_t number,
                               const DAT_LMR_TRIPLET *vector, DAT_COUNT count, DAT_RETURN ret)
{
        DAT_DTO_COOKIE cookie = {.as_64 = COOKIE};
        const void *segments = vector;
        const void *buffer_there = &remote;
        const struct trace_arg args[] = {TRACE_ARG(queue),        TRACE_ARG(count),
                                         TRACE_ARG(segments),     TRACE_ARG(cookie),
                                         TRACE_ARG(buffer_there), TRACE_ARG(flags)};
        struct call_memory memory = {.kind = MEMORY_NONE};
        unsigned int function = function_named(name);

        memory_begin(number, function, args, &memory);
        memory_end(number, function, args, ret, &memory);
        return memory;
}

static struct call_memory take(uint64_t length, DAT_DTO_COMPLETION_STATUS status)
{
        DAT_EVD_HANDLE evd = EVD;
        DAT_EVENT event = {.event_number = DAT_DTO_COMPLETION_EVENT, .evd_handle = EVD};
        void *at = &event;
        const struct trace_arg args[] = {TRACE_ARG(evd), TRACE_ARG(at)};
        struct call_memory memory = {.kind = MEMORY_NONE};
        DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
        unsigned int function = function_named("dat_evd_dequeue");

        dto->ep_handle = EP;
        dto->user_cookie.as_64 = COOKIE;
        dto->status = status;
        dto->transfered_length = length;
        memory_begin(1, function, args, &memory);
        memory_end(1, function, args, DAT_SUCCESS, &memory);
        return memory;
}

static DAT_LMR_TRIPLET part(size_t offset, size_t length)
{
        return (DAT_LMR_TRIPLET){.virtual_address = (uintptr_t)(buffer + offset),
                                 .segment_length = length};
}

static void free_ep(void)
{
        DAT_EP_HANDLE ep = EP;
        const struct trace_arg args[] = {TRACE_ARG(ep)};

        memory_end(1, function_named("dat_ep_free"), args, DAT_SUCCESS, NULL);
}

static int begin(void **state)
{
        (void)state;
        memory_start();
        free_ep();
        remote = (DAT_RMR_TRIPLET){.rmr_context = 0};
        flags = DAT_COMPLETION_DEFAULT_FLAG;
        for (size_t i = 0; i < sizeof(buffer); i++)
                buffer[i] = (unsigned char)(i * 7 + i / 256);
        return 0;
}

static void segments_are_one_message(void **state)
{
        const DAT_LMR_TRIPLET whole[] = {part(0, 100)};
        const DAT_LMR_TRIPLET parts[] = {part(0, 3), part(3, 0), part(3, 97)};
        struct call_memory sent = post("dat_ep_post_send", EP, 1, whole, 1, DAT_SUCCESS);
        struct call_memory other = post("dat_ep_post_rdma_write", EP, 2, parts, 3, DAT_SUCCESS);

        (void)state;
        assert_int_equal(sent.kind, MEMORY_SENT);
        assert_int_equal(sent.length, 100);
        assert_int_equal(other.length, 100);
        assert_true(sent.digest == other.digest);
        buffer[99] ^= 1;
        assert_true(sent.digest != post("dat_ep_post_send", EP, 3, whole, 1, DAT_SUCCESS).digest);
}

/* docs/typed-values.md has the digest in words. */
static void a_digest_is_as_it_is_documented(void **state)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ 3;
        uint64_t digest;

        (void)state;
        hash = (hash ^ UINT64_C(0x636261)) * UINT64_C(0x100000001b3);
        assert_true(digest_bytes("abc", 3, &digest));
        assert_true(digest == (hash ^ hash >> 32));
}

static void of_a_long_message_both_ends_are_covered(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, sizeof(buffer))};
        uint64_t digest = post("dat_ep_post_send", EP, 1, vector, 1, DAT_SUCCESS).digest;
        const size_t seen[] = {0, DIGEST_END - 1, sizeof(buffer) - DIGEST_END, sizeof(buffer) - 1};

        (void)state;
        for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
                buffer[seen[i]] ^= 1;
                assert_true(digest !=
                            post("dat_ep_post_send", EP, 2, vector, 1, DAT_SUCCESS).digest);
                buffer[seen[i]] ^= 1;
        }
        buffer[DIGEST_END] ^= 1;
        assert_true(digest == post("dat_ep_post_send", EP, 3, vector, 1, DAT_SUCCESS).digest);
}

static void a_receive_is_told_when_it_completes(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 10), part(100, 90)};
        static const unsigned char bytes[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
        struct segment message = {(uintptr_t)bytes, sizeof(bytes)};
        struct call_memory came;
        uint64_t digest;

        (void)state;
        post("dat_ep_post_recv", EP, 7, vector, 2, DAT_SUCCESS);
        memcpy(buffer, bytes, sizeof(bytes));
        came = take(9, DAT_DTO_SUCCESS);
        assert_int_equal(came.kind, MEMORY_ARRIVED);
        assert_int_equal(came.post, 7);
        assert_true(digest_vector(&message, 1, 9, &digest));
        assert_true(came.digest == digest);
        assert_int_equal(came.kept, 100);
        assert_int_equal(came.changed, 100);
        assert_int_equal(take(9, DAT_DTO_SUCCESS).kind, MEMORY_NONE);
}

static void what_lies_behind_a_message_is_known(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 10), part(100, 90)};

        (void)state;
        post("dat_ep_post_recv", EP, 7, vector, 2, DAT_SUCCESS);
        buffer[110] ^= 1;
        assert_int_equal(take(9, DAT_DTO_SUCCESS).changed, 20);
}

static void receives_complete_in_their_order(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 10), part(10, 10), part(20, 10)};

        (void)state;
        post("dat_ep_post_recv", EP, 1, &vector[0], 1, DAT_SUCCESS);
        post("dat_ep_post_recv", EP, 2, &vector[1], 1, DAT_INSUFFICIENT_RESOURCES);
        post("dat_ep_post_recv", EP, 3, &vector[2], 1, DAT_SUCCESS);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).post, 1);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).post, 3);
}

static void what_was_flushed_is_not_told(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 10)};

        (void)state;
        post("dat_ep_post_recv", EP, 1, vector, 1, DAT_SUCCESS);
        assert_int_equal(take(0, DAT_DTO_ERR_FLUSHED).kind, MEMORY_NONE);
        post("dat_ep_post_recv", EP, 2, vector, 1, DAT_SUCCESS);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).post, 2);
}

static void memory_of_two_receives_is_not_told(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 10), part(9, 10), part(0, 1)};

        (void)state;
        post("dat_ep_post_recv", EP, 1, &vector[0], 1, DAT_SUCCESS);
        post("dat_ep_post_recv", EP, 2, &vector[1], 1, DAT_SUCCESS);
        assert_int_equal(post("dat_ep_post_send", EP, 3, &vector[2], 1, DAT_SUCCESS).kind,
                         MEMORY_NONE);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).kind, MEMORY_NONE);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).kind, MEMORY_NONE);
}

static void what_is_sent_while_a_read_comes_is_not_told(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 10), part(5, 10)};

        (void)state;
        post("dat_ep_post_rdma_read", EP, 1, &vector[0], 1, DAT_SUCCESS);
        assert_int_equal(post("dat_ep_post_send", EP, 2, &vector[1], 1, DAT_SUCCESS).kind,
                         MEMORY_NONE);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).post, 1);
        assert_int_equal(post("dat_ep_post_send", EP, 3, &vector[1], 1, DAT_SUCCESS).kind,
                         MEMORY_SENT);
}

static void remote_is(size_t offset, size_t length)
{
        remote.target_address = (uintptr_t)(buffer + offset);
        remote.segment_length = length;
}

static uint64_t digest_of(size_t offset, size_t length)
{
        uint64_t digest = 0;

        assert_true(digest_bytes(buffer + offset, length, &digest));
        return digest;
}

static void the_remote_buffer_of_a_read_is_told_twice(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 20)};
        struct call_memory told;

        (void)state;
        remote_is(100, 10);
        told = post("dat_ep_post_rdma_read", EP, 1, vector, 1, DAT_SUCCESS);
        assert_int_equal(told.kind, MEMORY_TO_READ);
        assert_int_equal(told.length, 10);
        assert_true(told.has_remote && told.remote == digest_of(100, 10));
        buffer[100] ^= 1;
        told = take(10, DAT_DTO_SUCCESS);
        assert_int_equal(told.kind, MEMORY_ARRIVED);
        assert_true(told.has_remote && told.remote == digest_of(100, 10));
}

static void the_remote_buffer_of_a_write_is_told_when_it_completes(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 10)};
        struct call_memory told;

        (void)state;
        remote_is(100, 64);
        told = post("dat_ep_post_rdma_write", EP, 1, vector, 1, DAT_SUCCESS);
        assert_int_equal(told.kind, MEMORY_SENT);
        assert_false(told.has_remote);
        told = take(10, DAT_DTO_SUCCESS);
        assert_int_equal(told.kind, MEMORY_WRITTEN);
        assert_int_equal(told.post, 1);
        assert_int_equal(told.length, 10);
        assert_true(told.remote == digest_of(100, 10));
}

static void a_buffer_that_others_write_is_not_told(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 10), part(105, 10)};

        (void)state;
        remote_is(100, 10);
        post("dat_ep_post_rdma_write", EP, 1, &vector[0], 1, DAT_SUCCESS);
        flags = DAT_COMPLETION_SUPPRESS_FLAG;
        post("dat_ep_post_rdma_write", EP, 2, &vector[0], 1, DAT_SUCCESS);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).kind, MEMORY_NONE);
        flags = DAT_COMPLETION_DEFAULT_FLAG;
        remote_is(200, 10);
        post("dat_ep_post_rdma_write", EP, 3, &vector[0], 1, DAT_INVALID_PARAMETER);
        post("dat_ep_post_rdma_write", EP, 4, &vector[0], 1, DAT_SUCCESS);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).kind, MEMORY_WRITTEN);
        remote_is(105, 1);
        post("dat_ep_post_recv", EP, 5, &vector[1], 1, DAT_SUCCESS);
        post("dat_ep_post_rdma_write", EP, 6, &vector[0], 1, DAT_SUCCESS);
        take(10, DAT_DTO_SUCCESS);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).kind, MEMORY_NONE);
}

static void wild_vectors_are_not_told(void **state)
{
        const DAT_LMR_TRIPLET wild[] = {{.virtual_address = 0x10, .segment_length = 8}};
        const DAT_LMR_TRIPLET vast[] = {{.virtual_address = 0x10, .segment_length = UINT64_MAX}};

        (void)state;
        assert_int_equal(post("dat_ep_post_send", EP, 1, wild, 1, DAT_SUCCESS).kind, MEMORY_NONE);
        assert_int_equal(post("dat_ep_post_send", EP, 2, vast, 1, DAT_SUCCESS).kind, MEMORY_NONE);
        assert_int_equal(post("dat_ep_post_send", EP, 3, NULL, 1, DAT_SUCCESS).kind, MEMORY_NONE);
        assert_int_equal(post("dat_ep_post_send", EP, 4, wild, -1, DAT_SUCCESS).kind, MEMORY_NONE);
        assert_int_equal(post("dat_ep_post_send", EP, 5, NULL, 0, DAT_SUCCESS).kind, MEMORY_SENT);
        post("dat_ep_post_recv", EP, 6, wild, 1, DAT_SUCCESS);
        post("dat_ep_post_recv", EP, 7, NULL, INT32_MAX, DAT_SUCCESS);
        assert_int_equal(take(8, DAT_DTO_SUCCESS).kind, MEMORY_NONE);
        assert_int_equal(take(UINT64_MAX, DAT_DTO_SUCCESS).kind, MEMORY_NONE);
}

static void receives_of_an_srq_are_found(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 10)};
        DAT_HANDLE none = DAT_HANDLE_NULL;
        DAT_EP_HANDLE made = EP;
        DAT_EP_HANDLE *ep = &made;
        DAT_SRQ_HANDLE srq = SRQ;
        DAT_EVD_HANDLE evd = EVD;
        const struct trace_arg args[] = {TRACE_ARG(none), TRACE_ARG(none), TRACE_ARG(evd),
                                         TRACE_ARG(evd),  TRACE_ARG(evd),  TRACE_ARG(srq),
                                         TRACE_ARG(none), TRACE_ARG(ep)};

        (void)state;
        memory_end(1, function_named("dat_ep_create_with_srq"), args, DAT_SUCCESS, NULL);
        post("dat_srq_post_recv", SRQ, 4, vector, 1, DAT_SUCCESS);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).post, 4);
}

/* The last of all: from then on the process knows nothing of what arrives. */
static void too_many_receives_end_it(void **state)
{
        const DAT_LMR_TRIPLET vector[] = {part(0, 10), part(10, 10)};

        (void)state;
        for (uint64_t i = 0; i < 10000; i++)
                post("dat_ep_post_recv", EP, i + 1, vector, 1, DAT_SUCCESS);
        assert_int_equal(take(10, DAT_DTO_SUCCESS).kind, MEMORY_NONE);
        assert_int_equal(post("dat_ep_post_send", EP, 1, &vector[1], 1, DAT_SUCCESS).kind,
                         MEMORY_NONE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup(segments_are_one_message, begin),
            cmocka_unit_test_setup(a_digest_is_as_it_is_documented, begin),
            cmocka_unit_test_setup(of_a_long_message_both_ends_are_covered, begin),
            cmocka_unit_test_setup(a_receive_is_told_when_it_completes, begin),
            cmocka_unit_test_setup(what_lies_behind_a_message_is_known, begin),
            cmocka_unit_test_setup(receives_complete_in_their_order, begin),
            cmocka_unit_test_setup(what_was_flushed_is_not_told, begin),
            cmocka_unit_test_setup(memory_of_two_receives_is_not_told, begin),
            cmocka_unit_test_setup(what_is_sent_while_a_read_comes_is_not_told, begin),
            cmocka_unit_test_setup(the_remote_buffer_of_a_read_is_told_twice, begin),
            cmocka_unit_test_setup(the_remote_buffer_of_a_write_is_told_when_it_completes, begin),
            cmocka_unit_test_setup(a_buffer_that_others_write_is_not_told, begin),
            cmocka_unit_test_setup(wild_vectors_are_not_told, begin),
            cmocka_unit_test_setup(receives_of_an_srq_are_found, begin),
            cmocka_unit_test_setup(too_many_receives_end_it, begin),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
