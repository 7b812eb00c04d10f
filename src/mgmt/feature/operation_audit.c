// SPDX-License-Identifier: BSD-3-Clause
// operation_audit.c - the operation audit: the FIB against the kernel's routes, now
#include <string.h>

#include "http/refuse.h"
#include "restconf/operation.h"
#include "port/kernel_state.h"
#include "rib/rib_manager.h"
#include "restconf/state.h"
#include "table/vr.h"

static void write_state(void *ctx, const struct kernel_state *s)
{
    struct jwrite *j = ctx;

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "subject", s->subject);
    jwrite_string(j, "attribute", s->attribute);
    jwrite_string(j, "what", s->sentence);
    jwrite_end(j, '}');
}

static void audited(void *ctx, const struct rib_audit_report *r)
{
    struct http *h = ctx;
    struct text t = {0};
    struct jwrite j;

    if (http_gone(h)) {
        http_reply(h, 200, NULL, NULL);
    } else if (r->result) {
        http_refuse(h, 409, "resource-denied", "the audit could not be finished: %s; try again",
                    strerror(-r->result));
    } else {
        output_begin(&j, &t);
        audit_write(&j, r);
        jwrite_begin(&j, "kernel-state", '[');
        kernel_state_each(write_state, &j);
        jwrite_end(&j, ']');
        output_send(h, &j);
    }
}

void operation_audit(struct http *h, const struct lyd_node *op)
{
    const struct vr *v = vr_find(operation_input(op, "vr"));

    if (!v) {
        http_refuse(h, 404, "invalid-value", "there is no vr '%s'", operation_input(op, "vr"));
        return;
    }
    int r = rib_manager_audit(v->id, audited, h);
    if (r)
        http_refuse_busy(h, "rib_manager", r);
}
