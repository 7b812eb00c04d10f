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
bool keep_works(void);
void keep_end(bool restart); // false: the router stops, keep nothing

#endif
