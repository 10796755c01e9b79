/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cr_accept: the CR handle after the accept. */
#include "case/standard.h"
#include "cases/cr/cr_accept/fixtures.h"
#include "cases/cr/shared/request.h"
#include "cases/srq/shared/queue.h"
#include "clauses/cr_accept.h"

FAMILY(cr_accept, handle_afterwards, cr_uses)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        make_for_uses(t);
        expect_cr_accepted(t, &request);

        expect_stale(row->call, requested(t, MADE_BY_CONSUMER).cr, request.cr);
}

FAMILY(cr_accept, looks_afterwards, cr_looks)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        expect_cr_accepted(t, &request);

        expect_stale(row->call, requested(t, MADE_BY_CONSUMER).cr, request.cr);
}

FAMILY(cr_accept, handle_of_reserved_afterwards, cr_uses)
{
        struct request request = requested(t, MADE_FOR_RSP);

        make_for_uses(t);
        expect_cr_accepted(t, &request);

        expect_stale(row->call, requested(t, MADE_BY_CONSUMER).cr, request.cr);
}

FAMILY(cr_accept, handle_by_kind, own_ep_kinds)
{
        struct request request = requested(t, row->maker);

        make_for_uses(t);
        expect_cr_accepted(t, &request);

        expect_cr_stale(t, request.cr);
}

FAMILY(cr_accept, handle_of_lost_afterwards, cr_uses)
{
        struct request request = requested_in_vain(t, MADE_BY_CONSUMER, &asker_losses[0]);
        DAT_RETURN ret;

        make_for_uses(t);
        ret = dat_cr_accept(request.cr, named_ep(&request), 0, NULL);
        if (!dat_is(ret, DAT_SUCCESS))
                end_noted(t, "the accept itself says that the asker has gone (CR-5)");
        request_accepted(t, &request);
        expect_cr_told(t, request.passive, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);

        expect_stale(row->call, requested(t, MADE_BY_CONSUMER).cr, request.cr);
}

LEGAL(cr_accept)
{
        static unsigned char data[PRIVATE_SIZE];
        struct request request = requested(t, MADE_BY_CONSUMER);

        request_gone(t, &request);
        call->cr_handle = request.cr;
        call->ep_handle = request.passive;
        call->private_data_size = PRIVATE_SIZE;
        call->private_data = data;
}
