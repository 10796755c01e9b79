/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_modify/general_fixtures.h"

struct ep_change unconnected(struct test *t, enum ep_parameter_id id)
{
        return ep_change_in(t, &ep_parameters[id], DAT_EP_STATE_UNCONNECTED);
}

void wish_objects(struct test *t, struct wishes *wishes)
{
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[ep_modifiable[i].parameter];

                if (parameter->make)
                        wishes->made[i] = parameter->make(t);
        }
}

void wish(struct test *t, struct wishes *wishes, const DAT_EP_PARAM *now)
{
        wishes->asked = *now;
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[ep_modifiable[i].parameter];

                if (parameter->other)
                        wishes->made[i] = parameter->other(t, ep_value(now, parameter));
                else if (!parameter->make)
                        wishes->made[i] = ep_value(now, parameter);
                ep_value_set(&wishes->asked, parameter, wishes->made[i]);
                wishes->all |= parameter->field;
        }
}
