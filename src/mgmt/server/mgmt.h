// SPDX-License-Identifier: BSD-3-Clause
// mgmt.h - start, reload and stop of management, as main/ sees them; control role
#ifndef SERVER_MGMT_H
#define SERVER_MGMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

// What has to be known before DPDK starts, read from the configuration file.
struct mgmt_start {
    unsigned memory_mib; // 0 = chosen from the machine
    bool no_huge;
    int log_level; // enum log_level
};

// Where the configuration is, and where committed ones are kept.
struct mgmt_files {
    const char *config;
    bool may_be_missing;   // the file; then it is an empty configuration
    const char *state_dir; // NULL: nothing is kept
    bool file_only;        // start with the file, whatever was committed
    uint64_t digest;       // in an upgrade: of the configuration that it must be; 0: any
};

// Where kamuee.yang lies: $KAMUEE_YANG_DIR, the source tree when run from a build directory, or the
// installed share directory. Loads the schema and validates what kamueed is to start with
// (config.h: config_read_start). 0, or -errno with "file:line: what is wrong, expected …" in err.
// Nothing is applied.
int mgmt_load(const struct mgmt_files *files, struct mgmt_start *start, char *err, size_t err_size);
// Applies the loaded configuration through the managers and opens RUN_DIR/kamuee.sock. 0 or -errno
// with a sentence.
int mgmt_start(struct event_base *loop, const char *run_dir, char *err, size_t err_size);
// In a turn of ASIDE_CHANGE (core/aside.h): reads the file again, and those that it names, and
// applies the difference: all or nothing.
int mgmt_reload(char *err, size_t err_size);
// What the configuration wants before a stop; `done` is called when it is over. How many seconds it
// may take; 0: nothing, and `done` is not called.
uint32_t mgmt_drain(void (*done)(void));
void mgmt_save(void); // what outlives a planned stop, once nothing is received any more
void mgmt_stop(void);

// --- an upgrade, between two kamueeds (docs/adr/0020) ---
struct text;
uint64_t mgmt_digest(void);      // of the running configuration
uint64_t mgmt_version(void);     // another one after each change
bool mgmt_commit_waits(void);    // for its confirmation
int mgmt_save_text(struct text *t);              // the same as mgmt_save; 0 or -errno
const char *mgmt_take_text(const struct text *t); // of the former kamueed: NULL, or why not
void mgmt_give_listeners(void (*fn)(int fd));
void mgmt_offer_listener(int fd); // before mgmt_start; it is ours from now on
void mgmt_hold_listeners(bool on); // clients wait
// A change that fails is not undone: fn ends the process. NULL: it is undone.
void mgmt_instead_of_undo(void (*fn)(const char *sentence));

#endif
