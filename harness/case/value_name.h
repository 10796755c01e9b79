/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of the DAT API by name, as arguments of a message; valid to the end of the block. */
#ifndef HARNESS_VALUE_NAME_H
#define HARNESS_VALUE_NAME_H

#include "case/fixture.h"
#include "evidence/api.h"
#include "evidence/value.h"

#define EVENT_NAME_SPACE  24
#define RETURN_NAME_SPACE 96

/* The type of a return, and its subtype if it has one, in `space`: "DAT_INVALID_STATE". */
const char *return_name(DAT_RETURN ret, char *space);

/* "DAT_SOFTWARE_EVENT", or "event 0x7" if no event has the number. */
#define name_of_event(number_) event_name((number_), (char[EVENT_NAME_SPACE]){0}, EVENT_NAME_SPACE)

#define name_of_return(ret_) return_name((ret_), (char[RETURN_NAME_SPACE]){0})

/* A value of an enumeration or its flags: names_of(DAT_EVD_FLAGS, 0x3) is "DAT_EVD_...|DAT_...". */
#define names_of(type_, value_) \
        value_names(&(struct value_text){.length = 0}, #type_, (uint64_t)(value_))

static inline const char *value_names(struct value_text *text, const char *type, uint64_t value)
{
        value_add_enum(text, api_enum_named(type), value);
        return text->at;
}

#endif
