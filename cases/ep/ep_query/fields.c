/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_query: the fields. */
#include "case/ep_attr.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/ep_query/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "clauses/ep_query.h"

#include <netinet/in.h>
#include <string.h>

#define DRAWN 300 /* masks */

FAMILY(ep_query, field, fields)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);
        DAT_EP_PARAM param;

        join(t, &active, &passive);
        param = queried(t, active.ep, row->bit);
        check_field(t, row, &active.param, &param);
        param = queried(t, passive.ep, row->bit);
        check_field(t, row, &passive.param, &param);
}

FAMILY(ep_query, field_among_all, fields)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);
        DAT_EP_PARAM param;

        join(t, &active, &passive);
        param = queried(t, active.ep, DAT_EP_FIELD_ALL);
        check_field(t, row, &active.param, &param);
        param = queried(t, passive.ep, DAT_EP_FIELD_ALL);
        check_field(t, row, &passive.param, &param);
}

CASE(ep_query, every_two)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);

        join(t, &active, &passive);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                for (size_t j = 0; j < i; j++)
                        check_fields(t, &active, fields[i].bit | fields[j].bit);
}

CASE(ep_query, all_but_one)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);

        join(t, &active, &passive);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                check_fields(t, &passive, DAT_EP_FIELD_ALL & ~fields[i].bit);
}

CASE(ep_query, any_mask)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);

        join(t, &active, &passive);
        for (int i = 0; i < DRAWN; i++)
                check_fields(t, &passive, DAT_EP_FIELD_ALL & draw(t, UINT64_C(1) << 31));
}

/* The suite knows no name of such an attribute: the one query must bear the other out. */
CASE(ep_query, named_attributes)
{
        struct known known = known_ep(t, 1);
        DAT_EP_ATTR all = queried(t, known.ep, DAT_EP_FIELD_ALL).ep_attr;
        DAT_EP_ATTR alone;

        alone = queried(t, known.ep, DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR).ep_attr;
        expect_eq(alone.ep_transport_specific_count, all.ep_transport_specific_count);
        alone = queried(t, known.ep, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR).ep_attr;
        expect_eq(alone.ep_provider_specific_count, all.ep_provider_specific_count);
        expect_that(all.ep_transport_specific_count >= 0 && all.ep_provider_specific_count >= 0,
                    "a negative number of attributes");
        for (int i = 0; i < all.ep_transport_specific_count; i++)
                expect_that(all.ep_transport_specific[i].name, "an attribute without a name");
        for (int i = 0; i < all.ep_provider_specific_count; i++)
                expect_that(all.ep_provider_specific[i].name, "an attribute without a name");
}
