// SPDX-License-Identifier: BSD-3-Clause
// config_fixture.c - see config_fixture.h
#include "config_fixture.h"

#include "base/log.h"
#include "core/thread.h"
#include "fake/fake_managers.h"
#include "tests/unit.h"
#include "yang/yang.h"

int schema_set_up(void **state)
{
    char err[256];

    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    log_set_level(LOG_LEVEL_ERROR);
    fake_reset();
    return yang_load(err, sizeof err);
}

int schema_tear_down(void **state)
{
    yang_unload();
    return 0;
}

__attribute__((weak)) int unit_begin(void **state)
{
    return schema_set_up(state);
}

__attribute__((weak)) int unit_end(void **state)
{
    return schema_tear_down(state);
}
