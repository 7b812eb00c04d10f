// SPDX-License-Identifier: BSD-3-Clause
// show_export.c - who is told what, and how that goes: SNMP, sFlow, IPFIX
#include "export/export.h"
#include "mgmt/show.h"

int show_snmp(struct show *s)
{
    struct jwrite *j = &s->out;
    struct snmp_state n;

    snmp_state(&n);
    jwrite_begin(j, s->name, '{');
    jwrite_string(j, "status", n.status);
    if (n.master[0])
        jwrite_string(j, "master", n.master);
    if (n.error[0])
        jwrite_string(j, "error", n.error);
    jwrite_int(j, "trees", n.trees);
    jwrite_u64(j, "sessions", n.sessions);
    jwrite_u64(j, "get", n.gets);
    jwrite_u64(j, "get-next", n.get_nexts);
    jwrite_u64(j, "get-bulk", n.get_bulks);
    jwrite_u64(j, "set-refused", n.sets);
    jwrite_u64(j, "variables", n.variables);
    jwrite_u64(j, "errors", n.errors);
    jwrite_u64(j, "notifications", n.notifications);
    jwrite_u64(j, "notifications-lost", n.notifications_lost);
    jwrite_end(j, '}');
    return SHOW_NOW;
}
