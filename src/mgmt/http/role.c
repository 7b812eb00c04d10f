// SPDX-License-Identifier: BSD-3-Clause
// role.c - names of the roles
#include "http/role.h"

#include <string.h>

const char *const access_name[ACCESS_N] = {"none", "read-only", "operator", "admin"};

int access_of_name(const char *name)
{
    for (int i = 0; i < ACCESS_N; i++)
        if (!strcmp(access_name[i], name))
            return i;
    return -1;
}
