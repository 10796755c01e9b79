/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/code.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PARTS_MAX 8
#define MAPS_LINE 512
#define BLOCK     512 /* pages that are looked at in one read */
/* words that are compared without a branch */
#define SAME_WORDS 8

/* Bits of an entry of pagemap. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define PAGE_OF_FILE (UINT64_C(1) << 61)
/* The page's number in the machine's memory; 0 where the agent is not told. */
#define PAGE_FRAME ((UINT64_C(1) << 55) - 1)

/* A part of the program that no process of it writes to, once it is loaded. */
struct part {
        uintptr_t begin;
        uintptr_t end;
        bool relocated; /* the loader has written to it: its bytes are compared, not its pages */
};

struct program {
        struct part parts[PARTS_MAX];
        size_t count;
        size_t page;
};

/* The program is the first of the objects. */
static int find_parts(struct dl_phdr_info *info, size_t size, void *context)
{
        struct program *program = context;

        (void)size;
        for (size_t i = 0; i < info->dlpi_phnum && program->count < PARTS_MAX; i++) {
                const ElfW(Phdr) *header = &info->dlpi_phdr[i];
                uintptr_t begin = info->dlpi_addr + header->p_vaddr;
                uintptr_t end = begin + header->p_memsz;
                bool constant = header->p_type == PT_LOAD && !(header->p_flags & PF_W);

                if (!constant && header->p_type != PT_GNU_RELRO)
                        continue;
                program->parts[program->count++] = (struct part){
                    .begin = begin & ~(program->page - 1),
                    .end = constant ? (end + program->page - 1) & ~(program->page - 1)
                                    : end & ~(program->page - 1),
                    .relocated = !constant,
                };
        }
        return 1;
}

/* What the kernel tells of a child's memory, and of this process's. */
struct child_view {
        int pagemap;
        int memory;
        int our_pagemap;
};

static const struct program *own(void)
{
        static struct program program;

        if (!program.page) {
                program.page = (size_t)sysconf(_SC_PAGESIZE);
                dl_iterate_phdr(find_parts, &program);
        }
        return &program;
}

void code_range(uint64_t *begin, uint64_t *end)
{
        const struct program *program = own();

        *begin = UINT64_MAX;
        *end = 0;
        for (size_t i = 0; i < program->count; i++) {
                if (program->parts[i].begin < *begin)
                        *begin = program->parts[i].begin;
                if (program->parts[i].end > *end)
                        *end = program->parts[i].end;
        }
}

/*
 * Opens the /proc folder of a child. Its number there may be of another PID namespace, and the
 * kernel alone is asked for it.
 */
static int open_folder(pid_t pid)
{
        char path[64];
        char text[512];
        const char *number;
        ssize_t length = -1;
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        int info;

        if (pidfd < 0)
                return -1;
        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
        info = open(path, O_RDONLY | O_CLOEXEC);
        if (info >= 0) {
                length = read(info, text, sizeof(text) - 1);
                close(info);
        }
        close(pidfd);
        text[length < 0 ? 0 : length] = '\0';
        number = strstr(text, "\nPid:\t");
        if (!number) {
                errno = ESRCH;
                return -1;
        }
        snprintf(path, sizeof(path), "/proc/%ld", strtol(number + strlen("\nPid:\t"), NULL, 10));
        return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Reads the line of `maps` for the mapping that has `address`; "" if none has it. */
static void read_mapping(FILE *maps, uintptr_t address, char line[static MAPS_LINE])
{
        rewind(maps);
        while (fgets(line, MAPS_LINE, maps)) {
                char *rest;
                uintptr_t begin = strtoull(line, &rest, 16);
                uintptr_t end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;

                if (address >= begin && address < end)
                        return;
        }
        line[0] = '\0';
}

/* Whether each part is the same mapping of the same file, with the same rights. */
static bool same_mappings(FILE *ours, FILE *theirs)
{
        const struct program *program = own();
        char our[MAPS_LINE];
        char their[MAPS_LINE];

        for (size_t i = 0; i < program->count; i++) {
                read_mapping(ours, program->parts[i].begin, our);
                read_mapping(theirs, program->parts[i].begin, their);
                if (strcmp(our, their) != 0)
                        return false;
        }
        return true;
}

/* Reads what `pagemap` has of `count` pages from `at` on. */
static bool read_entries(int pagemap, uintptr_t at, size_t count, uint64_t entries[static BLOCK])
{
        size_t size = count * sizeof(entries[0]);
        off_t where = (off_t)(at / own()->page * sizeof(entries[0]));

        return pread(pagemap, entries, size, where) == (ssize_t)size;
}

/* The pages of a part from `at` on, as many as are looked at in one read. */
static size_t block_of(const struct part *part, uintptr_t at)
{
        size_t left = (part->end - at) / own()->page;

        return left < BLOCK ? left : BLOCK;
}

/* The first page of a part that is no page of the file any more; 0 if there is none. */
static uintptr_t written_page(int pagemap, const struct part *part)
{
        size_t page = own()->page;

        for (uintptr_t at = part->begin; at < part->end; at += BLOCK * page) {
                uint64_t entries[BLOCK];
                size_t count = block_of(part, at);

                if (!read_entries(pagemap, at, count, entries))
                        return at;
                for (size_t i = 0; i < count; i++)
                        if (entries[i] & (PAGE_PRESENT | PAGE_SWAPPED) &&
                            !(entries[i] & PAGE_OF_FILE))
                                return at + i * page;
        }
        return 0;
}

/* memcmp() as it is in a build whose sanitizer forbids to read between two variables. */
__attribute__((no_sanitize("address"))) static bool is_same(const uint64_t *ours,
                                                            const uint64_t *theirs, size_t count)
{
        uint64_t differing = 0;
        size_t i = 0;

        /* A branch for each word is most of what the comparison costs where a guest is translated.
         */
        for (; !differing && i + SAME_WORDS <= count; i += SAME_WORDS)
                for (size_t j = 0; j < SAME_WORDS; j++)
                        differing |= ours[i + j] ^ theirs[i + j];
        for (; i < count; i++)
                differing |= ours[i] ^ theirs[i];
        return !differing;
}

static bool same_page(int memory, uintptr_t at)
{
        size_t page = own()->page;
        uint64_t words[2048];
        const unsigned char *ours = (const void *)at; /* NOLINT(performance-no-int-to-ptr) */

        for (size_t done = 0; done < page; done += sizeof(words)) {
                size_t size = page - done < sizeof(words) ? page - done : sizeof(words);

                if (pread(memory, words, size, (off_t)(at + done)) != (ssize_t)size ||
                    !is_same((const void *)(ours + done), words, size / sizeof(words[0])))
                        return false;
        }
        return true;
}

/* A page that no process has written to since the fork is one and the same page of both. */
static bool is_one(uint64_t our, uint64_t their)
{
        return our & their & PAGE_PRESENT && our & PAGE_FRAME &&
               (our & PAGE_FRAME) == (their & PAGE_FRAME);
}

/* The first page of a part whose bytes are not this process's; 0 if there is none. */
static uintptr_t differing_page(const struct child_view *child, const struct part *part)
{
        size_t page = own()->page;

        for (uintptr_t at = part->begin; at < part->end; at += BLOCK * page) {
                uint64_t our[BLOCK];
                uint64_t their[BLOCK];
                size_t count = block_of(part, at);
                bool told = read_entries(child->our_pagemap, at, count, our) &&
                            read_entries(child->pagemap, at, count, their);

                for (size_t i = 0; i < count; i++)
                        if (!(told && is_one(our[i], their[i])) &&
                            !same_page(child->memory, at + i * page))
                                return at + i * page;
        }
        return 0;
}

static uintptr_t changed_page(const struct child_view *child)
{
        const struct program *program = own();

        for (size_t i = 0; i < program->count; i++) {
                const struct part *part = &program->parts[i];
                uintptr_t at = part->relocated ? differing_page(child, part)
                                               : written_page(child->pagemap, part);

                if (at)
                        return at;
        }
        return 0;
}

static int open_below(int folder, const char *name)
{
        return folder < 0 ? -1 : openat(folder, name, O_RDONLY | O_CLOEXEC);
}

static void close_if_open(int fd)
{
        if (fd >= 0)
                close(fd);
}

static FILE *open_maps(int folder)
{
        int fd = open_below(folder, "maps");

        return fd < 0 ? NULL : fdopen(fd, "r");
}

static enum code_state compare(FILE *ours, FILE *theirs, const struct child_view *child, char *text,
                               size_t size)
{
        uintptr_t at = changed_page(child);

        if (at) {
                snprintf(text, size,
                         "its process has written to the suite's code, at %#lx of its file",
                         (unsigned long)(at - own()->parts[0].begin));
                return CODE_CHANGED;
        }
        if (same_mappings(ours, theirs))
                return CODE_AS_IT_WAS;
        snprintf(text, size, "its process has mapped the suite's code anew");
        return CODE_CHANGED;
}

enum code_state code_of(pid_t pid, char *text, size_t size)
{
        int our_pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        int folder = open_folder(pid);
        FILE *ours = fopen("/proc/self/maps", "re");
        FILE *theirs = open_maps(folder);
        struct child_view child = {
            .pagemap = open_below(folder, "pagemap"),
            .memory = open_below(folder, "mem"),
            .our_pagemap = our_pagemap,
        };
        enum code_state state = CODE_UNSEEN;

        if (ours && theirs && child.pagemap >= 0 && child.memory >= 0)
                state = compare(ours, theirs, &child, text, size);
        else
                snprintf(text, size, "%s", strerror(errno));
        close_if_open(child.our_pagemap);
        close_if_open(child.memory);
        close_if_open(child.pagemap);
        if (theirs)
                fclose(theirs);
        if (ours)
                fclose(ours);
        if (folder >= 0)
                close(folder);
        return state;
}
