// SPDX-License-Identifier: BSD-3-Clause
// operation.h - the RPCs of kamuee.yang: their functions, input and output; control role
//
// The schema defines the required role and the format of the input.
#ifndef RESTCONF_OPERATION_H
#define RESTCONF_OPERATION_H

#include "base/jwrite.h"
#include "http/http.h"

struct errors;
struct lyd_node;

enum operation_turn { // core/aside.h
    OPERATION_AT_ONCE,
    OPERATION_READS, // in the lane of readers of the configuration
    OPERATION_CHANGES,
};

// An RPC. Each RPC of the schema has exactly one, and vice versa.
struct feature_operation {
    const char *rpc;
    void (*run)(struct http *h, const struct lyd_node *op); // answers, perhaps later
    enum operation_turn turn;
};

void operation_bind(void); // to the schema, after loading it

// Value of a leaf of the input, "" or `otherwise` if it is missing.
const char *operation_input(const struct lyd_node *op, const char *leaf);
uint64_t operation_input_number(const struct lyd_node *op, const char *leaf, uint64_t otherwise);
bool operation_input_is_true(const struct lyd_node *op, const char *leaf);

// {"kamuee:output": { … }}: members are written between the two calls.
void output_begin(struct jwrite *j, struct text *t);
void output_end(struct jwrite *j); // output_begin, output_end: any thread
void output_send(struct http *h, struct jwrite *j);

// Answers with the errors of config_commit() or config_edited().
void operation_refuse(struct http *h, int r, struct errors *e);

#endif
