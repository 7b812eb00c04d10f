// SPDX-License-Identifier: BSD-3-Clause
// apply_export.c - steps of who is told what: SNMP, sFlow, IPFIX
#include "mgmt/apply_export.h"

#include <string.h>

#include "export/export.h"

static int run_snmp(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return snmp_set(to, err, n);
}

static const struct step_kind snmp_kind = {"snmp", run_snmp};

void plan_export(struct plan_steps *p)
{
    if (memcmp(&p->from->snmp, &p->to->snmp, sizeof p->to->snmp))
        step_add(p, &snmp_kind, "", &p->from->snmp, &p->to->snmp, 0);
}
