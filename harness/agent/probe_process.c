/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/probe_process.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "agent/build_id.h"
#include "agent/descriptors.h"
#include "agent/preload.h"
#include "case/attributes.h"
#include "evidence/address.h"
#include "evidence/api.h"
#include "evidence/seal.h"
#include "evidence/trace.h"

#define REGISTRY_MAX 64
#define WAIT_US      1000

static void refused(struct probe *probe, const char *what, DAT_RETURN ret)
{
        char type[API_NAME_SPACE];
        char subtype[API_NAME_SPACE];

        snprintf(probe->reason, sizeof(probe->reason), "%s(\"%s\") returned %s, %s", what,
                 probe->ia, api_return_name(ret, type), api_subtype_name(ret, subtype));
}

static bool failed(struct probe *probe, const char *what, DAT_RETURN ret)
{
        if (dat_is(ret, DAT_SUCCESS))
                return false;
        refused(probe, what, ret);
        return true;
}

/* The first IA of dat.conf. */
static bool find_first(struct probe *probe)
{
        static DAT_PROVIDER_INFO infos[REGISTRY_MAX];
        DAT_PROVIDER_INFO *list[REGISTRY_MAX];
        DAT_COUNT count = 0;
        DAT_RETURN ret;

        for (size_t i = 0; i < REGISTRY_MAX; i++)
                list[i] = &infos[i];
        ret = dat_registry_list_providers(REGISTRY_MAX, &count, list);
        if (!dat_is(ret, DAT_SUCCESS) || count < 1) {
                snprintf(probe->reason, sizeof(probe->reason),
                         "no IA was named, and the dat.conf that DAT_OVERRIDE names has none");
                return false;
        }
        snprintf(probe->ia, sizeof(probe->ia), "%s", infos[0].ia_name);
        return true;
}

/* Keeps the path and the build id of the object that has the entry point of a provider. */
static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
        struct probe *probe = arg;
        void *handle;
        void *symbol;
        Dl_info where;

        (void)size;
        if (!info->dlpi_name || !info->dlpi_name[0])
                return 0;
        handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        if (!handle)
                return 0;
        symbol = dlsym(handle, "dat_provider_init");
        dlclose(handle);
        if (!symbol || !dladdr(symbol, &where) || strcmp(where.dli_fname, info->dlpi_name) != 0)
                return 0;
        snprintf(probe->library, sizeof(probe->library), "%s", info->dlpi_name);
        build_id_of(info, probe->build_id, sizeof(probe->build_id));
        return 1;
}

/* Whether the query wrote anything of each of its two answers. */
static bool has_attributes(const struct probe *probe)
{
        return memchr(probe->ia_unwritten, false, sizeof(probe->ia_unwritten)) &&
               memchr(probe->provider_unwritten, false, sizeof(probe->provider_unwritten));
}

/*
 * Whether an object that the IA came with leads to a table, as each does by which a registry hands
 * calls on, and that to code which the process has loaded: the name, an extension, dat_ia_open.
 */
static bool leads_to_table(DAT_EVD_HANDLE async)
{
        const void *table;
        void *words[3];
        Dl_info where;

        return trace_read(&table, async, sizeof(table)) &&
               trace_read(words, table, sizeof(words)) && words[2] && dladdr(words[2], &where) != 0;
}

/* Whether the query of all attributes answered as it should. */
static bool ask_all(struct probe *probe, DAT_IA_HANDLE ia)
{
        DAT_RETURN ret;

        probe->asking = 1 + UNASKED_IA_QUERY;
        ret = attributes_query(dat_ia_query, ia, probe);
        if (failed(probe, "dat_ia_query", ret))
                return false;
        if (!has_attributes(probe)) {
                snprintf(probe->reason, sizeof(probe->reason),
                         "dat_ia_query of \"%s\" returned DAT_SUCCESS and wrote no attribute",
                         probe->ia);
                return false;
        }
        probe->asking = 0;
        return true;
}

/* An EP knows the address of its IA too. What cannot be had of it is not told. */
static void ask_address(struct probe *probe, const struct probe_job *job, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param = {.local_ia_address_ptr = NULL};

        (void)job;
        if (dat_is(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS))
                address_text(param.local_ia_address_ptr, probe->address, sizeof(probe->address));
}

/* Whether the probe is to make a call: `asking` tells of it if it does not return. */
static bool begins(struct probe *probe, const struct probe_job *job, enum unasked call)
{
        if (job->unasked[call][0])
                return false;
        probe->asking = 1 + (uint32_t)call;
        return true;
}

/* Whether a call by which fixtures take events answers: an EVD is empty, or it gave an event. */
static bool says_empty(struct probe *probe, enum unasked call, DAT_RETURN ret, DAT_RETURN empty)
{
        if (dat_is(ret, empty) || dat_is(ret, DAT_SUCCESS))
                return true;
        refused(probe, unasked_call(call), ret);
        return false;
}

static bool look_at_evd(struct probe *probe, const struct probe_job *job, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT more;

        if (begins(probe, job, UNASKED_EVD_WAIT) &&
            !says_empty(probe, UNASKED_EVD_WAIT, dat_evd_wait(evd, WAIT_US, 1, &event, &more),
                        DAT_TIMEOUT_EXPIRED))
                return false;
        if (begins(probe, job, UNASKED_EVD_DEQUEUE) &&
            !says_empty(probe, UNASKED_EVD_DEQUEUE, dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY))
                return false;
        probe->asking = 0;
        return true;
}

/* Makes the queries by which fixtures look at an EP. Whatever they return, they do return. */
static void look_at_ep(struct probe *probe, const struct probe_job *job, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;
        DAT_EP_STATE state;
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;

        memset(&param, 0, sizeof(param));
        if (begins(probe, job, UNASKED_EP_QUERY))
                dat_ep_query(ep,
                             DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
                                 DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE |
                                 DAT_EP_FIELD_EP_STATE,
                             &param);
        if (begins(probe, job, UNASKED_EP_STATUS))
                dat_ep_get_status(ep, &state, &recv_idle, &request_idle);
        probe->asking = 0;
}

typedef void ep_asker(struct probe *probe, const struct probe_job *job, DAT_EP_HANDLE ep);

static DAT_EVD_HANDLE make_evd(DAT_IA_HANDLE ia, DAT_EVD_FLAGS flags)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

        return dat_is(dat_evd_create(ia, 64, DAT_HANDLE_NULL, flags, &evd), DAT_SUCCESS)
                   ? evd
                   : DAT_HANDLE_NULL;
}

/* Makes an EP for `ask`, and frees it. Without an EP nothing is asked. */
static void ask_ep(struct probe *probe, const struct probe_job *job, DAT_IA_HANDLE ia,
                   ep_asker *ask)
{
        DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_EVD_HANDLE dto;
        DAT_EVD_HANDLE connect;

        if (!dat_is(dat_pz_create(ia, &pz), DAT_SUCCESS))
                return;
        dto = make_evd(ia, DAT_EVD_DTO_FLAG);
        connect = make_evd(ia, DAT_EVD_CONNECTION_FLAG);
        if (dto && connect &&
            dat_is(dat_ep_create(ia, pz, dto, dto, connect, NULL, &ep), DAT_SUCCESS)) {
                ask(probe, job, ep);
                dat_ep_free(ep);
        }
        if (connect)
                dat_evd_free(connect);
        if (dto)
                dat_evd_free(dto);
        dat_pz_free(pz);
}

/* Makes an EVD for a look, and frees it. Without an EVD nothing is asked. */
static bool ask_evd(struct probe *probe, const struct probe_job *job, DAT_IA_HANDLE ia)
{
        DAT_EVD_HANDLE evd = make_evd(ia, DAT_EVD_DTO_FLAG);

        if (!evd)
                return true;
        if (!look_at_evd(probe, job, evd))
                return false;
        dat_evd_free(evd);
        return true;
}

static void look(struct probe *probe, const struct probe_job *job)
{
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_ia_openv(probe->ia, 64, &async, &ia, DAT_VERSION_MAJOR,
                                      DAT_VERSION_MINOR, probe->threadsafe ? DAT_TRUE : DAT_FALSE);

        probe->listed = !dat_is(ret, DAT_PROVIDER_NOT_FOUND);
        if (failed(probe, "dat_ia_open", ret))
                return;
        if (!leads_to_table(async)) {
                snprintf(probe->reason, sizeof(probe->reason),
                         "dat_ia_open(\"%s\") returned DAT_SUCCESS and an EVD that leads to no "
                         "provider's table",
                         probe->ia);
                return;
        }
        dl_iterate_phdr(find_library, probe);
        preload_note(probe);
        if (job->looks && !ask_evd(probe, job, ia))
                return;
        if (job->looks)
                ask_ep(probe, job, ia, look_at_ep);
        else if (job->asks == PROBE_ASKS_ALL && !ask_all(probe, ia))
                return;
        else if (job->asks == PROBE_ASKS_ADDRESS)
                ask_ep(probe, job, ia, ask_address);
        ret = dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
        if (failed(probe, "dat_ia_close", ret))
                return;
        probe->open = true;
}

static void keep_left(struct probe *probe, const struct descriptors *left)
{
        for (size_t i = 0; i < left->count && i < PROBE_LEFT_MAX; i++)
                snprintf(probe->left[probe->left_count++], PROBE_LEFT_TEXT, "%s",
                         left->at[i].target);
}

void probe_process(const void *arg, struct evidence *evidence, int channel)
{
        static struct descriptors before;
        static struct descriptors after;
        const struct probe_job *job = arg;
        struct probe *probe = &evidence->probe;

        (void)channel;
        probe->threadsafe = job->threadsafe;
        /* A process that ends in the call has found a provider. */
        probe->listed = true;
        if (job->ia)
                snprintf(probe->ia, sizeof(probe->ia), "%s", job->ia);
        else if (!find_first(probe))
                goto out;
        descriptors_list(&before);
        look(probe, job);
        descriptors_list(&after);
        descriptors_new(&after, &before);
        keep_left(probe, &after);
out:
        verdict_seal(&evidence->end, SEAL_END, VERDICT_PASS, "", NULL);
        atomic_store(&evidence->phase, PHASE_DONE);
}

const struct probe *case_probe(const struct case_ref *ref, const struct probe *probe,
                               const struct probe *threadsafe)
{
        return ref->needs & NEED_THREAD_SAFE && threadsafe->listed ? threadsafe : probe;
}
