/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps in which a peer takes part: its end of a connection connects, accepts, sends, and is gone.
 * An end has the number PEER_END + slot. A step that the peer cannot take now fails like a call
 * that is refused, so that steps behind "&" are not taken. A step that its provider refuses ends
 * the walk; the model judges the peer's calls like the others.
 */
#include <string.h>
#include <time.h>

#include "walk.h"

#define PEER_END ((long)KINDS * BY_KIND)
/* How long a request to the peer is waited for, in looks. */
#define LOOKS   50
#define LOOK_NS 10000000

/* The place of an end, or NULL where the number names none. */
static struct peer_ep **end_at(struct walk *walk, long number)
{
        if (walk->dead || number < PEER_END || number >= PEER_END + PEER_ENDS)
                return NULL;
        return &walk->ends[number - PEER_END];
}

/* The end of a number, or NULL before it is made. */
static struct peer_ep *end_of(struct walk *walk, long number)
{
        struct peer_ep **at = end_at(walk, number);

        return at ? *at : NULL;
}

static DAT_RETURN cannot(void)
{
        return DAT_INVALID_STATE;
}

/* Once in a walk, and only between two hosts. */
static DAT_RETURN peer_late(struct walk *walk, const long *arg)
{
        if (walk->late || walk->dead || walk->t->settings->peer_mode != PEER_MODE_REMOTE)
                return cannot();
        peer_disturb(peer(walk->t), .delay_ms = (int)arg[0], .reorder_percent = (int)arg[1],
                     .loss_percent = (int)arg[2]);
        walk->late = true;
        return DAT_SUCCESS;
}

static DAT_RETURN peer_listens(struct walk *walk, const long *arg)
{
        (void)arg;
        if (walk->dead)
                return cannot();
        if (!walk->listens)
                walk->place = peer_listen(peer(walk->t));
        walk->listens = true;
        return DAT_SUCCESS;
}

static DAT_RETURN peer_asks(struct walk *walk, const long *arg)
{
        struct peer_ep **end = end_at(walk, arg[0]);

        if (!end || !walk_qualifier(walk, arg[1]))
                return cannot();
        *end = peer_ask(peer(walk->t), walk_qualifier(walk, arg[1]),
                        .private_data = walk_private_data(walk, arg[2]),
                        .private_data_size = (DAT_COUNT)arg[2], .timeout = CONNECT_MS * US_PER_MS);
        return DAT_SUCCESS;
}

/* A call of the case's own: the model judges whether it may be refused. */
static DAT_RETURN peer_connect_to(struct walk *walk, const long *arg)
{
        if (walk->dead || !walk->listens)
                return cannot();
        return dat_ep_connect(walk_object(walk, arg[0]), (DAT_IA_ADDRESS_PTR)&walk->place.address,
                              walk->place.qual, CONNECT_MS * US_PER_MS, (DAT_COUNT)arg[1],
                              walk_private_data(walk, arg[1]), DAT_QOS_BEST_EFFORT,
                              DAT_CONNECT_DEFAULT_FLAG);
}

static bool has_request(struct walk *walk)
{
        for (int i = 0; i < LOOKS; i++) {
                if (peer_has_request(peer(walk->t)))
                        return true;
                nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        }
        return false;
}

static DAT_RETURN peer_answers(struct walk *walk, const long *arg)
{
        struct peer_ep **end = end_at(walk, arg[0]);
        struct peer_cr request;

        if (!end || !walk->listens || !has_request(walk))
                return cannot();
        request = peer_take_request(peer(walk->t));
        if (arg[1])
                *end = peer_accept(&request, walk_private_data(walk, arg[2]), (DAT_COUNT)arg[2]);
        else
                peer_reject(&request);
        return DAT_SUCCESS;
}

static DAT_RETURN peer_settles(struct walk *walk, const long *arg)
{
        struct peer_ep *end = end_of(walk, arg[0]);

        if (!end)
                return cannot();
        peer_wait_connected(end);
        return DAT_SUCCESS;
}

static DAT_RETURN peer_event_taken(struct walk *walk, const long *arg)
{
        struct peer_ep *end = end_of(walk, arg[0]);

        return end && peer_has_event(end) ? DAT_SUCCESS : cannot();
}

static DAT_RETURN peer_sends(struct walk *walk, const long *arg)
{
        struct peer_ep *end = end_of(walk, arg[0]);

        if (!end)
                return cannot();
        peer_send(end, .count = (int)arg[1], .length = (size_t)arg[2], .empty = arg[2] == 0,
                  .flags = (DAT_COMPLETION_FLAGS)arg[3]);
        return DAT_SUCCESS;
}

static DAT_RETURN peer_receives(struct walk *walk, const long *arg)
{
        struct peer_ep *end = end_of(walk, arg[0]);

        if (!end)
                return cannot();
        peer_post_recv(end, (int)arg[1], (size_t)arg[2]);
        return DAT_SUCCESS;
}

/* The peer's end writes to the memory of an LMR of the case; the connection must be whole. */
static DAT_RETURN peer_writes(struct walk *walk, const long *arg)
{
        const struct memory *memory = walk_memory(walk, arg[1]);
        struct peer_ep *end = end_of(walk, arg[0]);

        if (!end || !memory->bytes)
                return cannot();
        peer_write(end, memory->rmr_context, (DAT_VADDR)(uintptr_t)memory->bytes, (size_t)arg[2],
                   walk->steps);
        return DAT_SUCCESS;
}

/* Memory of the peer, at its end, as a target of the case's RDMA. */
static DAT_RMR_TRIPLET exposed(struct peer_ep *end, long length)
{
        struct peer_memory memory = peer_expose(end, (size_t)length);
        DAT_RMR_TRIPLET made;

        memset(&made, 0, sizeof(made));
        made.rmr_context = memory.rmr_context;
        made.target_address = memory.address;
        made.segment_length = (DAT_UINT32)length;
        return made;
}

static DAT_RETURN peer_written(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[2], 0, arg[3]);
        struct peer_ep *end = end_of(walk, arg[1]);
        DAT_RMR_TRIPLET to;

        if (!end)
                return cannot();
        to = exposed(end, arg[3]);
        return dat_ep_post_rdma_write(walk_object(walk, arg[0]), 1, &iov,
                                      (DAT_DTO_COOKIE){.as_64 = walk->steps}, &to,
                                      (DAT_COMPLETION_FLAGS)arg[4]);
}

static DAT_RETURN peer_read_from(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[2], 0, arg[3]);
        struct peer_ep *end = end_of(walk, arg[1]);
        DAT_RMR_TRIPLET from;

        if (!end)
                return cannot();
        from = exposed(end, arg[3]);
        return dat_ep_post_rdma_read(walk_object(walk, arg[0]), 1, &iov,
                                     (DAT_DTO_COOKIE){.as_64 = walk->steps}, &from,
                                     (DAT_COMPLETION_FLAGS)arg[4]);
}

static DAT_RETURN peer_parts(struct walk *walk, const long *arg)
{
        struct peer_ep *end = end_of(walk, arg[0]);

        if (!end)
                return cannot();
        peer_give_up(end);
        return DAT_SUCCESS;
}

static DAT_RETURN peer_dies(struct walk *walk, const long *arg)
{
        (void)arg;
        if (walk->dead || !walk->t->peer)
                return cannot();
        peer_kill(walk->t->peer);
        walk->dead = true;
        return DAT_SUCCESS;
}

const struct move peer_moves[] = {
    {.name = "peer_late", .args = 3, .take = peer_late},
    {.name = "peer_listens", .args = 0, .take = peer_listens},
    {.name = "peer_asks", .args = 3, .take = peer_asks},
    {.name = "peer_connect", .args = 2, .take = peer_connect_to},
    {.name = "peer_answers", .args = 3, .take = peer_answers},
    {.name = "peer_settles", .args = 1, .take = peer_settles},
    {.name = "peer_event", .args = 1, .take = peer_event_taken},
    {.name = "peer_sends", .args = 4, .take = peer_sends},
    {.name = "peer_receives", .args = 3, .take = peer_receives},
    {.name = "peer_writes", .args = 3, .take = peer_writes},
    {.name = "peer_written", .args = 5, .take = peer_written},
    {.name = "peer_read", .args = 5, .take = peer_read_from},
    {.name = "peer_parts", .args = 1, .take = peer_parts},
    {.name = "peer_dies", .args = 0, .take = peer_dies},
    {.name = NULL},
};
