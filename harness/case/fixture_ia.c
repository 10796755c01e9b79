/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "case/needs.h"
#include "case/poison.h"
#include "case/test.h"
#include "evidence/address.h"
#include "evidence/api.h"

#define ASYNC_QLEN 64

/* As dat_ia_open(), by the entry that the probe opened it by. */
static DAT_RETURN open_by_entry(struct test *t, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
                                DAT_IA_HANDLE *made)
{
        return dat_ia_openv(ia_name(t), qlen, async, made, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
                            t->settings->probe->threadsafe ? DAT_TRUE : DAT_FALSE);
}

void ia_open(struct test *t)
{
        DAT_RETURN ret;
        char type[API_NAME_SPACE];
        char subtype[API_NAME_SPACE];

        t->async_evd = DAT_HANDLE_NULL;
        if (t->settings->probe->threadsafe)
                record(t, "the IA is opened by its threadsafe entry of dat.conf");
        ret = open_by_entry(t, ASYNC_QLEN, &t->async_evd, &t->ia);
        if (!dat_is(ret, DAT_SUCCESS) && is_of_page(t, "ia_open"))
                test_end(t, VERDICT_FAIL, "dat_ia_open(\"%s\") returned %s, %s", t->settings->ia,
                         api_return_name(ret, type), api_subtype_name(ret, subtype));
        if (!dat_is(ret, DAT_SUCCESS) && !t->settings->probe->open)
                test_end(t, VERDICT_ERROR, "dat_ia_open(\"%s\") returned %s, %s", t->settings->ia,
                         api_return_name(ret, type), api_subtype_name(ret, subtype));
        if (!dat_is(ret, DAT_SUCCESS))
                step_failed(t, STEP_SITE_(t), "dat_ia_open", api_return_name(ret, type),
                            "dat_ia_open(\"%s\") returned %s, %s", t->settings->ia,
                            api_return_name(ret, type), api_subtype_name(ret, subtype));
        t->open = true;
}

void ia_reopen(struct test *t, DAT_EVD_HANDLE async)
{
        t->async_evd = async;
        check_arrange(t, CHECK_SITE_("dat_ia_open"),
                      open_by_entry(t, ASYNC_QLEN, &t->async_evd, &t->ia));
        free(t->provider_attr);
        t->provider_attr = NULL;
        t->queried = false;
        object_add(t, OBJECT_IA, t->ia);
}

DAT_NAME_PTR ia_name(struct test *t)
{
        return (DAT_NAME_PTR)t->settings->ia;
}

DAT_IA_HANDLE ia(struct test *t)
{
        return t->ia;
}

DAT_IA_HANDLE ia_another(struct test *t, DAT_COUNT qlen)
{
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;

        check_arrange(t, CHECK_SITE_("dat_ia_open"), open_by_entry(t, qlen, &async, &made));
        return made;
}

DAT_IA_HANDLE other_ia(struct test *t)
{
        if (t->other_ia != DAT_HANDLE_NULL)
                return t->other_ia;
        t->other_ia = ia_another(t, ASYNC_QLEN);
        object_add(t, OBJECT_IA, t->other_ia);
        return t->other_ia;
}

DAT_EVD_HANDLE async_evd(struct test *t)
{
        return t->async_evd;
}

static void query(struct test *t)
{
        char names[REASON_MAX / 2];
        DAT_EVD_HANDLE async;

        if (t->queried)
                return;
        t->provider_attr = calloc(1, sizeof(*t->provider_attr));
        if (!t->provider_attr)
                resource(t, "no memory for the attributes of the IA");
        if (!is_asked(t, UNASKED_IA_QUERY)) {
                t->queried = true;
                memset(&t->ia_attr, 0, sizeof(t->ia_attr));
                needs_fill_in(t->provider_attr, t->settings->probe, &t->settings->found);
                return;
        }
        poison(&t->ia_attr, sizeof(t->ia_attr));
        poison((void *)t->provider_attr, sizeof(*t->provider_attr));
        arrange(dat_ia_query(t->ia, &async, DAT_IA_FIELD_ALL, &t->ia_attr, DAT_PROVIDER_FIELD_ALL,
                             t->provider_attr));
        if (unwritten_fields("DAT_IA_ATTR", &t->ia_attr, names, sizeof(names)))
                record(t, "dat_ia_query left unwritten of the IA's attributes: %s", names);
        if (unwritten_fields("DAT_PROVIDER_ATTR", (void *)t->provider_attr, names, sizeof(names)))
                record(t, "dat_ia_query left unwritten of the provider's attributes: %s", names);
        needs_fill_in(t->provider_attr, t->settings->probe, &t->settings->found);
        t->queried = true;
}

static void must_be_asked(struct test *t)
{
        const char *why = t->settings->probe->unasked[UNASKED_IA_QUERY];

        if (why[0])
                step_failed(t, STEP_SITE_(t), "dat_ia_query", "no answer to the probe", "%s", why);
}

const DAT_IA_ATTR *ia_attr_if_told(struct test *t)
{
        query(t);
        return &t->ia_attr;
}

const DAT_PROVIDER_ATTR *provider_attr_if_told(struct test *t)
{
        query(t);
        return t->provider_attr;
}

bool provider_makes_all_eps(struct test *t)
{
        return (int)provider_attr_if_told(t)->ep_creator == DAT_PSP_CREATES_EP_ALWAYS;
}

bool provider_makes_some_eps(struct test *t)
{
        return (int)provider_attr_if_told(t)->ep_creator == DAT_PSP_CREATES_EP_IFASKED ||
               provider_makes_all_eps(t);
}

DAT_PSP_FLAGS psp_flags_granted(struct test *t)
{
        return provider_makes_all_eps(t) ? DAT_PSP_PROVIDER_FLAG : DAT_PSP_CONSUMER_FLAG;
}

const DAT_IA_ATTR *ia_attr(struct test *t)
{
        must_be_asked(t);
        return ia_attr_if_told(t);
}

const DAT_PROVIDER_ATTR *provider_attr(struct test *t)
{
        must_be_asked(t);
        return provider_attr_if_told(t);
}

DAT_IA_ADDRESS_PTR ia_address(struct test *t)
{
        DAT_IA_ADDRESS_PTR address;

        if (!is_asked(t, UNASKED_IA_QUERY) &&
            address_parse(t->settings->probe->address, &t->ia_address))
                return (DAT_IA_ADDRESS_PTR)&t->ia_address;
        address = ia_attr(t)->ia_address_ptr;
        if (!address)
                step_failed(t, STEP_SITE_(t), "dat_ia_query", "DAT_SUCCESS, without an address",
                            "ia_address_ptr is null, or was left unwritten");
        return address;
}

void must_be_told(struct test *t, uint64_t needs)
{
        char untold[REASON_MAX];

        if (needs_untold(needs, t->settings->probe, &t->settings->found, untold, sizeof(untold)))
                step_failed(t, STEP_SITE_(t), "dat_ia_query",
                            "DAT_SUCCESS, with a value left unwritten", "%s", untold);
}
