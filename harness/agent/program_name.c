/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/program_name.h"

#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>

/* Names that programs of RDMA users have. None may be known as that of a judged process. */
static const char *const names[] = {"server", "client", "worker", "node", "store", "ingest"};

static struct {
        const char *name; /* NULL: none was drawn */
        char *begin;      /* of the command line, as /proc shows it */
        char *end;
} line;

void program_name_learn(int argc, char **argv)
{
        if (argc < 1)
                return;
        line.begin = argv[0];
        line.end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
        for (int i = 0; i < argc; i++) {
                char *copy = strdup(argv[i]);

                if (copy)
                        argv[i] = copy;
                else
                        line.end = line.begin; /* nothing can be written there */
        }
}

void program_name_draw(void)
{
        uint32_t drawn = 0;

        (void)!getrandom(&drawn, sizeof(drawn), 0);
        line.name = names[drawn % (sizeof(names) / sizeof(names[0]))];
}

void program_name_take(void)
{
        size_t room = (size_t)(line.end - line.begin);
        size_t length;

        if (!line.name)
                return;
        prctl(PR_SET_NAME, line.name);
        length = strlen(line.name) + 1;
        if (length > room)
                return;
        memset(line.begin, 0, room);
        memcpy(line.begin, line.name, length);
        /* Without the privilege for it, the line ends with empty arguments. */
        prctl(PR_SET_MM, PR_SET_MM_ARG_END, (unsigned long)(line.begin + length), 0, 0);
}
