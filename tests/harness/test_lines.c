/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines over a socket: cut where they end, whole or not at all, whatever their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "evidence/lines.h"
#include "evidence/writer.h"

struct pair {
        struct lines lines;
        int other;
};

static int set_up(void **state)
{
        static struct pair place;
        struct pair *pair = &place;
        int fds[2];

        if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
                return -1;
        lines_open(&pair->lines, fds[0], fds[0]);
        pair->other = fds[1];
        *state = pair;
        return 0;
}

static int tear_down(void **state)
{
        struct pair *pair = *state;

        lines_close(&pair->lines);
        close(pair->other);
        return 0;
}

static void send_text(const struct pair *pair, const char *text)
{
        assert_int_equal(write(pair->other, text, strlen(text)), strlen(text));
}

static void lines_come_as_they_end(void **state)
{
        struct pair *pair = *state;

        send_text(pair, "one\ntwo\nthr");
        lines_read(&pair->lines);
        assert_string_equal(lines_next(&pair->lines), "one");
        assert_string_equal(lines_next(&pair->lines), "two");
        assert_null(lines_next(&pair->lines));
        send_text(pair, "ee\n\n");
        lines_read(&pair->lines);
        assert_string_equal(lines_next(&pair->lines), "three");
        assert_string_equal(lines_next(&pair->lines), "");
        assert_int_equal(pair->lines.number, 4);
        assert_false(pair->lines.ended);
}

static void the_end_is_seen(void **state)
{
        struct pair *pair = *state;

        send_text(pair, "last\nhalf");
        shutdown(pair->other, SHUT_WR);
        lines_read(&pair->lines);
        assert_string_equal(lines_next(&pair->lines), "last");
        assert_null(lines_next(&pair->lines));
        assert_true(pair->lines.ended);
        assert_false(pair->lines.overlong);
}

static void a_message_is_a_line(void **state)
{
        struct pair *pair = *state;
        char text[64];
        ssize_t length;

        lines_put(&pair->lines, json_pack("{s:s}", "a", "b\n"));
        lines_write(&pair->lines);
        length = read(pair->other, text, sizeof(text) - 1);
        assert_true(length > 0);
        text[length] = '\0';
        assert_string_equal(text, "{\"a\":\"b\\n\"}\n");
}

static void a_reader_that_is_gone_is_no_signal(void **state)
{
        struct pair *pair = *state;

        close(pair->other);
        lines_put(&pair->lines, json_pack("{s:s}", "a", "b"));
        lines_write(&pair->lines);
        assert_true(pair->lines.lost);
        assert_int_equal(pair->lines.queued, 0);
        assert_false(lines_wait_written(&pair->lines, 0));
        pair->other = dup(0);
}

/* Takes what has been sent; returns how much that was. */
static size_t take(const struct pair *pair)
{
        char block[4096];
        size_t total = 0;
        ssize_t got;

        while ((got = recv(pair->other, block, sizeof(block), MSG_DONTWAIT)) > 0)
                total += (size_t)got;
        return total;
}

static void a_reader_that_is_slow_is_not_waited_for(void **state)
{
        struct pair *pair = *state;
        char text[4096];
        size_t total = 0;

        memset(text, 'x', sizeof(text));
        for (int i = 0; i < 1000; i++)
                lines_put(&pair->lines, json_pack("{s:s%}", "a", text, sizeof(text)));
        lines_write(&pair->lines);
        assert_true(pair->lines.queued > 0);
        assert_false(lines_wait_written(&pair->lines, 1));
        while (pair->lines.queued) {
                total += take(pair);
                lines_write(&pair->lines);
        }
        total += take(pair);
        assert_int_equal(total, 1000 * (sizeof(text) + strlen("{\"a\":\"\"}\n")));
}

static void a_reader_that_never_reads_is_given_up(void **state)
{
        struct pair *pair = *state;
        char text[4096];

        memset(text, 'x', sizeof(text));
        for (size_t sent = 0; sent < 2 * QUEUE_MAX_BYTES; sent += sizeof(text))
                lines_put(&pair->lines, json_pack("{s:s%}", "a", text, sizeof(text)));
        assert_true(pair->lines.lost);
        assert_int_equal(pair->lines.queued, 0);
}

/* What the writer makes of it means the same as jansson's string does. */
static void check_written(const char *bytes, size_t length, const char *wanted)
{
        struct writer writer = {.at = NULL};
        json_t *list;

        write_open(&writer, '[');
        write_text(&writer, bytes, length);
        write_close(&writer, ']');
        list = json_loadb(writer.at, writer.length, 0, NULL);
        assert_non_null(list);
        assert_string_equal(json_string_value(json_array_get(list, 0)), wanted);
        json_decref(list);
        writer_free(&writer);
}

static void check_text(const char *bytes, size_t length, const char *wanted)
{
        json_t *text = text_json(bytes, length);

        assert_non_null(text);
        assert_string_equal(json_string_value(text), wanted);
        json_decref(text);
        check_written(bytes, length, wanted);
}

static void text_is_always_utf8(void **state)
{
        (void)state;
        check_text("", 0, "");
        check_text("caf\xc3\xa9", 5, "caf\xc3\xa9");
        check_text("\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80");
        /* a stray continuation, an overlong slash, a surrogate, beyond Unicode, cut short, null */
        check_text("\x80", 1, "\xef\xbf\xbd");
        check_text("\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd");
        check_text("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
        check_text("\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
        check_text("a\xe2\x82", 3, "a\xef\xbf\xbd\xef\xbf\xbd");
        check_text("a\0b", 3,
                   "a\xef\xbf\xbd"
                   "b");
}

static void whatever_means_something_in_json_is_escaped(void **state)
{
        char all[127];

        (void)state;
        for (size_t i = 0; i < sizeof(all); i++)
                all[i] = (char)(i + 1);
        check_text(all, sizeof(all) - 1,
                   "\x01\x02\x03\x04\x05\x06\x07\b\t\n\v\f\r\x0e\x0f\x10\x11"
                   "\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
                   " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRS"
                   "TUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~");
}

static void values_have_commas_between_them(void **state)
{
        static const char wanted[] =
            "{\"a\":[],\"b\":[-1,\"[\",\"x\"],\"c\":{\"d\":true},\"e\":false}";
        struct writer writer = {.at = NULL};

        (void)state;
        for (int round = 0; round < 2; round++) {
                writer_reset(&writer);
                write_open(&writer, '{');
                write_name(&writer, "a");
                write_open(&writer, '[');
                write_close(&writer, ']');
                write_name(&writer, "b");
                write_open(&writer, '[');
                write_number(&writer, -1);
                write_text(&writer, "[", 1);
                write_text(&writer, "x", 1);
                write_close(&writer, ']');
                write_name(&writer, "c");
                write_open(&writer, '{');
                write_name(&writer, "d");
                write_bool(&writer, true);
                write_close(&writer, '}');
                write_name(&writer, "e");
                write_bool(&writer, false);
                write_close(&writer, '}');
                assert_int_equal(writer.length, strlen(wanted));
                assert_memory_equal(writer.at, wanted, writer.length);
        }
        writer_free(&writer);
}

static void a_line_of_text_is_queued_as_it_is(void **state)
{
        struct pair *pair = *state;

        lines_put_text(&pair->lines, "{\"a\":1}", 7);
        lines_put(&pair->lines, json_pack("{s:i}", "b", 2));
        assert_int_equal(pair->lines.queued, strlen("{\"a\":1}\n{\"b\":2}\n"));
        assert_memory_equal(pair->lines.queue, "{\"a\":1}\n{\"b\":2}\n", pair->lines.queued);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(lines_come_as_they_end, set_up, tear_down),
            cmocka_unit_test_setup_teardown(the_end_is_seen, set_up, tear_down),
            cmocka_unit_test_setup_teardown(a_message_is_a_line, set_up, tear_down),
            cmocka_unit_test_setup_teardown(a_reader_that_is_gone_is_no_signal, set_up, tear_down),
            cmocka_unit_test_setup_teardown(a_reader_that_is_slow_is_not_waited_for, set_up,
                                            tear_down),
            cmocka_unit_test_setup_teardown(a_reader_that_never_reads_is_given_up, set_up,
                                            tear_down),
            cmocka_unit_test_setup_teardown(a_line_of_text_is_queued_as_it_is, set_up, tear_down),
            cmocka_unit_test(text_is_always_utf8),
            cmocka_unit_test(whatever_means_something_in_json_is_escaped),
            cmocka_unit_test(values_have_commas_between_them),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
