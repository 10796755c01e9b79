/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases that change the suite's code in their process, as a provider could that lives there. */
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "case.h"
#include "case/check.h"
#include "case/test.h"
#include "evidence/seal.h"

/* A constant with an address in it, which the loader writes and then protects. */
static const char *const relocated[] = {"as it was"};

static unsigned char *page_of(const void *address, size_t *size)
{
        *size = (size_t)sysconf(_SC_PAGESIZE);
        return (unsigned char *)address - ((uintptr_t)address & (*size - 1));
}

static void protect(struct test *t, const void *address, int how)
{
        size_t size;
        unsigned char *page = page_of(address, &size);

        /* What is written may continue in the next page. */
        must_that(mprotect(page, 2 * size, how) == 0, "its rights do not change");
}

#if defined(__x86_64__)
/* In the place of test_end(): each check held, and the case is PASS. */
static _Noreturn void end_as_pass(struct test *t)
{
        for (size_t i = 0; i < evidence_entries(t->evidence); i++)
                t->evidence->entries[i].ok = 1;
        t->verdict = VERDICT_PASS;
        t->reason[0] = '\0';
        longjmp(t->end, 1);
}

CASE_WITH(patch, turns_a_failure, .needs = 0)
{
        unsigned char jump[12] = {0x48, 0xb8}; /* movabs $address, %rax; jmp *%rax */
        void (*to)(struct test *) = end_as_pass;
        void *end;
        void (*function)(struct test *, enum verdict, const char *, ...) = test_end;

        memcpy(jump + 2, &to, sizeof(to));
        jump[10] = 0xff;
        jump[11] = 0xe0;
        memcpy(&end, &function, sizeof(end));
        protect(t, end, PROT_READ | PROT_WRITE | PROT_EXEC);
        memcpy(end, jump, sizeof(jump));
        protect(t, end, PROT_READ | PROT_EXEC);
        expect_eq(1 + 1, 3);
}
#endif

CASE_WITH(patch, takes_back, .needs = 0)
{
        void (*function)(struct test *, enum verdict, const char *, ...) = test_end;
        volatile unsigned char *end;

        memcpy((void *)&end, &function, sizeof(end));
        protect(t, (const void *)end, PROT_READ | PROT_WRITE | PROT_EXEC);
        *end = (unsigned char)(*end + 1);
        *end = (unsigned char)(*end - 1);
        protect(t, (const void *)end, PROT_READ | PROT_EXEC);
        expect_eq(1 + 1, 2);
}

CASE_WITH(patch, maps_anew, .needs = 0)
{
        void (*function)(struct test *, enum verdict, const char *, ...) = test_end;
        int fd = memfd_create("code", MFD_CLOEXEC);
        size_t size;
        unsigned char *page;
        void *end;

        memcpy(&end, &function, sizeof(end));
        page = page_of(end, &size);
        must_that(write(fd, page, size) == (ssize_t)size, "it is not copied");
        must_that(mmap(page, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == page,
                  "it is not mapped there");
        close(fd);
        expect_eq(1 + 1, 2);
}

/* The code of the program, whose mapping has the same rights before and behind a write to it. */
struct code {
        unsigned char *start;
        size_t length;
        off_t offset; /* in its file */
};

static int find_code(struct dl_phdr_info *info, size_t size, void *context)
{
        struct code *code = context;
        size_t page = (size_t)sysconf(_SC_PAGESIZE);

        (void)size;
        for (size_t i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *header = &info->dlpi_phdr[i];
                uintptr_t at = info->dlpi_addr + header->p_vaddr;
                size_t before = at & (page - 1);

                if (header->p_type == PT_LOAD && header->p_flags & PF_X)
                        *code = (struct code){
                            .start = (unsigned char *)(at - before), /* NOLINT */
                            .length = (before + header->p_memsz + page - 1) & ~(page - 1),
                            .offset = (off_t)(header->p_offset - before),
                        };
        }
        return 1;
}

static struct code write_to_code(struct test *t)
{
        struct code code = {0};

        dl_iterate_phdr(find_code, &code);
        must_that(mprotect(code.start, code.length, PROT_READ | PROT_WRITE | PROT_EXEC) == 0,
                  "its rights do not change");
        *(volatile unsigned char *)code.start = *(volatile unsigned char *)code.start;
        must_that(mprotect(code.start, code.length, PROT_READ | PROT_EXEC) == 0,
                  "its rights do not change back");
        return code;
}

CASE_WITH(patch, discards, .needs = 0)
{
        struct code code = write_to_code(t);

        (void)madvise(code.start, code.length, MADV_DONTNEED);
        expect_eq(1 + 1, 2);
}

/* The range of the call begins before the code. */
CASE_WITH(patch, discards_with_more, .needs = 0)
{
        struct code code = write_to_code(t);
        size_t more = (size_t)1 << 30;

        (void)madvise(code.start - more, more + code.length, MADV_DONTNEED);
        expect_eq(1 + 1, 2);
}

CASE_WITH(patch, maps_the_file, .needs = 0)
{
        struct code code = write_to_code(t);
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        must_that(fd >= 0, "its file is not opened");
        (void)mmap(code.start, code.length, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
                   code.offset);
        close(fd);
        expect_eq(1 + 1, 2);
}

CASE_WITH(patch, changes_a_constant, .needs = 0)
{
        static const char *const other = "as it is";
        const char *volatile *at;
        const char *const *constant = relocated;

        memcpy((void *)&at, (const void *)&constant, sizeof(at));
        protect(t, (const void *)at, PROT_READ | PROT_WRITE);
        *at = other;
        protect(t, (const void *)at, PROT_READ);
        expect_eq(1 + 1, 2);
}

CASE_WITH(patch, leaves_unseen, .needs = 0)
{
        expect_eq(1 + 1, 2);
        must(dat_ia_close(ia(t), DAT_CLOSE_ABRUPT_FLAG));
        verdict_seal(&t->evidence->end, SEAL_END, VERDICT_PASS, "", NULL);
        atomic_store(&t->evidence->phase, PHASE_DONE);
        _exit(0);
}
