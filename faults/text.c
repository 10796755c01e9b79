/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts in conditions. */
#include <regex.h>
#include <string.h>

#include "fault.h"

static const char *text_of(long long address)
{
        return word_pointer((uint64_t)address);
}

bool fault_text_equal(long long text, long long other)
{
        return text && !strcmp(text_of(text), text_of(other));
}

bool fault_text_matches(long long text, long long expression)
{
        regex_t compiled;
        bool found;

        if (!text || regcomp(&compiled, text_of(expression), REG_EXTENDED | REG_NOSUB))
                return false;
        found = regexec(&compiled, text_of(text), 0, NULL, 0) == 0;
        regfree(&compiled);
        return found;
}
