/* SPDX-License-Identifier: BSD-2-Clause */
/* What dat_psp_query() and dat_rsp_query() have in common: a service point tells its parameters. */
#ifndef CASES_POINT_QUERY_H
#define CASES_POINT_QUERY_H

#include "cases/shared/masks.h"
#include "cases/shared/point.h"

/* The parameters of a service point. `any` has the fields that both structures begin with. */
union point_param {
        DAT_PSP_PARAM psp;
        DAT_RSP_PARAM rsp;
        struct {
                DAT_IA_HANDLE ia_handle;
                DAT_CONN_QUAL conn_qual;
                DAT_EVD_HANDLE evd_handle;
        } any;
};

struct point_field {
        const char *id;
        unsigned int bit;
        void (*check)(struct test *t, const union point_param *known,
                      const union point_param *seen);
};

#define POINT_FIELDS 4

struct point_kind {
        DAT_HANDLE_TYPE type;
        struct object_query query;
        const struct point_field *fields; /* POINT_FIELDS */
        /* Creates a point with all parameters of `param`. */
        DAT_RETURN (*create)(const union point_param *param, DAT_HANDLE *point);
        /* Sets what a new point of the case's IA needs besides IA, qualifier and EVD. */
        void (*equip)(struct test *t, union point_param *param);
        /* A new point of the case's IA on `param`'s EVD, at a drawn qualifier, which it stores. */
        DAT_HANDLE (*listen)(struct test *t, union point_param *param);
};

/* A service point whose parameters the case knows, because it created it with them. */
struct known_point {
        const struct point_kind *kind;
        DAT_HANDLE point;
        union point_param param;
};

/* A point on this EVD, or on one of its own. */
struct known_point known_point_on(struct test *t, const struct point_kind *kind,
                                  DAT_EVD_HANDLE evd);
struct known_point known_point(struct test *t, const struct point_kind *kind);

/* Creates it again with its parameters. A refusal ends the case as BLOCKED. */
void known_point_create(struct test *t, struct known_point *known);

/* The checks of a point's first three fields. */
void check_point_ia(struct test *t, const union point_param *known, const union point_param *seen);
void check_point_qual(struct test *t, const union point_param *known,
                      const union point_param *seen);
void check_point_evd(struct test *t, const union point_param *known, const union point_param *seen);

/* A query of the fields in `mask` succeeds. */
union point_param queried_point(struct test *t, const struct known_point *known, unsigned int mask);

/* Each field in `mask` is the known one: in `seen`, by one query, and by a query of each mask. */
void check_point_param(struct test *t, const struct known_point *known,
                       const union point_param *seen, unsigned int mask);
void check_point_fields(struct test *t, const struct known_point *known, unsigned int mask);
void check_point(struct test *t, const struct known_point *known);
void check_point_by_each_mask(struct test *t, const struct known_point *known);

/* Queries all fields a hundred times. */
void query_point_often(struct test *t, const struct point_kind *kind, DAT_HANDLE point);

/*
 * The cases of both pages
 */

/* Of `count` points, at most MOST_POINTS, each tells its own parameters. */
#define MOST_POINTS 8
void points_tell_their_own(struct test *t, const struct point_kind *kind, int count);
void points_tell_shared_evd(struct test *t, const struct point_kind *kind, int count);

/* Points at the last qualifiers of sixteen bits, unless these are in use. */
void point_tells_last_qualifiers(struct test *t, const struct point_kind *kind);

/* Two points whose qualifiers differ by these bits. */
void points_tell_high_bits(struct test *t, const struct point_kind *kind,
                           const struct high_bits *bits);

/* An older and a newer point are freed. */
void point_tells_after_other_freed(struct test *t, const struct point_kind *kind);

/* A point is created at the qualifier of a freed one, with another EVD. */
void point_tells_made_again(struct test *t, const struct point_kind *kind);

/* The point's EVD is resized. */
void point_tells_after_resize(struct test *t, const struct point_kind *kind);

void point_tells_within_structure(struct test *t, const struct point_kind *kind);

/* Threads query two points at once, until they met in `rounds` rounds. */
void points_tell_any_thread(struct test *t, const struct point_kind *kind, unsigned int rounds);

void point_refuses_masks(struct test *t, const struct point_kind *kind,
                         const struct undefined_mask *row);
void point_answers_no_mask(struct test *t, const struct point_kind *kind);

/*
 * Fates of a request: it stays on its EVD, is taken, or is rejected.
 */
void leave_request(struct test *t, struct loop *loop);
void reject_request(struct test *t, struct loop *loop);

#endif
