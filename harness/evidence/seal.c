/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/seal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The last of the real-time signals, from which no other program counts. */
static int signal_of(enum seal seal)
{
        return SIGRTMAX - (int)seal;
}

struct secrets *secrets_new(void)
{
        struct secrets *secrets = mmap(NULL, sizeof(*secrets), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (secrets == MAP_FAILED)
                return NULL;
        if (madvise(secrets, sizeof(*secrets), MADV_WIPEONFORK) == 0 &&
            getrandom(&secrets->canary, sizeof(secrets->canary), 0) > 0 &&
            getrandom(secrets->keys, sizeof(secrets->keys), 0) > 0)
                return secrets;
        secrets_free(secrets);
        return NULL;
}

void secrets_free(struct secrets *secrets)
{
        int error = errno;

        if (secrets)
                munmap(secrets, sizeof(*secrets));
        errno = error;
}

void seals_block(int how)
{
        sigset_t set;

        sigemptyset(&set);
        for (int i = 0; i < SEALS; i++)
                sigaddset(&set, signal_of(i));
        sigprocmask(how, &set, NULL);
}

/* Not by sigqueue(), which would leave the key on the stack for the next process to inherit. */
bool seals_give(struct secrets *secrets, pid_t pid)
{
        siginfo_t *letter = &secrets->letter;

        for (int i = 0; i < SEALS; i++) {
                memset(letter, 0, sizeof(*letter));
                letter->si_signo = signal_of(i);
                letter->si_code = SI_QUEUE;
                memcpy(&letter->si_value, &secrets->keys[i], sizeof(secrets->keys[i]));
                if (syscall(SYS_rt_sigqueueinfo, pid, signal_of(i), letter) < 0)
                        return false;
        }
        return true;
}

/*
 * The calling process's key, which it can take once; else one that fits nothing. The agent sends it
 * as soon as it has forked, which may be a moment later.
 */
static void take_key(enum seal seal, uint64_t *key)
{
        static const struct timespec moment = {.tv_sec = 1};
        siginfo_t letter;
        sigset_t set;
        int got;

        sigemptyset(&set);
        sigaddset(&set, signal_of(seal));
        do {
                got = sigtimedwait(&set, &letter, &moment);
        } while (got < 0 && errno == EINTR);
        *key = 0;
        if (got > 0)
                memcpy(key, &letter.si_value, sizeof(*key));
        explicit_bzero(&letter, sizeof(letter));
}

void verdict_seal(struct sealed_verdict *to, enum seal seal, enum verdict verdict,
                  const char *reason, const struct blocked *blocked)
{
        uint64_t key;

        take_key(seal, &key);
        verdict_put(to, &key, verdict, reason, blocked);
        explicit_bzero(&key, sizeof(key));
}

bool seal_opens(const struct secrets *secrets, const struct sealed_verdict *from, enum seal seal,
                enum seal or_seal, struct sealed_verdict *to)
{
        return verdict_get(from, &secrets->keys[seal], to) ||
               verdict_get(from, &secrets->keys[or_seal], to);
}
