// SPDX-License-Identifier: BSD-3-Clause
// keep.h - file descriptors that outlive this process
//
// A keeper holds copies of them: systemd's descriptor store (KAMUEE_KEEPER=systemd or FDSTORE in
// the environment), or the process kamuee-keeper of this run directory, which keep_start starts if
// needed. The keeper holds a descriptor until the kernel closes its file (a TAP is deleted) or the
// router is stopped. After a crash or a restart, kamueed gets it back. docs/adr/0016. Called by
// main.c and modules.c; control.
#ifndef MAIN_KEEP_H
#define MAIN_KEEP_H

#include <stdbool.h>
#include <stddef.h>

struct event_base;

// Before other threads start: takes over the keeper's descriptors. The router also works without a
// keeper.
void keep_start(const char *run_dir);
// In an upgrade the former kamueed passes them itself and remains the keeper's client until
// keep_join.
void keep_start_later(const char *run_dir);
void keep_add(const char *name, int fd); // takes ownership of fd
void keep_join(void);
void keep_each(const char *name, void (*fn)(int fd)); // passes the taken-over descriptors to fn
void keep_put(const char *name, int fd);              // a copy; no ':' or blank in `name`
// If the keeper ends: starts another one and calls `again`, which puts all descriptors again.
int keep_watch(struct event_base *loop, void (*again)(void));
void keep_end(bool restart); // false: the router stops, keep nothing

// keep_process.c: connection to kamuee-keeper (keeper_protocol.h).

// Connects to the keeper that listens at `path`, or starts one. -1 with a sentence.
int keep_process_connect(const char *path, char *err, size_t err_size);
// Calls fn with each of its descriptors, which fn owns. 0 or -1.
int keep_process_take(int s, void (*fn)(const char *name, int fd));
// Does both. A keeper that does not answer is killed, and a new one started.
int keep_process_open(const char *path, void (*fn)(const char *name, int fd), char *err,
                      size_t err_size);
bool keep_process_end(int s);     // kills the keeper at the other end; false: it survived SIGKILL
void keep_process_continue(void); // it may be stopped, and has messages to read

#endif
