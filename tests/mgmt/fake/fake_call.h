// SPDX-License-Identifier: BSD-3-Clause
// fake_call.h - records the calls to fakes, and makes them fail on demand
#ifndef CONFIG_FAKE_FAKE_CALL_H
#define CONFIG_FAKE_FAKE_CALL_H

#include <stddef.h>

#include "base/text.h"

extern struct text fake_calls;  // "attach p0\n" …
extern int fake_fail_at;        // the n-th call from now fails (1 = the next), 0 = none
extern void (*fake_step)(void); // called at each call, or NULL

// Records a call; 0, or -EIO with a sentence for the call that should fail.
int fake_called(char *err, size_t n, const char *what, const char *name);

#endif
