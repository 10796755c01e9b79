/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/seccomp.h"
#include "agent/code.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A sanitizer looks for leaks with ptrace. */
#if defined(__SANITIZE_ADDRESS__)
#define OF_ANOTHER_PROCESS
#else
#define OF_ANOTHER_PROCESS SYS_ptrace,
#endif

/* The calls of another architecture have other numbers. */
#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define ITS_PORTS    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define ITS_PORTS
#else
#error "which architecture do the calls have to be of?"
#endif

static const unsigned short refused[] = {
    /* another process's memory, descriptors, faults */
    OF_ANOTHER_PROCESS SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_kcmp,
    SYS_process_madvise, SYS_userfaultfd,
    /* calls whose requests or addresses a filter cannot read */
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_remap_file_pages,
    /* the kernel's code, and a look into it */
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load,
    SYS_bpf, SYS_perf_event_open, SYS_syslog, SYS_lookup_dcookie,
    /* keys */
    SYS_add_key, SYS_request_key, SYS_keyctl,
    /* what a path leads to */
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree, SYS_fsopen,
    SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_open_by_handle_at,
    SYS_fanotify_init, SYS_quotactl,
    /* namespaces */
    SYS_unshare, SYS_setns,
    /* the machine: its end, swap, clock, names, accounts */
    SYS_reboot, SYS_swapon, SYS_swapoff, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime,
    SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_acct, ITS_PORTS SYS_vhangup};

#define REFUSED (sizeof(refused) / sizeof(refused[0]))
#define X32     0x40000000u

/*
 * Calls that can put other pages in the place of what a process has written, or discard it. At the
 * addresses of the program's code they are refused, so that a write to it stays visible
 * (docs/decisions/0256-code-of-a-case.md).
 */
static const struct placing {
        unsigned short nr;
        unsigned char address; /* which argument */
        unsigned char length;
        unsigned char flags; /* of which one of `if_any` has to be set */
        __u32 if_any;
} placings[] = {
    {.nr = SYS_mmap, .length = 1, .flags = 3, .if_any = MAP_FIXED},
    {.nr = SYS_munmap, .length = 1},
    {.nr = SYS_mremap, .length = 1},
    {.nr = SYS_mremap, .address = 4, .length = 2, .flags = 3, .if_any = MREMAP_FIXED},
    {.nr = SYS_madvise, .length = 1},
};

#define PLACINGS (sizeof(placings) / sizeof(placings[0]))

#define LOAD(member_) \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (__u32)offsetof(struct seccomp_data, member_))
#define RETURN(value_) BPF_STMT(BPF_RET | BPF_K, (value_))
#define JUMP(test_, value_, then_, else_) \
        BPF_JUMP(BPF_JMP | (test_) | BPF_K, (value_), (then_), (else_))
#define WHERE(test_, value_, skip_) JUMP(test_, value_, 0, skip_)

/* An offset of a jump to the end of the rule, which the rule has when it is whole. */
#define OUT      UINT8_MAX
#define CODE_MAX 512

/* Kernels ignore the highest byte of an address on AArch64. */
#define ADDRESS_BITS 0x00ffffffu

struct filter {
        struct sock_filter code[CODE_MAX];
        unsigned short length;
};

static void add(struct filter *filter, const struct sock_filter *code, size_t count)
{
        for (size_t i = 0; i < count && filter->length < CODE_MAX; i++)
                filter->code[filter->length++] = code[i];
}

#define ADD(filter_, ...)                                       \
        add(filter_, (const struct sock_filter[]){__VA_ARGS__}, \
            sizeof((const struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter))

static void end_rule(struct filter *filter, unsigned short begin)
{
        for (unsigned short at = begin; at < filter->length; at++) {
                struct sock_filter *one = &filter->code[at];
                __u8 left = (__u8)(filter->length - at - 1);

                if (BPF_CLASS(one->code) != BPF_JMP)
                        continue;
                one->jt = one->jt == OUT ? left : one->jt;
                one->jf = one->jf == OUT ? left : one->jf;
        }
}

/* Leaves the rule unless the two arguments are a range that has a byte of [begin, end). */
static void add_overlap(struct filter *filter, const struct placing *placing, uint64_t begin,
                        uint64_t end)
{
        __u32 address = (__u32)offsetof(struct seccomp_data, args[placing->address]);
        __u32 length = (__u32)offsetof(struct seccomp_data, args[placing->length]);

        ADD(filter,
            /* memory word 0 is the low half of the range's end, 1 the carry, 2 the address's high
             * half */
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, address), BPF_STMT(BPF_MISC | BPF_TAX, 0),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, length), BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
            BPF_STMT(BPF_ST, 0), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_X, 0, 2, 0),
            BPF_STMT(BPF_LD | BPF_IMM, 1), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
            BPF_STMT(BPF_LD | BPF_IMM, 0), BPF_STMT(BPF_ST, 1),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, address + 4),
            BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ADDRESS_BITS), BPF_STMT(BPF_ST, 2),
            BPF_STMT(BPF_MISC | BPF_TAX, 0), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, length + 4),
            BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0), BPF_STMT(BPF_LDX | BPF_W | BPF_MEM, 1),
            BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0));
        /* The range has to end above `begin`, and to begin below `end`. */
        ADD(filter, JUMP(BPF_JGT, (__u32)(begin >> 32), 3, 0),
            JUMP(BPF_JEQ, (__u32)(begin >> 32), 0, OUT), BPF_STMT(BPF_LD | BPF_W | BPF_MEM, 0),
            JUMP(BPF_JGT, (__u32)begin, 0, OUT), BPF_STMT(BPF_LD | BPF_W | BPF_MEM, 2),
            JUMP(BPF_JGT, (__u32)(end >> 32), OUT, 0), JUMP(BPF_JEQ, (__u32)(end >> 32), 0, 2),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, address), JUMP(BPF_JGE, (__u32)end, OUT, 0));
}

static void add_placing(struct filter *filter, const struct placing *placing)
{
        unsigned short begin = filter->length;
        uint64_t first;
        uint64_t end;

        code_range(&first, &end);
        ADD(filter, LOAD(nr), WHERE(BPF_JEQ, placing->nr, OUT));
        if (placing->if_any)
                ADD(filter, LOAD(args[placing->flags]), WHERE(BPF_JSET, placing->if_any, OUT));
        /* RDMA libraries ask this of any page that is registered. It discards nothing. */
        if (placing->nr == SYS_madvise)
                ADD(filter, LOAD(args[2]), JUMP(BPF_JEQ, MADV_DONTFORK, OUT, 0),
                    JUMP(BPF_JEQ, MADV_DOFORK, OUT, 0));
        add_overlap(filter, placing, first, end);
        ADD(filter, RETURN(SECCOMP_RET_ERRNO | EPERM));
        end_rule(filter, begin);
}

/*
 * The name space of a new process is in the flags of clone(), which a filter sees, and in the
 * memory of clone3(), which it does not: without that one, the C library takes clone().
 */
bool seccomp_refuse(void)
{
        struct filter filter = {.length = 0};
        struct sock_fprog program = {.filter = filter.code};

        ADD(&filter, LOAD(arch), WHERE(BPF_JEQ, ARCHITECTURE, 1),
            BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), RETURN(SECCOMP_RET_ERRNO | EPERM), LOAD(nr),
            WHERE(BPF_JGE, X32, 1), RETURN(SECCOMP_RET_ERRNO | EPERM),
            WHERE(BPF_JEQ, SYS_clone3, 1), RETURN(SECCOMP_RET_ERRNO | ENOSYS));
        for (size_t i = 0; i < REFUSED; i++)
                ADD(&filter, WHERE(BPF_JEQ, refused[i], 1), RETURN(SECCOMP_RET_ERRNO | EPERM));
        for (size_t i = 0; i < PLACINGS; i++)
                add_placing(&filter, &placings[i]);
        ADD(&filter, LOAD(nr), WHERE(BPF_JEQ, SYS_shmat, 3), LOAD(args[2]),
            WHERE(BPF_JSET, SHM_REMAP, 1), RETURN(SECCOMP_RET_ERRNO | EPERM), LOAD(nr),
            WHERE(BPF_JEQ, SYS_clone, 3), LOAD(args[0]), WHERE(BPF_JSET, CLONE_NEWUSER, 1),
            RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW));
        program.len = filter.length;
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
