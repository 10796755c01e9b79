/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 4096

static bool make_room(struct writer *writer, size_t more)
{
        size_t larger = writer->capacity ? writer->capacity : FIRST_ROOM;
        char *moved;

        if (writer->lost)
                return false;
        while (larger < writer->length + more)
                larger *= 2;
        moved = realloc(writer->at, larger);
        writer->lost = !moved;
        if (!moved)
                return false;
        writer->at = moved;
        writer->capacity = larger;
        return true;
}

static inline bool has_room(struct writer *writer, size_t more)
{
        if (!writer->lost && writer->length + more <= writer->capacity)
                return true;
        return make_room(writer, more);
}

static void put(struct writer *writer, const char *text, size_t length)
{
        if (length == 0 || !has_room(writer, length))
                return;
        memcpy(writer->at + writer->length, text, length);
        writer->length += length;
}

static void put_char(struct writer *writer, char character)
{
        if (has_room(writer, 1))
                writer->at[writer->length++] = character;
}

/* No value ends as what may stand before a first one does. */
static inline __attribute__((always_inline)) void separate(struct writer *writer)
{
        char last = writer->length ? writer->at[writer->length - 1] : '{';

        if (last != '{' && last != '[' && last != ':')
                put_char(writer, ',');
}

void writer_reset(struct writer *writer)
{
        writer->length = 0;
        writer->lost = false;
}

void writer_free(struct writer *writer)
{
        free(writer->at);
        *writer = (struct writer){.at = NULL};
}

void write_open(struct writer *writer, char bracket)
{
        separate(writer);
        put_char(writer, bracket);
}

void write_close(struct writer *writer, char bracket)
{
        put_char(writer, bracket);
}

/* A comma where there must be one, and a text in quotes, with `behind` after it but for 0. */
static void put_quoted(struct writer *writer, const char *text, size_t length, char behind)
{
        size_t more = behind != 0;
        char *to;

        separate(writer);
        if (!has_room(writer, length + 2 + more))
                return;
        to = writer->at + writer->length;
        *to++ = '"';
        memcpy(to, text, length);
        to += length;
        *to++ = '"';
        if (more)
                *to = behind;
        writer->length += length + 2 + more;
}

void write_plain(struct writer *writer, const char *text, size_t length)
{
        put_quoted(writer, text, length, 0);
}

void write_plain_name(struct writer *writer, const char *name, size_t length)
{
        put_quoted(writer, name, length, ':');
}

void write_name(struct writer *writer, const char *name)
{
        write_plain_name(writer, name, strlen(name));
}

void write_string(struct writer *writer, const char *name, const char *value)
{
        write_name(writer, name);
        write_text(writer, value, strlen(value));
}

void write_count(struct writer *writer, const char *name, uint64_t count)
{
        write_name(writer, name);
        write_number(writer, (int64_t)count);
}

/* Divided by a constant: a guest that is translated divides by a variable in a call. */
char *digits_before(char *end, uint64_t number)
{
        do {
                *--end = (char)('0' + number % 10);
                number /= 10;
        } while (number);
        return end;
}

static const char hex_of[] = "0123456789abcdef";

char *hex_before(char *end, uint64_t number)
{
        do {
                *--end = hex_of[number & 0xf];
                number >>= 4;
        } while (number);
        return end;
}

void hex_digits(char *to, const unsigned char *bytes, size_t length)
{
        for (size_t i = 0; i < length; i++) {
                *to++ = hex_of[bytes[i] >> 4];
                *to++ = hex_of[bytes[i] & 0xf];
        }
        *to = '\0';
}

const char *digest_digits(char *space, uint64_t digest)
{
        space[DIGEST_SPACE - 1] = '\0';
        for (size_t i = DIGEST_SPACE - 1; i > 0; digest >>= 4)
                space[--i] = hex_of[digest & 0xf];
        return space;
}

char *signed_digits_before(char *end, int64_t number)
{
        char *from = digits_before(end, number < 0 ? -(uint64_t)number : (uint64_t)number);

        if (number < 0)
                *--from = '-';
        return from;
}

void write_number(struct writer *writer, int64_t number)
{
        char digits[DIGITS_SPACE];
        char *end = digits + sizeof(digits);
        const char *from = signed_digits_before(end, number);

        separate(writer);
        put(writer, from, (size_t)(end - from));
}

void write_unsigned(struct writer *writer, uint64_t number)
{
        char digits[DIGITS_SPACE];
        char *end = digits + sizeof(digits);
        const char *from = digits_before(end, number);

        separate(writer);
        put(writer, from, (size_t)(end - from));
}

void write_null(struct writer *writer)
{
        separate(writer);
        put(writer, "null", 4);
}

void write_bool(struct writer *writer, bool value)
{
        separate(writer);
        if (value)
                put(writer, "true", 4);
        else
                put(writer, "false", 5);
}

/* Whether a character stands for itself. */
static bool is_plain(unsigned char byte)
{
        return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

#define EACH(byte_)  (UINT64_C(0x0101010101010101) * (byte_))
#define ZERO(word_)  (((word_)-EACH(0x01)) & ~(word_))
#define BELOW(word_) (((word_)-EACH(0x20)) & ~(word_))

/* Whether eight characters stand for themselves; false for a few that do, too. */
static bool are_plain(const char *text)
{
        uint64_t word;

        memcpy(&word, text, sizeof(word));
        return ((word | BELOW(word) | ZERO(word ^ EACH('"')) | ZERO(word ^ EACH('\\'))) &
                EACH(0x80)) == 0;
}

static size_t plain_length(const char *text, size_t length)
{
        size_t i = 0;

        while (length - i >= sizeof(uint64_t) && are_plain(text + i))
                i += sizeof(uint64_t);
        while (i < length && is_plain((unsigned char)text[i]))
                i++;
        return i;
}

static void put_escaped(struct writer *writer, unsigned char byte)
{
        static const char letters[] = {['\b'] = 'b', ['\f'] = 'f',  ['\n'] = 'n', ['\r'] = 'r',
                                       ['\t'] = 't', ['\\'] = '\\', ['"'] = '"'};
        char escape[8];

        if (byte < sizeof(letters) && letters[byte])
                snprintf(escape, sizeof(escape), "\\%c", letters[byte]);
        else
                snprintf(escape, sizeof(escape), "\\u%04X", byte);
        put(writer, escape, strlen(escape));
}

/* Writes what does not stand for itself, and returns how many bytes of the text it was. */
static size_t put_special(struct writer *writer, const char *text, size_t left)
{
        size_t length = utf8_length((const unsigned char *)text, left);

        if (length == 0)
                put(writer, "\xef\xbf\xbd", 3);
        else if (length == 1)
                put_escaped(writer, (unsigned char)*text);
        else
                put(writer, text, length);
        return length ? length : 1;
}

void write_text(struct writer *writer, const char *text, size_t length)
{
        size_t from = 0;
        size_t plain = plain_length(text, length);

        if (plain == length) {
                write_plain(writer, text, length);
                return;
        }
        separate(writer);
        put_char(writer, '"');
        while (from < length) {
                put(writer, text + from, plain);
                from += plain;
                if (from < length)
                        from += put_special(writer, text + from, length - from);
                plain = plain_length(text + from, length - from);
        }
        put_char(writer, '"');
}

size_t utf8_length(const unsigned char *at, size_t left)
{
        static const struct {
                unsigned char first, last, low, high;
                size_t length;
        } forms[] = {
            {0x01, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
            {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
            {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
        };

        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
                size_t length = forms[i].length;

                if (*at < forms[i].first || *at > forms[i].last || length > left)
                        continue;
                if (length > 1 && (at[1] < forms[i].low || at[1] > forms[i].high))
                        return 0;
                for (size_t j = 2; j < length; j++)
                        if ((at[j] & 0xc0) != 0x80)
                                return 0;
                return length;
        }
        return 0;
}
