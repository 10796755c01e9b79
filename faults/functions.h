/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that `do = "run"` names: harm to the process or its host, without DAT. */
#ifndef FAULTS_FUNCTIONS_H
#define FAULTS_FUNCTIONS_H

void run_close_descriptors(void);  /* all of the process */
void run_crash(void);              /* by SIGSEGV */
void run_exit_success(void);       /* exit(0) */
void run_leak_child(void);         /* a child process that never ends */
void run_leak_daemon(void);        /* the same, in a session of its own */
void run_leak_descriptor(void);    /* of /dev/null */
void run_leak_heap(void);          /* 64 KiB of malloc() */
void run_leak_mapping(void);       /* 256 KiB of anonymous memory */
void run_leak_shared_memory(void); /* a System V segment, which outlives the process */
void run_leak_thread(void);        /* a thread that never ends */
void run_netdevs_down(void);       /* each netdev of the host */
void run_print_verdict(void);      /* a PASS, on stdout */
void run_fill_folders(void);       /* each temporary folder, until there is no room */
void run_continue_in_child(void);  /* the case continues in a copy; the process ends as that does */
void run_exhaust_memory(void);     /* all that the host has */
void run_exhaust_processes(void);  /* all that the host can have, each of them */
void run_request_disturbance(void); /* of the agent: that the peer's host loses all packets */
void run_reuse_handles(void);       /* new objects get handles of destroyed ones; provider only */
void run_reuse_any_handles(void);   /* the same of those of any kind */
void run_rewrite_code(void);        /* a byte of the program's code, by the same byte */
void run_rewrite_and_discard_code(void); /* and the written page is discarded */
void run_rewrite_and_map_code(void);     /* and the file is mapped over it */
void run_sleep_50_ms(void);              /* in the calling thread */
void run_sleep_5_ms(void);               /* the same */
void run_sleep_50_us(void);              /* the same: other threads run meanwhile */
void run_write_parent_memory(void);      /* 0xee to the heap of the process's parent */

#endif
