// SPDX-License-Identifier: BSD-3-Clause
// apply_export.c - steps of who is told what: SNMP, sFlow, IPFIX
#include "apply/apply_export.h"

#include <string.h>

#include "export/export.h"

static int run_snmp(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return snmp_set(to, err, n);
}

static int run_sflow(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return sflow_set(to, err, n);
}

static int run_ipfix(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return ipfix_set(to, err, n);
}

static const struct step_kind snmp_kind = {"snmp", run_snmp}, sflow_kind = {"sflow", run_sflow},
                              ipfix_kind = {"ipfix", run_ipfix};

void plan_export(struct plan_steps *p)
{
    if (memcmp(&p->from->snmp, &p->to->snmp, sizeof p->to->snmp))
        step_add(p, &snmp_kind, "", &p->from->snmp, &p->to->snmp, 0);
    if (memcmp(&p->from->sflow, &p->to->sflow, sizeof p->to->sflow))
        step_add(p, &sflow_kind, "", &p->from->sflow, &p->to->sflow, 0);
    if (memcmp(&p->from->ipfix, &p->to->ipfix, sizeof p->to->ipfix))
        step_add(p, &ipfix_kind, "", &p->from->ipfix, &p->to->ipfix, 0);
}
