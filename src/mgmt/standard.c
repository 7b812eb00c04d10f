// SPDX-License-Identifier: BSD-3-Clause
// standard.c - state in the models of the IETF: which resource is meant
//
//     /restconf/data/ietf-interfaces:interfaces/…
//     /restconf/data/ietf-routing:routing/…                        without the routes,
//     /restconf/data/ietf-routing:routing/ribs/rib=NAME/routes     which are streamed
//
// A rib is a family of a virtual router: default-ipv4.
#include "mgmt/standard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "http/answer.h"
#include "mgmt/restconf_priv.h"
#include "restconf/path.h"
#include "restconf/reply.h"
#include "show/show.h"
#include "table/vr.h"

static json_t *ribs(void)
{
    json_t *all = json_array();

    for (unsigned i = 0; i < VR_MAX; i++) {
        const struct vr *v = vr_get((uint16_t)i);

        if (!v->name[0])
            continue;
        for (unsigned six = 0; six < 2; six++)
            json_array_append_new(all, json_pack("{s:o, s:s, s:b}", "name", json_sprintf("%s-%s", v->name, six ? "ipv6" : "ipv4"), "address-family",
                                                 six ? "ietf-routing:ipv6" : "ietf-routing:ipv4", "default-rib", !strcmp(v->name, "default")));
    }
    return json_pack("{s:{s:o}}", "ribs", "rib", all);
}

static const struct {
    const char *name;
    json_t *(*make)(void);
} tops[] = {{"ietf-interfaces:interfaces", standard_interfaces}, {"ietf-routing:routing", ribs}};

static const char *without_module(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

// The child that the segment names: a new reference, of a list entry in an array of one. NULL: it is not there.
static json_t *step(const json_t *at, char *segment)
{
    char *key = strchr(segment, '=');
    json_t *v, *entry;
    size_t i;

    if (key)
        *key++ = 0;
    v = json_object_get(json_is_array(at) ? json_array_get(at, 0) : at, without_module(segment));
    if (!key || !percent_decode(key))
        return key ? NULL : json_incref(v);
    json_array_foreach(v, i, entry)
        if (!strcmp(json_string_value(json_object_get(entry, "name")), key))
            return json_pack("[O]", entry);
    return NULL;
}

static void answer(struct http *h, unsigned top, const char *rest)
{
    char *copy = strdup(rest), *next = copy, *last = NULL, name[120];
    json_t *at = tops[top].make();

    bug_on(!copy);
    while (at && next && *next) {
        last = strsep(&next, "/");
        json_t *inner = step(at, last);

        json_decref(at);
        at = inner;
    }
    snprintf(name, sizeof name, "%.*s:%s", (int)strcspn(tops[top].name, ":"), tops[top].name,
             without_module(last ? last : tops[top].name));
    if (at)
        restconf_json(h, 200, json_pack("{s:o}", name, at));
    else
        restconf_error(h, 404, "invalid-value", "there is no '%s' in %s", rest, tops[top].name);
    free(copy);
}

// "ribs/rib=NAME/routes": the table of that name. False: the path is another.
static bool routes(struct http *h, const char *rest)
{
    static const struct route_dialect ietf = {"{\"ietf-routing:routes\":{\"route\":[", "]}}\n", standard_route_write};
    char name[32], family[5], more[2];

    if (sscanf(rest, "ribs/rib=%31[^/]/%1[r]outes", name, more) != 2 || strcmp(strchr(rest + 5, '/'), "/routes"))
        return false;
    char *dash = strrchr(name, '-');
    snprintf(family, sizeof family, "%s", dash ? dash + 1 : "");
    if (dash)
        *dash = 0;
    if (strcmp(family, "ipv4") && strcmp(family, "ipv6"))
        restconf_error(h, 404, "invalid-value", "there is no rib of that name, expected one such as default-ipv4");
    else
        route_stream_as(h, name, family, &ietf);
    return true;
}

bool standard_get(struct http *h, const char *path)
{
    for (unsigned i = 0; i < sizeof tops / sizeof *tops; i++) {
        size_t n = strlen(tops[i].name);
        const char *rest = path + n;

        if (strncmp(path, tops[i].name, n) || (*rest && *rest != '/'))
            continue;
        rest += *rest == '/';
        if (strcmp(http_method(h), "GET") && strcmp(http_method(h), "HEAD"))
            restconf_not_allowed(h, "GET, HEAD");
        else if (!restconf_query_ok(h))
            ; // answered
        else if (!i || !routes(h, rest))
            answer(h, i, rest);
        return true;
    }
    return false;
}

json_t *standard_modules(void)
{
    static const struct {
        const char *name, *revision, *namespace;
    } module[] = {
        {"ietf-interfaces", "2018-02-20", "urn:ietf:params:xml:ns:yang:ietf-interfaces"},
        {"iana-if-type", "2017-01-19", "urn:ietf:params:xml:ns:yang:iana-if-type"},
        {"ietf-routing", "2018-03-13", "urn:ietf:params:xml:ns:yang:ietf-routing"},
        {"ietf-ipv4-unicast-routing", "2018-03-13", "urn:ietf:params:xml:ns:yang:ietf-ipv4-unicast-routing"},
        {"ietf-ipv6-unicast-routing", "2018-03-13", "urn:ietf:params:xml:ns:yang:ietf-ipv6-unicast-routing"},
        {"kamuee-routing", "2026-11-22", "urn:kamuee:routing"},
    };
    json_t *all = json_array();

    for (unsigned i = 0; i < sizeof module / sizeof *module; i++)
        json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "name", module[i].name, "revision", module[i].revision, "namespace", module[i].namespace));
    json_object_set_new(json_array_get(all, 0), "feature", json_pack("[s]", "if-mib"));
    json_object_set_new(json_array_get(all, 2), "feature", json_pack("[s]", "multiple-ribs"));
    return all;
}
