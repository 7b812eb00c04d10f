// SPDX-License-Identifier: BSD-3-Clause
// bound.h - filters answers to a client that is bound to a virtual router (yang/owner.h)
//
// Control role.
#ifndef RESTCONF_BOUND_H
#define RESTCONF_BOUND_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>

struct http;
struct lyd_node;
struct lysc_node;
struct path;
struct snapshot;
struct text;

// The configuration visible to the client: the running one, or its virtual router's part of it. A
// copy from the request's first call; it stays as long as the request.
const struct snapshot *bound_snapshot(struct http *h);
const struct lyd_node *bound_running(struct http *h);

bool bound_is(const struct http *h);
// May a child of `state` have content for the client?
bool bound_sees(const struct http *h, const struct lysc_node *s);
// May the client read the table of this virtual router? False: already answered.
bool bound_may_read(struct http *h, const char *vr);

// Call for an operation: its answer is filtered by the output in its schema. False: it does not
// exist for the client.
bool bound_operation(struct http *h, const struct lysc_node *rpc);
// {…}, an entry of a streamed list of an operation's output: filters it, if the client is bound.
void bound_keep_row(const struct http *h, const char *rpc, const char *list, struct text *json);
bool bound_input(struct http *h, struct lyd_node *op); // false: already answered
bool bound_hides(const struct http *h, const struct lysc_node *rpc);

// A sample of a metric: does no label belong to another owner, and one to the virtual router?
bool bound_sees_sample(const char *vr, va_list labels);
// {"kamuee:state": {…}} or {"kamuee:CHILD": …}: removes everything that does not belong to the
// virtual router.
void bound_keep_state(const char *vr, json_t *root);
// {…}, an entry of a streamed list: filters it, if the client is bound.
void bound_keep_entry(const struct http *h, const struct lysc_node *list, struct text *json);

#endif
