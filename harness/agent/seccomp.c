/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
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

#define LOAD(member_) \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (__u32)offsetof(struct seccomp_data, member_))
#define RETURN(value_)              BPF_STMT(BPF_RET | BPF_K, (value_))
#define WHERE(test_, value_, skip_) BPF_JUMP(BPF_JMP | (test_) | BPF_K, (value_), 0, (skip_))
#define EACH                        2

/*
 * The name space of a new process is in the flags of clone(), which a filter sees, and in the
 * memory of clone3(), which it does not: without that one, the C library takes clone().
 */
bool seccomp_refuse(void)
{
        static const struct sock_filter begin[] = {
            LOAD(arch),
            WHERE(BPF_JEQ, ARCHITECTURE, 1),
            BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
            RETURN(SECCOMP_RET_ERRNO | EPERM),
            LOAD(nr),
            WHERE(BPF_JGE, X32, 1),
            RETURN(SECCOMP_RET_ERRNO | EPERM),
            WHERE(BPF_JEQ, SYS_clone3, 1),
            RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        };
        static const struct sock_filter end[] = {
            WHERE(BPF_JEQ, SYS_clone, 3),      LOAD(args[0]),
            WHERE(BPF_JSET, CLONE_NEWUSER, 1), RETURN(SECCOMP_RET_ERRNO | EPERM),
            RETURN(SECCOMP_RET_ALLOW),
        };
        enum { BEGIN = sizeof(begin) / sizeof(begin[0]), END = sizeof(end) / sizeof(end[0]) };
        struct sock_filter filter[BEGIN + EACH * REFUSED + END];
        struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
        struct sock_filter *at = filter;

        for (size_t i = 0; i < BEGIN; i++)
                *at++ = begin[i];
        for (size_t i = 0; i < REFUSED; i++) {
                *at++ = (struct sock_filter)WHERE(BPF_JEQ, refused[i], 1);
                *at++ = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
        }
        for (size_t i = 0; i < END; i++)
                *at++ = end[i];
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
