// SPDX-License-Identifier: BSD-3-Clause
// instance.h - one kamueed per run directory; checks the host's prerequisites
//
// Called by main() before the modules start.
#ifndef MAIN_INSTANCE_H
#define MAIN_INSTANCE_H

#include <stddef.h>

// Holds RUN_DIR/kamueed.lock until the process ends. 0, -EBUSY (another kamueed runs) or -errno,
// with a sentence.
int instance_lock(const char *run_dir, char *err, size_t err_size);
int instance_lock_fd(void); // for the kamueed that takes over
void instance_take_lock(const char *run_dir, int fd); // of the former one, also a holder
void instance_write_pid(void);
void instance_unlock(void);

// Checks capabilities, descriptors and /dev/net/tun. 0, or -errno with a sentence that includes the
// remedy.
int instance_check_machine(char *err, size_t err_size);

#endif
