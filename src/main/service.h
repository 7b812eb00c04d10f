// SPDX-License-Identifier: BSD-3-Clause
// service.h - signals, and what systemd is told
#ifndef MAIN_SERVICE_H
#define MAIN_SERVICE_H

struct event_base;

void service_report_work(void); // STATUS= says from now on what takes seconds (base/progress.h)
// TERM and INT end the loop, HUP reloads the configuration. 0 or -ENOMEM.
int service_start(struct event_base *loop);
void service_ready(void);    // everything runs: READY=1, and the watchdog is fed from now on
void service_stopping(void); // STOPPING=1
void service_stop(void);

#endif
