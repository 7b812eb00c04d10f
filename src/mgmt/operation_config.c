// SPDX-License-Identifier: BSD-3-Clause
// operation_config.c - operations that read or change the configuration
//
// Those on ports edit the configuration, as `configure` does with lines: so the
// running configuration is always what runs.
#include <errno.h>
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "mgmt/complete.h"
#include "mgmt/config.h"
#include "mgmt/config_tree.h"
#include "mgmt/operation_priv.h"
#include "mgmt/restconf_priv.h"

static void refuse(struct http *h, int r, struct errors *e)
{
    restconf_errors(h, r == -EINVAL ? 400 : 409, r == -EINVAL ? "invalid-value" : "resource-denied",
                    e);
}

// --- configure and its relatives ----------------------------------------------------------------

static void write_lines(struct jwrite *j, const char *key, const struct text *t)
{
    char *copy = strdup(text_str(t)), *next = copy;

    bug_on(!copy);
    jwrite_begin(j, key, '[');
    for (char *line; (line = strsep(&next, "\n"));)
        if (*line)
            jwrite_string(j, NULL, line);
    jwrite_end(j, ']');
    free(copy);
}

static void write_notes(struct jwrite *j, const struct errors *notes)
{
    if (!notes->n)
        return;
    jwrite_begin(j, "note", '[');
    for (unsigned i = 0; i < notes->n; i++)
        jwrite_string(j, NULL, notes->item[i].sentence);
    jwrite_end(j, ']');
}

void operation_configure(struct http *h, const struct lyd_node *op)
{
    VEC(const char *) lines = {0};
    struct config_result result = {0};
    struct errors e = {0};
    struct text t = {0};
    struct jwrite j;

    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        if (!strcmp(n->schema->name, "line"))
            *vec_push(&lines) = lyd_get_value(n);
    int r = config_commit_lines(lines.item, (unsigned)lines.n,
                                !strcmp(operation_input(op, "check"), "true"), http_peer(h),
                                &result, &e);
    if (lines.n == 1) // "line 1: " tells nothing then
        for (unsigned i = 0; i < e.n; i++)
            e.item[i].line = 0;
    if (r) {
        refuse(h, r, &e);
    } else {
        output_begin(&j, &t);
        write_lines(&j, "change", &result.change);
        write_notes(&j, &result.notes);
        output_send(h, &j);
    }
    vec_free(&lines);
    errors_free(&e);
    config_result_free(&result);
}

void operation_running_configuration(struct http *h, const struct lyd_node *op)
{
    struct text t = {0}, config = {0};
    struct jwrite j;

    config_print(config_running(), &config);
    output_begin(&j, &t);
    jwrite_string(&j, "text", text_str(&config));
    output_send(h, &j);
    text_free(&config);
}

void operation_save_configuration(struct http *h, const struct lyd_node *op)
{
    struct text t = {0};
    struct jwrite j;
    char err[512] = "";

    if (config_save(err, sizeof err)) {
        restconf_error(h, 409, "resource-denied", "%s", err);
        return;
    }
    log_notice("config: saved: by=%s file=%s", http_peer(h), config_file());
    output_begin(&j, &t);
    jwrite_string(&j, "file", config_file());
    output_send(h, &j);
}

void operation_complete(struct http *h, const struct lyd_node *op)
{
    struct text t = {0};
    struct jwrite j;

    output_begin(&j, &t);
    complete_line(operation_input(op, "line"), &j);
    output_send(h, &j);
}

// --- ports --------------------------------------------------------------------------------------

// Commits the lines of `t`; 204 or the errors without line numbers, which the client has not
// written.
static void commit_text(struct http *h, struct text *t)
{
    struct lyd_node *candidate = config_dup(config_running());
    struct config_result result = {0};
    struct errors e = {0};
    int r = -EINVAL;

    config_read_text(&candidate, text_str(t), &e);
    if (e.n)
        lyd_free_all(candidate);
    else
        r = config_commit(candidate, false, http_peer(h), &result, &e);
    for (unsigned i = 0; i < e.n; i++)
        e.item[i].line = 0;
    if (r)
        refuse(h, r, &e);
    else
        http_reply(h, 204, NULL, NULL);
    text_free(t);
    errors_free(&e);
    config_result_free(&result);
}

static bool port_known(struct http *h, const char *name)
{
    if (model_find_port(config_model(), name))
        return true;
    restconf_error(h, 404, "invalid-value", "there is no port '%s'", name);
    return false;
}

void operation_port_attach(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "name"), *netns = operation_input(op, "namespace");
    struct text t = {0};

    if (model_find_port(config_model(), name)) {
        restconf_error(h, 409, "data-exists",
                       "port %s is attached already; detach it first, or choose another name",
                       name);
        return;
    }
    text_printf(&t, "set port %s devargs ", name);
    words_quote(operation_input(op, "devargs"), &t);
    if (*netns) {
        text_printf(&t, " namespace ");
        words_quote(netns, &t);
    }
    commit_text(h, &t);
}

static void delete_threads(const struct model *m, const char *port, struct text *t)
{
    for (size_t i = 0; i < m->thread.n; i++) {
        int core = m->thread.item[i].core;
        bool mine = false, others = false, first = !i || m->thread.item[i - 1].core != core;

        for (size_t k = 0; first && k < m->thread.n; k++) {
            if (m->thread.item[k].core != core)
                continue;
            mine = mine || !strcmp(m->thread.item[k].port, port);
            others = others || strcmp(m->thread.item[k].port, port);
        }
        if (mine && others)
            text_printf(t, "delete thread %d forwarder port %s\n", core, port);
        else if (mine)
            text_printf(t, "delete thread %d\n", core);
    }
}

static bool on_port(const struct model *m, const char *interface, const char *port)
{
    const struct model_vport *v = model_find_vport(m, interface);

    return v ? !strcmp(v->port, port) : !strcmp(interface, port);
}

void operation_port_detach(struct http *h, const struct lyd_node *op)
{
    const struct model *m = config_model();
    const char *name = operation_input(op, "name");
    struct text t = {0};

    if (!port_known(h, name))
        return;
    delete_threads(m, name, &t);
    vec_foreach (&m->interface, i)
        if (on_port(m, i->name, name))
            text_printf(&t, "delete interface %s\n", i->name);
    vec_foreach (&m->vport, v)
        if (!strcmp(v->port, name))
            text_printf(&t, "delete vport %s\n", v->name);
    text_printf(&t, "delete port %s\n", name);
    commit_text(h, &t);
}

static void set_enabled(struct http *h, const char *name, const char *enabled)
{
    struct text t = {0};

    if (!port_known(h, name))
        return;
    text_printf(&t, "set port %s enabled %s\n", name, enabled);
    commit_text(h, &t);
}

void operation_port_start(struct http *h, const struct lyd_node *op)
{
    set_enabled(h, operation_input(op, "name"), "true");
}

void operation_port_stop(struct http *h, const struct lyd_node *op)
{
    set_enabled(h, operation_input(op, "name"), "false");
}
