/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_create: arguments. */
#include "cases/psp/psp_create/fixtures.h"
#include "cases/psp/shared/psp.h"
#include "clauses/psp_create.h"

static const struct wrong_evd wrong_evds[] = {WRONG_EVDS};

FAMILY(psp_create, evd_of_other_stream, wrong_evds)
{
        DAT_EVD_HANDLE evd = wrong_evd(t, row);
        struct loop loop = {.requests = request_evd(t), .qual = point_qual(t)};
        DAT_PSP_HANDLE psp;

        expect_or_note(dat_psp_create(ia(t), loop.qual, evd, psp_flags_granted(t), &psp),
                       DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);

        loop.psp = psp_at(t, loop.qual, loop.requests, psp_flags_granted(t));
        expect_served(t, loop.psp, loop.qual, loop.requests);
        expect_empty(t, evd);
}

static const struct wrong_evd merged_evds[] = {MERGED_EVDS};

FAMILY(psp_create, evd_of_more_streams, merged_evds)
{
        struct loop loop = {.requests = evd_with(t, .qlen = 8, .flags = row->flags)};

        loop.psp = psp_new(t, loop.requests, psp_flags_granted(t), &loop.qual);

        expect_served(t, loop.psp, loop.qual, loop.requests);
        expect_empty(t, loop.requests);
}

static const struct psp_no_flag no_flags[] = {PSP_NO_FLAGS};

FAMILY(psp_create, invalid_flags, no_flags)
{
        struct loop loop = {.requests = request_evd(t), .qual = point_qual(t)};
        DAT_PSP_HANDLE psp;

        expect(dat_psp_create(ia(t), loop.qual, loop.requests, (DAT_PSP_FLAGS)row->bits, &psp),
               DAT_INVALID_PARAMETER);

        loop.psp = psp_at(t, loop.qual, loop.requests, psp_flags_granted(t));
        expect_served(t, loop.psp, loop.qual, loop.requests);
}

static const struct psp_other_bits other_bits[] = {PSP_OTHER_BITS};

FAMILY(psp_create, other_flag_bits, other_bits)
{
        struct loop loop = {.requests = request_evd(t), .qual = point_qual(t)};
        DAT_PSP_HANDLE psp;

        for (int bit = PSP_FIRST_OTHER_BIT; bit < PSP_BITS; bit++)
                expect(dat_psp_create(ia(t), loop.qual, loop.requests,
                                      (DAT_PSP_FLAGS)(row->flag | 1U << bit), &psp),
                       DAT_INVALID_PARAMETER);

        loop.psp = psp_at(t, loop.qual, loop.requests, psp_flags_granted(t));
        expect_served(t, loop.psp, loop.qual, loop.requests);
}

LEGAL(psp_create)
{
        call->ia_handle = ia(t);
        call->conn_qual = point_qual(t);
        call->evd_handle = request_evd(t);
        call->psp_flags = psp_flags_granted(t);
}
