// SPDX-License-Identifier: BSD-3-Clause
// mgmt.h - start, reload and stop of management, called by main/; control role
#ifndef SERVER_MGMT_H
#define SERVER_MGMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

// Settings needed before DPDK starts, from the configuration file.
struct mgmt_start {
    unsigned memory_mib; // 0 = chosen from the machine
    bool no_huge;
    int log_level; // enum log_level
};

// Locations of the configuration and of committed revisions.
struct mgmt_files {
    const char *config;
    bool may_be_missing;   // the file; without it, an empty configuration
    const char *state_dir; // NULL: nothing is stored
    bool file_only;        // start with the file, even if it is older than a revision
    uint64_t digest;       // in an upgrade: of the running configuration; 0: this is no upgrade
    const char *run_dir;   // in an upgrade: where the running kamueed answers
};

// Location of kamuee.yang: $KAMUEE_YANG_DIR, the source tree when run from a build directory, or
// the installed share directory. Loads the schema and checks the start configuration (config.h:
// config_read_start). 0, or -errno with "file:line: error, expected …" in err. Applies nothing.
int mgmt_load(const struct mgmt_files *files, struct mgmt_start *start, char *err, size_t err_size);
// Applies the loaded configuration through the managers and opens RUN_DIR/kamuee.sock. 0 or -errno
// with a sentence.
int mgmt_start(struct event_base *loop, const char *run_dir, char *err, size_t err_size);
// In a turn of ASIDE_CHANGE (core/aside.h): reads the file again, with the files named in it, and
// applies the difference: all or nothing.
int mgmt_reload(char *err, size_t err_size);
// Starts the drain configured before a stop; `done` is called when it is over. Returns its maximum
// duration in seconds; 0: no drain, and `done` is not called.
uint32_t mgmt_drain(void (*done)(void));
void mgmt_save(void); // state that survives a planned stop, after the last packet was received
void mgmt_stop(void);

// --- an upgrade, between two kamueeds (docs/adr/0020) ---
struct text;
uint64_t mgmt_digest(void);      // of the running configuration
uint64_t mgmt_version(void);     // changes with each change
bool mgmt_commit_waits(void);    // to be confirmed
int mgmt_save_text(struct text *t);              // the same as mgmt_save; 0 or -errno
const char *mgmt_take_text(const struct text *t); // from the former kamueed: NULL, or an error
void mgmt_give_listeners(void (*fn)(int fd));
void mgmt_offer_listener(int fd); // before mgmt_start; now ours
void mgmt_hold_listeners(bool on); // new clients wait
// A failing change is not undone: fn ends the process. NULL: it is undone.
void mgmt_instead_of_undo(void (*fn)(const char *sentence));

#endif
