/* SPDX-License-Identifier: BSD-2-Clause */
/* Doubly linked circular lists with the links inside the items. */
#ifndef DAPLREF_LIST_H
#define DAPLREF_LIST_H

#include <stdbool.h>
#include <stddef.h>

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

struct link {
        struct link *prev;
        struct link *next;
};

static inline void list_init(struct link *head)
{
        head->prev = head->next = head;
}

static inline bool list_empty(const struct link *head)
{
        return head->next == head;
}

static inline void list_append(struct link *head, struct link *item)
{
        item->prev = head->prev;
        item->next = head;
        head->prev->next = item;
        head->prev = item;
}

/* Takes the item out of its list but leaves its own links unchanged. */
static inline void list_unlink(struct link *item)
{
        item->prev->next = item->next;
        item->next->prev = item->prev;
}

/* Moves the item from its list to the end of another. */
static inline void list_move(struct link *head, struct link *item)
{
        list_unlink(item);
        list_append(head, item);
}

static inline void list_remove(struct link *item)
{
        list_unlink(item);
        list_init(item);
}

#endif
