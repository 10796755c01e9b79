/* SPDX-License-Identifier: BSD-2-Clause */
/* An EVD and its CNO, for the files that EVDs are made of. All but the last with the EVD locked. */
#ifndef DAPLREF_EVD_CNO_H
#define DAPLREF_EVD_CNO_H

#include <stdbool.h>

#include "daplref.h"
#include "evd.h"

bool evd_watches(const struct evd *evd);
void evd_go_on_watching(struct evd *evd);
void evd_update_watch(struct evd *evd);
void evd_ignore_channel(struct evd *evd);
void evd_object_ready(struct object *object);
DAT_RETURN evd_attach_cno(struct evd *evd, DAT_CNO_HANDLE cno_handle);

#endif
