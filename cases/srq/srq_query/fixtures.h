/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_srq_query use. */
#ifndef CASES_SRQ_QUERY_FIXTURES_H
#define CASES_SRQ_QUERY_FIXTURES_H

#include "cases/shared/masks.h"

#define MANY 100 /* queries */

/* An SRQ whose parameters a case knows, for it made them. */
struct known {
        DAT_SRQ_HANDLE srq;
        DAT_COUNT iov;
        DAT_PZ_HANDLE pz;
        const struct buf *buf;
};

#define KNOWN_DTOS  10
#define KNOWN_POSTS 3

struct known known_srq(struct test *t);

/* dat_srq_query() */
extern const struct object_query srq_object_query;

/* A query of the fields in `mask`, into memory that no provider would leave so. */
DAT_SRQ_PARAM srq_query_queried(struct test *t, DAT_SRQ_HANDLE srq, unsigned int mask);

void query_often(struct test *t, DAT_SRQ_HANDLE srq);

void check_ia(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param);

void check_state(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param);

void check_pz(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param);

/* At least the requested value; it may be above the IA's limit (SRQ-17). */
void check_least(struct test *t, DAT_COUNT dto_count, DAT_COUNT asked, DAT_COUNT limit);

void check_dtos(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param);

void check_iov(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param);

void check_mark(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param);

/* A provider may tell less than it declares, never anything wrong, nor more than it declares. */
void expect_declared(struct test *t, DAT_COUNT dto_count, DAT_COUNT wanted);

void check_available(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param);

void check_outstanding(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param);

static const struct field {
        const char *id;
        DAT_SRQ_PARAM_MASK bit;
        void (*check)(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param);
} fields[] = {
    {"ia_handle", DAT_SRQ_FIELD_IA_HANDLE, check_ia},
    {"srq_state", DAT_SRQ_FIELD_SRQ_STATE, check_state},
    {"pz_handle", DAT_SRQ_FIELD_PZ_HANDLE, check_pz},
    {"max_recv_dtos", DAT_SRQ_FIELD_MAX_RECV_DTO, check_dtos},
    {"max_recv_iov", DAT_SRQ_FIELD_MAX_RECV_IOV, check_iov},
    {"low_watermark", DAT_SRQ_FIELD_LOW_WATERMARK, check_mark},
    {"available_dto_count", DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT, check_available},
    {"outstanding_dto_count", DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT, check_outstanding},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* Asks for the fields in `mask` and checks each; those in `others` are the case's to check. */
DAT_SRQ_PARAM check_fields_but(struct test *t, const struct known *known, unsigned int mask,
                               unsigned int others);

void srq_query_check_fields(struct test *t, const struct known *known, unsigned int mask);

static const struct asked {
        const char *id;
        unsigned int extra; /* what is asked for besides the field itself */
        DAT_COUNT mark;     /* 0: the size */
} asked[] = {
    {"alone", 0, 5},   {"among_all", DAT_SRQ_FIELD_ALL, 5},
    {"one", 0, 1},     {"one_among_all", DAT_SRQ_FIELD_ALL, 1},
    {"at_size", 0, 0}, {"at_size_among_all", DAT_SRQ_FIELD_ALL, 0},
};

DAT_COUNT available(struct test *t, DAT_SRQ_HANDLE srq);

DAT_COUNT outstanding(struct test *t, DAT_SRQ_HANDLE srq);

void refuse_mask(struct test *t, const struct known *known);

#endif
