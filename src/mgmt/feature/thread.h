// SPDX-License-Identifier: BSD-3-Clause
// thread.h - configured assignment of queues to threads; control role
#ifndef FEATURE_THREAD_H
#define FEATURE_THREAD_H

#include "base/text.h"
#include "config/model.h"

// Appends lines that delete a port's queues from the configuration.
void thread_print_without_port(const struct model *m, const char *port, struct text *t);

#endif
