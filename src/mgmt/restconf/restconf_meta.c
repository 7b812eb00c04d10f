// SPDX-License-Identifier: BSD-3-Clause
// restconf_meta.c - self-description of the server as required by RFC 8040
//
// The root resource (3.3), its location (3.1), the YANG library (10; RFC 8525) and the capabilities
// (9.1). All fixed for the life of the process.
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/reply.h"
#include "restconf/restconf.h"
#include "restconf/restconf_priv.h"
#include "yang/yang.h"

#define YANG_LIBRARY "2019-01-04"
#define YANG_TEXTS "/restconf/yang/"

static json_t *root_resource(void)
{
    return json_pack("{s:{s:{}, s:{}, s:s}}", "ietf-restconf:restconf", "data", "operations",
                     "yang-library-version", YANG_LIBRARY);
}

static json_t *library_version(void)
{
    return json_pack("{s:s}", "ietf-restconf:yang-library-version", YANG_LIBRARY);
}

static json_t *monitoring(void)
{
#define CAPABILITY "urn:ietf:params:restconf:capability:"
    return json_pack("{s:{s:{s:[s, s, s, s, s]}, s:{s:[{s:s, s:s, s:b, s:[{s:s, s:s}]}]}}}",
                     "ietf-restconf-monitoring:restconf-state", "capabilities", "capability",
                     CAPABILITY "depth:1.0", CAPABILITY "fields:1.0", CAPABILITY "filter:1.0",
                     CAPABILITY "with-defaults:1.0", CAPABILITY "defaults:1.0?basic-mode=explicit",
                     "streams", "stream", "name", "events", "description",
                     "links, neighbors, routes, configuration, alarms", "replay-support", false,
                     "access", "encoding", "json", "location", "/restconf/streams/events");
#undef CAPABILITY
}

// One of the two containers that libyang makes: yang-library, or modules-state of the older RFC
// 7895.
static json_t *yang_library(const char *container)
{
    struct lyd_node *tree = NULL;
    char *s = NULL;

    if (ly_ctx_get_yanglib_data(yang_ctx, &tree, "%u", (unsigned)ly_ctx_get_change_count(yang_ctx)))
        return NULL;
    for (const struct lyd_node *n = tree; n; n = n->next)
        if (!strcmp(n->schema->name, container))
            lyd_print_mem(&s, n, LYD_JSON, LYD_PRINT_SHRINK);
    lyd_free_all(tree);
    json_t *j = s ? json_loads(s, 0, NULL) : NULL;
    free(s);
    return j;
}

// Adds the location of each module's text (RFC 8040, 3.7), if kamueed has it.
static void add_locations(json_t *modules)
{
    json_t *m;
    size_t i;

    json_array_foreach(modules, i, m)
    {
        const char *name = json_string_value(json_object_get(m, "name")),
                   *revision = json_string_value(json_object_get(m, "revision"));
        struct text t = {0};

        if (name && yang_source(name, NULL, &t))
            json_object_set_new(
                m, "location",
                json_pack("[o]", json_sprintf(YANG_TEXTS "%s%s%s.yang", name, revision ? "@" : "",
                                              revision ? revision : "")));
        text_free(&t);
    }
}

// libyang lists the modules that it has loaded; the models of views are added.
static json_t *library(void)
{
    json_t *j = yang_library("yang-library");
    json_t *set = json_array_get(
        json_object_get(json_object_get(j, "ietf-yang-library:yang-library"), "module-set"), 0);

    for (unsigned f = 0; f < FEATURE_N; f++) {
        json_t *more = features[f]->view ? features[f]->view->modules() : NULL;

        json_array_extend(json_object_get(set, "module"), more);
        json_decref(more);
    }
    add_locations(json_object_get(set, "module"));
    add_locations(json_object_get(set, "import-only-module"));
    return j;
}

// NAME.yang or NAME@REVISION.yang
static void module_text(struct http *h, const char *file)
{
    char name[80];
    struct text t = {0};

    snprintf(name, sizeof name, "%s", file);
    char *end = strstr(name, ".yang"), *at = strchr(name, '@');
    if (end && !end[5])
        *end = 0;
    if (at)
        *at = 0;
    if (end && yang_source(name, at ? at + 1 : NULL, &t))
        http_reply(h, 200, "application/yang", &t);
    else
        http_refuse(h, 404, "invalid-value",
                    "there is no module '%s'; ietf-yang-library:yang-library lists the modules by "
                    "'location'",
                    file);
}

static json_t *modules_state(void)
{
    return yang_library("modules-state");
}

static void host_meta(struct http *h)
{
    struct text t = {0};

    text_printf(&t, "<?xml version='1.0' encoding='UTF-8'?>\n<XRD "
                    "xmlns='http://docs.oasis-open.org/ns/xri/xrd-1.0'>\n  <Link rel='restconf' "
                    "href='/restconf'/>\n</XRD>\n");
    http_reply(h, 200, "application/xrd+xml", &t);
}

bool meta_get(struct http *h, const char *path)
{
    static const struct {
        const char *path;
        json_t *(*make)(void);
    } resources[] = {
        {"/restconf", root_resource},
        {"/restconf/", root_resource},
        {"/restconf/yang-library-version", library_version},
        {"/restconf/data/ietf-restconf-monitoring:restconf-state", monitoring},
        {"/restconf/data/ietf-yang-library:yang-library", library},
        {"/restconf/data/ietf-yang-library:modules-state", modules_state},
    };
    bool read = !strcmp(http_method(h), "GET") || !strcmp(http_method(h), "HEAD");

    if (!strcmp(path, "/.well-known/host-meta") && read) {
        http_for_anyone(h);
        host_meta(h);
        return true;
    }
    if (!strncmp(path, YANG_TEXTS, sizeof YANG_TEXTS - 1) && read) {
        http_for_anyone(h);
        module_text(h, path + sizeof YANG_TEXTS - 1);
        return true;
    }
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        if (strcmp(path, resources[i].path))
            continue;
        http_for_anyone(h); // fixed for the life of the process
        if (!read)
            http_refuse_method(h, "GET, HEAD");
        else
            restconf_json(h, resources[i].make());
        return true;
    }
    return false;
}
