/* SPDX-License-Identifier: BSD-2-Clause */
/* An EVD and its CNO, and the watch over its completion channel. */
#ifndef DAPLREF_EVD_CNO_H
#define DAPLREF_EVD_CNO_H

#include <stdbool.h>

#include "base/daplref.h"

struct evd;
struct object;

DAT_RETURN ref_evd_modify_cno(DAT_EVD_HANDLE, DAT_CNO_HANDLE);
DAT_RETURN ref_evd_enable(DAT_EVD_HANDLE);
DAT_RETURN ref_evd_disable(DAT_EVD_HANDLE);
void evd_watch(struct evd *evd, int by);
void evd_channel_ready(struct evd *evd);
void evd_object_ready(struct object *object);
DAT_RETURN evd_attach_cno(struct evd *evd, DAT_CNO_HANDLE cno_handle);

/* Called with the EVD locked. */
bool evd_watches(const struct evd *evd);
void evd_go_on_watching(struct evd *evd);
void evd_update_watch(struct evd *evd);
void evd_ignore_channel(struct evd *evd);

#endif
