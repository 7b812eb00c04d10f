// SPDX-License-Identifier: BSD-3-Clause
// keep.h - descriptors that outlive this process
//
// A keeper holds copies of them: systemd's descriptor store, where the unit says so
// (KAMUEE_KEEPER=systemd), or the process kamuee-keeper of this run directory, which keep_start
// starts if there is none. The keeper has what was put until its file is closed by the kernel (a
// TAP is deleted) or the router is stopped; a kamueed that crashed or restarts gets it back.
// docs/adr/0016. Called by main.c and modules.c; control.
#ifndef MAIN_KEEP_H
#define MAIN_KEEP_H

#include <stdbool.h>

struct event_base;

// Before other threads: takes over what the keeper has. Without a keeper the router works, too.
void keep_start(const char *run_dir);
// In an upgrade the former kamueed gives them itself, and is the keeper's client until keep_join.
void keep_start_later(const char *run_dir);
void keep_add(const char *name, int fd); // it is ours from now on
void keep_join(void);
void keep_each(const char *name, void (*fn)(int fd)); // gives away what was taken over
void keep_put(const char *name, int fd);              // a copy; `name` has no ':' and no blank
// When the keeper ended: starts another one and calls `again`, which puts everything again.
int keep_watch(struct event_base *loop, void (*again)(void));
bool keep_works(void);
void keep_end(bool restart); // false: the router stops, and nothing is to be kept

#endif
