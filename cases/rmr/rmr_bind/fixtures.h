/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_rmr_bind use. */
#ifndef CASES_RMR_BIND_FIXTURES_H
#define CASES_RMR_BIND_FIXTURES_H

#include "case.h"
#include "cases/ep/shared/states.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/rmr/shared/window.h"

#include <string.h>

#define CALLS     8 /* posted in a row */
#define NONE      DAT_MEM_PRIV_NONE_FLAG
#define READ      DAT_MEM_PRIV_REMOTE_READ_FLAG
#define WRITE     DAT_MEM_PRIV_REMOTE_WRITE_FLAG
#define PLAIN     DAT_COMPLETION_DEFAULT_FLAG
#define SUPPRESS  DAT_COMPLETION_SUPPRESS_FLAG
#define UNSIGNAL  DAT_COMPLETION_UNSIGNALLED_FLAG
#define FLAGS(n_) ((DAT_COMPLETION_FLAGS)(n_))

/* The arguments of a bind, and what it gives. */
struct bind {
        DAT_RMR_HANDLE rmr;
        DAT_LMR_TRIPLET segment;
        DAT_MEM_PRIV_FLAGS privileges;
        DAT_EP_HANDLE ep;
        uint64_t cookie;
        DAT_COMPLETION_FLAGS flags;
        DAT_RMR_CONTEXT context;
};

DAT_RETURN rmr_bind_post(struct bind *bind);

/* A bind of a new RMR to the region, with both privileges and no flags. */
struct bind bind_of(struct test *t, const struct window *window);

void expect_done(struct test *t, const struct window *window, const struct bind *bind);

void expect_bound(struct test *t, const struct window *window, struct bind *bind);

/* Privileges of an LMR, and those that its RMR is bound with. */
struct match {
        const char *id;
        DAT_MEM_PRIV_FLAGS lmr, rmr;
};

/* The window, as its far end reaches another LMR of the near end's zone. */
struct window onto(const struct window *window, struct buf *memory);

void unbind(struct test *t, const struct window *window, struct bind bind);

/* The near EP sends or writes from the memory, and reads into it, a few of its bytes. */
DAT_RETURN send_some(const struct window *window, uint64_t cookie);

DAT_COUNT places_of(struct test *t, DAT_EP_HANDLE ep);

/* A send for which there is no receive, so that what is posted behind it waits. */
void rmr_bind_must_stand(struct test *t, const struct window *window);

void must_disconnect(struct test *t, DAT_EP_HANDLE ep);

void rmr_bind_expect_flushed(struct test *t, const struct window *window, const struct bind *bind);

/* The refused bind told nothing and changed nothing: another's completion is the next event. */
void expect_no_bind(struct test *t, struct window *window, const struct bind *bound);

/* A query tells of the RMR that it is bound like this, if it tells anything. */
void expect_bind_told(struct test *t, const struct bind *bound);

/* Each makes one of the three objects of a bind one of another zone; returns who binds. */
struct window lmr_elsewhere(struct test *t, const struct window *window, struct bind *bind);

#endif
