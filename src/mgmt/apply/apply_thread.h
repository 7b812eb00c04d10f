// SPDX-License-Identifier: BSD-3-Clause
// apply_thread.h - steps of the assignment of queues to threads; control role
#ifndef APPLY_APPLY_THREAD_H
#define APPLY_APPLY_THREAD_H

#include "apply/apply_step.h"

void plan_threads_begin(
    struct plan_steps *p); // before the others, and the end after the plan was run
void plan_threads_going(struct plan_steps *p);
void plan_threads_coming(struct plan_steps *p);
void plan_threads_end(struct plan_steps *p);

#endif
