/* SPDX-License-Identifier: BSD-2-Clause */
/* uDAPL 1.2: what a provider needs beyond <dat/udat.h>. */

#ifndef DAT_REGISTRY_H
#define DAT_REGISTRY_H

#include <dat/udat.h>
#include <dat/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The two entry points that a provider exports, and the names the registry looks up. */
#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini
#define DAT_PROVIDER_INIT_FUNC_STR  "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR  "dat_provider_fini"

typedef void (*DAT_PROVIDER_INIT_FUNC)(IN const DAT_PROVIDER_INFO *, IN const char *);
typedef void (*DAT_PROVIDER_FINI_FUNC)(IN const DAT_PROVIDER_INFO *);

/*
 * Called before the first open of the IA. Registers the IA by dat_registry_add_provider();
 * instance_data is the ia_params field of its dat.conf entry. Not registering is how it fails.
 */
void DAT_PROVIDER_INIT_FUNC_NAME(IN const DAT_PROVIDER_INFO *provider_info,
                                 IN const char *instance_data);

/* Called after the last close of the IA. Takes back what init registered. */
void DAT_PROVIDER_FINI_FUNC_NAME(IN const DAT_PROVIDER_INFO *provider_info);

#ifdef __cplusplus
}
#endif

#endif
