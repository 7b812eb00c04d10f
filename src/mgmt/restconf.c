// SPDX-License-Identifier: BSD-3-Clause
// restconf.c - the router's management interface: RFC 8040 over a UNIX socket
//
//     /restconf                          root: data, operations, yang-library-version
//     /restconf/data/kamuee:…            configuration (read, edit) and state (read)
//     /restconf/operations/kamuee:NAME   operations (POST)
//     /.well-known/host-meta             where all this lies (RFC 6415)
//
// Everything is JSON as of RFC 7951, errors too (7.1), those that evhttp makes
// itself included (http_page.c). Who may connect to the socket may do everything.
#include "mgmt/restconf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "core/thread.h"
#include "mgmt/restconf_priv.h"
#include "mgmt/yang.h"

// --- answers ------------------------------------------------------------------------------------

static json_t *error_item(const char *tag, const char *message)
{
    bool protocol = !strcmp(tag, "malformed-message") || !strcmp(tag, "too-big") ||
                    !strcmp(tag, "operation-not-supported");
    json_t *m = json_string(message);

    return json_pack("{s:s, s:s, s:o}", "error-type", protocol ? "protocol" : "application",
                     "error-tag", tag, "error-message", m ? m : json_string("not UTF-8"));
}

static void dump_into(json_t *body, struct text *t)
{
    char *s = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY);

    bug_on(!s);
    text_printf(t, "%s\n", s);
    free(s);
}

static void error_text(json_t *items, struct text *t)
{
    json_t *body = json_pack("{s:{s:o}}", "ietf-restconf:errors", "error", items);

    dump_into(body, t);
    json_decref(body);
}

void http_error_body(int code, struct text *t)
{
    static const struct {
        int code;
        const char *tag, *message;
    } known[] = {
        {400, "malformed-message", "the request is not well-formed HTTP"},
        {413, "too-big", "the request's body is larger than 16 MB"},
        {417, "operation-not-supported", "the request expects something other than 100-continue"},
        {501, "operation-not-supported",
         "the request's method is unknown; expected GET, HEAD, OPTIONS, POST, PUT, PATCH or "
         "DELETE"},
    };
    const char *tag = "malformed-message", *message = "the request was refused";

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].code == code)
            tag = known[i].tag, message = known[i].message;
    error_text(json_pack("[o]", error_item(tag, message)), t);
}

void restconf_error(struct http *h, int code, const char *tag, const char *fmt, ...)
{
    struct text t = {0};
    char *message;
    va_list ap;

    va_start(ap, fmt);
    bug_on(vasprintf(&message, fmt, ap) < 0);
    va_end(ap);
    error_text(json_pack("[o]", error_item(tag, message)), &t);
    free(message);
    http_reply(h, code, HTTP_JSON, &t);
}

void restconf_errors(struct http *h, int code, const char *tag, const struct errors *e)
{
    json_t *items = json_array();
    struct text t = {0};

    for (unsigned i = 0; i < e->n; i++) {
        text_clear(&t);
        errors_one(&e->item[i], NULL, &t);
        json_array_append_new(items, error_item(tag, text_str(&t)));
    }
    text_clear(&t);
    error_text(items, &t);
    http_reply(h, code, HTTP_JSON, &t);
}

void restconf_not_allowed(struct http *h, const char *allow)
{
    http_set_header(h, "Allow", allow);
    restconf_error(h, 405, "operation-not-supported", "%s is not for this resource; expected %s",
                   http_method(h), allow);
}

// Empties what lies deeper than `depth` levels of containers and list entries (RFC 8040, 4.8.2).
static void prune(json_t *v, unsigned depth)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_array(v)) {
        json_array_foreach(v, i, inner) prune(inner, depth);
    } else if (json_is_object(v) && !depth) {
        json_object_clear(v);
    } else if (json_is_object(v)) {
        json_object_foreach(v, key, inner) prune(inner, depth - 1);
    }
}

// A whole positive number, or 0 for "unbounded", absent or wrong (`*ok` tells).
static unsigned depth_of(const struct http *h, bool *ok)
{
    const char *v = http_query(h, "depth");
    uint64_t n;

    *ok = !v || !strcmp(v, "unbounded") || !text_parse_u64(v, 1, 65535, &n);
    return *ok && v && strcmp(v, "unbounded") ? (unsigned)n : 0;
}

void restconf_json(struct http *h, int code, json_t *body)
{
    struct text t = {0};
    bool ok;
    unsigned depth = depth_of(h, &ok);

    if (depth) // the body's only member is the target itself: level 1
        prune(body, depth);
    dump_into(body, &t);
    json_decref(body);
    http_reply(h, code, HTTP_JSON, &t);
}

// --- which resource -----------------------------------------------------------------------------

static bool is_read(const char *method)
{
    return !strcmp(method, "GET") || !strcmp(method, "HEAD");
}

static bool known_parameter(void *ctx, const char *name, const char *value)
{
    static const char *const known[] = {"content", "depth",    "with-defaults", "prefix",
                                        "match",   "protocol", "type"};
    const char **unknown = ctx;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i]))
            return true;
    *unknown = name;
    return false;
}

// The query of a read; false: an answer has been given.
static bool read_content(struct http *h, struct content *c)
{
    const char *v = http_query(h, "content"), *unknown = NULL;
    bool ok;

    c->config = !v || !strcmp(v, "all") || !strcmp(v, "config");
    c->state = !v || !strcmp(v, "all") || !strcmp(v, "nonconfig");
    c->defaults = http_query(h, "with-defaults");
    c->depth = depth_of(h, &ok);
    http_each_query(h, known_parameter, &unknown);
    if (unknown)
        restconf_error(h, 400, "invalid-value", "unknown query parameter '%s'", unknown);
    else if (!c->config && !c->state)
        restconf_error(h, 400, "invalid-value",
                       "'content' is '%s', expected config, nonconfig or all", v);
    else if (!ok)
        restconf_error(h, 400, "invalid-value", "'depth' is '%s', expected 1..65535 or unbounded",
                       http_query(h, "depth"));
    else if (c->defaults && strcmp(c->defaults, "report-all") && strcmp(c->defaults, "trim") &&
             strcmp(c->defaults, "explicit"))
        restconf_error(h, 400, "invalid-value",
                       "'with-defaults' is '%s', expected report-all, trim or explicit",
                       c->defaults);
    else
        return true;
    return false;
}

static void get_data(struct http *h, const struct path *p)
{
    bool state = p->n && !yang_is_config(p->segment[0].schema);
    struct content c;

    if (!read_content(h, &c))
        return;
    if (!p->n)
        datastore_get(h, &c);
    else if (state ? !c.state : !c.config)
        restconf_json(h, 200, json_object()); // nothing of this kind is here
    else if (state)
        state_get(h, p);
    else
        config_get(h, p, &c);
}

static void options(struct http *h, const char *allow)
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
        restconf_error(h, r == -ENOENT ? 404 : 400, "invalid-value", "%s", text_str(&why));
    else if (!strcmp(method, "OPTIONS"))
        options(h, allow);
    else if (is_read(method))
        get_data(h, &p);
    else if (config)
        config_edit(h, &p, method);
    else
        restconf_not_allowed(h, allow);
    path_free(&p);
    text_free(&why);
}

static void operation_resource(struct http *h, const char *text)
{
    const char *method = http_method(h);

    if (!*text && is_read(method))
        operations_list(h);
    else if (!strcmp(method, "OPTIONS"))
        options(h, *text ? "OPTIONS, POST" : "GET, HEAD, OPTIONS");
    else if (*text && !strcmp(method, "POST"))
        operation_post(h, text);
    else
        restconf_not_allowed(h, *text ? "OPTIONS, POST" : "GET, HEAD, OPTIONS");
}

// What follows `root` in the path ("" when nothing does), or NULL when the path lies elsewhere.
static const char *below(const char *path, const char *root)
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

static void handle(struct http *h)
{
    const char *path = http_path(h), *rest;

    if (strlen(path) > HTTP_PATH_MAX)
        restconf_error(h, 414, "too-big", "the path is longer than %d bytes", HTTP_PATH_MAX);
    else if (meta_get(h, path))
        return;
    else if (!accepts_json(h))
        restconf_error(h, 406, "invalid-value",
                       "answers are " HTTP_JSON "; the request accepts only '%s'",
                       http_header(h, "Accept"));
    else if (!sends_json(h))
        restconf_error(h, 415, "invalid-value", "the body is '%s', expected " HTTP_JSON,
                       http_header(h, "Content-Type"));
    else if ((rest = below(path, "/restconf/data")))
        data_resource(h, rest);
    else if ((rest = below(path, "/restconf/operations")))
        operation_resource(h, rest);
    else
        restconf_error(
            h, 404, "invalid-value",
            "there is no '%s'; expected a path under /restconf/data or /restconf/operations", path);
}

int restconf_start(struct event_base *loop, const char *socket_path, char *err, size_t err_size)
{
    thread_must_be(ROLE_CONTROL);
    return http_start(loop, socket_path, handle, err, err_size);
}

void restconf_stop(void)
{
    http_stop();
}
