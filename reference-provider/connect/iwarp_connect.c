/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/iwarp_connect.h"
#include "base/event_loop.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/os.h"
#include "connect/cm_conn.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * On iWARP rdma_connect() is a TCP connect, which tries a silent host for two minutes. So each call
 * has a thread. The thread may outlive its connection and its IA.
 */
struct iwarp_connect {
        struct link link;  /* in ia->iwarp_cm.connects, once it has returned */
        struct conn *conn; /* NULL after iwarp_connect_abandon() */
        struct rdma_cm_id *id;
        struct rdma_conn_param param;
        uint8_t data[sizeof(((struct conn *)NULL)->wire)];
        pthread_t thread;
        int error;
};

/* Guards the links between connections and threads. Innermost lock but the event loop's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *argument)
{
        struct iwarp_connect *attempt = argument;

        if (rdma_connect(attempt->id, &attempt->param))
                attempt->error = errno;
        pthread_mutex_lock(&lock);
        if (attempt->conn) {
                list_append(&attempt->conn->ia->iwarp_cm.connects, &attempt->link);
                event_loop_rearm(&attempt->conn->ia->loop);
        }
        pthread_mutex_unlock(&lock);
        return NULL;
}

/*
 * Starts a thread that calls rdma_connect(). Returns false, and changes nothing, if no thread can
 * be made.
 */
bool iwarp_connect_start(struct conn *conn, const struct rdma_conn_param *param)
{
        struct iwarp_connect *attempt = calloc(1, sizeof(*attempt));
        bool begun;

        if (!attempt)
                return false;
        attempt->conn = conn;
        attempt->id = conn->id;
        attempt->param = *param;
        attempt->param.private_data = attempt->data;
        memcpy(attempt->data, param->private_data, param->private_data_len);
        list_init(&attempt->link);
        pthread_mutex_lock(&lock);
        begun = thread_spawn(&attempt->thread, run, attempt);
        conn->iwarp.attempt = begun ? attempt : NULL;
        pthread_mutex_unlock(&lock);
        if (!begun)
                free(attempt);
        return begun;
}

/* Returns a connection whose rdma_connect() has returned, with 0 or an errno in *error, or NULL. */
struct conn *iwarp_connect_next(struct ia *ia, int *error)
{
        struct iwarp_connect *attempt = NULL;
        struct conn *conn;

        pthread_mutex_lock(&lock);
        if (!list_empty(&ia->iwarp_cm.connects)) {
                attempt = container_of(ia->iwarp_cm.connects.next, struct iwarp_connect, link);
                list_remove(&attempt->link);
        }
        pthread_mutex_unlock(&lock);
        if (!attempt)
                return NULL;
        pthread_join(attempt->thread, NULL);
        conn = attempt->conn;
        conn->iwarp.attempt = NULL;
        *error = attempt->error;
        free(attempt);
        return conn;
}

/* Detaches the connection. iwarp_connect_destroy() then owns the id. */
void iwarp_connect_abandon(struct conn *conn)
{
        pthread_mutex_lock(&lock);
        list_remove(&conn->iwarp.attempt->link);
        conn->iwarp.attempt->conn = NULL;
        pthread_mutex_unlock(&lock);
}

/* Waits for rdma_connect(), then destroys the id and the abandoned attempt. */
void iwarp_connect_destroy(void *argument)
{
        struct iwarp_connect *attempt = argument;

        pthread_join(attempt->thread, NULL);
        rdma_destroy_id(attempt->id);
        free(attempt);
}
