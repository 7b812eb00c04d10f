// SPDX-License-Identifier: BSD-3-Clause
// system_calls.h - limits the system calls of kamueed after its start
#ifndef MAIN_SYSTEM_CALLS_H
#define MAIN_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stddef.h>

// For all threads, permanently. `names_helper`: kamuee-netns names namespaces, so we need not
// mount. 0 or -errno and the reason.
int system_calls_restrict(bool names_helper, char *err, size_t err_size);

#endif
