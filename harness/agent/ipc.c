/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/ipc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

/* Where POSIX's have names; they are the agent's own file systems (view.h). */
static const char *const folders[] = {"/dev/shm", "/dev/mqueue"};
#define FOLDERS (sizeof(folders) / sizeof(folders[0]))

static DIR *watched[FOLDERS];
static bool watching;

void ipc_watch(void)
{
        watching = true;
        for (size_t i = 0; i < FOLDERS; i++)
                watched[i] = opendir(folders[i]);
}

static unsigned int clear_segments(void)
{
        struct shm_info info;
        struct shmid_ds unused;
        int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info);
        unsigned int cleared = 0;

        for (int i = 0; i <= last && info.used_ids; i++) {
                int id = shmctl(i, SHM_STAT_ANY, &unused);

                if (id >= 0 && shmctl(id, IPC_RMID, NULL) == 0)
                        cleared++;
        }
        return cleared;
}

static unsigned int clear_semaphores(void)
{
        struct seminfo info;
        struct semid_ds unused;
        int last = semctl(0, 0, SEM_INFO, &info);
        unsigned int cleared = 0;

        for (int i = 0; i <= last && info.semusz; i++) {
                int id = semctl(i, 0, SEM_STAT_ANY, &unused);

                if (id >= 0 && semctl(id, 0, IPC_RMID) == 0)
                        cleared++;
        }
        return cleared;
}

static unsigned int clear_queues(void)
{
        struct msginfo info;
        struct msqid_ds unused;
        int last = msgctl(0, MSG_INFO, (struct msqid_ds *)(void *)&info);
        unsigned int cleared = 0;

        for (int i = 0; i <= last && info.msgpool; i++) {
                int id = msgctl(i, MSG_STAT_ANY, &unused);

                if (id >= 0 && msgctl(id, IPC_RMID, NULL) == 0)
                        cleared++;
        }
        return cleared;
}

static bool is_named(const char *entry)
{
        return strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0;
}

static unsigned int clear_folder(DIR *folder)
{
        const struct dirent *entry;
        unsigned int cleared = 0;

        rewinddir(folder);
        while ((entry = readdir(folder)))
                if (is_named(entry->d_name) &&
                    unlinkat(dirfd(folder), entry->d_name,
                             entry->d_type == DT_DIR ? AT_REMOVEDIR : 0) == 0)
                        cleared++;
        return cleared;
}

unsigned int ipc_clear(void)
{
        unsigned int cleared;

        if (!watching)
                return 0;
        cleared = clear_segments() + clear_semaphores() + clear_queues();
        for (size_t i = 0; i < FOLDERS; i++)
                if (watched[i])
                        cleared += clear_folder(watched[i]);
        return cleared;
}
