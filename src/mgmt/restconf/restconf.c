// SPDX-License-Identifier: BSD-3-Clause
// restconf.c - the router's management interface: RFC 8040 over a UNIX socket
//
//     /restconf                          root: data, operations, yang-library-version
//     /restconf/data/kamuee:…            configuration (read, edit) and state (read)
//     /restconf/operations/kamuee:NAME   operations (POST)
//     /restconf/streams/events           events, as server-sent events
//     /.well-known/host-meta             location of these resources (RFC 6415)
//     /metrics                           for Prometheus (metrics.c)
//
// Everything is JSON as of RFC 7951, including errors (7.1). access.c decides on rights.
#include "restconf/restconf.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "core/thread.h"
#include "event/event.h"
#include "http/http_listen.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/bound.h"
#include "restconf/fields.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/path.h"
#include "restconf/reply.h"
#include "restconf/restconf_priv.h"
#include "restconf/state.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// --- finding the resource -----------------------------------------------------------------------

static bool is_read(const char *method)
{
    return !strcmp(method, "GET") || !strcmp(method, "HEAD");
}

static bool is_edit(const char *method)
{
    return !strcmp(method, "PUT") || !strcmp(method, "PATCH") || !strcmp(method, "POST") ||
           !strcmp(method, "DELETE");
}

static void get_data(struct http *h, struct path *p)
{
    bool state = p->n && !yang_is_config(p->segment[0].schema);
    struct query q;

    if (!query_read(h, p, &q))
        return;
    if (!p->n && q.state)
        condition_tell(h); // state has always changed
    if ((!p->n && q.state) || state || condition_read(h)) {
        if (!p->n)
            datastore_get(h, &q);
        else if (state ? !q.state : !q.config)
            answer_send(answer_new(h, &q), 0); // not a resource of this kind
        else if (state)
            state_get(h, p, &q);
        else
            config_get(h, p, &q);
    }
    query_free(&q);
}

static bool exists(struct http *h, const struct path *p)
{
    const struct lyd_node *n = p->n ? path_find(p, p->n, bound_running(h)) : NULL;

    return !p->n || (n && config_is_explicit(n));
}

static void send_options(struct http *h, const char *allow)
{
    http_set_header(h, "Allow", allow);
    http_set_header(h, "Accept-Patch", HTTP_JSON);
    http_reply(h, 200, NULL, NULL);
}

static void data_resource(struct http *h, const char *text)
{
    const char *method = http_method(h);
    struct text why = {0};
    struct path p;
    int r = path_parse(text, &p, &why);
    bool config = !r && (!p.n || yang_is_config(p.segment[0].schema));
    const char *allow =
        config ? "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE" : "GET, HEAD, OPTIONS";

    if (r)
        http_refuse(h, r == -ENOENT ? 404 : 400, "invalid-value", "%s", text_str(&why));
    else if (!strcmp(method, "OPTIONS"))
        send_options(h, allow);
    else if (is_read(method))
        get_data(h, &p);
    else if (!config || !is_edit(method))
        http_refuse_method(h, allow);
    else if (http_may(h, ACCESS_ADMIN) && condition_edit(h, exists(h, &p)))
        config_edit(h, &p, method);
    path_free(&p);
    text_free(&why);
}

static void operation_resource(struct http *h, const char *text)
{
    const char *method = http_method(h);

    if (!*text && is_read(method))
        operations_list(h);
    else if (!strcmp(method, "OPTIONS"))
        send_options(h, *text ? "OPTIONS, POST" : "GET, HEAD, OPTIONS");
    else if (*text && !strcmp(method, "POST"))
        operation_post(h, text);
    else
        http_refuse_method(h, *text ? "OPTIONS, POST" : "GET, HEAD, OPTIONS");
}

// The part of the path after `root` ("" if there is none), or NULL if the path is elsewhere.
static const char *path_below(const char *path, const char *root)
{
    size_t n = strlen(root);

    if (strncmp(path, root, n) || (path[n] && path[n] != '/'))
        return NULL;
    return path + n + (path[n] == '/');
}

static bool accepts_json(const struct http *h)
{
    const char *a = http_header(h, "Accept");

    return !a || !*a || strcasestr(a, "json") || strstr(a, "*/*") || strcasestr(a, "application/*");
}

static bool sends_json(struct http *h)
{
    const char *type = http_header(h, "Content-Type");
    size_t n;

    http_body(h, &n);
    return !n || !type || strcasestr(type, "json");
}

// Resources with answers other than JSON.
static bool stream_resource(struct http *h, const char *path)
{
    if (strcmp(path, "/restconf/streams/events"))
        return false;
    if (strcmp(http_method(h), "GET"))
        http_refuse_method(h, "GET");
    else
        event_stream(h);
    return true;
}

static void metrics_resource(struct http *h)
{
    if (is_read(http_method(h)))
        metrics_get(h);
    else
        http_refuse_method(h, "GET, HEAD");
}

enum access_level restconf_needs(const char *method, const char *path)
{
    const char *operation = path_below(path, "/restconf/operations");

    if (operation)
        return operation_needs(operation);
    return is_edit(method) && path_below(path, "/restconf/data") ? ACCESS_ADMIN : ACCESS_READ;
}

static void answer_resource(struct http *h)
{
    const char *path = http_path(h), *rest = path_below(path, "/restconf/data");

    if (rest)
        data_resource(h, rest);
    else if ((rest = path_below(path, "/restconf/operations")))
        operation_resource(h, rest);
    else
        http_refuse(
            h, 404, "invalid-value",
            "there is no '%s'; expected a path under /restconf/data or /restconf/operations", path);
}

// A resource of a model other than kamuee.yang, served by a feature; false: there is none.
static bool view_get(struct http *h, const char *path)
{
    if (bound_is(h)) // views do not know owners
        return false;
    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->view && features[f]->view->get(h, path))
            return true;
    return false;
}

// --- turns --------------------------------------------------------------------------------------

static void run_in_turn(void *h)
{
    if (http_left(h))
        http_reply(h, 503, NULL, NULL); // no reader is left
    else
        answer_resource(h);
}

static void refuse_stopping(void *h)
{
    http_refuse(h, 503, "operation-failed", "kamueed is stopping; nothing was changed");
}

static bool needs_turn(struct http *h, enum aside_lane *lane)
{
    const char *path = http_path(h), *operation = path_below(path, "/restconf/operations");
    size_t n;

    http_body(h, &n);
    if (operation && !strcmp(http_method(h), "POST"))
        return operation_turn(operation, n, lane);
    *lane = ASIDE_CHANGE;
    return is_edit(http_method(h)) && path_below(path, "/restconf/data");
}

static void take_turn(struct http *h)
{
    enum aside_lane lane;

    if (!needs_turn(h, &lane)) {
        answer_resource(h);
    } else {
        http_not_at_work(h);
        aside_turn(lane, &(struct turn){run_in_turn, refuse_stopping, h, http_share(h, lane)});
    }
}

void restconf_answer(struct http *h)
{
    const char *path = http_path(h), *rest;

    if (strlen(path) > HTTP_PATH_MAX)
        http_refuse(h, 414, "too-big", "the path is longer than %d bytes", HTTP_PATH_MAX);
    else if (!http_may_enter(h) || meta_get(h, path) || stream_resource(h, path))
        return;
    else if (!strcmp(path, "/metrics"))
        metrics_resource(h);
    else if (!accepts_json(h))
        http_refuse(h, 406, "invalid-value",
                    "responses are " HTTP_JSON ", but the request accepts only '%s'",
                    http_header(h, "Accept"));
    else if (!sends_json(h))
        http_refuse(h, 415, "invalid-value", "the body is '%s', expected " HTTP_JSON,
                    http_header(h, "Content-Type"));
    else if ((rest = path_below(path, "/restconf/data")) && view_get(h, rest))
        return;
    else
        take_turn(h);
}

void restconf_unbound(const char *what, const char *name)
{
    log_error("restconf: %s of the schema and of the features differ: name=%s", what, name);
    bug_on(true);
}

int restconf_start(char *err, size_t err_size)
{
    thread_must_be(ROLE_CONTROL);
    state_bind();
    operation_bind();
    return http_start(err, err_size);
}

void restconf_stop(void)
{
    http_stop();
}
