// SPDX-License-Identifier: BSD-3-Clause
// fake_call.c - records the calls to fakes, and makes them fail on demand
#include "fake/fake_call.h"

#include <errno.h>
#include <stdio.h>

struct text fake_calls;
int fake_fail_at;
void (*fake_step)(void);

int fake_called(char *err, size_t n, const char *what, const char *name)
{
    text_printf(&fake_calls, "%s %s\n", what, name);
    if (fake_step)
        fake_step();
    if (!fake_fail_at || --fake_fail_at)
        return 0;
    snprintf(err, n, "the device %s refuses to %s", name, what);
    return -EIO;
}
