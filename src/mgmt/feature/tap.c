// SPDX-License-Identifier: BSD-3-Clause
// operation_tap.c - the operation test-tap
#include <errno.h>

#include "http/refuse.h"
#include "restconf/operation.h"
#include "port/tap_test.h"

static struct http *asker; // one test at a time

static void write_result(struct jwrite *j, const struct tap_test_result *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "interface", r->interface);
    jwrite_string(j, "family", r->family);
    jwrite_string(j, "socket", r->socket);
    jwrite_bool(j, "passed", r->passed);
    jwrite_string(j, "reason", r->reason);
    jwrite_end(j, '}');
}

static void step(void)
{
    const struct tap_test_result *r;
    struct http *h = asker;
    struct text t = {0};
    struct jwrite j;

    if (!tap_test_step()) {
        http_after(TAP_TEST_STEP_MS, step);
        return;
    }
    asker = NULL;
    if (http_gone(h)) {
        http_reply(h, 200, NULL, NULL);
        return;
    }
    unsigned n = tap_test_results(&r);
    output_begin(&j, &t);
    jwrite_begin(&j, "result", '[');
    for (unsigned i = 0; i < n; i++)
        write_result(&j, &r[i]);
    jwrite_end(&j, ']');
    output_send(h, &j);
}

void operation_test_tap(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "interface");
    int r = tap_test_begin(*name ? name : NULL);

    if (r == -ENOENT)
        http_refuse(h, 404, "invalid-value", "there is no interface '%s'", name);
    else if (r)
        http_refuse(h, 409, "in-use",
                    "a test of TAPs is already running; try again in a few seconds");
    else {
        asker = h;
        step();
    }
}
