/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_query: arguments. */
#include "cases/ep/shared/endpoint.h"
#include "cases/shared/masks.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_query/fixtures.h"
#include "clauses/srq_query.h"

#include <string.h>

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_SRQ_FIELD_ALL)};

FAMILY(srq_query, invalid_mask, masks)
{
        expect_masks_refused(t, &srq_object_query, srq_with(t), row);
}

/* Each bit of the mask's 32 that is no field's, alone and beside every field's. */
CASE(srq_query, invalid_mask_by_any_bit)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_SRQ_PARAM param;

        for (unsigned int bit = DAT_SRQ_FIELD_ALL + 1; bit != 0; bit <<= 1)
                for (unsigned int valid = 1; valid <= DAT_SRQ_FIELD_ALL; valid <<= 1) {
                        expect(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)bit, &param),
                               DAT_INVALID_PARAMETER);
                        expect(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)(bit | valid), &param),
                               DAT_INVALID_PARAMETER);
                }
}

CASE(srq_query, invalid_mask_then_valid)
{
        struct known known = known_srq(t);

        refuse_mask(t, &known);

        srq_query_check_fields(t, &known, DAT_SRQ_FIELD_ALL);
}

CASE(srq_query, no_mask)
{
        expect_no_mask_answered(t, &srq_object_query, srq_with(t));
}

static DAT_RETURN query_into_nothing(void *srq)
{
        return dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL);
}

CASE(srq_query, null_structure)
{
        struct known known = known_srq(t);
        DAT_RETURN answer;

        if (subprocess_call(t, query_into_nothing, known.srq, &answer))
                record(t, "the call returned %s", name_of_return(answer));

        srq_query_check_fields(t, &known, DAT_SRQ_FIELD_ALL);
}

LEGAL(srq_query)
{
        static DAT_SRQ_PARAM param;

        call->srq_handle = srq_with(t);
        call->srq_param_mask = DAT_SRQ_FIELD_ALL;
        call->srq_param = &param;
}
