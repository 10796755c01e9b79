/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that open and close an IA. */
#ifndef DAPLREF_IA_IMPL_H
#define DAPLREF_IA_IMPL_H

struct ia;

void ia_delete(struct ia *ia);
void ia_close_loop(struct ia *ia);

#endif
