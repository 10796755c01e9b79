/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cases that every call has: what may not be given for a handle or a pointer. The build makes
 * them from a page's [standard] table (cases/declare.py); the page's C file says what a legal call
 *is:
 *
 *	LEGAL(srq_resize)
 *	{
 *		call->srq_handle = srq_with(t, .max_recv_dtos = 8);
 *		call->srq_max_recv_dto = 8;
 *	}
 */
#ifndef HARNESS_STANDARD_H
#define HARNESS_STANDARD_H

#include "case.h"

/* A handle among a call's arguments. */
struct standard_object {
        const char *argument;
        size_t offset;
        DAT_HANDLE_TYPE type;
};

/* A page's call, with its arguments in a structure of `size` bytes. */
struct standard_call {
        const char *name;
        const struct standard_object *objects;
        size_t object_count;                       /* STANDARD_OBJECTS at most */
        void (*legal)(struct test *t, void *call); /* arranges, and fills in */
        DAT_RETURN (*make)(const void *call);
        size_t size;
        DAT_RETURN refused; /* what a bad handle is answered with */
        bool makes; /* an object, whose handle goes to where the argument at `made` points */
        size_t made;
        DAT_HANDLE_TYPE made_type;
};

/* A handle argument, and a way for it to be bad. */
struct standard_handle {
        const char *id;
        const char *argument;
        size_t offset;
        DAT_HANDLE_TYPE type;
        enum bad_handle how;
};

#define STANDARD_OBJECTS 8

/*
 * The call with the bad handle is refused as the page says, changes none of the objects that it
 * names, and with the good handle then succeeds. A destroyed handle is answered as by GEN-1,
 * one of another IA as by GEN-12.
 */
void standard_bad_handle(struct test *t, const struct standard_call *standard,
                         const struct standard_handle *handle);

/* A freed SRQ's handle: DAT_INVALID_HANDLE passes; another answer, or a crash, is a NOTE (GEN-1).
 */
void standard_destroyed_srq(struct test *t, const struct standard_call *standard,
                            const char *argument, size_t offset);

/* Whatever the null pointer is answered with (GEN-4), a legal call succeeds afterwards. */
void standard_null_pointer(struct test *t, const struct standard_call *standard,
                           const char *argument, size_t offset);

/*
 * Makes the call, in a process of its own, with the handle of an object that is gone (GEN-1):
 * DAT_INVALID_HANDLE passes, another error is a NOTE, success is a FAIL, and so is a call that ends
 * its process, but by DAT 2.0. Before that verdict the call is made with `live_`, a handle of the
 * same kind that is made only then: a call that ends its process with that one too is to blame.
 * A handle that an object of the case has again by then is not judged, which is a NOTE.
 */
#define expect_stale(call_, live_, handle_)                                             \
        do {                                                                            \
                if (!stale_answered(t, CHECK_SITE_(STALE_(call_)), (call_), (handle_))) \
                        stale_ended(t, CHECK_SITE_(STALE_(call_)), (call_), (live_));   \
        } while (0)
#define STALE_(call_) #call_ " of a handle that is gone"
bool stale_answered(struct test *t, const struct check_site *site, DAT_RETURN (*call)(void *handle),
                    DAT_HANDLE handle);
void stale_ended(struct test *t, const struct check_site *site, DAT_RETURN (*call)(void *handle),
                 DAT_HANDLE live);

#endif
