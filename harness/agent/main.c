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
#include "agent/program_name.h"
#include "agent/run_standalone.h"
#include "case/exec_process.h"
#include "evidence/frames.h"

#define EVENT_MS 3000
#define QUIET_MS 150
#define USAGE    64

struct command_line {
        const struct mode *mode;
        const char *id; /* of --run */
        struct standalone how;
        bool privileged;
};

/* What the program does: the option that asks for it, and its exit status. */
struct mode {
        int option;
        int (*start)(const struct command_line *line);
};

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
    "  --assume FEATURE=0|1   whether a feature is there that dat_ia_query leaves unwritten\n"
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

static int list(const struct command_line *line)
{
        (void)line;
        for (size_t i = 0; i < registry_count(); i++) {
                json_t *row = case_json(registry_at(i));

                json_dumpf(row, stdout, JSON_COMPACT);
                putchar('\n');
                json_decref(row);
        }
        return 0;
}

static int identity(const struct command_line *line)
{
        char id[BUILD_ID_MAX];
        char digest[REGISTRY_DIGEST_MAX];

        (void)line;
        build_id(id, sizeof(id));
        registry_digest(digest);
        printf("{\"build\":\"%s\",\"catalogue\":\"%s\"}\n", id, digest);
        return 0;
}

static int run(const struct command_line *line)
{
        const struct case_ref *ref = registry_find(line->id);
        char *text;

        if (ref)
                return run_standalone(ref, &line->how);
        text = registry_no_such(line->id);
        fprintf(stderr, "%s\n", text);
        free(text);
        return USAGE;
}

/* The protocol gets descriptors of its own, because a provider may print to the streams. */
static int serve(const struct command_line *line)
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
        program_name_draw();
        privilege_prepare(line->privileged);
        containment_enter();
        privilege_confine();
        return agent_serve(line->how.ia, &line->how.assumptions, in, out);
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

static const struct mode modes[] = {
    {'l', list},
    {'r', run},
    {'b', identity},
    {'s', serve},
};

static void set_mode(struct command_line *line, int option)
{
        for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
                if (modes[i].option == option)
                        line->mode = &modes[i];
}

/* Takes one option with its argument; returns 0, or the exit status of a wrong command line. */
static int take_option(struct command_line *line, int option, const char *argument)
{
        bool is_ms = true;

        switch (option) {
        case 'r':
                line->id = argument;
                set_mode(line, option);
                break;
        case 'i':
                line->how.ia = argument;
                break;
        case 'a':
                if (!assume(&line->how.assumptions, argument))
                        return usage("no assumption, or one against another: %s", argument);
                break;
        case 'p':
                line->privileged = true;
                break;
        case 'w':
                line->how.wait_for_debugger = true;
                break;
        case 'e':
                is_ms = parse_ms(argument, &line->how.event_ms) && line->how.event_ms > 0;
                break;
        case 'q':
                is_ms = parse_ms(argument, &line->how.quiet_ms);
                break;
        case 'd':
                is_ms = parse_ms(argument, &line->how.deadline_ms) && line->how.deadline_ms > 0;
                break;
        case 'n':
                if (!parse_number(argument, UINT_MAX, &line->how.seed))
                        return usage("not a seed: %s", argument);
                break;
        case '?':
                return USAGE;
        default:
                set_mode(line, option);
        }
        return is_ms ? 0 : usage("not a number of milliseconds: %s", argument);
}

int main(int argc, char **argv)
{
        static const struct option options[] = {
            {"list", no_argument, NULL, 'l'},
            {"run", required_argument, NULL, 'r'},
            {"identity", no_argument, NULL, 'b'},
            {"serve", no_argument, NULL, 's'},
            {"ia", required_argument, NULL, 'i'},
            {"assume", required_argument, NULL, 'a'},
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
        struct command_line line = {.how = {.event_ms = EVENT_MS, .quiet_ms = QUIET_MS}};
        int option;

        program_name_learn(argc, argv);
        while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
                int status;

                if (option == 'f') {
                        program_name_draw();
                        program_name_take();
                        exec_process_main();
                }
                if (option == 'h') {
                        fputs(help, stdout);
                        return 0;
                }
                status = take_option(&line, option, optarg);
                if (status)
                        return status;
        }
        if (optind < argc)
                return usage("an argument too many: %s", argv[optind]);
        if (!registry_load())
                return 2;
        frames_prepare();
        return line.mode ? line.mode->start(&line) : usage("%s", "nothing to do");
}
