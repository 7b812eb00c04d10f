// SPDX-License-Identifier: BSD-3-Clause
// process.h - memory and age of this process, and whether another one lives; control role
#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "core/mem.h"

uint64_t process_resident(void); // bytes in memory, 0 if /proc is not readable
uint64_t process_uptime(void);   // seconds since its start
// True if it has ended, or if its first thread is a zombie while other threads clean up.
bool process_is_gone(pid_t pid);
void process_name(pid_t pid, char name[16]); // name of its program; "" if it does not exist

// Named regions (core/mem.h). Regions with the same name (a FIB per virtual router and family) are
// added up.
struct process_regions {
    VEC(struct mem_region) item;
};
void process_regions(struct process_regions *all); // free with vec_free(&all->item)

#endif
