/* SPDX-License-Identifier: BSD-2-Clause */
#include "walk.h"

#include <string.h>

#include "case.h"

/* The context in a segment of a slot that never had an LMR: of none, and 0 may be a real one. */
#define NO_CONTEXT 0x7ffffff1
/* A slot so much further up names the last object that was freed there. */
#define FREED 100
/* Where the RSP of slot 0 listens; the others follow. */
#define RSP_QUALIFIER 24000

/* The place of an object, or NULL where the number names none. */
static DAT_HANDLE *place(struct walk *walk, long number)
{
        if (number < 0 || number / BY_KIND >= KINDS || number % BY_KIND >= SLOTS)
                return NULL;
        return &walk->at[number / BY_KIND][number % BY_KIND];
}

DAT_HANDLE walk_object(struct walk *walk, long number)
{
        DAT_HANDLE *at = place(walk, number);

        if (!at && number >= FREED && place(walk, number - FREED))
                return walk->freed[number / BY_KIND][number % BY_KIND - FREED];
        return at ? *at : DAT_HANDLE_NULL;
}

bool walk_is_free(struct walk *walk, long number, enum kind kind)
{
        DAT_HANDLE *at = place(walk, number);

        return at && number / BY_KIND == kind && *at == DAT_HANDLE_NULL;
}

void walk_belongs(struct walk *walk, long number, long with)
{
        const DAT_HANDLE *at = place(walk, with);

        if (!at)
                return;
        walk->of_other[number / BY_KIND][number % BY_KIND] =
            number == with ? slot_of(with) >= OTHER_SLOTS
                           : walk->of_other[with / BY_KIND][with % BY_KIND];
}

DAT_RETURN walk_keep(struct walk *walk, long number, DAT_RETURN ret, const DAT_HANDLE *made)
{
        if (dat_is(ret, DAT_SUCCESS)) {
                memset(walk->freed, 0, sizeof(walk->freed));
                *place(walk, number) = *made;
                walk_belongs(walk, number, number);
        }
        return ret;
}

DAT_RETURN walk_gone(struct walk *walk, long number, DAT_RETURN ret)
{
        DAT_HANDLE *at = place(walk, number);

        if (at && dat_is(ret, DAT_SUCCESS)) {
                walk->freed[number / BY_KIND][number % BY_KIND] = *at;
                *at = DAT_HANDLE_NULL;
        }
        return ret;
}

DAT_IA_HANDLE walk_ia_of(const struct walk *walk, long number)
{
        return slot_of(number) < OTHER_SLOTS ? walk->t->ia : walk->other;
}

void walk_forget(struct walk *walk, DAT_HANDLE owner)
{
        for (unsigned int i = 0; i < TOLD_MOST; i++)
                if (walk->told[i].owner == owner)
                        walk->told[i].at = NULL;
}

void walk_remember(struct walk *walk, DAT_HANDLE owner, const char *clause, const void *at,
                   DAT_COUNT length)
{
        struct told *told = walk->told;

        walk_forget(walk, owner);
        while (told < walk->told + TOLD_MOST && told->at)
                told++;
        if (told == walk->told + TOLD_MOST || !at || length <= 0 || length > PRIVATE_MOST)
                return;
        *told = (struct told){.owner = owner, .clause = clause, .at = at, .length = (size_t)length};
        memcpy(told->was, at, told->length);
}

void walk_look_again(struct walk *walk)
{
        struct test *t = walk->t;

        for (unsigned int i = 0; i < TOLD_MOST; i++) {
                const struct told *told = &walk->told[i];

                if (told->at)
                        expect_that(memcmp(told->at, told->was, told->length) == 0,
                                    "private data is not what it was [%s]", told->clause);
        }
}

DAT_DTO_COOKIE walk_cookie(const struct walk *walk)
{
        return (DAT_DTO_COOKIE){.as_64 = walk->steps};
}

const struct memory *walk_memory(const struct walk *walk, long lmr)
{
        return &walk->memory[slot_of(lmr)];
}

DAT_LMR_TRIPLET walk_segment(struct walk *walk, long lmr, long offset, long length)
{
        const struct memory *memory = walk_memory(walk, lmr);
        DAT_LMR_TRIPLET made;

        memset(&made, 0, sizeof(made));
        made.lmr_context = memory->bytes ? memory->lmr_context : NO_CONTEXT;
        made.virtual_address = (DAT_VADDR)(uintptr_t)memory->bytes + (DAT_VADDR)offset;
        made.segment_length = (DAT_UINT32)length;
        return made;
}

DAT_CONN_QUAL walk_qualifier(const struct walk *walk, long number)
{
        if (number / BY_KIND == RSP)
                return RSP_QUALIFIER + slot_of(number);
        return walk->qualifier[slot_of(number)];
}

unsigned char *walk_private_data(struct walk *walk, long length)
{
        if (length <= 0 || length > PRIVATE_MOST)
                return NULL;
        memset(walk->private, (int)(walk->steps & 0xff), (size_t)length);
        return walk->private;
}
