// SPDX-License-Identifier: BSD-3-Clause
// service.h - signals, and what systemd is told
#ifndef MAIN_LIFE_H
#define MAIN_LIFE_H

struct event_base;

void life_tells_work(void); // STATUS= says from now on what takes seconds (base/progress.h)
// TERM and INT end the loop, HUP reloads the configuration. 0 or -ENOMEM.
int life_start(struct event_base *loop);
void life_ready(void);    // everything runs: READY=1, and the watchdog is fed from now on
void life_stopping(void); // STOPPING=1
void life_stop(void);

#endif
