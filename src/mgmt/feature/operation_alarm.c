// SPDX-License-Identifier: BSD-3-Clause
// operation_alarm.c - the operation silence-alarm
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alarm/alarm.h"
#include "base/log.h"
#include "http/refuse.h"
#include "restconf/operation.h"

static enum alarm_name name_of(const char *name) // the schema knows the same
{
    unsigned n = 0;

    while (n < ALARM_N && strcmp(alarm_kind[n].name, name))
        n++;
    bug_on(n == ALARM_N);
    return (enum alarm_name)n;
}

void operation_silence_alarm(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "name"), *subject = operation_input(op, "subject");
    uint32_t seconds = (uint32_t)strtoul(operation_input(op, "seconds"), NULL, 10);

    if (alarm_silence(name_of(name), subject, seconds, http_peer(h))) {
        http_refuse(h, 409, "resource-denied",
                    "too many silenced alarms: at most %d; end one with 'silence alarm NAME "
                    "SUBJECT for 0s'",
                    ALARM_SILENCES);
        return;
    }
    log_notice("alarm: silenced: name=%s subject=%s seconds=%u by=%s", name, LOG_VALUE(subject),
               seconds, LOG_VALUE(http_peer(h)));
    http_reply(h, 204, NULL, NULL);
}
