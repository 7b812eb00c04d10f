// SPDX-License-Identifier: BSD-3-Clause
// show_punt.c - packets to the control plane by class, and the ICMP errors of the router
#include <string.h>

#include "restconf/state.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/icmp.h"

static void write_class(struct jwrite *j, enum punt_class class)
{
    const struct punt_limit *l = &punt_policy[class].limit;
    struct counter_punt c = counter_sum_punt(class);

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "class", punt_class_name[class]);
    jwrite_int(j, "rate", l->per_s);
    jwrite_int(j, "burst", l->burst);
    jwrite_int(j, "queue", l->queue);
    jwrite_int(j, "queued", exchange_punt[class] ? rte_ring_count(exchange_punt[class]) : 0);
    jwrite_u64(j, "passed", c.passed);
    jwrite_u64(j, "policed", c.policed);
    jwrite_u64(j, "queue-full", c.full);
    jwrite_end(j, '}');
}

int show_punt(struct show *s)
{
    struct jwrite *j = &s->out;

    jwrite_begin(j, s->name, '[');
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        if (!s->key[0] || !strcmp(s->key[0], punt_class_name[c]))
            write_class(j, c);
    jwrite_end(j, ']');
    return SHOW_NOW;
}

int show_icmp(struct show *s)
{
    struct jwrite *j = &s->out;
    struct icmp_limit l = icmp_limit_now();
    struct counter_icmp c = counter_sum_icmp();

    jwrite_begin(j, s->name, '{');
    jwrite_int(j, "rate", l.per_s);
    jwrite_int(j, "burst", l.burst);
    jwrite_int(j, "total-rate", l.total_per_s);
    jwrite_int(j, "total-burst", l.total_burst);
    jwrite_u64(j, "sent", c.sent);
    jwrite_u64(j, "limited", c.limited);
    jwrite_u64(j, "forbidden", c.forbidden);
    jwrite_end(j, '}');
    return SHOW_NOW;
}
