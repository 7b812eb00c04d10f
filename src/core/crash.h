// SPDX-License-Identifier: BSD-3-Clause
// crash.h - writes a crash note when a signal ends kamueed
//
//     crash_start(...)     SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT write a note before they end
//                          the process as usual (with a core file where the host keeps them)
//     crash_ready()        DPDK's drivers are loaded: their functions can be named
//
// A note is a text file DIR/crash-TIME-PID.untold of at most about 100 KiB. A file with this name
// is complete (docs/features/crash.md describes it). feature/crash.c reports it at the next start.
// Called by main; threads can be traced from their start (thread_watch).
#ifndef CORE_CRASH_H
#define CORE_CRASH_H

#include <stdint.h>

struct crash_setup {
    const char *dir; // of the notes; may be created later
    const char *version;
    const char *const *stage; // stage names; a function belongs to the one its name begins with
    unsigned n_stages;
};

void crash_start(const struct crash_setup *s); // before any thread has a role
void crash_ready(void);

// --- more contents of a note, any thread ---
void crash_set_revision(uint64_t id);    // the running configuration
void crash_set_stuck(const char *name);  // a thread that does not answer; constant; NULL: none

const char *crash_build_id(void); // hexadecimal; "" if there is none

#endif
