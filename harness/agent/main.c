/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/build_id.h"
#include "agent/containment.h"
#include "agent/privilege.h"
#include "agent/run_standalone.h"
#include "case/exec_process.h"
#include "evidence/frames.h"

#define EVENT_MS 3000
#define QUIET_MS 150
#define USAGE    64

enum command { COMMAND_NONE, COMMAND_LIST, COMMAND_IDENTITY, COMMAND_RUN, COMMAND_SERVE };

static const char help[] =
    "udapl-cases: the cases of the uDAPL 1.2 conformance suite, by the DAT " UDAPL_CTS_API " API\n"
    "\n"
    "  --list                 print each case as a line of JSON\n"
    "  --run ID               run one case by hand and print its evidence\n"
    "      --wait-for-debugger  the case stops itself before its first call\n"
    "      --event-ms N         how long a fixture waits for an event (3000)\n"
    "      --quiet-ms N         the quiet period (150)\n"
    "      --deadline-ms N      how long the case may take (its own, or 10000)\n"
    "      --seed N             what the case draws (0)\n"
    "  --identity             print the build id and a digest of the cases\n"
    "  --serve                speak the agent's protocol on the standard streams\n"
    "      --privileged         leave cases and peers the user and the privilege of the agent\n"
    "  --ia NAME              the IA under test (the first of dat.conf)\n"
    "  --exec-process         what a case starts to make calls in a new process\n"
    "  --help\n"
    "\n"
    "DAT_OVERRIDE names the dat.conf. Exit status of --run: 0 for PASS and NOTE, 1 for FAIL,\n"
    "CRASH and TIMEOUT, 2 otherwise; 64 for a wrong command line.\n";

static int usage(const char *format, const char *what)
{
        fprintf(stderr, format, what);
        fprintf(stderr, "; see udapl-cases --help\n");
        return USAGE;
}

static int list(void)
{
        for (size_t i = 0; i < registry_count(); i++) {
                json_t *line = case_json(registry_at(i));

                json_dumpf(line, stdout, JSON_COMPACT);
                putchar('\n');
                json_decref(line);
        }
        return 0;
}

static int identity(void)
{
        char id[BUILD_ID_MAX];
        char digest[REGISTRY_DIGEST_MAX];

        build_id(id, sizeof(id));
        registry_digest(digest);
        printf("{\"build\":\"%s\",\"catalogue\":\"%s\"}\n", id, digest);
        return 0;
}

static int run(const char *id, const struct standalone *how)
{
        const struct case_ref *ref = registry_find(id);
        char *text;

        if (ref)
                return run_standalone(ref, how);
        text = registry_no_such(id);
        fprintf(stderr, "%s\n", text);
        free(text);
        return USAGE;
}

/* The protocol has descriptors of its own, so that nothing that prints can get in between. */
static int serve(const char *ia, bool privileged)
{
        int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (in < 0 || out < 0 || null < 0) {
                perror("the standard streams cannot be used");
                return 2;
        }
        dup2(null, STDIN_FILENO);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        close(null);
        privilege_prepare(privileged);
        containment_enter();
        privilege_confine();
        return agent_serve(ia, in, out);
}

static bool parse_number(const char *text, unsigned long most, unsigned int *number)
{
        char *end;
        unsigned long value = strtoul(text, &end, 10);

        *number = (unsigned int)value;
        return *text >= '0' && *text <= '9' && *end == '\0' && value <= most;
}

static bool parse_ms(const char *text, unsigned int *ms)
{
        return parse_number(text, 3600000, ms);
}

int main(int argc, char **argv)
{
        static const struct option options[] = {
            {"list", no_argument, NULL, 'l'},
            {"run", required_argument, NULL, 'r'},
            {"identity", no_argument, NULL, 'b'},
            {"serve", no_argument, NULL, 's'},
            {"ia", required_argument, NULL, 'i'},
            {"privileged", no_argument, NULL, 'p'},
            {"wait-for-debugger", no_argument, NULL, 'w'},
            {"event-ms", required_argument, NULL, 'e'},
            {"quiet-ms", required_argument, NULL, 'q'},
            {"deadline-ms", required_argument, NULL, 'd'},
            {"seed", required_argument, NULL, 'n'},
            {EXEC_PROCESS_OPTION, no_argument, NULL, 'f'},
            {"help", no_argument, NULL, 'h'},
            {NULL, 0, NULL, 0},
        };
        struct standalone how = {.event_ms = EVENT_MS, .quiet_ms = QUIET_MS};
        enum command command = COMMAND_NONE;
        const char *id = NULL;
        bool privileged = false;
        bool good = true;
        int option;

        while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
                switch (option) {
                case 'l':
                        command = COMMAND_LIST;
                        break;
                case 'r':
                        command = COMMAND_RUN;
                        id = optarg;
                        break;
                case 'b':
                        command = COMMAND_IDENTITY;
                        break;
                case 's':
                        command = COMMAND_SERVE;
                        break;
                case 'i':
                        how.ia = optarg;
                        break;
                case 'p':
                        privileged = true;
                        break;
                case 'w':
                        how.wait_for_debugger = true;
                        break;
                case 'e':
                        good = parse_ms(optarg, &how.event_ms) && how.event_ms > 0;
                        break;
                case 'q':
                        good = parse_ms(optarg, &how.quiet_ms);
                        break;
                case 'd':
                        good = parse_ms(optarg, &how.deadline_ms) && how.deadline_ms > 0;
                        break;
                case 'n':
                        if (!parse_number(optarg, UINT_MAX, &how.seed))
                                return usage("not a seed: %s", optarg);
                        break;
                case 'f':
                        exec_process_main();
                case 'h':
                        fputs(help, stdout);
                        return 0;
                default:
                        return USAGE;
                }
                if (!good)
                        return usage("not a number of milliseconds: %s", optarg);
        }
        if (optind < argc)
                return usage("an argument too many: %s", argv[optind]);
        if (!registry_load())
                return 2;
        frames_prepare();
        switch (command) {
        case COMMAND_LIST:
                return list();
        case COMMAND_IDENTITY:
                return identity();
        case COMMAND_RUN:
                return run(id, &how);
        case COMMAND_SERVE:
                return serve(how.ia, privileged);
        case COMMAND_NONE:
                break;
        }
        return usage("%s", "nothing to do");
}
