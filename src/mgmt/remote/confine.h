// SPDX-License-Identifier: BSD-3-Clause
// confine.h - kamuee-http gives up all that it does not need
#ifndef REMOTE_CONFINE_H
#define REMOTE_CONFINE_H

#include <stddef.h>

// No capability, no other program, and some 40 system calls: those that read, write and wait on
// descriptors which it has or is given, and memory. For ever. 0, or -errno with a sentence.
int confine(char *err, size_t err_size);

#endif
