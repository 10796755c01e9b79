/* SPDX-License-Identifier: BSD-2-Clause */
/* A live object of each kind, for what every handle has. */
#ifndef CASES_HANDLE_OBJECT_H
#define CASES_HANDLE_OBJECT_H

#include "cases/shared/loop.h"

struct object_kind {
        const char *id;
        DAT_HANDLE_TYPE type;
};

/* Those that can be freed and made again, and a request, which is answered instead. */
#define FLEETING_KINDS                                                                        \
        {"ep", DAT_HANDLE_TYPE_EP}, {"evd", DAT_HANDLE_TYPE_EVD}, {"cr", DAT_HANDLE_TYPE_CR}, \
            {"rsp", DAT_HANDLE_TYPE_RSP}, {"psp", DAT_HANDLE_TYPE_PSP},                       \
            {"pz", DAT_HANDLE_TYPE_PZ}, {"lmr", DAT_HANDLE_TYPE_LMR},                         \
            {"rmr", DAT_HANDLE_TYPE_RMR},                                                     \
        {                                                                                     \
                "cno", DAT_HANDLE_TYPE_CNO                                                    \
        }

static const struct object_kind fleeting_kinds[] = {FLEETING_KINDS};

/* The kinds that the pages about contexts list. */
static const struct object_kind object_kinds[] = {{"ia", DAT_HANDLE_TYPE_IA}, FLEETING_KINDS};

/* An object, and what else there is with it. */
struct live {
        DAT_HANDLE_TYPE type;
        DAT_HANDLE handle;
        struct loop loop; /* of a request */
        struct buf *buf;  /* of an LMR */
};

/*
 * A new object of the kind, on the case's list; of an IA the case's own one, or the `second`. One
 * that cannot be made ends in ERROR.
 */
struct live live_object(struct test *t, DAT_HANDLE_TYPE type, bool second);

/*
 * One object of each of the kinds, in their order; returns how many. For a clause about several
 * kinds at once: where no RMR can be made, it is asked of the others.
 */
size_t live_objects(struct test *t, const struct object_kind *kinds, size_t count,
                    struct live *lives);

/* Ends what no list has: a request is rejected. */
void live_end(struct test *t, const struct live *live);

/* Frees the object, or ends it; not of an IA. */
void live_free(struct test *t, const struct live *live);

/* Objects that come about by other ways than those of live_object(), on the case's list too. */
struct origin {
        const char *id;
        DAT_HANDLE_TYPE type;
        DAT_HANDLE (*make)(struct test *t);
};

DAT_HANDLE own_async_evd(struct test *t);
DAT_HANDLE made_async_evd(struct test *t);
DAT_HANDLE made_request_evd(struct test *t);
DAT_HANDLE made_dto_evd(struct test *t);
DAT_HANDLE cno_of_agent(struct test *t);
DAT_HANDLE ep_connected(struct test *t);
DAT_HANDLE ep_disconnected(struct test *t);
DAT_HANDLE ep_of_srq(struct test *t);
DAT_HANDLE ep_of_provider(struct test *t);
DAT_HANDLE psp_of_providers_eps(struct test *t);
DAT_HANDLE rsp_of_providers_ep(struct test *t);

static const struct origin origins[] = {
    {"own_async_evd", DAT_HANDLE_TYPE_EVD, own_async_evd},
    {"async_evd", DAT_HANDLE_TYPE_EVD, made_async_evd},
    {"request_evd", DAT_HANDLE_TYPE_EVD, made_request_evd},
    {"dto_evd", DAT_HANDLE_TYPE_EVD, made_dto_evd},
    {"cno_of_agent", DAT_HANDLE_TYPE_CNO, cno_of_agent},
    {"connected_ep", DAT_HANDLE_TYPE_EP, ep_connected},
    {"disconnected_ep", DAT_HANDLE_TYPE_EP, ep_disconnected},
    {"ep_of_srq", DAT_HANDLE_TYPE_EP, ep_of_srq},
    {"providers_ep", DAT_HANDLE_TYPE_EP, ep_of_provider},
    {"psp_of_providers_eps", DAT_HANDLE_TYPE_PSP, psp_of_providers_eps},
    {"rsp_of_providers_ep", DAT_HANDLE_TYPE_RSP, rsp_of_providers_ep},
};

/* The object's context is this one. */
void expect_context(struct test *t, DAT_HANDLE handle, uint64_t context);

/* A context that is not NULL, drawn. */
uint64_t draw_context(struct test *t);

#define CONTEXT(n_) ((DAT_CONTEXT){.as_64 = (n_)})

#endif
