// SPDX-License-Identifier: BSD-3-Clause
// operation_priv.h - what operations share: their input and output; control role
#ifndef OPERATION_OPERATION_H
#define OPERATION_OPERATION_H

#include <stdint.h>

#include "base/jwrite.h"
#include "http/http.h"
#include "table/passage.h"

// {"kamuee:output": { … }}: the members are written between the two.
void output_begin(struct jwrite *j, struct text *t);
void output_end(struct jwrite *j); // these two on any thread
void output_send(struct http *h, struct jwrite *j);

// Value of a leaf of the input, "" when it is not given.
struct lyd_node;
const char *operation_input(const struct lyd_node *op, const char *leaf);

struct errors;
void operation_again(struct http *h); // the same request from the beginning, when access lists are
                                      // ready (commit_wait.h)
void operation_refuse(struct http *h, int r,
                      struct errors *e); // what config_commit and config_edited() say

// operation_config.c; each answers.
void operation_configure(struct http *h, const struct lyd_node *op);
void operation_edit(struct http *h, const struct lyd_node *op);
void operation_confirm(struct http *h, const struct lyd_node *op);
void operation_session_open(struct http *h, const struct lyd_node *op);
void operation_session_close(struct http *h, const struct lyd_node *op);
void operation_configuration(struct http *h, const struct lyd_node *op);
void operation_compare(struct http *h, const struct lyd_node *op);
void operation_complete(struct http *h, const struct lyd_node *op);
void operation_save_configuration(struct http *h, const struct lyd_node *op);

// operation_port.c
void operation_port_attach(struct http *h, const struct lyd_node *op);
void operation_port_detach(struct http *h, const struct lyd_node *op);
void operation_port_start(struct http *h, const struct lyd_node *op);
void operation_port_stop(struct http *h, const struct lyd_node *op);

void operation_set_explain(passage_explain *fn); // the forwarder's
void operation_explain(struct http *h, const struct lyd_node *op); // answers later
void operation_trace(struct http *h, const struct lyd_node *op); // answers later, by a stream
void operation_web_address(struct http *h, const struct lyd_node *op); // web.c
void operation_audit(struct http *h, const struct lyd_node *op);         // answers later
void operation_route_changes(struct http *h,
                             const struct lyd_node *op); // operation_journal.c; answer later
void operation_route_at(struct http *h, const struct lyd_node *op);
void operation_test_tap(struct http *h, const struct lyd_node *op); // answers later

void operation_clear_counters(struct http *h, const struct lyd_node *op); // operation_clear.c
void operation_clear_neighbor(struct http *h, const struct lyd_node *op); // answers later

void operation_silence_alarm(struct http *h, const struct lyd_node *op); // operation_alarm.c
void operation_capture(struct http *h, const struct lyd_node *op); // answers by a stream

// operation_acl.c; each answers later.
void operation_acl_rules(struct http *h, const struct lyd_node *op);
void operation_acl_lint(struct http *h, const struct lyd_node *op);
void operation_clear_acl(struct http *h, const struct lyd_node *op);
void operation_reload(struct http *h, const struct lyd_node *op);
void operation_address_set_contains(struct http *h, const struct lyd_node *op);
void operation_address_set_change(struct http *h, const struct lyd_node *op);

// The operation `lookup` for n addresses as text; answers later.
void lookup_addresses(struct http *h, uint16_t vr, const char *const *address, unsigned n);

#endif
