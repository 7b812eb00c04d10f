// SPDX-License-Identifier: BSD-3-Clause
// system_calls.h - which system calls kamueed may still make once it has started
#ifndef MAIN_SYSTEM_CALLS_H
#define MAIN_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stddef.h>

// For all threads, and for ever. `names_helper`: kamuee-netns names namespaces, so that we mount
// nothing. 0 or -errno and why.
int system_calls_restrict(bool names_helper, char *err, size_t err_size);

#endif
