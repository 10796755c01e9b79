/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/standard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case/object_state.h"
#include "case/test.h"
#include "evidence/trace.h"

#define TEXT_MAX 128

/* The legal call, in memory that lives as long as the process of the case. */
static void *legal_call(struct test *t, const struct standard_call *standard)
{
        char *call = calloc(1, standard->size + sizeof(DAT_HANDLE));

        if (!call)
                resource(t, "no memory for the arguments of %s", standard->name);
        standard->legal(t, call);
        if (standard->makes) {
                DAT_HANDLE *place = (DAT_HANDLE *)(void *)(call + standard->size);

                memcpy(call + standard->made, &place, sizeof(place));
        }
        return call;
}

/* The place of the check: the [standard] table, with the call as a reader would write it. */
static struct check_site site_of(const struct test *t, char text[TEXT_MAX],
                                 const struct standard_call *standard, const char *argument,
                                 const char *what)
{
        snprintf(text, TEXT_MAX, "%s(%s: %s)", standard->name, argument, what);
        return (struct check_site){.file = t->entry->file, .line = t->entry->line, .text = text};
}

static const char *words(enum bad_handle how)
{
        switch (how) {
        case BAD_HANDLE_NULL:
                return "DAT_HANDLE_NULL";
        case BAD_HANDLE_DESTROYED:
                return "of an object that is gone";
        case BAD_HANDLE_OTHER_KIND:
                return "of a live object of another kind";
        case BAD_HANDLE_SIBLING:
                return "of a live object of the nearest kind";
        case BAD_HANDLE_OTHER_IA:
                return "of another IA";
        }
        return "a bad handle";
}

/* What a granted call made is the case's. */
static void take_made(struct test *t, const struct standard_call *standard, const char *call)
{
        DAT_HANDLE made;

        if (!standard->makes)
                return;
        memcpy(&made, call + standard->size, sizeof(made));
        adopt(t, standard->made_type, made);
}

static void expect_legal(struct test *t, const struct standard_call *standard, const char *call)
{
        char text[TEXT_MAX];
        struct check_site site = site_of(t, text, standard, "all", "legal");

        check_expect(t, &site, standard->make(call), DAT_SET_(DAT_SUCCESS), 1);
        take_made(t, standard, call);
}

/*
 * A null handle is the registry's to refuse, the legal call the provider's to grant: one that is
 * refused is a matter of other clauses.
 */
static void must_be_legal(struct test *t, const struct standard_call *standard, const char *call)
{
        char text[TEXT_MAX];
        struct check_site site = site_of(t, text, standard, "all", "legal");

        check_must_that(t, &site, NULL, dat_is(standard->make(call), DAT_SUCCESS),
                        "the call was refused");
        take_made(t, standard, call);
}

struct apart {
        const struct standard_call *standard;
        const void *call;
};

static DAT_RETURN make_apart(void *arg)
{
        const struct apart *apart = arg;

        return apart->standard->make(apart->call);
}

static void ended_apart(struct test *t, const struct check_site *site)
{
        check_seen(t, site, true, false, "", "an answer", "the call ended its process");
}

/* A site whose text names the call that was made since, where it names a helper of the case. */
static struct check_site site_of_made(const struct check_site *site, uint64_t before,
                                      char text[TEXT_MAX])
{
        const char *made = trace_count() > before ? trace_name_of(trace_count()) : NULL;
        struct check_site named = *site;

        if (!made || strncmp(site->text, "dat_", 4) == 0)
                return named;
        snprintf(text, TEXT_MAX, "%s of a handle that is gone", made);
        named.text = text;
        return named;
}

/*
 * Returns whether the call came back, or need not. GEN-1: by DAT 2.0 the registry itself follows
 * the handle, and may die of it.
 */
static bool answered_apart(struct test *t, const struct check_site *site,
                           DAT_RETURN (*call)(void *arg), void *arg, DAT_RETURN refused)
{
        uint64_t before = trace_count();
        DAT_RETURN ret = refused;
        bool came_back = subprocess_call(t, call, arg, &ret);
        bool says_why = !dat_is(ret, DAT_SUCCESS) && !dat_is(ret, DAT_INTERNAL_ERROR);
        char text[TEXT_MAX];
        struct check_site named = site_of_made(site, before, text);

        if (came_back)
                check_expect_or_note(t, &named, ret, refused, says_why ? &ret : &refused, 1);
        else if (REGISTRY_FOLLOWS_HANDLES)
                note(t, "the call ended its process, as it may by DAT 2.0 (GEN-1)");
        return came_back || REGISTRY_FOLLOWS_HANDLES;
}

bool stale_answered(struct test *t, const struct check_site *site, DAT_RETURN (*call)(void *handle),
                    DAT_HANDLE handle)
{
        if (object_find(t, handle)) {
                note(t, "an object that was made since has the handle (GEN-1)");
                return true;
        }
        return answered_apart(t, site, call, handle, DAT_INVALID_HANDLE);
}

void stale_ended(struct test *t, const struct check_site *site, DAT_RETURN (*call)(void *handle),
                 DAT_HANDLE live)
{
        struct object *object = object_find(t, live);

        /* A call that never works crashes here, in the case's process: the crash names it. */
        (void)call(live);
        t->has_unowned = true;
        if (object)
                object_remove(t, object);
        ended_apart(t, site);
}

/* The objects that a call names, as they are before it. */
struct named_objects {
        struct object_state good[STANDARD_OBJECTS];
        struct object_state bad;
};

static bool is_live(enum bad_handle how)
{
        return how != BAD_HANDLE_NULL && how != BAD_HANDLE_DESTROYED;
}

static void look_at_objects(struct test *t, struct named_objects *named,
                            const struct standard_call *standard, const char *call,
                            const struct standard_handle *handle, DAT_HANDLE bad)
{
        suite_that(standard->object_count <= STANDARD_OBJECTS, "%s names %zu objects",
                   standard->name, standard->object_count);
        for (size_t i = 0; i < standard->object_count; i++) {
                const struct standard_object *object = &standard->objects[i];
                DAT_HANDLE good;

                memcpy(&good, call + object->offset, sizeof(good));
                named->good[i] = object_state(t, object->type, good);
        }
        named->bad = object_state(t, bad_handle_type(t, handle->type, handle->how),
                                  is_live(handle->how) ? bad : DAT_HANDLE_NULL);
}

/* Before the legal call, which could repair what the refused one changed. */
static void expect_objects_kept(struct test *t, const struct check_site *site,
                                const struct named_objects *named,
                                const struct standard_call *standard)
{
        for (size_t i = 0; i < standard->object_count; i++)
                expect_object_kept(t, site, &named->good[i], standard->objects[i].argument);
        expect_object_kept(t, site, &named->bad, "the object of the bad handle");
}

/* GEN-12: a provider whose IAs share everything may do what it is asked: whether it did. */
static bool expect_foreign(struct test *t, const struct check_site *site,
                           const struct standard_call *standard, const char *call)
{
        DAT_RETURN ret =
            check_expect(t, site, standard->make(call),
                         DAT_SET_(DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_SUCCESS), 3);

        if (!dat_is(ret, DAT_SUCCESS))
                return false;
        note(t, "granted, though the object is another IA's (GEN-12)");
        take_made(t, standard, call);
        return true;
}

/* A provider may tell one kind from the argument's, and not the others. */
static void expect_other_kinds_refused(struct test *t, const struct standard_call *standard,
                                       const struct standard_handle *handle, char *call)
{
        static const struct {
                DAT_HANDLE_TYPE type;
                const char *words;
        } kinds[] = {
            {DAT_HANDLE_TYPE_CNO, "of a live CNO"}, {DAT_HANDLE_TYPE_EVD, "of a live EVD"},
            {DAT_HANDLE_TYPE_LMR, "of a live LMR"}, {DAT_HANDLE_TYPE_PZ, "of a live PZ"},
            {DAT_HANDLE_TYPE_RMR, "of a live RMR"},
        };
        DAT_HANDLE_TYPE asked = bad_handle_type(t, handle->type, handle->how);

        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
                char text[TEXT_MAX];
                struct check_site site =
                    site_of(t, text, standard, handle->argument, kinds[i].words);
                DAT_HANDLE bad = DAT_HANDLE_NULL;

                if (kinds[i].type != handle->type && kinds[i].type != asked)
                        bad = live_handle_if_made(t, kinds[i].type);
                if (bad == DAT_HANDLE_NULL)
                        continue;
                memcpy(call + handle->offset, &bad, sizeof(bad));
                check_expect(t, &site, standard->make(call), &standard->refused, 1);
        }
}

void standard_bad_handle(struct test *t, const struct standard_call *standard,
                         const struct standard_handle *handle)
{
        char *call = legal_call(t, standard);
        DAT_HANDLE good;
        DAT_HANDLE bad = bad_handle(t, handle->type, handle->how);
        char text[TEXT_MAX];
        struct check_site site = site_of(t, text, standard, handle->argument, words(handle->how));
        struct named_objects named;
        bool granted = false;

        look_at_objects(t, &named, standard, call, handle, bad);
        memcpy(&good, call + handle->offset, sizeof(good));
        memcpy(call + handle->offset, &bad, sizeof(bad));
        if (handle->how == BAD_HANDLE_DESTROYED) {
                if (!answered_apart(t, &site, make_apart,
                                    &(struct apart){.standard = standard, .call = call},
                                    standard->refused))
                        ended_apart(t, &site);
        } else if (handle->how == BAD_HANDLE_OTHER_IA) {
                granted = expect_foreign(t, &site, standard, call);
        } else {
                check_expect(t, &site, standard->make(call), &standard->refused, 1);
        }
        if (handle->how == BAD_HANDLE_OTHER_KIND)
                expect_other_kinds_refused(t, standard, handle, call);
        if (!granted)
                expect_objects_kept(t, &site, &named, standard);
        memcpy(call + handle->offset, &good, sizeof(good));
        if (handle->how == BAD_HANDLE_NULL)
                must_be_legal(t, standard, call);
        else
                expect_legal(t, standard, call);
}

void standard_destroyed_srq(struct test *t, const struct standard_call *standard,
                            const char *argument, size_t offset)
{
        char *call = legal_call(t, standard);
        DAT_HANDLE bad = bad_handle(t, DAT_HANDLE_TYPE_SRQ, BAD_HANDLE_DESTROYED);
        struct apart apart = {.standard = standard, .call = call};
        char text[TEXT_MAX];
        struct check_site site = site_of(t, text, standard, argument, words(BAD_HANDLE_DESTROYED));
        DAT_RETURN ret;

        memcpy(call + offset, &bad, sizeof(bad));
        if (subprocess_call(t, make_apart, &apart, &ret))
                check_expect_or_note(
                    t, &site, ret, standard->refused,
                    DAT_SET_(DAT_INVALID_PARAMETER, DAT_INVALID_STATE, DAT_SUCCESS), 3);
        else
                note(t, "the call crashed, as it may with a destroyed SRQ (GEN-1)");
}

void standard_null_pointer(struct test *t, const struct standard_call *standard,
                           const char *argument, size_t offset)
{
        char *call = legal_call(t, standard);
        struct apart apart = {.standard = standard, .call = call};
        void *good;
        void *none = NULL;
        char what[TEXT_MAX];

        memcpy(&good, call + offset, sizeof(good));
        memcpy(call + offset, &none, sizeof(none));
        snprintf(what, sizeof(what), "%s with a null %s", standard->name, argument);
        unjudged_call(t, what, make_apart, &apart, standard->makes);
        memcpy(call + offset, &good, sizeof(good));
        expect_legal(t, standard, call);
}
