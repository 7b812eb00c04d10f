// SPDX-License-Identifier: BSD-3-Clause
// bound.h - what a client that is bound to a virtual router is answered (yang/owner.h)
//
// Control role.
#ifndef RESTCONF_BOUND_H
#define RESTCONF_BOUND_H

#include <stdbool.h>

struct http;
struct lyd_node;
struct lysc_node;
struct path;
struct snapshot;
struct text;

// The configuration as the client knows it: what runs, or the part of it that is its virtual
// router's. As it was when the request first asked; it stays as long as the request.
const struct snapshot *bound_snapshot(struct http *h);
const struct lyd_node *bound_running(struct http *h);

bool bound_is(const struct http *h);
// Whether a child of `state` may have something for the client.
bool bound_sees(const struct http *h, const struct lysc_node *s);
// Whether the client may ask for the table of this virtual router. False: an answer has been given.
bool bound_may_read(struct http *h, const char *vr);

// What comes of an operation: answers are filtered by the output of its schema. False: it does not
// exist for the client.
bool bound_operation(struct http *h, const struct lysc_node *rpc);
// {…}, an entry of a list of an operation's output that is streamed: the same, if the client is
// bound.
void bound_keep_row(const struct http *h, const char *rpc, const char *list, struct text *json);
bool bound_input(struct http *h, struct lyd_node *op); // false: an answer has been given
bool bound_hides(const struct http *h, const struct lysc_node *rpc);

void bound_metrics(struct http *h); // the answer is metrics
// {"kamuee:state": {…}} or {"kamuee:CHILD": …}: takes out what is not the virtual router's.
void bound_keep_state(const char *vr, struct text *json);
// {…}, an entry of a list that is streamed: the same, if the client is bound.
void bound_keep_entry(const struct http *h, const struct lysc_node *list, struct text *json);

#endif
