/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/siblings.h"

#include "case/ep_attr.h"
#include "cases/shared/beside.h"
#include "cases/shared/point.h"

#define TURNS  16
#define LENGTH ((DAT_VLEN)4096)

/* What the objects are made of, and their parents. */
struct family {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE requests; /* of service points */
        DAT_PSP_FLAGS points;    /* of PSPs */
        DAT_EVD_HANDLE dtos;
        DAT_EVD_HANDLE connects;
        DAT_EP_ATTR attr;
        struct buf *memory;
};

struct kind;

/* The objects of one thread. */
struct member {
        const struct family *family;
        const struct kind *kind;
        DAT_CONN_QUAL qual;   /* of the first service point */
        DAT_EP_HANDLE eps[2]; /* of RSPs, in turn */
        DAT_HANDLE kept;      /* the last one made */
        unsigned int turns;   /* so far */
        struct broken_step made, freed;
        struct broken_step again; /* of makings that use what a freed one had */
};

struct kind {
        const char *create;
        const char *free;
        DAT_HANDLE_TYPE type;
        DAT_RETURN (*make)(const struct member *member, unsigned int i, DAT_HANDLE *handle);
        DAT_RETURN (*end)(DAT_HANDLE handle);
        DAT_RETURN (*end_parent)(DAT_HANDLE parent);
        DAT_HANDLE (*parent)(const struct family *family);
        unsigned int fresh; /* makings until a qualifier or EP is used again; 0: none is */
};

static DAT_RETURN make_pz(const struct member *member, unsigned int i, DAT_HANDLE *handle)
{
        (void)i;
        return dat_pz_create(member->family->ia, handle);
}

static DAT_RETURN make_cno(const struct member *member, unsigned int i, DAT_HANDLE *handle)
{
        (void)i;
        return dat_cno_create(member->family->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, handle);
}

static DAT_RETURN make_evd(const struct member *member, unsigned int i, DAT_HANDLE *handle)
{
        (void)i;
        return dat_evd_create(member->family->ia, 8, member->family->cno, DAT_EVD_SOFTWARE_FLAG,
                              handle);
}

static DAT_RETURN make_ep(const struct member *member, unsigned int i, DAT_HANDLE *handle)
{
        const struct family *family = member->family;
        DAT_EP_ATTR attr = family->attr;

        (void)i;
        return dat_ep_create(family->ia, family->pz, family->dtos, family->dtos, family->connects,
                             &attr, handle);
}

static DAT_RETURN make_lmr(const struct member *member, unsigned int i, DAT_HANDLE *handle)
{
        const struct family *family = member->family;
        DAT_REGION_DESCRIPTION region = {.for_va = family->memory->addr};
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN size;
        DAT_VADDR address;

        (void)i;
        return dat_lmr_create(family->ia, DAT_MEM_TYPE_VIRTUAL, region, LENGTH, family->pz,
                              DAT_MEM_PRIV_LOCAL_READ_FLAG, handle, &lmr_context, &rmr_context,
                              &size, &address);
}

static DAT_RETURN make_rmr(const struct member *member, unsigned int i, DAT_HANDLE *handle)
{
        (void)i;
        return dat_rmr_create(member->family->pz, handle);
}

static DAT_RETURN make_psp(const struct member *member, unsigned int i, DAT_HANDLE *handle)
{
        return dat_psp_create(member->family->ia, member->qual + i, member->family->requests,
                              member->family->points, handle);
}

static DAT_RETURN make_rsp(const struct member *member, unsigned int i, DAT_HANDLE *handle)
{
        return dat_rsp_create(member->family->ia, member->qual + i, member->eps[i % 2],
                              member->family->requests, handle);
}

static DAT_HANDLE ia_of(const struct family *family)
{
        return family->ia;
}

static DAT_HANDLE pz_of_family(const struct family *family)
{
        return family->pz;
}

static DAT_HANDLE cno_of(const struct family *family)
{
        return family->cno;
}

static DAT_HANDLE requests_of(const struct family *family)
{
        return family->requests;
}

static DAT_RETURN close_ia(DAT_HANDLE handle)
{
        return dat_ia_close(handle, DAT_CLOSE_GRACEFUL_FLAG);
}

#define KIND(NAME_, name_, end_parent_, parent_, ...)           \
        [SIBLING_##NAME_] = {.create = "dat_" #name_ "_create", \
                             .free = "dat_" #name_ "_free",     \
                             .type = DAT_HANDLE_TYPE_##NAME_,   \
                             .make = make_##name_,              \
                             .end = dat_##name_##_free,         \
                             .end_parent = (end_parent_),       \
                             .parent = (parent_),               \
                             __VA_ARGS__}
static const struct kind kinds[] = {
    KIND(PZ, pz, close_ia, ia_of),
    KIND(CNO, cno, close_ia, ia_of),
    KIND(EVD, evd, dat_cno_free, cno_of),
    KIND(EP, ep, dat_pz_free, pz_of_family),
    KIND(LMR, lmr, dat_pz_free, pz_of_family),
    KIND(RMR, rmr, dat_pz_free, pz_of_family),
    KIND(PSP, psp, dat_evd_free, requests_of, .fresh = TURNS),
    KIND(RSP, rsp, dat_evd_free, requests_of, .fresh = 2),
};

/* Makes an object, and frees the one before: the last one stays. */
static DAT_RETURN make_and_free(void *arg, unsigned int i)
{
        struct member *member = arg;
        bool again = member->kind->fresh && member->turns >= member->kind->fresh;
        DAT_HANDLE made;

        member->turns++;
        if (!step_worked(again ? &member->again : &member->made, member->kind->create,
                         member->kind->make(member, i, &made)))
                return DAT_SUCCESS;
        if (member->kept != DAT_HANDLE_NULL)
                step_worked(&member->freed, member->kind->free, member->kind->end(member->kept));
        member->kept = made;
        return DAT_SUCCESS;
}

static bool of_ia(const struct kind *kind)
{
        return kind->end_parent == close_ia;
}

static struct family family_for(struct test *t, const struct kind *own)
{
        struct family family = {.ia = of_ia(own) ? other_ia(t) : ia(t)};

        if (of_ia(own))
                return family;
        must(dat_cno_create(family.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &family.cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, family.cno);
        family.pz = pz_new(t);
        family.requests = request_evd(t);
        family.points = psp_flags_granted(t);
        family.dtos = evd_with(t);
        family.connects = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);
        family.memory = buf_with(t, .pz = pz(t));
        family.attr = ep_attr_modest(ia_attr_if_told(t));
        family.attr.max_recv_dtos = 0;
        family.attr.max_recv_iov = 0;
        return family;
}

static struct member member_for(struct test *t, const struct family *family, enum sibling kind)
{
        struct member member = {.family = family, .kind = &kinds[kind], .kept = DAT_HANDLE_NULL};

        if (kind == SIBLING_RSP)
                for (size_t i = 0; i < 2; i++)
                        member.eps[i] = ep_with(t);
        return member;
}

/* The clause's calls are expected to have worked, and the others had to. */
static void judge(struct test *t, const struct member *member, bool frees, bool makes)
{
        if (makes)
                expect(member->made.ret, DAT_SUCCESS);
        else
                must_have_worked(t, &member->made);
        if (frees || makes)
                expect(member->again.ret, DAT_SUCCESS);
        else
                must_have_worked(t, &member->again);
        if (frees)
                expect(member->freed.ret, DAT_SUCCESS);
        else
                must_have_worked(t, &member->freed);
}

static void free_kept(struct test *t, struct member *member, bool judged)
{
        disown(t, member->kept);
        if (judged)
                expect(member->kind->end(member->kept), DAT_SUCCESS);
        else
                must_that_of(member->kind->free,
                             dat_is(member->kind->end(member->kept), DAT_SUCCESS),
                             "an object that threads made cannot be freed");
        member->kept = DAT_HANDLE_NULL;
}

/* That the parent of one object is in use is for the page of the parent's call. */
static void must_hold_parent(struct test *t, const struct member *member)
{
        const struct kind *kind = member->kind;
        DAT_HANDLE alone = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        must_that_of(kind->create, dat_is(kind->make(member, 0, &alone), DAT_SUCCESS),
                     "no object is made");
        ret = kind->end_parent(kind->parent(member->family));
        must_that(dat_is(ret, DAT_INVALID_STATE), "it returned %s while an object was left",
                  name_of_return(ret));
        must_that_of(kind->free, dat_is(kind->end(alone), DAT_SUCCESS), "an object is not freed");
}

static void rounds_of_both(struct test *t, struct member members[2], bool frees)
{
        const struct kind *own = members[0].kind;
        bool same = own == members[1].kind;
        struct stress stress = stress_of(t, BESIDE_ROUNDS);

        while (stress.met < BESIDE_MET && stress_round(&stress)) {
                struct part parts[] = {{.turn = make_and_free, .arg = &members[0]},
                                       {.turn = make_and_free, .arg = &members[1]}};

                stress_met(&stress, beside(t, parts, 2, TURNS));
                for (size_t i = 0; i < 2; i++)
                        if (members[i].kept != DAT_HANDLE_NULL)
                                adopt(t, members[i].kind->type, members[i].kept);
                judge(t, &members[0], frees, !frees);
                judge(t, &members[1], same && frees, same && !frees);
                if (!of_ia(own))
                        expect(own->end_parent(own->parent(members[0].family)), DAT_INVALID_STATE);
                free_kept(t, &members[0], frees);
                free_kept(t, &members[1], same && frees);
        }
        must_have_met(&stress);
}

static void expect_beside(struct test *t, enum sibling own, const struct sibling_row *row,
                          bool frees)
{
        struct family family = family_for(t, &kinds[own]);
        struct member members[] = {member_for(t, &family, own), member_for(t, &family, row->other)};
        struct member alone = member_for(t, &family, own);
        DAT_HANDLE parent = kinds[own].parent(&family);

        members[0].qual = point_qual(t);
        members[1].qual = members[0].qual + TURNS;
        if (!of_ia(alone.kind)) {
                alone.qual = members[1].qual + TURNS;
                must_hold_parent(t, &alone);
        }
        rounds_of_both(t, members, frees);
        expect(kinds[own].end_parent(parent), DAT_SUCCESS);
        disown(t, parent);
}

void expect_freed_beside(struct test *t, enum sibling own, const struct sibling_row *row)
{
        expect_beside(t, own, row, true);
}

void expect_made_beside(struct test *t, enum sibling own, const struct sibling_row *row)
{
        expect_beside(t, own, row, false);
}
