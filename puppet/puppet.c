/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The puppet: a case without a clause, which makes the DAT calls that its run's program names. The
 * trace records the calls; the executable specification judges them. A program is a list of steps,
 * a line each: the step's name and its arguments, whole numbers. An object is named by its kind and
 * its slot: 1000 * kind + slot; a negative number is the null handle. A slot whose object was
 * freed, or was never made, is the null handle too, because a provider may give a freed handle
 * again. A step behind "&" is taken only if the last call succeeded, so that no walk waits for what
 * a refused call began. The number of a freed object, 100 above its slot, names its handle until
 * another object is made. A wait may be on a thread of its own: the next step follows when the
 * thread waits or has returned, and the wait ends before the walk does. Objects of the upper slots
 * are made of a second IA, or of the null handle while it is not open. The other end of a
 * connection may be a peer's, a process of its own on this host or on another one (peer_steps.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "case.h"
#include "walk.h"

#define STEP_ARGS 8
#define NAME_MAX_ 31

static const struct move *find_move(const char *name)
{
        static const struct move *const all[] = {ia_moves,       memory_moves,     event_moves,
                                                 endpoint_moves, connection_moves, peer_moves};

        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
                for (const struct move *move = all[i]; move->name; move++)
                        if (strcmp(move->name, name) == 0)
                                return move;
        return NULL;
}

/* Takes the step of one line; a line that is none ends the walk, for its author is at fault. */
static void take_line(struct walk *walk, const char *line)
{
        char name[NAME_MAX_ + 1];
        long arg[STEP_ARGS] = {0};
        const struct move *move;
        int used = 0;

        line += strspn(line, " ");
        if (*line == '&' && !dat_is(walk->said, DAT_SUCCESS))
                return;
        line += *line == '&';
        if (sscanf(line, "%31s%n", name, &used) != 1)
                return;
        move = find_move(name);
        if (!move)
                test_end(walk->t, VERDICT_ERROR, "step %u, \"%s\", is unknown", walk->steps, name);
        line += used;
        for (unsigned int i = 0; i < move->args; i++) {
                char *end;

                errno = 0;
                arg[i] = strtol(line, &end, 10);
                if (end == line || errno)
                        test_end(walk->t, VERDICT_ERROR, "step %u, \"%s\", lacks argument %u",
                                 walk->steps, name, i + 1);
                line = end;
        }
        walk->said = move->take(walk, arg);
}

static void free_all(struct walk *walk, enum kind kind, DAT_RETURN (*free_one)(DAT_HANDLE handle))
{
        for (unsigned int slot = 0; slot < SLOTS; slot++) {
                if (walk->at[kind][slot] == DAT_HANDLE_NULL)
                        continue;
                free_one(walk->at[kind][slot]);
                walk->at[kind][slot] = DAT_HANDLE_NULL;
        }
}

/* DAT 2.0's takes private data too, so it is a macro. */
static DAT_RETURN reject(DAT_HANDLE request)
{
        return dat_cr_reject(request);
}

static void give_back(struct memory *memory)
{
        if (memory->shared)
                munmap(memory->bytes, MEMORY_BYTES);
        else if (!memory->of_other_lmr)
                free(memory->bytes);
}

/* Frees what is left, users first; the IA's close takes what a provider refuses to free. */
static void clean_up(struct walk *walk)
{
        free_all(walk, CR, reject);
        free_all(walk, PSP, dat_psp_free);
        free_all(walk, RSP, dat_rsp_free);
        free_all(walk, EP, dat_ep_free);
        free_all(walk, RMR, dat_rmr_free);
        free_all(walk, LMR, dat_lmr_free);
        free_all(walk, SRQ, dat_srq_free);
        free_all(walk, EVD, dat_evd_free);
        free_all(walk, CNO, dat_cno_free);
        free_all(walk, PZ, dat_pz_free);
        if (walk->other != DAT_HANDLE_NULL)
                dat_ia_close(walk->other, DAT_CLOSE_ABRUPT_FLAG);
        for (unsigned int slot = 0; slot < SLOTS; slot++)
                give_back(&walk->memory[slot]);
        if (walk->pages)
                munmap(walk->pages, MEMORY_BYTES);
}

static unsigned int count_lines(const char *text)
{
        unsigned int lines = 0;

        for (; text && *text; text = strchr(text, '\n')) {
                text += strspn(text, "\n");
                lines += *text != '\0';
        }
        return lines;
}

CASE_WITH(explore, walk, .needs = 0, .peers = 1, .network = 1)
{
        const char *given = t->settings->program ? t->settings->program : "";
        struct walk *walk = calloc(1, sizeof(*walk));
        char *program = strdup(given);
        char *rest = NULL;

        if (!walk || !program)
                resource(t, "no memory for a walk");
        walk->t = t;
        ia_attr(t);
        walk->at[EVD][ASYNC_SLOT] = async_evd(t);
        for (char *line = strtok_r(program, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest)) {
                walk->steps++;
                take_line(walk, line);
        }
        walk_join(walk, NO_OBJECT);
        walk_look_again(walk);
        walk->at[EVD][ASYNC_SLOT] = DAT_HANDLE_NULL;
        walk->at[EVD][OTHER_ASYNC_SLOT] = DAT_HANDLE_NULL;
        clean_up(walk);
        expect_eq(walk->steps, count_lines(given));
        free(program);
        free(walk);
}
