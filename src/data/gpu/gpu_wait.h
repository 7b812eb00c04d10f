// SPDX-License-Identifier: BSD-3-Clause
// gpu_wait.h - for tests, included after cmocka.h: waits for the emulated device, long enough for a
// loaded machine
#ifndef GPU_WAIT_H
#define GPU_WAIT_H

#include <time.h>

#define wait_for(condition)                                                                        \
    do {                                                                                           \
        time_t end_ = time(NULL) + 60;                                                             \
        while (!(condition)) {                                                                     \
            if (time(NULL) > end_)                                                                 \
                fail_msg("still not, after a minute: %s", #condition);                             \
            nanosleep(&(struct timespec){0, 50000}, NULL);                                         \
        }                                                                                          \
    } while (0)

#endif
