/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON as text, value by value: of what a run has thousands of, no tree is made first. */
#ifndef HARNESS_WRITER_H
#define HARNESS_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct writer {
        char *at;
        size_t length;
        size_t capacity;
        bool lost; /* there was no memory: what is here is not all */
};

/* Begins anew, with the memory that it has; and gives that back. */
void writer_reset(struct writer *writer);
void writer_free(struct writer *writer);

/* An object's or array's own character; a comma goes before what follows another value. */
void write_open(struct writer *writer, char bracket);
void write_close(struct writer *writer, char bracket);

/* The name of the member whose value comes next; each of its characters stands for itself. */
void write_name(struct writer *writer, const char *name);

void write_number(struct writer *writer, int64_t number);
/* A number up to 2^64 - 1, and null. */
void write_unsigned(struct writer *writer, uint64_t number);
void write_null(struct writer *writer);

void write_bool(struct writer *writer, bool value);

/* A string made of `length` bytes of anything: what is no UTF-8 becomes U+FFFD. */
void write_text(struct writer *writer, const char *text, size_t length);

/* The same for a text, or a name, in which each character stands for itself: nothing is looked at.
 */
void write_plain(struct writer *writer, const char *text, size_t length);
void write_plain_name(struct writer *writer, const char *name, size_t length);

/* A member that is a string, or a count. */
void write_string(struct writer *writer, const char *name, const char *value);
void write_count(struct writer *writer, const char *name, uint64_t count);

/* Room for the digits of any number, with a sign. */
#define DIGITS_SPACE 24

/*
 * The digits of a number before `end`, and those of base 16; returns where they begin. A trace is
 * full of numbers, and no format is needed for them.
 */
char *digits_before(char *end, uint64_t number);
char *signed_digits_before(char *end, int64_t number);
char *hex_before(char *end, uint64_t number);

/* Two digits for each byte, and the end of the string. */
#define HEX_OF(bytes_) (2 * (size_t)(bytes_))
void hex_digits(char *to, const unsigned char *bytes, size_t length);

/* All digits of a digest, in a space of DIGEST_SPACE bytes; returns it. */
#define DIGEST_SPACE 17
const char *digest_digits(char *space, uint64_t digest);

/* The length of the UTF-8 sequence at `at`, or 0 where there is none that is valid. */
size_t utf8_length(const unsigned char *at, size_t left);

#endif
