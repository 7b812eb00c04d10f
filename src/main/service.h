// SPDX-License-Identifier: BSD-3-Clause
// service.h - kamueed as a service: signals, and notifications to systemd
//
// Called by main(), around the lifetime of the modules.
#ifndef MAIN_SERVICE_H
#define MAIN_SERVICE_H

#include <stdbool.h>

struct event_base;

void service_report_work(void); // STATUS= shows work that takes seconds (base/progress.h)
// TERM and INT end the loop, USR1 ends it for a restart; HUP reloads the configuration. 0 or
// -ENOMEM.
int service_start(struct event_base *loop);
void service_ready(void);    // READY=1; feeds the watchdog from now on
void service_stopping(void); // STOPPING=1
void service_stop(void);
bool service_restarts(void); // ended by USR1: TAPs stay as they are for the next kamueed

#endif
