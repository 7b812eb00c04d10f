// SPDX-License-Identifier: BSD-3-Clause
// options.h - the command line of kamueed
#ifndef MAIN_OPTIONS_H
#define MAIN_OPTIONS_H

#include <stdbool.h>

// In the manual page.
enum exit_code {
    EXIT_OK = 0,
    EXIT_START = 1,    // a part did not start; the last line says which one and the remedy
    EXIT_USAGE = 2,    // wrong command line
    EXIT_CONFIG = 3,   // error in the configuration
    EXIT_RUNNING = 4,  // another kamueed uses this run directory
    EXIT_MACHINE = 5,  // the machine lacks a prerequisite: permission, /dev/net/tun
};

#define RUN_DIR "/run/kamuee"

#define OPTION_DIRS_MAX 16

struct options {
    const char *config_path;
    bool config_given; // then the file must exist
    const char *run_dir;
    const char *state_dir; // NULL = default
    const char *file_dir[OPTION_DIRS_MAX], *device_dir[OPTION_DIRS_MAX]; // NULL after the last
    bool from_file; // ignores commits
    bool no_huge;
    unsigned memory_mib; // 0 = as configured
    unsigned memory_nodes; // 0 = the machine's; for tests
    int log_level;       // enum log_level, -1 = as configured
    bool check;
    bool upgrade; // takes over from the kamueed that started it
};

// False: exit with *code; help, the version or an error was printed.
bool options_parse(int argc, char **argv, struct options *o, int *code);

#endif
