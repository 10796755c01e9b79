/* SPDX-License-Identifier: BSD-2-Clause */
#include "failing.h"

#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#define PROVIDER "libdaplref"

static atomic_int to_go; /* calls until the one that fails, 0 where none shall */
static const char *_Atomic failed;
static atomic_bool in_vain;

void fail_call(int nth)
{
        atomic_store(&failed, NULL);
        atomic_store(&to_go, nth);
}

const char *failed_call(void)
{
        atomic_store(&to_go, 0);
        return atomic_load(&failed);
}

void resize_in_vain(bool vain)
{
        atomic_store(&in_vain, vain);
}

static bool is_of_provider(const void *caller)
{
        Dl_info info;

        return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, PROVIDER);
}

bool call_fails(const char *name, const void *caller)
{
        if (!atomic_load(&to_go) || !is_of_provider(caller) || atomic_fetch_sub(&to_go, 1) != 1)
                return false;
        atomic_store(&failed, name);
        errno = ENOMEM;
        return true;
}

/* To add a descriptor to a set takes memory; to change or to remove one does not. */
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
        static int (*_Atomic real)(int, int, int, struct epoll_event *);

        if (op == EPOLL_CTL_ADD && call_fails("epoll_ctl", __builtin_return_address(0)))
                return -1;
        if (!real)
                real = (int (*)(int, int, int, struct epoll_event *))dlsym(RTLD_NEXT, "epoll_ctl");
        return real(epoll, op, fd, event);
}

#define FAILING(type, failure, name, parameters, arguments)                 \
        type name parameters                                                \
        {                                                                   \
                static type(*_Atomic real) parameters;                      \
                                                                            \
                if (call_fails(#name, __builtin_return_address(0)))         \
                        return failure;                                     \
                if (!real)                                                  \
                        real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
                return real arguments;                                      \
        }

/* Under ThreadSanitizer a thread allocates before a function of ours may run in it. */
#ifndef __SANITIZE_THREAD__

/* Not by dlsym(), which allocates, and not past a sanitizer. */
#ifdef __SANITIZE_ADDRESS__
#define REAL_CALLOC __interceptor_calloc
#else
#define REAL_CALLOC __libc_calloc
#endif
void *REAL_CALLOC(size_t count, size_t size);

void *calloc(size_t count, size_t size)
{
        if (call_fails("calloc", __builtin_return_address(0)))
                return NULL;
        return REAL_CALLOC(count, size);
}

#endif

/* In verbs.h these are macros. */
#undef ibv_reg_mr
#undef ibv_query_port

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                unsigned int access);

FAILING(int, -1, epoll_create1, (int flags), (flags))
FAILING(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
FAILING(int, -1, getifaddrs, (struct ifaddrs * *all), (all))
FAILING(int, -1, eventfd, (unsigned int count, int flags), (count, flags))
FAILING(int, -1, timerfd_create, (int clock, int flags), (clock, flags))
FAILING(int, EAGAIN, pthread_create,
        (pthread_t * thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument),
        (thread, attr, start, argument))

FAILING(struct ibv_device **, NULL, ibv_get_device_list, (int *count), (count))
FAILING(struct ibv_context *, NULL, ibv_open_device, (struct ibv_device * device), (device))
FAILING(int, ENOMEM, ibv_query_device, (struct ibv_context * context, struct ibv_device_attr *attr),
        (context, attr))
FAILING(int, ENOMEM, ibv_query_port,
        (struct ibv_context * context, uint8_t port, struct _compat_ibv_port_attr *attr),
        (context, port, attr))
FAILING(struct ibv_pd *, NULL, ibv_alloc_pd, (struct ibv_context * context), (context))
FAILING(struct ibv_mr *, NULL, ibv_reg_mr,
        (struct ibv_pd * pd, void *address, size_t length, int access),
        (pd, address, length, access))
FAILING(struct ibv_mr *, NULL, ibv_reg_mr_iova2,
        (struct ibv_pd * pd, void *address, size_t length, uint64_t iova, unsigned int access),
        (pd, address, length, iova, access))
FAILING(struct ibv_comp_channel *, NULL, ibv_create_comp_channel, (struct ibv_context * context),
        (context))
FAILING(struct ibv_cq *, NULL, ibv_create_cq,
        (struct ibv_context * context, int entries, void *cq_context,
         struct ibv_comp_channel *channel, int vector),
        (context, entries, cq_context, channel, vector))

int ibv_resize_cq(struct ibv_cq *cq, int entries)
{
        static int (*_Atomic real)(struct ibv_cq *, int);

        if (atomic_load(&in_vain))
                return 0;
        if (call_fails("ibv_resize_cq", __builtin_return_address(0)))
                return ENOMEM;
        if (!real)
                real = (int (*)(struct ibv_cq *, int))dlsym(RTLD_NEXT, "ibv_resize_cq");
        return real(cq, entries);
}

FAILING(struct ibv_srq *, NULL, ibv_create_srq,
        (struct ibv_pd * pd, struct ibv_srq_init_attr *attr), (pd, attr))
FAILING(int, ENOMEM, ibv_modify_srq, (struct ibv_srq * srq, struct ibv_srq_attr *attr, int mask),
        (srq, attr, mask))
FAILING(struct ibv_qp *, NULL, ibv_create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr *attr),
        (pd, attr))
FAILING(int, ENOMEM, ibv_modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask),
        (qp, attr, mask))

FAILING(struct rdma_event_channel *, NULL, rdma_create_event_channel, (void), ())
FAILING(int, -1, rdma_create_id,
        (struct rdma_event_channel * channel, struct rdma_cm_id **id, void *context,
         enum rdma_port_space space),
        (channel, id, context, space))
FAILING(int, -1, rdma_bind_addr, (struct rdma_cm_id * id, struct sockaddr *address), (id, address))
FAILING(int, -1, rdma_listen, (struct rdma_cm_id * id, int backlog), (id, backlog))
FAILING(int, -1, rdma_resolve_addr,
        (struct rdma_cm_id * id, struct sockaddr *from, struct sockaddr *to, int milliseconds),
        (id, from, to, milliseconds))
FAILING(int, -1, rdma_resolve_route, (struct rdma_cm_id * id, int milliseconds), (id, milliseconds))
FAILING(int, -1, rdma_connect, (struct rdma_cm_id * id, struct rdma_conn_param *param), (id, param))
FAILING(int, -1, rdma_accept, (struct rdma_cm_id * id, struct rdma_conn_param *param), (id, param))
FAILING(int, -1, rdma_establish, (struct rdma_cm_id * id), (id))
FAILING(int, -1, rdma_init_qp_attr, (struct rdma_cm_id * id, struct ibv_qp_attr *attr, int *mask),
        (id, attr, mask))
