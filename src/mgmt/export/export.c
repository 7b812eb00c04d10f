// SPDX-License-Identifier: BSD-3-Clause
// export.c - see export.h
#include "export/export.h"

#include "core/thread.h"
#include "export/ipfix.h"
#include "export/sflow.h"

int export_start(struct event_base *loop)
{
    thread_must_be(ROLE_CONTROL);
    sflow_start(loop);
    ipfix_start(loop);
    return 0;
}

void export_stop(void)
{
    thread_must_be(ROLE_CONTROL);
    ipfix_stop();
    sflow_stop();
}
