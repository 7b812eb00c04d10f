// SPDX-License-Identifier: BSD-3-Clause
// modules.h - starts and stops kamueed's modules; called by main()
//
//     modules_start(...)   each init in order; at the first failure the started ones are stopped
//     modules_stop()       each fini in reverse order
#ifndef MAIN_MODULES_H
#define MAIN_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

struct start_inputs { // for the modules
    struct event_base *loop;
    const char *run_dir;
    bool no_huge;
    unsigned memory_mib; // 0 = chosen for the machine
    bool second; // another kamueed of this run directory uses the first DPDK prefix
};

// 0 or -errno with "module: sentence".
int modules_start(const struct start_inputs *s, char *err, size_t err_size);
void modules_stop(void);
// main.c: while nothing is received, for at most 200 ms; packets for neighbors that do not answer
// would wait longer.
void send_waiting_packets(void);

// journal.c: sends log lines with their fields to the systemd journal, if stderr is connected to
// it.
void journal_start(void); // before other threads start

// system_calls.c: limits the system calls of kamueed after its start.

// For all threads, permanently. `names_helper`: kamuee-netns names namespaces, so we need not
// mount. 0 or -errno and the reason.
int system_calls_restrict(bool names_helper, char *err, size_t err_size);

// service.c: kamueed as a service: signals, and notifications to systemd. Called by main(), around
// the lifetime of the modules.
void service_report_work(void); // STATUS= shows work that takes seconds (base/progress.h)
// TERM and INT end the loop, USR1 ends it for a restart; HUP reloads the configuration. 0 or
// -ENOMEM.
int service_start(struct event_base *loop);
void service_ready(void);    // READY=1; feeds the watchdog from now on
void service_stopping(void); // STOPPING=1
void service_stop(void);
bool service_restarts(void); // ended by USR1: TAPs stay as they are for the next kamueed

// instance.c: one kamueed per run directory; checks the host's prerequisites. Called by main()
// before the modules start.

// Holds RUN_DIR/kamueed.lock until the process ends. 0, -EBUSY (another kamueed runs) or -errno,
// with a sentence.
int instance_lock(const char *run_dir, char *err, size_t err_size);
int instance_lock_fd(void); // for the kamueed that takes over
void instance_take_lock(const char *run_dir, int fd); // of the former one, also a holder
void instance_write_pid(void);
void instance_unlock(void);

// Checks capabilities, descriptors and /dev/net/tun. 0, or -errno with a sentence that includes the
// remedy.
int instance_check_machine(char *err, size_t err_size);

// upgrade_give.c: the old kamueed's part of an upgrade (upgrade_protocol.h); called by main,
// control.

// Lets the operation `upgrade` start another kamueed. `second`: whether we use the second of the
// two DPDK prefixes of this run directory (modules.c).
void upgrade_give_init(struct event_base *loop, bool second);
void upgrade_give_fini(void); // the router stops: a new kamueed that is not ready gives up

// upgrade_take.c: the new kamueed's part of an upgrade (upgrade_protocol.h); called by main,
// control. Until the old one has ended, both share the state in the kernel: if the new one fails,
// it exits and leaves everything as it is.
struct upgrade_given { // from the old one, at the beginning
    int lock;
    bool second;     // the old one uses the second DPDK prefix, so we use the first
    uint64_t digest; // of the old one's configuration
};

// Called first, with --upgrade. 0, or -errno with a sentence.
int upgrade_take_begin(struct upgrade_given *g, char *err, size_t err_size);
bool upgrade_takes(void); // the old one has not ended yet
// During an upgrade: exits with `code` and tells the old one and the log `sentence`. Else does
// nothing.
void upgrade_take_fail(int code, const char *sentence);
// Before the modules start: provides them with the old one's files. `done`: called when the old one
// has ended.
void upgrade_take_prepare(struct event_base *loop, void (*done)(void));

// options.c: the command line of kamueed.
enum exit_code { // in the manual page
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
