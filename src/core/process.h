// SPDX-License-Identifier: BSD-3-Clause
// process.h - this process's memory and age, and whether another one lives; control role
#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "core/mem.h"

uint64_t process_resident(void); // bytes in memory, 0 when /proc does not say
uint64_t process_uptime(void);   // seconds since its start
// It has ended, or its first thread is a zombie while others clean up.
bool process_is_gone(pid_t pid);
void process_name(pid_t pid, char name[16]); // of its program; "": it is not there

// Named regions (core/mem.h). Several tables may each have one of a name (a FIB per virtual router
// and family): they are added up to one.
struct process_regions {
    VEC(struct mem_region) item;
};
void process_regions(struct process_regions *all); // vec_free(&all->item) ends it

#endif
