// SPDX-License-Identifier: BSD-3-Clause
// tap.c - TAPs: the operation test-tap
//
// A test runs in short steps by a timer, because control must not wait. There is one at a time; the
// request is answered after the last step.
#include <errno.h>

#include "http/refuse.h"
#include "interface/tap_test.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/operation.h"

static struct http *test_asker; // request of the running test; one at a time

static const struct column result_columns[] = {
    COLUMN(struct tap_test_result, interface, "interface"),
    COLUMN(struct tap_test_result, family, "family"),
    COLUMN(struct tap_test_result, socket, "socket"),
    COLUMN(struct tap_test_result, passed, "passed"),
    COLUMN(struct tap_test_result, reason, "reason"),
    {0}};

static void continue_tap_test(void)
{
    const struct tap_test_result *r;
    struct http *h = test_asker;
    struct jwrite j;

    if (!tap_test_step()) {
        http_after(TAP_TEST_STEP_MS, continue_tap_test);
        return;
    }
    test_asker = NULL;
    unsigned n = tap_test_results(&r);
    output_begin(&j, &(struct text){0});
    columns_list(&j, "result", result_columns, r, n, sizeof *r);
    output_send(h, &j);
}

static void run_test_tap(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "interface");
    int r = tap_test_start(*name ? name : NULL);

    if (r == -ENOENT)
        http_refuse(h, 404, "invalid-value", "there is no interface '%s'", name);
    else if (r)
        http_refuse(h, 409, "in-use",
                    "a test of TAPs is already running; try again in a few seconds");
    else {
        test_asker = h;
        continue_tap_test();
    }
}

const struct feature tap_feature = {
    "tap",
    .operations = (const struct feature_operation[]){{"test-tap", .run = run_test_tap}, {0}},
};
