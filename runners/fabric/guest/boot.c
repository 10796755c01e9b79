/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MODULES "/modules"
#define RW      "/rw"
#define LOWER   "/lower"
#define ROOT    "/root"

#define KEPT_MAX (32 << 20)

static const char *step_of_failure = "";

int fail_at(const char *step)
{
        step_of_failure = step;
        return -1;
}

const char *failed_step(void)
{
        return step_of_failure;
}

int write_file(const char *path, const char *text, bool append)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0644);
        size_t length = strlen(text);

        if (fd < 0)
                return fail_at(path);
        if (write(fd, text, length) != (ssize_t)length) {
                close(fd);
                return fail_at(path);
        }
        return close(fd);
}

static int load_module(const char *name)
{
        char path[512];
        int fd;
        int rc;

        snprintf(path, sizeof(path), MODULES "/%s", name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -1;
        rc = (int)syscall(SYS_finit_module, fd, "", 0);
        close(fd);
        return rc;
}

static int only_files(const struct dirent *entry)
{
        return entry->d_name[0] != '.';
}

/* The names start with a number, so that the sorted order is the order in which they must load. */
static int load_modules(void)
{
        struct dirent **entries;
        int count = scandir(MODULES, &entries, only_files, alphasort);

        if (count < 0)
                return fail_at("list the modules");
        for (int i = 0; i < count; i++)
                if (load_module(entries[i]->d_name) < 0 && errno != EEXIST)
                        return fail_at(entries[i]->d_name);
        return 0;
}

static int mount_at(const char *type, const char *path, const char *options)
{
        mkdir(path, 0755);
        if (mount(type, path, type, 0, options) < 0)
                return fail_at(path);
        return 0;
}

static int wait_for_node(const char *path)
{
        char events[4096];
        int fd = inotify_init1(IN_CLOEXEC);

        if (fd < 0 || inotify_add_watch(fd, "/dev", IN_CREATE) < 0)
                return fail_at("watch /dev");
        while (access(path, F_OK) < 0)
                if (read(fd, events, sizeof(events)) < 0 && errno != EINTR)
                        return fail_at("watch /dev");
        close(fd);
        return 0;
}

static int raise_limits(void)
{
        const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
        const struct rlimit files = {1024, 1 << 19};

        if (setrlimit(RLIMIT_MEMLOCK, &unlimited) < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0)
                return fail_at("raise the limits");
        return 0;
}

/*
 * The writable layer of the root. An opaque directory hides the host's: rdma-core loads a driver
 * for each file in libibverbs.d, and all but the one of the guest's device would only cost each
 * process 20 ms.
 */
static int prepare_writable_layer(void)
{
        static const char *const directories[] = {
            RW "/upper",     RW "/work",      RW "/upper/etc", RW "/upper/etc/libibverbs.d",
            RW "/upper/dev", RW "/upper/run",
        };

        if (mount_at("tmpfs", RW, "mode=0755") < 0)
                return -1;
        for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
                if (mkdir(directories[i], 0755) < 0)
                        return fail_at(directories[i]);
        if (setxattr(RW "/upper/etc/libibverbs.d", "trusted.overlay.opaque", "y", 1, 0) < 0)
                return fail_at("hide the host's libibverbs.d");
        if (write_file(RW "/upper/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n", false) < 0)
                return -1;
        return write_file(RW "/upper/etc/nsswitch.conf",
                          "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
                          "networks: files\nprotocols: files\nservices: files\n",
                          false);
}

/* The only driver that rdma-core finds here; type is rxe or siw. */
int use_driver(const char *type)
{
        char text[32];

        snprintf(text, sizeof(text), "driver %s\n", type);
        return write_file(RW "/upper/etc/libibverbs.d/guest.driver", text, false);
}

int boot_kernel(void)
{
        if (mount_at("devtmpfs", "/dev", "mode=0755") < 0 || mount_at("proc", "/proc", "") < 0 ||
            mount_at("sysfs", "/sys", "") < 0 || mount_at("debugfs", "/sys/kernel/debug", "") < 0)
                return -1;
        if (mount_at("devpts", "/dev/pts", "ptmxmode=0666") < 0 ||
            mount_at("tmpfs", "/dev/shm", "mode=1777") < 0)
                return -1;
        symlink("/proc/self/fd", "/dev/fd");
        symlink("/proc/self/fd/0", "/dev/stdin");
        symlink("/proc/self/fd/1", "/dev/stdout");
        symlink("/proc/self/fd/2", "/dev/stderr");
        if (load_modules() < 0 || raise_limits() < 0 || prepare_writable_layer() < 0)
                return -1;
        if (network_prepare() < 0)
                return -1;
        return wait_for_node(CONTROL_PORT);
}

static int move_into_root(const char *path)
{
        char target[64];

        snprintf(target, sizeof(target), ROOT "%s", path);
        if (mount(path, target, NULL, MS_MOVE, NULL) < 0)
                return fail_at(path);
        return 0;
}

/* Folders of the host: which of QEMU's shares, and where this guest sees it. */
static struct {
        int number;
        char path[512];
} shares[SHARES_MAX];
static int share_count;

int add_share(const char *value)
{
        const char *path = strchr(value, ' ');

        if (!path || path[1] != '/' || strlen(path + 1) >= sizeof(shares[0].path) ||
            share_count == SHARES_MAX) {
                errno = EINVAL;
                return fail_at("take a share");
        }
        shares[share_count].number = atoi(value);
        strcpy(shares[share_count].path, path + 1);
        share_count++;
        return 0;
}

static int make_path(const char *path)
{
        char part[640];

        snprintf(part, sizeof(part), "%s", path);
        for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                if (mkdir(part, 0755) < 0 && errno != EEXIST)
                        return fail_at("make a folder to mount at");
                *slash = '/';
        }
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
                return fail_at("make a folder to mount at");
        return 0;
}

/*
 * The host's files below, a tmpfs above: the guest may write anywhere and the host never sees it.
 * What is above / and /etc is prepared.
 */
static int mount_share(int number, const char *path)
{
        static const char how[] = "trans=virtio,version=9p2000.L,cache=loose,msize=512000";
        bool whole = !strcmp(path, "/");
        bool etc = !strcmp(path, "/etc");
        char tag[32], lower[64], upper[64], work[64], target[640], options[256];

        snprintf(tag, sizeof(tag), "share%d", number);
        snprintf(lower, sizeof(lower), LOWER "/%d", number);
        snprintf(upper, sizeof(upper), RW "/upper-%d", number);
        snprintf(work, sizeof(work), RW "/work-%d", number);
        snprintf(target, sizeof(target), ROOT "%s", whole ? "" : path);
        snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s", lower,
                 whole ? RW "/upper"
                 : etc ? RW "/upper/etc"
                       : upper,
                 work);
        mkdir(lower, 0755);
        mkdir(upper, 0755);
        mkdir(work, 0755);
        if (mount(tag, lower, "9p", MS_RDONLY, how) < 0)
                return fail_at("mount the host's files over 9p");
        if (make_path(target) < 0)
                return -1;
        if (mount("overlay", target, "overlay", 0, options) < 0)
                return fail_at("mount the overlay");
        return 0;
}

/* A root of few folders: what is shared is mounted in it, and the rest is the guest's own. */
static int make_root(void)
{
        static const struct {
                const char *path;
                mode_t mode;
        } folders[] = {
            {"/dev", 0755},     {"/proc", 0755},    {"/sys", 0755},      {"/run", 0755},
            {"/tmp", 01777},    {"/root", 0755},    {"/mnt", 0755},      {"/home", 0755},
            {"/opt", 0755},     {"/srv", 0755},     {"/var", 0755},      {"/var/cache", 0755},
            {"/var/lib", 0755}, {"/var/log", 0755}, {"/var/tmp", 01777},
        };
        static const char *const merged[] = {"bin", "sbin", "lib", "lib32", "lib64"};
        char path[128];
        char target[64];

        if (mount("tmpfs", ROOT, "tmpfs", 0, "mode=0755") < 0)
                return fail_at("mount a root");
        for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
                snprintf(path, sizeof(path), ROOT "%s", folders[i].path);
                if (mkdir(path, 0755) < 0 || chmod(path, folders[i].mode) < 0)
                        return fail_at(folders[i].path);
        }
        for (int i = 0; i < share_count; i++)
                if (mount_share(shares[i].number, shares[i].path) < 0)
                        return -1;
        for (size_t i = 0; i < sizeof(merged) / sizeof(*merged); i++) {
                snprintf(path, sizeof(path), ROOT "/%s", merged[i]);
                snprintf(target, sizeof(target), "usr/%s", merged[i]);
                if (symlink(target, path) < 0 && errno != EEXIST)
                        return fail_at(path);
        }
        return 0;
}

/*
 * Has a file of the host's in the guest's memory, where the overlay puts what is to be written:
 * who opens it then, or goes by a link, asks the host no more. What cannot be had stays there.
 */
void keep_file(const char *path)
{
        struct stat status;
        int fd = -1;

        if (lstat(path, &status) < 0 || status.st_size > KEPT_MAX)
                return;
        if (S_ISREG(status.st_mode))
                fd = open(path, O_WRONLY | O_CLOEXEC);
        else if (S_ISLNK(status.st_mode))
                (void)!lchown(path, status.st_uid, status.st_gid); /* which stay the same */
        if (fd >= 0)
                close(fd);
}

int mount_root(void)
{
        bool whole = share_count == 1 && !strcmp(shares[0].path, "/");

        mkdir(LOWER, 0755);
        mkdir(ROOT, 0755);
        if (whole ? mount_share(shares[0].number, "/") < 0 : make_root() < 0)
                return -1;
        if (mount("tmpfs", ROOT "/run", "tmpfs", 0, "mode=0755") < 0)
                return fail_at("/run");
        if (move_into_root("/dev") < 0 || move_into_root("/proc") < 0 || move_into_root("/sys") < 0)
                return -1;
        if (chdir(ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
            chdir("/") < 0)
                return fail_at("switch to the new root");
        return 0;
}
