/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_strerror: which returns have a text, and which are refused. */
#include "clauses/strerror.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "case/standard.h"
#include "evidence/api.h"

#define TEXT_MAX      4096
#define TYPE_STEP     0x10000
#define FAR_TYPE      0xffe /* headers have DAT_NOT_IMPLEMENTED behind it */
#define FAR_SUBTYPE   0xffff
#define FREE_SUBTYPES 0x100 /* from here on: headers differ about those before */
#define DRAWS         20
#define ROUNDS        200
#define MEETINGS      3 /* rounds in which the threads met */

#define ERROR_OF(type_, subtype_) ((DAT_RETURN)(DAT_CLASS_ERROR | (type_) | (subtype_)))

struct text {
        const char *major;
        const char *minor;
};

static void expect_readable(struct test *t, const char *text)
{
        size_t length;

        expect_that(text != NULL, "no text");
        length = strnlen(text, TEXT_MAX);
        expect_that(length > 0 && length < TEXT_MAX, "a text of %zu bytes", length);
        for (size_t i = 0; i < length; i++)
                expect_that(isprint((unsigned char)text[i]), "byte 0x%02x in a text",
                            (unsigned char)text[i]);
}

/* The texts of a return that is defined; they are not what was in their place before. */
static struct text texts_of(struct test *t, DAT_RETURN value)
{
        static const char unwritten[] = "";
        struct text text = {unwritten, unwritten};

        expect(dat_strerror(value, &text.major, &text.minor), DAT_SUCCESS);
        expect_that(text.major != unwritten && text.minor != unwritten, "a text was not given");
        expect_readable(t, text.major);
        return text;
}

/* The next call may have another text in the same place. */
static void keep(char kept[TEXT_MAX], const char *text)
{
        snprintf(kept, TEXT_MAX, "%s", text);
}

static const struct type_row {
        const char *id;
        DAT_RETURN type;
} types[] = {
    {"abort", DAT_ABORT},
    {"conn_qual_in_use", DAT_CONN_QUAL_IN_USE},
    {"insufficient_resources", DAT_INSUFFICIENT_RESOURCES},
    {"internal_error", DAT_INTERNAL_ERROR},
    {"invalid_handle", DAT_INVALID_HANDLE},
    {"invalid_parameter", DAT_INVALID_PARAMETER},
    {"invalid_state", DAT_INVALID_STATE},
    {"length_error", DAT_LENGTH_ERROR},
    {"model_not_supported", DAT_MODEL_NOT_SUPPORTED},
    {"provider_not_found", DAT_PROVIDER_NOT_FOUND},
    {"privileges_violation", DAT_PRIVILEGES_VIOLATION},
    {"protection_violation", DAT_PROTECTION_VIOLATION},
    {"queue_empty", DAT_QUEUE_EMPTY},
    {"queue_full", DAT_QUEUE_FULL},
    {"timeout_expired", DAT_TIMEOUT_EXPIRED},
    {"provider_already_registered", DAT_PROVIDER_ALREADY_REGISTERED},
    {"provider_in_use", DAT_PROVIDER_IN_USE},
    {"invalid_address", DAT_INVALID_ADDRESS},
    {"interrupted_call", DAT_INTERRUPTED_CALL},
    {"conn_qual_unavailable", DAT_CONN_QUAL_UNAVAILABLE},
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* Another type that is refused breaks its own clause, and none else. */
static void expect_of_no_other(struct test *t, const char *own, DAT_RETURN type)
{
        struct text text;

        for (size_t i = 0; i < TYPES; i++)
                if (!dat_is(types[i].type, type) &&
                    dat_is(dat_strerror(ERROR_OF(types[i].type, DAT_NO_SUBTYPE), &text.major,
                                        &text.minor),
                           DAT_SUCCESS))
                        expect_that(strcmp(text.major, own) != 0, "%s has the same text: %s",
                                    types[i].id, own);
}

static void expect_own_text(struct test *t, DAT_RETURN type)
{
        expect_of_no_other(t, texts_of(t, ERROR_OF(type, DAT_NO_SUBTYPE)).major, type);
}

FAMILY(strerror, type, types)
{
        expect_own_text(t, row->type);
}

CASE(strerror, success)
{
        expect_of_no_other(t, texts_of(t, DAT_SUCCESS).major, DAT_SUCCESS);
}

CASE(strerror, not_implemented)
{
        struct text text = {NULL, NULL};

        if (dat_is(expect(dat_strerror(DAT_NOT_IMPLEMENTED, &text.major, &text.minor), DAT_SUCCESS,
                          DAT_INVALID_PARAMETER),
                   DAT_SUCCESS))
                expect_readable(t, text.major);
}

static const struct subtypes_row {
        const char *id;
        DAT_RETURN type;
        DAT_RETURN_SUBTYPE first, last;
} subtypes[] = {
    {"abort", DAT_ABORT, DAT_SUB_INTERRUPTED, DAT_SUB_INTERRUPTED},
    {"insufficient_resources", DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY, DAT_RESOURCE_SRQ},
    {"invalid_handle", DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA, DAT_INVALID_HANDLE10},
    {"invalid_parameter", DAT_INVALID_PARAMETER, DAT_INVALID_ARG1, DAT_INVALID_ARG10},
    {"invalid_state", DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED,
     DAT_INVALID_STATE_SRQ_IN_USE},
    {"provider_not_found", DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED,
     DAT_THREAD_SAFETY_NOT_FOUND},
    {"privileges_violation", DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ,
     DAT_PRIVILEGES_RDMA_WRITE},
    {"protection_violation", DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ,
     DAT_PROTECTION_RDMA_WRITE},
    {"invalid_address", DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED,
     DAT_INVALID_ADDRESS_MALFORMED},
};

FAMILY(strerror, subtypes, subtypes)
{
        static char seen[FREE_SUBTYPES][TEXT_MAX];
        char major[TEXT_MAX];
        char none[TEXT_MAX];
        struct text plain = texts_of(t, ERROR_OF(row->type, DAT_NO_SUBTYPE));

        keep(major, plain.major);
        keep(none, plain.minor ? plain.minor : "");
        for (DAT_UINT32 subtype = row->first; subtype <= row->last; subtype++) {
                struct text text = texts_of(t, ERROR_OF(row->type, subtype));

                expect_readable(t, text.minor);
                expect_that(strcmp(text.major, major) == 0, "the type's text was \"%s\", is \"%s\"",
                            major, text.major);
                expect_that(strcmp(text.minor, none) != 0,
                            "subtype %u and none at all have the same text: %s", subtype, none);
                keep(seen[subtype], text.minor);
                for (DAT_UINT32 other = row->first; other < subtype; other++)
                        expect_that(strcmp(seen[other], text.minor) != 0,
                                    "subtypes %u and %u have the same text: %s", other, subtype,
                                    text.minor);
        }
}

/* One that is refused breaks the clause of its type, and not this. */
CASE(strerror, subtypes_of_all_types)
{
        static char seen[FREE_SUBTYPES][TEXT_MAX];
        struct text text;

        for (size_t i = 0; i < sizeof(subtypes) / sizeof(subtypes[0]); i++)
                for (DAT_UINT32 subtype = subtypes[i].first; subtype <= subtypes[i].last;
                     subtype++) {
                        if (!dat_is(dat_strerror(ERROR_OF(subtypes[i].type, subtype), &text.major,
                                                 &text.minor),
                                    DAT_SUCCESS))
                                continue;
                        expect_readable(t, text.minor);
                        for (DAT_UINT32 other = 0; other < subtype; other++)
                                expect_that(strcmp(seen[other], text.minor) != 0,
                                            "subtypes %u and %u have the same text: %s", other,
                                            subtype, text.minor);
                        keep(seen[subtype], text.minor);
                }
}

CASE(strerror, of_a_call)
{
        DAT_RETURN returned = dat_pz_free(DAT_HANDLE_NULL);
        char seen[TEXT_MAX];

        must_that(dat_is(returned, DAT_INVALID_HANDLE), "a null handle gives %s",
                  name_of_return(returned));
        keep(seen, texts_of(t, returned).major);
        expect_that(strcmp(seen, texts_of(t, ERROR_OF(DAT_INVALID_HANDLE, DAT_NO_SUBTYPE)).major) ==
                        0,
                    "the text is %s", seen);
}

CASE(strerror, within_storage)
{
        const char *before[5] = {"a", "b", "c", "d", "e"};
        const char *texts[5];

        memcpy(texts, before, sizeof(texts));
        expect(dat_strerror(ERROR_OF(DAT_INVALID_STATE, DAT_NO_SUBTYPE), &texts[1], &texts[3]),
               DAT_SUCCESS);
        expect_that(texts[1] != before[1] && texts[3] != before[3], "a text was not given");
        for (size_t i = 0; i < 5; i += 2)
                expect_that(texts[i] == before[i], "what is beside the pointers was written");
}

/* What no header of DAT has, of 1.2 or 2.0. */
static DAT_RETURN behind_the_last_type(void)
{
        const struct api_enum *all = api_enum_named("DAT_RETURN_TYPE");
        DAT_RETURN last = 0;

        for (size_t i = 0; i < all->count; i++) {
                DAT_RETURN type = DAT_GET_TYPE(all->members[i].value);

                if (type > last && type < FAR_TYPE * TYPE_STEP)
                        last = type;
        }
        return last + TYPE_STEP;
}

static DAT_RETURN undefined_type(struct test *t)
{
        DAT_RETURN first = behind_the_last_type() / TYPE_STEP;

        return (DAT_RETURN)(first + draw(t, FAR_TYPE - first)) * TYPE_STEP;
}

static DAT_RETURN undefined_subtype(struct test *t)
{
        return DAT_INVALID_STATE |
               (DAT_RETURN)(FREE_SUBTYPES + draw(t, FAR_SUBTYPE - FREE_SUBTYPES));
}

/* A subtype that there is makes no type of it. */
static DAT_RETURN type_with_subtype(struct test *t)
{
        return undefined_type(t) | DAT_RESOURCE_MEMORY;
}

static DAT_RETURN last_type(struct test *t)
{
        (void)t;
        return behind_the_last_type();
}

static DAT_RETURN far_type(struct test *t)
{
        (void)t;
        return FAR_TYPE * TYPE_STEP;
}

static DAT_RETURN far_subtype(struct test *t)
{
        (void)t;
        return DAT_INVALID_STATE | FAR_SUBTYPE;
}

static const struct undefined_row {
        const char *id;
        DAT_RETURN (*value)(struct test *t);
        int times;
} undefined_values[] = {
    {"type_behind_the_last", last_type, 1},
    {"type_drawn", undefined_type, DRAWS},
    {"type_far", far_type, 1},
    {"type_with_subtype", type_with_subtype, DRAWS},
    {"subtype_drawn", undefined_subtype, DRAWS},
    {"subtype_far", far_subtype, 1},
};

FAMILY(strerror, undefined, undefined_values)
{
        struct text text;

        for (int i = 0; i < row->times; i++)
                expect(
                    dat_strerror(ERROR_OF(row->value(t), DAT_NO_SUBTYPE), &text.major, &text.minor),
                    DAT_INVALID_PARAMETER);
        expect_own_text(t, DAT_INVALID_STATE);
}

/* One thread's conversion, and the same without another thread's. */
struct conversion {
        DAT_RETURN value;
        char wanted[TEXT_MAX];
        char wanted_minor[TEXT_MAX];
        bool differs;
};

static DAT_RETURN convert(void *arg)
{
        struct conversion *conversion = arg;
        struct text text = {NULL, NULL};
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; i < ROUNDS && dat_is(ret, DAT_SUCCESS); i++) {
                ret = dat_strerror(conversion->value, &text.major, &text.minor);
                if (dat_is(ret, DAT_SUCCESS) && (strcmp(text.major, conversion->wanted) != 0 ||
                                                 strcmp(text.minor, conversion->wanted_minor) != 0))
                        conversion->differs = true;
        }
        return ret;
}

static void keep_wanted(struct test *t, struct conversion *conversion)
{
        struct text text = texts_of(t, conversion->value);

        expect_readable(t, text.minor);
        keep(conversion->wanted, text.major);
        keep(conversion->wanted_minor, text.minor);
}

CASE(strerror, by_threads)
{
        static struct conversion one = {
            .value = ERROR_OF(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED)};
        static struct conversion other = {.value =
                                              ERROR_OF(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3)};
        struct racer racers[] = {{.call = convert, .arg = &one}, {.call = convert, .arg = &other}};
        struct stress stress = stress_of(t, 40);

        keep_wanted(t, &one);
        keep_wanted(t, &other);
        while (stress.met < MEETINGS && stress_round(&stress)) {
                stress_met(&stress, race(racers, 2));
                expect(racers[0].ret, DAT_SUCCESS);
                expect(racers[1].ret, DAT_SUCCESS);
                expect_that(!one.differs && !other.differs, "a thread was given another text");
        }
        must_have_met(&stress);
}

LEGAL(strerror)
{
        static struct text text;

        (void)t;
        call->status = ERROR_OF(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
        call->major_message = &text.major;
        call->minor_message = &text.minor;
}
