/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases that dat_ep_create and dat_ep_create_with_srq have in common. */
#ifndef CASES_EP_CREATION_H
#define CASES_EP_CREATION_H

#include "cases/ep/shared/attributes.h"

/* The arguments of dat_ep_create() or, if it has an SRQ, of dat_ep_create_with_srq(). */
struct ep_creation {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE recv_evd;
        DAT_EVD_HANDLE request_evd;
        DAT_EVD_HANDLE connect_evd;
        DAT_SRQ_HANDLE srq; /* DAT_HANDLE_NULL: dat_ep_create() */
        DAT_EP_PARAM param; /* of which ep_attr is given */
};

/* Makes the call with this very structure of attributes. Returns its answer, and the EP in `ep`. */
DAT_RETURN ep_creation_call_with(const struct ep_creation *with, DAT_EP_ATTR *attr,
                                 DAT_EP_HANDLE *ep);

/* The same with a copy of the attributes, so that the provider cannot change `with`. */
DAT_RETURN ep_creation_call(const struct ep_creation *with, DAT_EP_HANDLE *ep);

/* Hands an EP that the call made, and its use of these EVDs, to the teardown. Returns the EP. */
DAT_EP_HANDLE ep_creation_adopt(struct test *t, const struct ep_creation *with, DAT_EP_HANDLE ep);

/* An Unconnected EP of the other open IA, with modest attributes, as a step. */
DAT_EP_HANDLE ep_of_other_ia(struct test *t);

/* Makes the call, checks that it succeeds, and adopts the EP. */
DAT_EP_HANDLE ep_created(struct test *t, const struct ep_creation *with);

/*
 * An EP that lacks an EVD, as a step. If no such EP is made, the case ends as NOTE (EP-91). It is
 * not looked at.
 */
DAT_EP_HANDLE ep_lacking_evd(struct test *t, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
                             DAT_EVD_HANDLE connect, DAT_EP_ATTR *attr);

/* The same without an EVD; if the call refuses that combination, the case ends as NOTE (EP-91). */
DAT_EP_HANDLE ep_created_without_evd(struct test *t, const struct ep_creation *with);

/* All that a query shows of the EP; checks that the query succeeds. */
DAT_EP_PARAM ep_described(struct test *t, DAT_EP_HANDLE ep);

/*
 * dat_ep_get_status calls an EP idle that has nothing, as a step. Asked before other EPs are used
 * and freed, so that what it tells of later ones is known to be theirs.
 */
void must_tell_idle(struct test *t);

/* The EP is Unconnected and idle: receives of its SRQ are none of its own. */
void expect_new_state(struct test *t, DAT_EP_HANDLE ep);

/* One attribute of the EP, by a query. */
uint64_t ep_number_of(struct test *t, DAT_EP_HANDLE ep, const struct ep_number *number);

/* The value to ask for: number->asked, or the IA's limit if that is less. */
uint64_t ep_number_asked(struct test *t, const struct ep_number *number);

/* Sets the completion flags of requests or of receives. */
void ep_creation_set_flags(struct ep_creation *with, bool request, DAT_COMPLETION_FLAGS value);

/* A refusal that may be a grant with a note: adopts the EP of the grant. */
void expect_refused_or_noted(struct test *t, const struct ep_creation *with);

/* The bodies of the families of these names, for the row and the page's arguments. */
void expect_exact_flags(struct test *t, struct ep_creation *with, const struct ep_flags *row);
void expect_exact_flag_pair(struct test *t, struct ep_creation *with,
                            const struct ep_flag_pair *row);
void expect_exact_service(struct test *t, const struct ep_creation *with);
/* A declared quality is the EP's; another one is refused, or granted and shown (EP-90). */
void expect_quality(struct test *t, struct ep_creation *with, DAT_QOS qos);
/* Returns the number that a query shows. */
uint64_t expect_at_ia_limit(struct test *t, const struct ep_creation *with,
                            const struct ep_number *row);
void expect_negative(struct test *t, struct ep_creation *with, const struct ep_number *row);
void expect_attributes_kept(struct test *t, struct ep_creation *with);
/* What is written to the structure after the call changes nothing of the EP. */
void expect_attributes_given_back(struct test *t, const struct ep_creation *with);
/* Each undefined completion flag, of receives and of requests, is refused. */
void expect_undefined_flags_refused(struct test *t, const struct ep_creation *with);
void expect_wrong_attribute(struct test *t, struct ep_creation *with, const struct ep_wrong *row);
void expect_flags_of_postings(struct test *t, struct ep_creation *with, DAT_COMPLETION_FLAGS flags);
void expect_named_attributes(struct test *t, struct ep_creation *with, const struct ep_named *row);
/* The first of two completions wakes no waiter. The second does, and the wait returns the first. */
void expect_silent(struct test *t, struct ep_creation *with, const struct ep_silent *row);
/* A write of the length, or of as many segments, as the EP was made for. */
void expect_greatest_write(struct test *t, const struct ep_creation *with);
/* A read of the length as the EP was made for. */
void expect_greatest_read(struct test *t, struct ep_creation *with);
void expect_write_of_all_segments(struct test *t, const struct ep_creation *with);
/* The other end has two reads in flight to an EP that was made for two. */
void expect_read_by_other_end(struct test *t, struct ep_creation *with);
void expect_null_evd(struct test *t, struct ep_creation *with, const struct ep_no_evd *row);
void expect_connect_evd_set(struct test *t, DAT_EP_HANDLE ep, DAT_EVD_HANDLE connect_evd);
void expect_same_flags_on_one_evd(struct test *t, struct ep_creation *with,
                                  const struct ep_shared_flags *row);
void expect_mixed_flags_on_one_evd(struct test *t, struct ep_creation *with,
                                   const struct ep_shared_flags *row);
void expect_threshold_beside_other_streams(struct test *t, struct ep_creation *with);

/*
 * A number above the IA's limit: the next one, or the greatest of all. The case ends as UNSUPPORTED
 * if the limit is the greatest.
 */
uint64_t ep_number_above(struct test *t, const struct ep_number *row);
uint64_t ep_number_far_above(struct test *t, const struct ep_number *row);
/* One above it whose lower half is a number that is granted, or else the greatest. */
uint64_t ep_number_wrapping(struct test *t, const struct ep_number *row);

/* A request for `value`, above the IA's limit, is refused, or granted whole as a NOTE (EP-29). */
void expect_beyond(struct test *t, const struct ep_creation *with, const struct ep_number *row,
                   uint64_t value);

/* A handle among the arguments, and the field of a query that shows it. */
struct ep_shown {
        const char *id;
        size_t argument; /* in struct ep_creation */
        size_t member;   /* in DAT_EP_PARAM */
};

#define EP_SHOWN(name_, argument_)                                                             \
        {                                                                                      \
#name_, offsetof(struct ep_creation, argument_), offsetof(DAT_EP_PARAM, name_) \
        }
#define EP_SHOWN_HANDLES                                                                       \
        EP_SHOWN(ia_handle, ia), EP_SHOWN(pz_handle, pz), EP_SHOWN(recv_evd_handle, recv_evd), \
            EP_SHOWN(request_evd_handle, request_evd), EP_SHOWN(connect_evd_handle, connect_evd)

/* Two EPs are made that differ in all that is shown. Then a query of each shows its own handle. */
void expect_shown(struct test *t, const struct ep_creation with[2], const struct ep_shown *row);

/* A post with memory of another zone is refused, or its DTO fails on the EVD (GEN-9). */
void expect_protected(struct test *t, DAT_RETURN ret, DAT_EVD_HANDLE evd);

/* An EVD in place of one that takes events of other streams. */
static const struct ep_other_stream {
        const char *id;
        size_t argument; /* in struct ep_creation */
        DAT_EVD_FLAGS flags;
} ep_other_streams[] = {
    {"recv", offsetof(struct ep_creation, recv_evd), DAT_EVD_CONNECTION_FLAG},
    {"request", offsetof(struct ep_creation, request_evd), DAT_EVD_CONNECTION_FLAG},
    {"connect", offsetof(struct ep_creation, connect_evd), DAT_EVD_DTO_FLAG},
    {"recv_of_software", offsetof(struct ep_creation, recv_evd), DAT_EVD_SOFTWARE_FLAG},
    {"request_of_software", offsetof(struct ep_creation, request_evd), DAT_EVD_SOFTWARE_FLAG},
    {"connect_of_requests", offsetof(struct ep_creation, connect_evd), DAT_EVD_CR_FLAG},
};

void expect_evd_of_another_stream(struct test *t, struct ep_creation *with,
                                  const struct ep_other_stream *row);

/* Ways to make the call invalid. */
void ask_negative(struct test *t, struct ep_creation *with);
void ask_unknown_flag(struct test *t, struct ep_creation *with);
void ask_mixed_flags(struct test *t, struct ep_creation *with); /* on one EVD */
void ask_other_stream(struct test *t, struct ep_creation *with);
/* Found out last by most providers: after the EVDs are looked at, or when the queue is made. */
void ask_bad_evd(struct test *t, struct ep_creation *with);
void ask_greatest_room(struct test *t, struct ep_creation *with);

/* The call of a thread of race(), and the EP that it made. */
struct ep_thread_creation {
        struct ep_creation with;
        DAT_EP_HANDLE ep;
};

DAT_RETURN ep_thread_create(void *ep_thread_creation);

#endif
