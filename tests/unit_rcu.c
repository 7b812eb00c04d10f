// SPDX-License-Identifier: BSD-3-Clause
// unit_rcu.c - for test programs that need RCU and nothing else
#include "core/rcu.h"
#include "tests/unit.h"

int unit_begin(void **state)
{
    rcu_init();
    return 0;
}

int unit_end(void **state)
{
    rcu_fini();
    return 0;
}
