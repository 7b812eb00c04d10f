// SPDX-License-Identifier: BSD-3-Clause
// operation_output.c - what an operation was given, and how it answers
#include <libyang/libyang.h>

#include "config/commit_wait.h"
#include "restconf/operation.h"
#include "yang/config_tree.h"

const char *operation_input(const struct lyd_node *op, const char *leaf)
{
    const char *v = config_value(lyd_child(op), leaf);

    return v ? v : "";
}

void output_begin(struct jwrite *j, struct text *t)
{
    *j = (struct jwrite){.t = t};
    jwrite_begin(j, NULL, '{');
    jwrite_begin(j, "kamuee:output", '{');
}

void output_end(struct jwrite *j)
{
    jwrite_end(j, '}');
    jwrite_end(j, '}');
    text_printf(j->t, "\n");
}

void output_send(struct http *h, struct jwrite *j)
{
    output_end(j);
    http_reply(h, 200, HTTP_JSON, j->t);
}

static void answer_again(void *ctx)
{
    struct http *h = ctx;

    if (http_gone(h))
        http_reply(h, 200, NULL, NULL);
    else
        http_again(h);
}

void operation_again(struct http *h)
{
    commit_wait(answer_again, h);
}
