// SPDX-License-Identifier: BSD-3-Clause
// port_operation.c - operations on ports: they edit the configuration, like `configure` with lines,
// so that it always describes the running state
#include <string.h>

#include "config/config.h"
#include "config/config_edit.h"
#include "http/refuse.h"
#include "model/model.h"
#include "restconf/operation.h"
#include "yang/config_tree.h"

// Commits the lines of `t`; replies 204, or the errors without line numbers, since the client has
// not written the lines.
static void commit_lines(struct http *h, struct text *t)
{
    struct commit how = {.by = http_peer(h)};
    struct config_result result = {0};
    struct lyd_node *candidate;
    struct errors e = {0};
    int r =
        config_edited(config_running(), &(struct config_edit){.text = text_str(t)}, &candidate, &e);

    if (!r)
        r = config_commit(candidate, &how, &result, &e);
    for (unsigned i = 0; i < e.n; i++)
        e.item[i].line = 0;
    if (r)
        operation_refuse(h, r, &e);
    else
        http_reply(h, 204, NULL, NULL);
    text_free(t);
    errors_free(&e);
    config_result_free(&result);
}

static bool is_known_port(struct http *h, const char *name)
{
    if (model_find_port(config_model(), name))
        return true;
    http_refuse(h, 404, "invalid-value", "there is no port '%s'", name);
    return false;
}

static void run_port_attach(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "name"), *netns = operation_input(op, "namespace");
    struct text t = {0};

    if (model_find_port(config_model(), name)) {
        http_refuse(h, 409, "data-exists",
                    "port %s is already attached; detach it first, or use another name",
                    name);
        return;
    }
    text_printf(&t, "set port %s devargs ", name);
    words_quote(operation_input(op, "devargs"), &t);
    if (*netns) {
        text_printf(&t, " namespace ");
        words_quote(netns, &t);
    }
    commit_lines(h, &t);
}

// Appends lines that delete the port's queues from the threads.
static void print_without_queues(const struct model *m, const char *port, struct text *t)
{
    const struct model_threads *all = model_threads(m);

    for (size_t i = 0; i < all->queue.n; i++) {
        int core = all->queue.item[i].core;
        bool mine = false, others = false, first = !i || all->queue.item[i - 1].core != core;

        vec_foreach (&all->queue, a) {
            mine |= first && a->core == core && !strcmp(a->port, port);
            others |= first && a->core == core && strcmp(a->port, port);
        }
        if (mine && others)
            text_printf(t, "delete thread %d forwarder port %s\n", core, port);
        else if (mine)
            text_printf(t, "delete thread %d\n", core);
    }
}

// Appends lines that delete the configuration of the port's interfaces.
static void print_without_interfaces(const struct model *m, const char *port, struct text *t)
{
    vec_foreach (&model_interfaces(m)->configured, i) {
        const struct model_vport *v = model_find_vport(m, i->name);

        if (!strcmp(v ? v->port : i->name, port))
            text_printf(t, "delete interface %s\n", i->name);
    }
}

static void run_port_detach(struct http *h, const struct lyd_node *op)
{
    const struct model *m = config_model();
    const char *name = operation_input(op, "name");
    struct text t = {0};

    if (!is_known_port(h, name))
        return;
    print_without_queues(m, name, &t);
    print_without_interfaces(m, name, &t);
    vec_foreach (&model_vports(m)->vport, v)
        if (!strcmp(v->port, name))
            text_printf(&t, "delete vport %s\n", v->name);
    text_printf(&t, "delete port %s\n", name);
    commit_lines(h, &t);
}

static void set_port_enabled(struct http *h, const char *name, const char *enabled)
{
    struct text t = {0};

    if (!is_known_port(h, name))
        return;
    text_printf(&t, "set port %s enabled %s\n", name, enabled);
    commit_lines(h, &t);
}

static void run_port_start(struct http *h, const struct lyd_node *op)
{
    set_port_enabled(h, operation_input(op, "name"), "true");
}

static void run_port_stop(struct http *h, const struct lyd_node *op)
{
    set_port_enabled(h, operation_input(op, "name"), "false");
}

const struct feature_operation port_operations[] = {
    {"port-attach", run_port_attach, OPERATION_CHANGES},
    {"port-detach", run_port_detach, OPERATION_CHANGES},
    {"port-start", run_port_start, OPERATION_CHANGES},
    {"port-stop", run_port_stop, OPERATION_CHANGES},
    {0}};
