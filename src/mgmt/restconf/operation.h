// SPDX-License-Identifier: BSD-3-Clause
// operation.h - the RPCs of kamuee.yang: who runs which, their input and output; control role
//
// Who may run it, and what its input must be, the schema says.
#ifndef RESTCONF_OPERATION_H
#define RESTCONF_OPERATION_H

#include "base/jwrite.h"
#include "http/http.h"

struct errors;
struct lyd_node;

enum operation_turn { // core/aside.h
    OPERATION_AT_ONCE,
    OPERATION_READS, // in the lane of those that read the configuration
    OPERATION_CHANGES,
};

// An RPC. Each of the schema has one, and the other way round.
struct feature_operation {
    const char *rpc;
    void (*run)(struct http *h, const struct lyd_node *op); // answers, perhaps later
    enum operation_turn turn;
};

void operation_bind(void); // to the schema, once it is loaded

// Value of a leaf of the input, "" or `otherwise` when it is not given.
const char *operation_input(const struct lyd_node *op, const char *leaf);
uint64_t operation_input_number(const struct lyd_node *op, const char *leaf, uint64_t otherwise);
bool operation_input_is_true(const struct lyd_node *op, const char *leaf);

// {"kamuee:output": { … }}: the members are written between the two.
void output_begin(struct jwrite *j, struct text *t);
void output_end(struct jwrite *j); // these two on any thread
void output_send(struct http *h, struct jwrite *j);

// What config_commit and config_edited() say.
void operation_refuse(struct http *h, int r, struct errors *e);

#endif
