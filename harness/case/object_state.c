/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/object_state.h"

#include <string.h>

#include "case/poison.h"
#include "case/test.h"
#include "evidence/api.h"

#define QUERY(name_, structure_, all_)                                     \
        static DAT_RETURN query_##name_(DAT_HANDLE handle, void *param)    \
        {                                                                  \
                _Static_assert(sizeof(structure_) <= OBJECT_PARAM_SPACE,   \
                               "OBJECT_PARAM_SPACE holds a " #structure_); \
                return dat_##name_##_query(handle, (all_), param);         \
        }

QUERY(cno, DAT_CNO_PARAM, DAT_CNO_FIELD_ALL)
QUERY(cr, DAT_CR_PARAM, DAT_CR_FIELD_ALL)
QUERY(ep, DAT_EP_PARAM, DAT_EP_FIELD_ALL)
QUERY(evd, DAT_EVD_PARAM, DAT_EVD_FIELD_ALL)
QUERY(lmr, DAT_LMR_PARAM, DAT_LMR_FIELD_ALL)
QUERY(psp, DAT_PSP_PARAM, DAT_PSP_FIELD_ALL)
QUERY(pz, DAT_PZ_PARAM, DAT_PZ_FIELD_ALL)
QUERY(rmr, DAT_RMR_PARAM, DAT_RMR_FIELD_ALL)
QUERY(rsp, DAT_RSP_PARAM, DAT_RSP_FIELD_ALL)
QUERY(srq, DAT_SRQ_PARAM, DAT_SRQ_FIELD_ALL)

struct object_query_kind {
        DAT_HANDLE_TYPE type;
        const char *page;
        const char *structure;
        DAT_RETURN (*query)(DAT_HANDLE handle, void *param);
};

static const struct object_query_kind kinds[] = {
    {DAT_HANDLE_TYPE_CNO, "cno_query", "DAT_CNO_PARAM", query_cno},
    {DAT_HANDLE_TYPE_CR, "cr_query", "DAT_CR_PARAM", query_cr},
    {DAT_HANDLE_TYPE_EP, "ep_query", "DAT_EP_PARAM", query_ep},
    {DAT_HANDLE_TYPE_EVD, "evd_query", "DAT_EVD_PARAM", query_evd},
    {DAT_HANDLE_TYPE_LMR, "lmr_query", "DAT_LMR_PARAM", query_lmr},
    {DAT_HANDLE_TYPE_PSP, "psp_query", "DAT_PSP_PARAM", query_psp},
    {DAT_HANDLE_TYPE_PZ, "pz_query", "DAT_PZ_PARAM", query_pz},
    {DAT_HANDLE_TYPE_RMR, "rmr_query", "DAT_RMR_PARAM", query_rmr},
    {DAT_HANDLE_TYPE_RSP, "rsp_query", "DAT_RSP_PARAM", query_rsp},
    {DAT_HANDLE_TYPE_SRQ, "srq_query", "DAT_SRQ_PARAM", query_srq},
};

static const struct object_query_kind *kind_of(DAT_HANDLE_TYPE type)
{
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
                if (kinds[i].type == type)
                        return &kinds[i];
        return NULL;
}

struct object_state object_state(struct test *t, DAT_HANDLE_TYPE type, DAT_HANDLE handle)
{
        struct object_state state = {.handle = handle};
        const struct object_query_kind *kind = handle ? kind_of(type) : NULL;

        if (!kind || is_of_page(t, kind->page) ||
            (type == DAT_HANDLE_TYPE_EP && !is_asked(t, UNASKED_EP_QUERY)))
                return state;
        poison(state.param, sizeof(state.param));
        /* That the query works is its own page's: what the call did is judged without it too. */
        if (dat_is(kind->query(handle, state.param), DAT_SUCCESS))
                state.kind = kind;
        return state;
}

/* Fields that are the same whenever the object is. */
static bool is_plain(const struct api_type *type)
{
        switch (type->kind) {
        case API_SIGNED:
        case API_UNSIGNED:
        case API_BOOLEAN:
        case API_ENUM:
        case API_HANDLE:
        case API_LMR_CONTEXT:
        case API_RMR_CONTEXT:
        case API_VADDR:
                return true;
        default:
                return false;
        }
}

/* The first plain field in which the two differ, or NULL. */
static const char *changed_field(const struct api_struct *layout, const unsigned char *before,
                                 const unsigned char *after)
{
        for (size_t i = 0; i < layout->count; i++) {
                const struct api_field *field = &layout->fields[i];
                const unsigned char *was = before + field->offset;
                const unsigned char *is = after + field->offset;
                const char *inner;

                if (field->type->kind == API_STRUCT) {
                        inner = changed_field(field->type->layout, was, is);
                        if (inner)
                                return inner;
                } else if (is_plain(field->type) && memcmp(was, is, field->type->size) != 0) {
                        return field->name;
                }
        }
        return NULL;
}

void expect_object_kept(struct test *t, const struct check_site *site,
                        const struct object_state *before, const char *name)
{
        unsigned char after[OBJECT_PARAM_SPACE];
        const struct object_query_kind *kind = before->kind;
        const char *changed;
        DAT_RETURN ret;

        if (!kind)
                return;
        poison(after, sizeof(after));
        ret = kind->query(before->handle, after);
        check_expect_that(t, site, dat_is(ret, DAT_SUCCESS),
                          "the refused call has changed %s: dat_%s refuses it now", name,
                          kind->page);
        changed = changed_field(api_struct_named(kind->structure), before->param, after);
        check_expect_that(t, site, !changed, "the refused call has changed %s: its %s is another",
                          name, changed ? changed : "query");
}
