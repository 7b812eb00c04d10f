// SPDX-License-Identifier: BSD-3-Clause
// ietf.c - state in IETF models: finds the resource
//
//     /restconf/data/ietf-interfaces:interfaces/…               and ietf-ip: addresses, neighbors
//     /restconf/data/ietf-routing:routing/…                     without the routes,
//     /restconf/data/ietf-routing:routing/ribs/rib=NAME/routes  which are streamed
//
// A rib is one family of a virtual router: default-ipv4.
#include "feature/ietf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "feature/route.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/path.h"
#include "restconf/reply.h"
#include "restconf/restconf.h"
#include "restconf/view.h"
#include "table/vr.h"

static json_t *rib_list(void)
{
    json_t *all = json_array();

    for (unsigned i = 0; i < VR_MAX; i++) {
        const struct vr *v = vr_get((uint16_t)i);

        if (!v->name[0])
            continue;
        for (unsigned six = 0; six < 2; six++)
            json_array_append_new(
                all, json_pack("{s:o, s:s, s:b}", "name",
                               json_sprintf("%s-%s", v->name, six ? "ipv6" : "ipv4"),
                               "address-family", six ? "ietf-routing:ipv6" : "ietf-routing:ipv4",
                               "default-rib", !strcmp(v->name, "default")));
    }
    return json_pack("{s:{s:o}}", "ribs", "rib", all);
}

enum top { INTERFACES, ROUTING };
static const char *const tops[] = {
    [INTERFACES] = "ietf-interfaces:interfaces", [ROUTING] = "ietf-routing:routing"};

static const char *without_module(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

// New reference to the child in the segment; a list entry comes in an array of one. NULL: it does
// not exist.
static json_t *child_named(const json_t *at, char *segment)
{
    char *key = strchr(segment, '=');
    json_t *v, *entry;
    size_t i;

    if (key)
        *key++ = 0;
    const json_t *holder = json_is_array(at) ? json_array_get(at, 0) : at;
    v = json_object_get(holder, segment); // of a module other than its parent's
    v = v ? v : json_object_get(holder, without_module(segment));
    if (!key || !percent_decode(key))
        return key ? NULL : json_incref(v);
    json_array_foreach(v, i, entry)
    {
        const json_t *name = json_object_get(entry, "name");
        const char *is = json_string_value(name ? name : json_object_get(entry, "ip"));
        if (is && !strcmp(is, key))
            return json_pack("[O]", entry);
    }
    return NULL;
}

// `made` is everything below the top; this function frees it.
static void send_part(struct http *h, enum top top, const char *rest, json_t *made)
{
    char *copy = strdup(rest), *next = copy, *last = NULL, name[120], module[40];
    json_t *at = made;

    bug_on(!copy);
    snprintf(module, sizeof module, "%.*s", (int)strcspn(tops[top], ":"), tops[top]);
    while (at && next && *next) {
        last = strsep(&next, "/");
        json_t *inner = child_named(at, last);

        if (strchr(last, ':'))
            snprintf(module, sizeof module, "%.*s", (int)strcspn(last, ":"), last);
        json_decref(at);
        at = inner;
    }
    snprintf(name, sizeof name, "%s:%s", module, without_module(last ? last : tops[top]));
    if (at)
        restconf_json(h, 200, json_pack("{s:o}", name, at));
    else
        http_refuse(h, 404, "invalid-value", "there is no '%s' in %s", rest, tops[top]);
    free(copy);
}

// --- interfaces: asks rib_manager for addresses, then for neighbors ----------------------------

struct ietf_question {
    struct http *http;
    char *rest; // rest of the path
    struct ietf_ip ip;
};

static void send_interfaces(struct ietf_question *q, int error)
{
    if (error)
        http_refuse_busy(q->http, "rib_manager", error);
    else
        send_part(q->http, INTERFACES, q->rest, ietf_interfaces(&q->ip));
    vec_free(&q->ip.address);
    vec_free(&q->ip.neighbor);
    free(q->rest);
    free(q);
}

static void keep_neighbors(void *ctx, const struct neigh_row *row, unsigned n)
{
    struct ietf_question *q = ctx;

    for (unsigned i = 0; i < n; i++)
        *vec_push(&q->ip.neighbor) = row[i];
    send_interfaces(q, 0);
}

static void keep_addresses(void *ctx, const struct address_row *row, unsigned n)
{
    struct ietf_question *q = ctx;

    for (unsigned i = 0; i < n; i++)
        *vec_push(&q->ip.address) = row[i];
    int r = rib_manager_neigh(keep_neighbors, q);
    if (r)
        send_interfaces(q, r);
}

static void get_interfaces(struct http *h, const char *rest)
{
    struct ietf_question *q = calloc(1, sizeof *q);

    bug_on(!q);
    *q = (struct ietf_question){.http = h, .rest = strdup(rest)};
    bug_on(!q->rest);
    int r = rib_manager_addresses(keep_addresses, q);
    if (r)
        send_interfaces(q, r);
}

// "ribs/rib=NAME/routes": streams that table. False: another path.
static bool get_routes(struct http *h, const char *rest)
{
    static const struct route_dialect ietf = {"{\"ietf-routing:routes\":{\"route\":[", "]}}\n",
                                              ietf_route_write};
    char name[32], family[5], more[2];

    if (sscanf(rest, "ribs/rib=%31[^/]/%1[r]outes", name, more) != 2 ||
        strcmp(strchr(rest + 5, '/'), "/routes"))
        return false;
    char *dash = strrchr(name, '-');
    snprintf(family, sizeof family, "%s", dash ? dash + 1 : "");
    if (dash)
        *dash = 0;
    if (strcmp(family, "ipv4") && strcmp(family, "ipv6"))
        http_refuse(h, 404, "invalid-value",
                    "there is no RIB of that name, expected one such as default-ipv4");
    else
        route_stream_as(h, name, family, &ietf);
    return true;
}

static bool get_view(struct http *h, const char *path)
{
    for (unsigned i = 0; i < sizeof tops / sizeof *tops; i++) {
        size_t n = strlen(tops[i]);
        const char *rest = path + n;

        if (strncmp(path, tops[i], n) || (*rest && *rest != '/'))
            continue;
        rest += *rest == '/';
        if (strcmp(http_method(h), "GET") && strcmp(http_method(h), "HEAD"))
            http_refuse_method(h, "GET, HEAD");
        else if (!restconf_query_ok(h))
            ; // done
        else if (i == INTERFACES)
            get_interfaces(h, rest);
        else if (!get_routes(h, rest))
            send_part(h, ROUTING, rest, rib_list());
        return true;
    }
    return false;
}

static json_t *view_modules(void)
{
    static const struct {
        const char *name, *revision, *namespace;
    } module[] = {
        {"ietf-interfaces", "2018-02-20", "urn:ietf:params:xml:ns:yang:ietf-interfaces"},
        {"ietf-ip", "2018-02-22", "urn:ietf:params:xml:ns:yang:ietf-ip"},
        {"iana-if-type", "2017-01-19", "urn:ietf:params:xml:ns:yang:iana-if-type"},
        {"ietf-routing", "2018-03-13", "urn:ietf:params:xml:ns:yang:ietf-routing"},
        {"ietf-ipv4-unicast-routing", "2018-03-13",
         "urn:ietf:params:xml:ns:yang:ietf-ipv4-unicast-routing"},
        {"ietf-ipv6-unicast-routing", "2018-03-13",
         "urn:ietf:params:xml:ns:yang:ietf-ipv6-unicast-routing"},
        {"kamuee-routing", "2026-11-22", "urn:kamuee:routing"},
    };
    json_t *all = json_array();

    for (unsigned i = 0; i < sizeof module / sizeof *module; i++)
        json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "name", module[i].name, "revision",
                                             module[i].revision, "namespace", module[i].namespace));
    json_object_set_new(json_array_get(all, 0), "feature", json_pack("[s]", "if-mib"));
    json_object_set_new(json_array_get(all, 3), "feature", json_pack("[s]", "multiple-ribs"));
    return all;
}

const struct feature ietf_feature = {
    "ietf",
    .view = &(const struct feature_view){get_view, view_modules},
};
