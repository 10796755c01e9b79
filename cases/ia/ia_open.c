/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_open: by which names, with which asynchronous EVD, and what each instance has of its own.
 */
#include "clauses/ia_open.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/handle/shared/object.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/under_test.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#define NAME_SPACE   (1 << 16)
#define ENTRIES_MAX  4096 /* of dat.conf */
#define INSTANCES    24   /* at once */
#define THREADS      3
#define PROCESSES    3
#define MANY         40 /* rounds */
#define MET          3
#define QLEN_UNASKED 16 /* where a case does not care */

CASE(ia_open, opened)
{
        struct instance instance = instance_new(t);
        DAT_HANDLE_TYPE type = (DAT_HANDLE_TYPE)-1;

        expect(dat_get_handle_type(instance.ia, &type), DAT_SUCCESS);
        expect_eq(type, DAT_HANDLE_TYPE_IA);
        expect_instance_works(t, instance.ia);
        expect_instance_works(t, ia(t));
}

/*
 * Names
 */

/* A string at a place that has room for it. */
static void put(char *at, const char *text)
{
        memcpy(at, text, strlen(text) + 1);
}

/* Opens by this name: no such IA is registered. A legal open follows. */
static void expect_no_such_name(struct test *t, const char *name, bool too_long)
{
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;

        expect(dat_ia_open((DAT_NAME_PTR)name, QLEN_UNASKED, &async, &made), DAT_PROVIDER_NOT_FOUND,
               too_long ? DAT_INVALID_PARAMETER : DAT_PROVIDER_NOT_FOUND);
        (void)instance_new(t);
}

static void no_bytes(char *name, size_t length)
{
        (void)length;
        name[0] = '\0';
}

static void one_more(char *name, size_t length)
{
        put(name + length, "\x7f");
}

static void other_last(char *name, size_t length)
{
        name[length - 1] = '\x7f';
}

static void other_first(char *name, size_t length)
{
        (void)length;
        name[0] = '\x7f';
}

static void space_before(char *name, size_t length)
{
        memmove(name + 1, name, length + 1);
        name[0] = ' ';
}

static void space_behind(char *name, size_t length)
{
        put(name + length, " ");
}

static void line_behind(char *name, size_t length)
{
        put(name + length, "\n");
}

static void quoted(char *name, size_t length)
{
        memmove(name + 1, name, length);
        name[0] = '"';
        put(name + length + 1, "\"");
}

static void only_space(char *name, size_t length)
{
        (void)length;
        put(name, " ");
}

static void high_bytes(char *name, size_t length)
{
        (void)length;
        put(name, "\xff\xfe\x80");
}

static void percents(char *name, size_t length)
{
        (void)length;
        put(name, "%s%s%s%s%n%n%n%n");
}

static void longest(char *name, size_t length)
{
        (void)length;
        memset(name, 'n', DAT_NAME_MAX_LENGTH - 1);
        name[DAT_NAME_MAX_LENGTH - 1] = '\0';
}

static void one_too_long(char *name, size_t length)
{
        (void)length;
        memset(name, 'n', DAT_NAME_MAX_LENGTH);
        name[DAT_NAME_MAX_LENGTH] = '\0';
}

static void far_too_long(char *name, size_t length)
{
        (void)length;
        memset(name, 'n', NAME_SPACE - 1);
        name[NAME_SPACE - 1] = '\0';
}

/* The name of the IA, and more behind it than any name has. */
static void known_too_long(char *name, size_t length)
{
        memset(name + length, 'n', NAME_SPACE - 1 - length);
        name[NAME_SPACE - 1] = '\0';
}

static const struct unknown {
        const char *id;
        void (*alter)(char *name, size_t length); /* from that of the case's IA */
        bool too_long;
} unknowns[] = {
    {"empty", no_bytes, .too_long = false},
    {"one_more", one_more, .too_long = false},
    {"other_last", other_last, .too_long = false},
    {"other_first", other_first, .too_long = false},
    {"space_before", space_before, .too_long = false},
    {"space_behind", space_behind, .too_long = false},
    {"line_behind", line_behind, .too_long = false},
    {"quoted", quoted, .too_long = false},
    {"only_space", only_space, .too_long = false},
    {"high_bytes", high_bytes, .too_long = false},
    {"percents", percents, .too_long = false},
    {"longest", longest, .too_long = false},
    {"one_too_long", one_too_long, .too_long = true},
    {"far_too_long", far_too_long, .too_long = true},
    {"known_too_long", known_too_long, .too_long = true},
};

FAMILY(ia_open, name_unknown, unknowns)
{
        static char name[NAME_SPACE];

        suite_that(strlen(ia_name(t)) < DAT_NAME_MAX_LENGTH, "the IA's name is too long");
        put(name, ia_name(t));
        row->alter(name, strlen(name));

        expect_no_such_name(t, name, row->too_long);
}

/* The consumer's memory with the name is its own again when the call returns. */
CASE(ia_open, name_is_read_once)
{
        char name[DAT_NAME_MAX_LENGTH + 1];
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;

        suite_that(strlen(ia_name(t)) < sizeof(name), "the IA's name is too long");
        put(name, ia_name(t));
        expect(dat_ia_open(name, QLEN_UNASKED, &async, &made), DAT_SUCCESS);
        poison(name, sizeof(name));

        expect_instance_works(t, made);
        expect(dat_ia_close(made, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        expect_that(is_poison(name, sizeof(name)), "the consumer's name was written");
}

/* The entries of dat.conf by this name and this version. */
static size_t entries_named(struct test *t, const char *name, DAT_PROVIDER_INFO *found, size_t most)
{
        static DAT_PROVIDER_INFO infos[ENTRIES_MAX];
        static DAT_PROVIDER_INFO *list[ENTRIES_MAX];
        DAT_COUNT count = 0;
        size_t matched = 0;

        for (int i = 0; i < ENTRIES_MAX; i++)
                list[i] = &infos[i];
        must(dat_registry_list_providers(ENTRIES_MAX, &count, list));
        for (DAT_COUNT i = 0; i < count && i < ENTRIES_MAX && matched < most; i++)
                if (strcmp(infos[i].ia_name, name) == 0 &&
                    infos[i].dapl_version_major == DAT_VERSION_MAJOR &&
                    infos[i].dapl_version_minor == DAT_VERSION_MINOR)
                        found[matched++] = infos[i];
        return matched;
}

CASE(ia_open, listed_names)
{
        DAT_PROVIDER_INFO found[4];
        size_t count = entries_named(t, ia_name(t), found, 4);

        expect_that(count > 0, "the registry does not list the IA's name");
        for (size_t i = 0; i < count; i++) {
                DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
                DAT_IA_HANDLE made = DAT_HANDLE_NULL;

                expect(dat_ia_openv(found[i].ia_name, QLEN_UNASKED, &async, &made,
                                    found[i].dapl_version_major, found[i].dapl_version_minor,
                                    found[i].is_thread_safe),
                       DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_IA, made);
                expect_instance_works(t, made);
        }
}

/* An instance by each kind of entry, and what it says of its safety. */
CASE(ia_open, threadsafe_beside)
{
        DAT_PROVIDER_ATTR attr;
        struct instance plain = instance_new(t);
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE safe = DAT_HANDLE_NULL;

        expect(dat_ia_openv(ia_name(t), QLEN_UNASKED, &async, &safe, DAT_VERSION_MAJOR,
                            DAT_VERSION_MINOR, DAT_TRUE),
               DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_IA, safe);
        poison((void *)&attr, sizeof(attr));
        expect(dat_ia_query(safe, &async, DAT_IA_FIELD_NONE, NULL,
                            DAT_PROVIDER_FIELD_IS_THREAD_SAFE, &attr),
               DAT_SUCCESS);
        expect_eq(attr.is_thread_safe, DAT_TRUE);
        expect_that(safe != plain.ia, "two instances have one handle");
        expect_instance_works(t, safe);
        expect_instance_works(t, plain.ia);
}

CASE(ia_open, relaxed_ordering_prefix)
{
        char name[DAT_NAME_MAX_LENGTH + 16] = "RO_AWARE_";
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        suite_that(strlen(ia_name(t)) < DAT_NAME_MAX_LENGTH, "the IA's name is too long");
        put(name + strlen(name), ia_name(t));
        ret = expect(dat_ia_open(name, QLEN_UNASKED, &async, &made), DAT_SUCCESS,
                     DAT_PROVIDER_NOT_FOUND);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_IA, made);
        expect_instance_works(t, made);
}

/*
 * The asynchronous EVD that is made
 */

CASE(ia_open, async_made)
{
        struct instance instance = instance_new(t);
        DAT_HANDLE_TYPE type = (DAT_HANDLE_TYPE)-1;
        DAT_EVD_PARAM param;

        expect_that(instance.async != DAT_HANDLE_NULL, "no asynchronous EVD was made");
        expect(dat_get_handle_type(instance.async, &type), DAT_SUCCESS);
        expect_eq(type, DAT_HANDLE_TYPE_EVD);
        param = evd_param(t, instance.async);
        expect_that(param.evd_flags & DAT_EVD_ASYNC_FLAG, "the EVD takes no asynchronous events");
        expect_that(param.ia_handle == instance.ia, "the EVD is of another IA");
        expect_that(async_told(t, instance.ia) == instance.async,
                    "the instance tells another asynchronous EVD");
}

CASE(ia_open, async_has_no_cno)
{
        struct instance instance = instance_new(t);

        expect_that(evd_param(t, instance.async).cno_handle == DAT_HANDLE_NULL,
                    "the asynchronous EVD has a CNO");
}

CASE(ia_open, async_takes_cno)
{
        DAT_CNO_HANDLE cno = cno_new(t);

        expect(dat_evd_modify_cno(async_evd(t), cno), DAT_SUCCESS);
        expect_that(evd_param(t, async_evd(t)).cno_handle == cno, "the EVD has another CNO");
        expect(dat_evd_modify_cno(async_evd(t), DAT_HANDLE_NULL), DAT_SUCCESS);
        expect_that(evd_param(t, async_evd(t)).cno_handle == DAT_HANDLE_NULL, "the EVD has a CNO");
}

/* So many places, or as many as an EVD may have. */
static DAT_COUNT places(struct test *t, DAT_COUNT wanted)
{
        DAT_COUNT most = ia_attr(t)->max_evd_qlen;

        return wanted < most ? wanted : most;
}

CASE(ia_open, async_resizes)
{
        struct instance instance = instance_with(t, 8, DAT_HANDLE_NULL);
        DAT_COUNT wanted = places(t, 100);

        expect(dat_evd_resize(instance.async, wanted), DAT_SUCCESS);
        expect_that(evd_param(t, instance.async).evd_qlen >= wanted,
                    "the EVD has %d places, not %d", evd_param(t, instance.async).evd_qlen, wanted);
        expect_that(async_told(t, instance.ia) == instance.async,
                    "the instance tells another asynchronous EVD");
}

static const struct length {
        const char *id;
        DAT_COUNT qlen; /* 0: the most that the IA has */
} lengths[] = {
    {"one", 1},       {"two", 2},      {"seven", 7},        {"seventeen", 17},
    {"hundred", 100}, {"other", 1021}, {"thousands", 5000}, {"most", .qlen = 0},
};

FAMILY(ia_open, async_length, lengths)
{
        DAT_COUNT qlen = row->qlen ? places(t, row->qlen) : ia_attr(t)->max_evd_qlen;
        struct instance instance = instance_with(t, qlen, DAT_HANDLE_NULL);

        expect_that(evd_param(t, instance.async).evd_qlen >= qlen, "the EVD has %d places, not %d",
                    evd_param(t, instance.async).evd_qlen, qlen);
}

/* No place is refused, or given as the provider's least. */
CASE(ia_open, async_length_zero)
{
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret =
            expect(dat_ia_open(ia_name(t), 0, &async, &made), DAT_SUCCESS, DAT_INVALID_PARAMETER);

        if (dat_is(ret, DAT_SUCCESS))
                adopt(t, DAT_HANDLE_TYPE_IA, made);
        (void)instance_new(t);
}

/* More places than any EVD has: refused, or given. */
CASE(ia_open, async_length_beyond)
{
        struct usage before = usage_now(t);
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(dat_ia_open(ia_name(t), INT_MAX, &async, &made), DAT_SUCCESS,
                                DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER);

        if (dat_is(ret, DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_IA, made);
                expect_eq(evd_param(t, async).evd_qlen, INT_MAX);
                return;
        }
        expect_nothing_left(t, &before, "an open that was refused");
        (void)instance_new(t);
}

static const struct length negatives[] = {
    {"minus_one", -1},
    {"most_negative", INT_MIN},
};

FAMILY(ia_open, async_length_negative, negatives)
{
        struct usage before = usage_now(t);
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;

        expect(dat_ia_open(ia_name(t), row->qlen, &async, &made), DAT_INVALID_PARAMETER);

        expect_nothing_left(t, &before, "an open that was refused");
        (void)instance_new(t);
}

/*
 * An asynchronous EVD that is given
 */

static DAT_EVD_HANDLE evd_of_first(struct test *t)
{
        return async_told(t, other_ia(t));
}

static DAT_EVD_HANDLE evd_made(struct test *t)
{
        return evd_with(t, .ia = other_ia(t), .flags = DAT_EVD_ASYNC_FLAG);
}

/* The one of an instance that has it from another instance. */
static DAT_EVD_HANDLE evd_passed_on(struct test *t)
{
        return instance_with(t, QLEN_UNASKED, evd_of_first(t)).async;
}

static DAT_EVD_HANDLE evd_grown(struct test *t)
{
        DAT_EVD_HANDLE evd = evd_made(t);

        must(dat_evd_resize(evd, places(t, 200)));
        return evd;
}

static DAT_EVD_HANDLE evd_with_cno(struct test *t)
{
        DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

        must(dat_cno_create(other_ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, cno);
        return evd_with(t, .ia = other_ia(t), .flags = DAT_EVD_ASYNC_FLAG, .cno = cno);
}

static const struct given {
        const char *id;
        DAT_EVD_HANDLE (*evd)(struct test *t);
} givens[] = {
    {"of_first", evd_of_first}, {"made", evd_made},         {"passed_on", evd_passed_on},
    {"grown", evd_grown},       {"with_cno", evd_with_cno},
};

FAMILY(ia_open, async_given, givens)
{
        DAT_EVD_HANDLE evd = row->evd(t);
        struct instance instance = instance_with(t, QLEN_UNASKED, evd);

        expect_that(instance.async == evd, "the handle that was given has changed");
        expect_that(async_told(t, instance.ia) == evd, "the instance tells another EVD");
        expect_instance_works(t, instance.ia);
}

FAMILY(ia_open, async_given_unchanged, givens)
{
        DAT_EVD_HANDLE evd = row->evd(t);
        DAT_EVD_PARAM before = evd_param(t, evd);
        DAT_EVD_PARAM after;

        (void)instance_with(t, 1000, evd);

        after = evd_param(t, evd);
        expect_that(after.ia_handle == before.ia_handle, "the EVD is of another IA now");
        expect_that(after.cno_handle == before.cno_handle, "the EVD has another CNO");
        expect_eq(after.evd_qlen, before.evd_qlen);
        expect_eq(after.evd_flags, before.evd_flags);
        expect_eq(after.evd_state, before.evd_state);
}

static const struct length ignored[] = {
    {"none", 0}, {"one", 1}, {"minus_one", -1}, {"most_negative", INT_MIN}, {"most", INT_MAX},
};

FAMILY(ia_open, length_ignored, ignored)
{
        DAT_EVD_HANDLE evd = evd_of_first(t);
        DAT_COUNT before = evd_param(t, evd).evd_qlen;

        (void)instance_with(t, row->qlen, evd);

        expect_eq(evd_param(t, evd).evd_qlen, before);
}

/* The event of a mark of the instance's SRQ comes to the EVD that it was given. */
FAMILY(ia_open, async_given_hears, givens)
{
        struct armed armed;

        (void)ia_attr(t);
        must(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG));
        ia_closed(t);
        ia_reopen(t, row->evd(t));
        armed = armed_with(t, 4, 3);

        flow_deliver(t, &armed.flow, 2);

        expect_mark_event(t, &armed);
}

/* What is given, and is no asynchronous EVD of this IA. */
static DAT_HANDLE not_async(struct test *t)
{
        return evd_with(t, .flags = DAT_EVD_DTO_FLAG);
}

static DAT_HANDLE no_evd(struct test *t)
{
        return pz_new(t);
}

static DAT_HANDLE a_cno(struct test *t)
{
        return cno_new(t);
}

static DAT_HANDLE gone(struct test *t)
{
        return bad_handle(t, DAT_HANDLE_TYPE_EVD, BAD_HANDLE_DESTROYED);
}

static const struct invalid {
        const char *id;
        DAT_HANDLE (*handle)(struct test *t);
} invalids[] = {
    {"not_async", not_async},
    {"zone", no_evd},
    {"cno", a_cno},
    {"destroyed", gone},
};

struct opening {
        struct test *t;
        DAT_EVD_HANDLE evd;
};

static DAT_RETURN open_with(void *arg)
{
        struct opening *opening = arg;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_EVD_HANDLE given = opening->evd;
        DAT_RETURN ret = dat_ia_open(ia_name(opening->t), QLEN_UNASKED, &given, &made);

        return given == opening->evd ? ret : DAT_INTERNAL_ERROR;
}

/* A provider may look, or not: it may also die of what it does not look at. */
FAMILY(ia_open, async_invalid, invalids)
{
        struct opening opening = {.t = t, .evd = row->handle(t)};
        DAT_RETURN ret = DAT_INVALID_HANDLE;

        if (subprocess_call(t, open_with, &opening, &ret))
                expect_or_note(ret, DAT_INVALID_HANDLE, DAT_SUCCESS);
        else
                note(t, "the open of an EVD that is none ended its process");
        expect_instance_works(t, instance_new(t).ia);
}

/* Refused, by a provider that looks: nothing is left, and nothing was taken. */
CASE(ia_open, async_refusal_leaves_nothing)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG);
        DAT_EVD_PARAM param = evd_param(t, evd);
        DAT_EVD_PARAM after;
        struct usage before = usage_now(t);
        DAT_EVD_HANDLE given = evd;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;

        if (dat_is(expect(dat_ia_open(ia_name(t), QLEN_UNASKED, &given, &made), DAT_INVALID_HANDLE,
                          DAT_SUCCESS),
                   DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_IA, made);
                end_noted(t, "an EVD for completions is taken for asynchronous events");
        }
        expect_that(given == evd, "the handle that was given has changed");
        expect_nothing_left(t, &before, "an open that was refused");
        expect(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &after), DAT_SUCCESS);
        expect_eq(after.evd_flags, param.evd_flags);
        expect(dat_evd_free(evd), DAT_SUCCESS);
        disown(t, evd);
}

/*
 * An EVD that exists elsewhere
 */

static void alone(struct test *t)
{
        must(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG));
        ia_closed(t);
        ia_reopen(t, DAT_EVD_ASYNC_EXISTS);
}

static void beside(struct test *t)
{
        (void)other_ia(t);
        alone(t);
}

static const struct elsewhere {
        const char *id;
        void (*open)(struct test *t);
} elsewheres[] = {
    {"alone", alone},
    {"beside", beside},
};

CASE(ia_open, async_exists)
{
        struct instance instance = instance_with(t, QLEN_UNASKED, DAT_EVD_ASYNC_EXISTS);
        DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_EVD;

        if (instance.async != DAT_EVD_OUT_OF_SCOPE && instance.async != DAT_EVD_ASYNC_EXISTS)
                expect(dat_get_handle_type(instance.async, &type), DAT_SUCCESS);
        expect_eq(type, DAT_HANDLE_TYPE_EVD);
        expect_that(async_told(t, instance.ia) == instance.async,
                    "the instance tells another asynchronous EVD");
        expect_instance_works(t, instance.ia);
}

/* A request is heard and accepted, though nobody here hears of asynchronous events. */
FAMILY(ia_open, async_exists_works, elsewheres)
{
        DAT_EVD_HANDLE evd;
        DAT_PSP_HANDLE psp;
        DAT_CONN_QUAL qual;

        row->open(t);
        evd = request_evd(t);
        psp = psp_new(t, evd, DAT_PSP_CONSUMER_FLAG, &qual);
        expect_served(t, psp, qual, evd);
}

/*
 * Instances
 */

static const struct many {
        const char *id;
        int count;
} manies[] = {
    {"two", 2},
    {"eight", 8},
    {"many", INSTANCES},
};

static void expect_distinct(struct test *t, const DAT_HANDLE *handles, int count)
{
        for (int i = 0; i < count; i++)
                for (int j = 0; j < i; j++)
                        expect_that(handles[i] != handles[j],
                                    "instances %d and %d have the same handle", j, i);
}

FAMILY(ia_open, unique_handle, manies)
{
        DAT_HANDLE ias[INSTANCES + 1] = {ia(t)};
        DAT_HANDLE asyncs[INSTANCES + 1] = {async_evd(t)};

        for (int i = 1; i <= row->count; i++) {
                struct instance instance = instance_new(t);

                ias[i] = instance.ia;
                asyncs[i] = instance.async;
        }
        expect_distinct(t, ias, row->count + 1);
        expect_distinct(t, asyncs, row->count + 1);
}

/* All are used, one after the other is closed, in an order that is drawn, and the others stay. */
FAMILY(ia_open, instances, manies, DEADLINE_MS(20000))
{
        struct instance instances[INSTANCES];
        int left = row->count;

        for (int i = 0; i < left; i++)
                instances[i] = instance_new(t);
        for (int i = 0; i < left; i++)
                expect_instance_works(t, instances[i].ia);
        while (left > 0) {
                int chosen = (int)draw(t, (uint64_t)left);

                instance_close(t, &instances[chosen], DAT_CLOSE_GRACEFUL_FLAG);
                instances[chosen] = instances[--left];
                if (left > 0)
                        expect_instance_works(t, instances[draw(t, (uint64_t)left)].ia);
        }
        expect_instance_works(t, ia(t));
}

/* An object is of the instance that it was made of, though others are open. */
static DAT_IA_HANDLE ia_of_evd(DAT_HANDLE made)
{
        DAT_EVD_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_evd_query(made, DAT_EVD_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_cno(DAT_HANDLE made)
{
        DAT_CNO_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_cno_query(made, DAT_CNO_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_pz(DAT_HANDLE made)
{
        DAT_PZ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_pz_query(made, DAT_PZ_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_lmr(DAT_HANDLE made)
{
        DAT_LMR_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_lmr_query(made, DAT_LMR_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_rmr(DAT_HANDLE made)
{
        DAT_RMR_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_rmr_query(made, DAT_RMR_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_ep(DAT_HANDLE made)
{
        DAT_EP_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_ep_query(made, DAT_EP_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_psp(DAT_HANDLE made)
{
        DAT_PSP_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_psp_query(made, DAT_PSP_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_rsp(DAT_HANDLE made)
{
        DAT_RSP_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_rsp_query(made, DAT_RSP_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static DAT_IA_HANDLE ia_of_srq(DAT_HANDLE made)
{
        DAT_SRQ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_srq_query(made, DAT_SRQ_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static const struct owned {
        const char *id;
        DAT_HANDLE_TYPE type;
        DAT_IA_HANDLE (*ia_of)(DAT_HANDLE made);
} owneds[] = {
    {"evd", DAT_HANDLE_TYPE_EVD, ia_of_evd}, {"cno", DAT_HANDLE_TYPE_CNO, ia_of_cno},
    {"pz", DAT_HANDLE_TYPE_PZ, ia_of_pz},    {"lmr", DAT_HANDLE_TYPE_LMR, ia_of_lmr},
    {"rmr", DAT_HANDLE_TYPE_RMR, ia_of_rmr}, {"ep", DAT_HANDLE_TYPE_EP, ia_of_ep},
    {"psp", DAT_HANDLE_TYPE_PSP, ia_of_psp}, {"rsp", DAT_HANDLE_TYPE_RSP, ia_of_rsp},
    {"srq", DAT_HANDLE_TYPE_SRQ, ia_of_srq},
};

FAMILY(ia_open, owner, owneds)
{
        struct live before = live_object(t, row->type, false);
        struct live after;

        (void)instance_new(t);
        after = live_object(t, row->type, false);

        expect_that(row->ia_of(before.handle) == ia(t), "the object is of another IA");
        expect_that(row->ia_of(after.handle) == ia(t), "the later object is of another IA");
}

/* The IA is open in another process too, and stays so with a connection to it. */
CASE(ia_open, several_processes)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct instance instances[8];

        for (int i = 0; i < 8; i++)
                instances[i] = instance_new(t);
        expect_peer_messages(t, end, ep);
        for (int i = 0; i < 8; i++) {
                expect_instance_works(t, instances[i].ia);
                instance_close(t, &instances[i], DAT_CLOSE_ABRUPT_FLAG);
        }
        expect_peer_messages(t, end, ep);
}

/* Processes that begin anew open it beside this one. */
CASE(ia_open, fresh_processes)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        struct consumer *consumers[PROCESSES];
        DAT_IA_HANDLE ias[PROCESSES];

        for (int i = 0; i < PROCESSES; i++) {
                consumers[i] = consumer_of_run(t);
                expect(consumer_open(consumers[i], &key, &ias[i]), DAT_SUCCESS);
        }
        expect_instance_works(t, ia(t));
        for (int i = 0; i < PROCESSES; i++)
                expect(consumer_close(consumers[i], ias[i], DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        expect_instance_works(t, instance_new(t).ia);
}

static DAT_RETURN open_by(void *arg)
{
        struct opening *opening = arg;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

        return dat_ia_open(ia_name(opening->t), QLEN_UNASKED, &async, &opening->evd);
}

CASE(ia_open, any_thread, DEADLINE_MS(20000))
{
        struct stress stress = stress_of(t, MANY);

        while (stress.met < MET && stress_round(&stress)) {
                struct opening openings[THREADS];
                struct racer racers[THREADS];
                DAT_HANDLE made[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        openings[i] = (struct opening){.t = t};
                        racers[i] = (struct racer){.call = open_by, .arg = &openings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        made[i] = openings[i].evd;
                }
                expect_distinct(t, made, THREADS);
                for (int i = 0; i < THREADS; i++) {
                        expect_instance_works(t, made[i]);
                        must(dat_ia_close(made[i], DAT_CLOSE_GRACEFUL_FLAG));
                }
        }
        must_have_met(&stress);
}

/*
 * Resources
 */

static const struct many fews[] = {
    {"none", 0}, {"one", 1}, {"two", 2}, {"four", 4}, {"six", 6}, {"ten", 10},
};

/* So few descriptors are left to the process, and then as many as before. */
FAMILY(ia_open, few_descriptors, fews)
{
        struct usage before = usage_now(t);
        struct rlimit limit, few;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        suite_that(getrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit of descriptors is not told");
        few = (struct rlimit){.rlim_cur = (rlim_t)(before.descriptors - 1 + row->count),
                              .rlim_max = limit.rlim_max};
        suite_that(setrlimit(RLIMIT_NOFILE, &few) == 0, "the limit of descriptors cannot be set");
        ret = dat_ia_open(ia_name(t), QLEN_UNASKED, &async, &made);
        suite_that(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit of descriptors is not reset");

        expect(ret, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                must(dat_ia_close(made, DAT_CLOSE_GRACEFUL_FLAG));
        expect_nothing_left(t, &before, "an open without descriptors");
        expect_instance_works(t, instance_new(t).ia);
}

LEGAL(ia_open)
{
        static DAT_EVD_HANDLE async;

        call->name = ia_name(t);
        call->async_evd_min_qlen = QLEN_UNASKED;
        call->async_evd_handle = &async;
}
