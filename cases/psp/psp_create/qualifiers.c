/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_create: connection qualifiers. */
#include "case/poison.h"
#include "cases/psp/psp_create/fixtures.h"
#include "cases/psp/shared/psp.h"
#include "clauses/psp_create.h"

#define MANY 1000

static const struct high_bits high_bits[] = {HIGH_BITS};

/* A PSP at a qualifier of more than sixteen bits; a transport may have none such (PSP-4). */
static DAT_PSP_HANDLE psp_at_high(struct test *t, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd)
{
        DAT_PSP_HANDLE psp;

        poison(&psp, sizeof(psp));
        if (dat_is(expect_or_note(dat_psp_create(ia(t), qual, evd, psp_flags_granted(t), &psp),
                                  DAT_SUCCESS, DAT_INVALID_PARAMETER),
                   DAT_INVALID_PARAMETER))
                return DAT_HANDLE_NULL;
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        expect_psp(t, psp, qual, evd, psp_flags_granted(t));
        return psp;
}

FAMILY(psp_create, high_qualifier, high_bits)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL low;
        DAT_PSP_HANDLE below = psp_new(t, evd, psp_flags_granted(t), &low);
        DAT_CONN_QUAL high = low | row->bits;
        DAT_PSP_HANDLE psp = psp_at_high(t, high, evd);

        if (psp) {
                expect_served(t, psp, high, evd);
                expect_served(t, below, low, evd);
                expect(dat_psp_free(below), DAT_SUCCESS);
                disown(t, below);
                expect_refused(t, low, evd);
                below = psp;
                low = high;
        }
        expect_served(t, below, low, evd);
}

CASE(psp_create, drawn_qualifiers)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL quals[REQUESTS];
        DAT_PSP_HANDLE psps[REQUESTS];
        DAT_COUNT count = cap_at_limit(t, REQUESTS, DAT_HANDLE_TYPE_EP, 2);

        for (int i = 0; i < count; i++) {
                quals[i] = draw(t, UINT64_MAX) | UINT64_C(1) << (63 - i);
                psps[i] = psp_at_high(t, quals[i], evd);
        }
        for (int i = 0; i < count; i++)
                if (psps[i])
                        expect_served(t, psps[i], quals[i], evd);
}

static const struct psp_holder holders[] = {PSP_HOLDERS};

FAMILY(psp_create, in_use, holders)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct loop holder = loop_new(t);
        DAT_EVD_HANDLE vain = row->same_evd ? holder.requests : evd;
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

        row->hold(t, &holder);

        expect(dat_psp_create(
                   ia(t), holder.qual, vain,
                   row->flags == DAT_PSP_CONSUMER_FLAG ? psp_flags_granted(t) : row->flags, &psp),
               DAT_CONN_QUAL_IN_USE);

        psp_holds_on(t, &holder, row);
        if (!row->same_evd) {
                expect(dat_evd_free(vain), DAT_SUCCESS);
                disown(t, vain);
        }
}

CASE(psp_create, in_use_by_process)
{
        struct peer_place place = peer_listen(peer(t));
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

        if (place_is_here(t, &place)) {
                expect(dat_psp_create(ia(t), place.qual, evd, psp_flags_granted(t), &psp),
                       DAT_CONN_QUAL_IN_USE);
        } else {
                psp = psp_at(t, place.qual, evd, psp_flags_granted(t));
                expect_served(t, psp, place.qual, evd);
        }
        expect_peer_served(t, &place);
        expect_empty(t, evd);
}

CASE(psp_create, qualifier_of_freed_rsp)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_RSP_HANDLE rsp = rsp_new(t, ep_with(t), evd, &qual);
        DAT_PSP_HANDLE psp;

        expect(dat_rsp_free(rsp), DAT_SUCCESS);
        disown(t, rsp);

        psp = psp_at(t, qual, evd, psp_flags_granted(t));
        expect_psp(t, psp, qual, evd, psp_flags_granted(t));
        expect_served(t, psp, qual, evd);
        expect_served(t, psp, qual, evd);
}

CASE(psp_create, many_at_once)
{
        static DAT_PSP_HANDLE psps[MANY];
        static DAT_CONN_QUAL quals[MANY];
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual = MANY_FIRST + draw(t, MANY_COUNT);
        int count = 0;

        for (int tries = 0; count < MANY && tries < 2 * MANY; tries++, qual++) {
                DAT_RETURN ret =
                    dat_psp_create(ia(t), qual, evd, psp_flags_granted(t), &psps[count]);

                if (dat_is(ret, DAT_CONN_QUAL_IN_USE))
                        continue;
                if (count >= PLACES && dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                        break;
                expect(ret, DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_PSP, psps[count]);
                quals[count++] = qual;
        }
        record(t, "%d PSPs at once", count);

        psp_all_differ(t, psps, count);
        for (int i = 0; i < count; i++)
                expect_psp(t, psps[i], quals[i], evd, psp_flags_granted(t));
        expect_served(t, psps[0], quals[0], evd);
        expect_served(t, psps[count / 2], quals[count / 2], evd);
        expect_served(t, psps[count - 1], quals[count - 1], evd);
        release(t, psps[0]);
        expect_served(t, psp_at(t, quals[0], evd, psp_flags_granted(t)), quals[0], evd);
}
