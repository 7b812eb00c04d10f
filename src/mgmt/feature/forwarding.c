// SPDX-License-Identifier: BSD-3-Clause
// show_ledger.c - rx + inject = tx + punt + held + drops
#include "restconf/state.h"
#include "table/counter.h"

#define LEDGER_TRIES 20 // passes over the counters until two agree; under traffic they never do

int show_ledger(struct show *s)
{
    struct jwrite *j = &s->out;
    struct ledger l;

    ledger_read(&l, LEDGER_TRIES);
    jwrite_begin(j, s->name, '{');
    jwrite_u64(j, "rx", l.rx);
    jwrite_u64(j, "inject", l.inject);
    jwrite_u64(j, "tx", l.tx);
    jwrite_u64(j, "punt", l.punt);
    jwrite_u64(j, "held", l.held);
    jwrite_u64(j, "drops", l.drops);
    jwrite_i64(j, "imbalance", l.imbalance);
    jwrite_end(j, '}');
    return SHOW_NOW;
}
