/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of IAs, and those of any handle, of texts and of the registry. */
#include <string.h>

#include "case.h"
#include "walk.h"

#define LISTED_MOST 4 /* providers of the registry */

static DAT_RETURN private_again(struct walk *walk, const long *arg)
{
        (void)arg;
        walk_look_again(walk);
        return walk->said;
}

static DAT_RETURN handle_type(struct walk *walk, const long *arg)
{
        DAT_HANDLE_TYPE type;

        return dat_get_handle_type(walk_object(walk, arg[0]), &type);
}

static DAT_RETURN handle_set_context(struct walk *walk, const long *arg)
{
        return dat_set_consumer_context(walk_object(walk, arg[0]),
                                        (DAT_CONTEXT){.as_64 = (DAT_UINT64)arg[1]});
}

static DAT_RETURN handle_get_context(struct walk *walk, const long *arg)
{
        DAT_CONTEXT context;

        return dat_get_consumer_context(walk_object(walk, arg[0]), &context);
}

static DAT_RETURN strerror_of(struct walk *walk, const long *arg)
{
        const char *major, *minor;

        (void)walk;
        return dat_strerror((DAT_RETURN)arg[0], &major, &minor);
}

static DAT_RETURN registry_list(struct walk *walk, const long *arg)
{
        DAT_PROVIDER_INFO info[LISTED_MOST];
        DAT_PROVIDER_INFO *to[LISTED_MOST];
        DAT_COUNT told;

        (void)walk;
        for (unsigned int i = 0; i < LISTED_MOST; i++)
                to[i] = &info[i];
        return dat_registry_list_providers(count_of(arg[0]), &told, to);
}

static DAT_RETURN ia_open_other(struct walk *walk, const long *arg)
{
        struct test *t = walk->t;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        if (walk->other != DAT_HANDLE_NULL)
                return walk->said;
        ret =
            dat_ia_openv(ia_name(t), count_of(arg[0]), &async, &made, DAT_VERSION_MAJOR,
                         DAT_VERSION_MINOR, t->settings->probe->threadsafe ? DAT_TRUE : DAT_FALSE);
        if (dat_is(ret, DAT_SUCCESS)) {
                memset(walk->freed, 0, sizeof(walk->freed));
                walk->other = made;
                walk->at[EVD][OTHER_ASYNC_SLOT] = async;
                walk->of_other[EVD][OTHER_ASYNC_SLOT] = true;
        }
        return ret;
}

static DAT_RETURN ia_query(struct walk *walk, const long *arg)
{
        DAT_EVD_HANDLE async;
        DAT_IA_ATTR ia_told;
        DAT_PROVIDER_ATTR provider_told;

        return dat_ia_query(arg[0] ? walk->other : walk->t->ia, &async, DAT_IA_FIELD_ALL, &ia_told,
                            DAT_PROVIDER_FIELD_ALL, &provider_told);
}

/* What is made of an IA goes with it. */
static DAT_RETURN ia_close_other(struct walk *walk, const long *arg)
{
        DAT_RETURN ret;

        walk_join(walk, NO_OBJECT);
        walk_look_again(walk);
        for (unsigned int slot = 0; slot < SLOTS; slot++) {
                if (walk->of_other[EP][slot])
                        walk_forget(walk, walk->at[EP][slot]);
                if (walk->of_other[CR][slot])
                        walk_forget(walk, walk->at[CR][slot]);
        }
        ret = dat_ia_close(walk->other, arg[0] ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG);
        if (!dat_is(ret, DAT_SUCCESS))
                return ret;
        walk->other = DAT_HANDLE_NULL;
        memset(walk->freed, 0, sizeof(walk->freed));
        for (enum kind kind = PZ; kind < KINDS; kind++)
                for (unsigned int slot = 0; slot < SLOTS; slot++)
                        if (walk->of_other[kind][slot])
                                walk->at[kind][slot] = DAT_HANDLE_NULL;
        return ret;
}

const struct move ia_moves[] = {
    {.name = "ia_open", .args = 1, .take = ia_open_other},
    STEP(ia_query, 1),
    {.name = "ia_close", .args = 1, .take = ia_close_other},
    STEP(private_again, 0),
    STEP(handle_type, 1),
    STEP(handle_set_context, 2),
    STEP(handle_get_context, 1),
    {.name = "error_text", .args = 1, .take = strerror_of},
    STEP(registry_list, 1),
    {.name = NULL},
};
