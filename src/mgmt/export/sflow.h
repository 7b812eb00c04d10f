// SPDX-License-Identifier: BSD-3-Clause
// sflow.h - interface between export.c and sflow.c
#ifndef EXPORT_SFLOW_H
#define EXPORT_SFLOW_H

struct event_base;

void sflow_start(struct event_base *loop);
void sflow_stop(void);

#endif
