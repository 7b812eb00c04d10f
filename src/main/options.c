// SPDX-License-Identifier: BSD-3-Clause
// options.c - the command line of kamueed
//
// The first wrong option ends the parse with a message that names the accepted values. Whether a
// file or directory exists is the concern of the module that opens it. An option overrides the
// configuration's setting of the same name.
#include "main/modules.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "core/mem.h"

static const char help[] =
    "kamueed %s - the router's data plane\n"
    "\n"
    "usage: kamueed [options]\n"
    "  --config FILE      configuration, lines of 'set ...' (/etc/kamuee/kamuee.conf)\n"
    "  --run-dir DIR      lock file and API socket (/run/kamuee)\n"
    "  --state-dir DIR    committed configurations ($STATE_DIRECTORY, RUN-DIR/state if one is "
    "given, /var/lib/kamuee)\n"
    "  --file-dir DIR     also allow the configuration to name files here; may be repeated\n"
    "  --device-dir DIR   also allow sockets and captures of devices here; may be repeated\n"
    "  --from-file        start with the configuration file, even if later commits exist\n"
    "  --memory MIB       DPDK memory, overrides 'set memory'\n"
    "  --no-huge          do not use huge pages, overrides 'set huge-pages'\n"
    "  --log-level LEVEL  error, warning, notice, info or debug, overrides 'set log-level'\n"
    "  --check            validate the configuration and exit\n"
    "  --version          print the version and exit\n"
    "  --help             print this and exit\n"
    "\n"
    "signals: TERM and INT stop cleanly, USR1 for a restart, which TAPs and routes survive;\n"
    "  HUP reads the configuration again\n"
    "exit codes: 0 stopped cleanly, 1 a module did not start, 2 usage error,\n"
    "  3 invalid configuration, 4 already running, 5 the host lacks something needed\n";

static int parse_log_level(const char *s)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {{"error", LOG_LEVEL_ERROR},
                  {"warning", LOG_LEVEL_WARNING},
                  {"notice", LOG_LEVEL_NOTICE},
                  {"info", LOG_LEVEL_INFO},
                  {"debug", LOG_LEVEL_DEBUG}};

    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++)
        if (!strcmp(s, levels[i].name))
            return levels[i].level;
    return -1;
}

static bool print_usage_error(int *code, const char *option, const char *value,
                              const char *expected)
{
    fprintf(stderr, "kamueed: %s %s: expected %s\n", option, value, expected);
    *code = EXIT_USAGE;
    return false;
}

static bool add_directory(const char *dir[OPTION_DIRS_MAX], const char *more)
{
    unsigned n = 0;

    while (dir[n])
        n++;
    if (*more != '/' || n + 1 == OPTION_DIRS_MAX)
        return false;
    dir[n] = more;
    return true;
}

bool options_parse(int argc, char **argv, struct options *o, int *code)
{
    static const struct option longopts[] = {
        {"config", required_argument, NULL, 'c'},
        {"run-dir", required_argument, NULL, 'r'},
        {"memory", required_argument, NULL, 'm'},
        {"no-huge", no_argument, NULL, 'n'},
        {"log-level", required_argument, NULL, 'l'},
        {"check", no_argument, NULL, 'k'},
        {"state-dir", required_argument, NULL, 's'},
        {"from-file", no_argument, NULL, 'f'},
        {"file-dir", required_argument, NULL, 'F'},
        {"device-dir", required_argument, NULL, 'D'},
        {"memory-nodes", required_argument, NULL, 'N'},
        {"version", no_argument, NULL, 'v'},
        {"upgrade", no_argument, NULL, 'u'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    uint64_t number;

    *o = (struct options){
        .config_path = "/etc/kamuee/kamuee.conf", .run_dir = RUN_DIR, .log_level = -1};
    *code = EXIT_OK;
    for (int c; (c = getopt_long(argc, argv, "", longopts, NULL)) != -1;)
        switch (c) {
        case 'c':
            o->config_path = optarg;
            o->config_given = true;
            break;
        case 'r':
            o->run_dir = optarg;
            break;
        case 's':
            o->state_dir = optarg;
            break;
        case 'f':
            o->from_file = true;
            break;
        case 'F':
        case 'D':
            if (!add_directory(c == 'F' ? o->file_dir : o->device_dir, optarg))
                return print_usage_error(code, c == 'F' ? "--file-dir" : "--device-dir", optarg,
                                         "the absolute path of a directory, at most 15 of them");
            break;
        case 'm':
            if (text_parse_u64(optarg, 64, 1048576, &number))
                return print_usage_error(code, "--memory", optarg, "64 to 1048576 MiB");
            o->memory_mib = (unsigned)number;
            break;
        case 'n':
            o->no_huge = true;
            break;
        case 'l':
            o->log_level = parse_log_level(optarg);
            if (o->log_level < 0)
                return print_usage_error(code, "--log-level", optarg,
                                         "error, warning, notice, info or debug");
            break;
        case 'N': // for tests, not in --help
            if (text_parse_u64(optarg, 1, MEM_NODES_MAX, &number))
                return print_usage_error(code, "--memory-nodes", optarg, "1 to 8");
            o->memory_nodes = (unsigned)number;
            break;
        case 'k':
            o->check = true;
            break;
        case 'u': // from 'kamuee upgrade', not in --help
            o->upgrade = true;
            break;
        case 'v':
            printf("kamueed %s\n", kamuee_version);
            return false;
        case 'h':
            printf(help, kamuee_version);
            return false;
        default:
            fputs("try: kamueed --help\n", stderr);
            *code = EXIT_USAGE;
            return false;
        }
    if (optind < argc)
        return print_usage_error(code, "argument", argv[optind],
                                 "only options; try: kamueed --help");
    return true;
}
