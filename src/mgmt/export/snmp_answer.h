// SPDX-License-Identifier: BSD-3-Clause
// snmp_answer.h - the answer to one Get, GetNext or GetBulk
//
// Variables are found one after the other. While rib_manager looks for one, the answer waits;
// `ready` is called when all are found. One answer at a time.
#ifndef EXPORT_SNMP_ANSWER_H
#define EXPORT_SNMP_ANSWER_H

#include "export/agentx.h"

struct snmp_counts {
    uint64_t gets, get_nexts, get_bulks, sets, variables, errors;
};
extern struct snmp_counts snmp_counts;

// Begins. `out` gets the response; `ready(more)` is called once it is whole, perhaps before this
// returns.
void snmp_answer_begin(const struct agentx_header *h, const uint8_t *payload, struct text *out,
                       void (*ready)(void));
bool snmp_answer_rests(void);  // not whole yet
void snmp_answer_forget(void); // the session is gone; `ready` is not called

#endif
