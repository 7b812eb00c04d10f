// SPDX-License-Identifier: BSD-3-Clause
// fake_export.c - exporters that only note what they were told, for unit tests of mgmt
#include "export/export.h"
#include "mgmt/fake_managers.h"

static struct snmp_config snmp;

int snmp_set(const struct snmp_config *c, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "snmp", c->master);

    if (!r)
        snmp = *c;
    return r;
}

void snmp_state(struct snmp_state *s)
{
    *s = (struct snmp_state){.status = snmp.master[0] ? "up" : "off", .master = snmp.master, .trees = 7, .sessions = 1, .gets = 2};
}
