/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/mount_view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES_MAX 128
#define FILES_MAX  64

/* A folder or file on the way to a file that is needed, held while others are put over it. */
struct place {
        char *path;
        int fd;
};

static struct {
        struct place places[PLACES_MAX];
        size_t place_count;
        char *files[FILES_MAX]; /* that any case has to read */
        size_t file_count;
} view;

static void hold(const char *path)
{
        int fd;

        for (size_t i = 0; i < view.place_count; i++)
                if (strcmp(view.places[i].path, path) == 0)
                        return;
        if (view.place_count == PLACES_MAX)
                return;
        fd = open(path, O_PATH | O_CLOEXEC);
        if (fd >= 0)
                view.places[view.place_count++] = (struct place){strdup(path), fd};
}

/* Each folder on the way comes before what is in it. */
static void hold_way(const char *path)
{
        char part[PATH_MAX];

        if (path[0] != '/' || strlen(path) >= sizeof(part))
                return;
        for (size_t i = 1; path[i]; i++)
                if (path[i] == '/' && path[i + 1]) {
                        memcpy(part, path, i);
                        part[i] = '\0';
                        hold(part);
                }
        hold(path);
}

static void need(const char *path)
{
        if (view.file_count < FILES_MAX && access(path, F_OK) == 0)
                view.files[view.file_count++] = strdup(path);
}

/* What the dat.conf names by a whole path: libraries, and whatever else their parameters say. */
static void need_what_is_named(const char *conf)
{
        FILE *file = fopen(conf, "re");
        char *line = NULL;
        size_t size = 0;

        while (file && getline(&line, &size, file) > 0) {
                char *rest = NULL;

                if (line[0] == '#')
                        continue;
                for (const char *word = strtok_r(line, " \t\r\n\"", &rest); word;
                     word = strtok_r(NULL, " \t\r\n\"", &rest))
                        if (word[0] == '/')
                                need(word);
        }
        free(line);
        if (file)
                fclose(file);
}

/* The path as it is written, and where it leads to: both have to be there. */
static void hold_ways(const char *path)
{
        char *real = realpath(path, NULL);

        if (real)
                hold_way(real);
        hold_way(path);
        free(real);
}

void mount_view_learn(void)
{
        const char *conf = getenv("DAT_OVERRIDE");
        char *own = realpath("/proc/self/exe", NULL);

        /* The agent's own file is for a debugger, which looks for it from inside. */
        if (own)
                need(own);
        free(own);
        if (!conf)
                return;
        need(conf);
        need_what_is_named(conf);
}

static bool make_private(void)
{
        return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* glibc has mount_setattr() from 2.36 on, and the agent runs on hosts with 2.34. */
static bool make_read_only(void)
{
        struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};

        return syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &read_only,
                       sizeof(read_only)) == 0;
}

/* Where there is no such path, there is nothing to protect. */
static bool bind_read_only(const char *path)
{
        if (access(path, F_OK) < 0)
                return true;
        return mount(path, path, NULL, MS_BIND, NULL) == 0 &&
               mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) == 0;
}

/* Of the PID namespace that a debugger is in: the numbers of processes are its. */
static bool renew_proc(void)
{
        return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                     "hidepid=invisible") == 0 &&
               bind_read_only("/proc/sys") && bind_read_only("/proc/sysrq-trigger");
}

static bool renew_folder(const char *type, const char *path, const char *options)
{
        return access(path, F_OK) < 0 ||
               mount(type, path, type, MS_NOSUID | MS_NODEV, options) == 0;
}

/* A folder that not everybody may enter is hidden by an empty one that everybody may. */
static bool open_to_all(const char *folder)
{
        struct stat status;

        if (stat(folder, &status) < 0)
                return false;
        if (status.st_mode & S_IXOTH)
                return true;
        return mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711") == 0;
}

static bool is_there(const struct place *place)
{
        struct stat status;
        char from[64];

        if (lstat(place->path, &status) == 0)
                return true;
        if (fstat(place->fd, &status) < 0)
                return false;
        if (S_ISDIR(status.st_mode)) {
                if (mkdir(place->path, 0755) < 0)
                        return false;
        } else {
                int made = open(place->path, O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, 0444);

                if (made < 0)
                        return false;
                close(made);
        }
        snprintf(from, sizeof(from), "/proc/self/fd/%d", place->fd);
        /* What a guest sees of its host is mounted somewhere on the way. */
        return mount(from, place->path, NULL, MS_BIND | MS_REC, NULL) == 0;
}

static bool reach(struct place *place)
{
        char *slash = strrchr(place->path, '/');
        bool open;

        if (slash == place->path)
                return is_there(place);
        *slash = '\0';
        open = open_to_all(place->path);
        *slash = '/';
        return open && is_there(place);
}

const char *mount_view_furnish(void)
{
        static const struct {
                const char *type;
                const char *path;
                const char *options;
        } own[] = {
            {"tmpfs", "/tmp", "mode=1777,size=15%,nr_inodes=64k"},
            {"tmpfs", "/var/tmp", "mode=1777,size=15%,nr_inodes=64k"},
            {"tmpfs", "/dev/shm", "mode=1777,size=25%,nr_inodes=64k"},
            {"mqueue", "/dev/mqueue", NULL},
        };
        const char *failed = NULL;
        int error = 0;

#define TRY(done_, path_)                  \
        do {                               \
                if (!(done_) && !failed) { \
                        failed = (path_);  \
                        error = errno;     \
                }                          \
        } while (0)

        TRY(make_private(), "/");
        for (size_t i = 0; i < view.file_count; i++)
                hold_ways(view.files[i]);
        mkdir("/dev/mqueue", 01777);
        TRY(make_read_only(), "/");
        TRY(renew_proc(), "/proc");
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
                TRY(renew_folder(own[i].type, own[i].path, own[i].options), own[i].path);
        for (size_t i = 0; i < view.place_count; i++) {
                TRY(reach(&view.places[i]), view.places[i].path);
                close(view.places[i].fd);
        }
#undef TRY
        errno = error;
        return failed;
}

int mount_view_unreadable(void)
{
        for (size_t i = 0; i < view.file_count; i++)
                if (access(view.files[i], R_OK) < 0)
                        return (int)i;
        return -1;
}

const char *mount_view_file(int number)
{
        return view.files[number];
}
