/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first process of a guest, which has soft-RoCE or siw.
 *
 * It brings the kernel up to the point where a snapshot can be taken, and then obeys lines that the
 * host sends over the control port: what this guest is called, which root it sees, what it runs.
 * Values on those lines are only ever used as arguments; nothing here goes through a shell.
 */
#ifndef UDAPL_CTS_GUEST_H
#define UDAPL_CTS_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The numbers are those of the virtserialport devices on QEMU's command line. */
#define CONTROL_PORT "/dev/vport0p1"
#define INPUT_PORT   "/dev/vport0p2"
#define OUTPUT_PORT  "/dev/vport0p3"
#define STDERR_PORT  "/dev/vport0p4"
#define CONSOLE_PORT "/dev/vport0p5"

/* As many folders of the host as QEMU has devices for. */
#define SHARES_MAX 8

/* A command to run, gathered line by line. Both lists end in NULL. */
struct command {
        char **argv;
        size_t argc;
        char **envp;
        size_t envc;
        char *directory;
};

/*
 * A function below that returns int or pid_t returns -1 on failure, with errno set and fail_at()
 * called with the step that failed.
 */
int fail_at(const char *step);
const char *failed_step(void);

/* boot.c: what comes before the snapshot, and the root file system that comes after it */
int boot_kernel(void);
int add_share(const char *value);
int mount_root(void);
void keep_file(const char *path);
int use_driver(const char *type);
int write_file(const char *path, const char *text, bool append);

/* network.c: eth0, its addresses, and the RDMA device on top of it */
int network_prepare(void);
int network_set_mac(const char *mac);
int network_add_address(const char *address);
int network_up(void);
int rdma_set_type(const char *type);
int rdma_add(void);
int rdma_devices(char *names, size_t size);

/* command.c: what the agent and the console run */
int command_add_argument(struct command *cmd, const char *text);
int command_continue_argument(struct command *cmd, const char *text);
int command_add_environment(struct command *cmd, const char *text);
int command_set_directory(struct command *cmd, const char *path);
int command_open(const char *path, int flags, int wanted);
_Noreturn void command_execute(const struct command *cmd);
pid_t command_start(const struct command *cmd);

/* console.c: a terminal, beside the agent */
pid_t console_start(const struct command *cmd, const char *size);
int console_resize(const char *size);

/* init.c */
int exit_code(int status);

#endif
