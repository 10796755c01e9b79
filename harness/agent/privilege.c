/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/privilege.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/ipc.h"
#include "agent/mount_view.h"
#include "agent/scratch.h"
#include "agent/seccomp.h"

/* Numbers of ordinary users. A fixed one would tell a provider that it is judged. */
#define USER_FIRST 20000
#define USERS      40000
#define DRAWS      16

#define KEPT_MAX   6
#define GROUPS_MAX 16
#define DEVICES    "/dev/infiniband"

static struct {
        bool keep;
        bool own_user;
        uid_t user; /* the group has its number */
        size_t count;
        char kept[KEPT_MAX][256];
} privilege = {.keep = true};

static void kept(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void kept(const char *format, ...)
{
        va_list args;

        if (privilege.count == KEPT_MAX)
                return;
        va_start(args, format);
        vsnprintf(privilege.kept[privilege.count++], sizeof(privilege.kept[0]), format, args);
        va_end(args);
}

/* Real adapters pin all that they are given; what a processor can be kept from others with goes. */
static void set_limits(void)
{
        static const struct rlimit none = {0, 0};
        static const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};

        setrlimit(RLIMIT_MEMLOCK, &unlimited);
        setrlimit(RLIMIT_CORE, &none);
        setrlimit(RLIMIT_RTPRIO, &none);
        setrlimit(RLIMIT_NICE, &none);
}

/* The groups that a site lets use its adapters, but for root's. */
static size_t device_groups(gid_t *groups)
{
        DIR *dir = opendir(DEVICES);
        const struct dirent *entry;
        size_t count = 0;
        struct stat status;

        while (dir && (entry = readdir(dir)) && count < GROUPS_MAX)
                if (fstatat(dirfd(dir), entry->d_name, &status, 0) == 0 &&
                    S_ISCHR(status.st_mode) && status.st_gid != 0)
                        groups[count++] = status.st_gid;
        if (dir)
                closedir(dir);
        return count;
}

/* A number that is neither a user's nor a group's, if a few draws find one. */
static uid_t draw_user(void)
{
        uid_t user = USER_FIRST;

        for (int i = 0; i < DRAWS; i++) {
                uint32_t drawn = 0;

                (void)!getrandom(&drawn, sizeof(drawn), 0);
                user = USER_FIRST + drawn % USERS;
                if (!getpwuid(user) && !getgrgid(user))
                        break;
        }
        return user;
}

static bool become_user(void)
{
        uid_t user = privilege.user;

        return setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
}

/* How a process ends that was that user: REFUSED, READABLE, or READABLE and the number of a file.
 */
enum { REFUSED, READABLE };

/* Whether that user can read what a case needs; else `why`. */
static bool try_user(char *why, size_t size)
{
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                if (!become_user())
                        _exit(REFUSED);
                _exit(READABLE + 1 + mount_view_unreadable());
        }
        if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status)) {
                snprintf(why, size, "no process to try another one");
                return false;
        }
        if (WEXITSTATUS(status) == REFUSED)
                snprintf(why, size, "the agent may not change it");
        else if (WEXITSTATUS(status) > READABLE)
                snprintf(why, size, "another one could not read %s",
                         mount_view_file(WEXITSTATUS(status) - READABLE - 1));
        return WEXITSTATUS(status) == READABLE;
}

static void choose_user(void)
{
        gid_t groups[GROUPS_MAX];
        char why[128];

        privilege.user = draw_user();
        if (geteuid() != 0)
                snprintf(why, sizeof(why), "the agent is not root");
        else if (setgroups(device_groups(groups), groups) < 0)
                snprintf(why, sizeof(why), "the agent may not change it");
        else
                privilege.own_user = try_user(why, sizeof(why));
        if (!privilege.own_user)
                kept("its user (%s)", why);
}

/* The kernel knows where it ends. */
static void empty_bounding_set(void)
{
        for (int capability = 0; prctl(PR_CAPBSET_DROP, capability) == 0;)
                capability++;
}

void privilege_prepare(bool keep)
{
        privilege.keep = keep;
        /* No process of the same user reads the agent's memory. */
        prctl(PR_SET_DUMPABLE, 0);
        if (keep) {
                kept("everything (it was asked for)");
                return;
        }
        set_limits();
        mount_view_learn();
        if (unshare(CLONE_NEWNS | CLONE_NEWIPC) < 0) {
                kept("the host's files and IPC objects (%s)", strerror(errno));
        } else {
                const char *failed = mount_view_furnish();

                ipc_watch();
                if (!failed)
                        scratch_watch();
                if (failed)
                        kept("part of the host's files (%s: %s)", failed, strerror(errno));
        }
        choose_user();
}

void privilege_confine(void)
{
        if (privilege.keep)
                return;
        empty_bounding_set();
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || !seccomp_refuse())
                kept("all system calls (%s)", strerror(errno));
}

/* Without its capabilities, whoever it is. */
static bool drop_capabilities(void)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        static const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];

        return syscall(SYS_capset, &header, none) == 0;
}

void privilege_drop(void)
{
        if (!privilege.keep && !(privilege.own_user ? become_user() : drop_capabilities())) {
                perror("a process of the agent's cannot drop its privilege");
                _exit(2);
        }
        /* A debugger of the same user may look at a case. */
        prctl(PR_SET_DUMPABLE, 1);
}

json_t *privilege_kept_json(void)
{
        json_t *list = json_array();

        for (size_t i = 0; i < privilege.count; i++)
                json_array_append_new(list, json_string(privilege.kept[i]));
        return list;
}
