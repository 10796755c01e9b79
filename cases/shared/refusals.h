/* SPDX-License-Identifier: BSD-2-Clause */
/* A call that is refused, several times: a later refusal may take what the first one left. */
#ifndef CASES_REFUSALS_H
#define CASES_REFUSALS_H

#define EACH_REFUSAL(i_) for (int(i_) = 0; (i_) < 3; (i_)++)

#endif
