// SPDX-License-Identifier: BSD-3-Clause
// api.c - the management interface: roles of clients, and the proxy for other hosts
//
// The whole part is one value: any difference leads to one step, api_set(), which accepts or
// refuses all of it.
#include "config/feature_config.h"
#include "config/leaf.h"
#include "http/api.h"
#include "http/http_peer.h"
#include "mgmt/feature.h"
#include "restconf/metrics.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// --- configuration -------------------------------------------------------------------------------

struct model_api {
    struct api_config config;
    unsigned line; // of the proxy
};

static void read_client(struct access_config *a, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    const char *role = config_value(first, "role");

    if (a->n_clients == ACCESS_CLIENTS_MAX)
        return;
    struct access_client *c = &a->client[a->n_clients++];
    leaf_copy(c->name, sizeof c->name, first, "name", "");
    leaf_copy(c->vr, sizeof c->vr, first, "vr", "");
    c->access = role ? (uint8_t)access_of_name(role) : ACCESS_NONE;
}

static void read_vr_groups(struct access_config *a, const struct lyd_node *entry,
                           struct errors *e)
{
    const struct lyd_node *first = lyd_child(entry);

    for (int i = ACCESS_READ; i < ACCESS_N; i++) {
        if (!config_value(first, access_name[i]))
            continue;
        if (a->n_vr_groups == ACCESS_VR_GROUPS_MAX) {
            errors_add(e, leaf_line(entry, access_name[i]),
                       "api group vr %s: more than %u groups of virtual routers: use tokens for "
                       "some (set api tokens)",
                       config_value(first, "name"), ACCESS_VR_GROUPS_MAX);
            return;
        }
        struct access_vr_group *g = &a->vr_group[a->n_vr_groups];
        leaf_copy(g->name, sizeof g->name, first, access_name[i], "");
        leaf_copy(g->vr, sizeof g->vr, first, "name", "");
        g->access = (uint8_t)i;
        a->n_vr_groups++;
    }
}

static void read_api(struct model *m, const struct lyd_node *tree, const struct model *known,
                     struct errors *e)
{
    const struct lysc_node *api = yang_child(NULL, "api", true);
    const struct lyd_node *first = leaf_inside(tree, NULL, "api");
    const struct lyd_node *group = leaf_inside(first, api, "group");
    struct model_api *part = m->part[FEATURE_api];
    struct api_config *c = &part->config;

    leaf_copy(c->proxy, sizeof c->proxy, first, "proxy", "");
    part->line = first ? leaf_line(lyd_parent(first), "proxy") : 0;
    leaf_copy(c->access.tokens, sizeof c->access.tokens, first, "tokens", "");
    leaf_copy(c->access.group[ACCESS_READ].name, sizeof c->access.group[0].name, group, "read-only",
              "kamuee-read");
    leaf_copy(c->access.group[ACCESS_OPERATE].name, sizeof c->access.group[0].name, group,
              "operator", "kamuee-oper");
    leaf_copy(c->access.group[ACCESS_ADMIN].name, sizeof c->access.group[0].name, group, "admin",
              "kamuee");
    leaf_foreach (first, api, "client", entry)
        read_client(&c->access, entry);
    leaf_foreach (group, yang_child(api, "group", true), "vr", entry)
        read_vr_groups(&c->access, entry, e);
}

static int run_api(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return api_set(to, err, n);
}

static const struct feature_config api_config = {
    .part_size = sizeof(struct model_api),
    .read = read_api,
    .values = (const struct feature_value[]){{PHASE_API, {"api", run_api},
                                              PART_VALUE(struct model_api, config),
                                              .line_at = offsetof(struct model_api, line)},
                                             {0}},
};

// --- state ---------------------------------------------------------------------------------------

static void write_api_metrics(struct metrics *m, const void *kept)
{
    const struct http_stats *s = http_stats();

    metric_family(m, METRIC_GAUGE, "api_connections", "",
                  "Open connections to the management interface.");
    metric_u64(m, s->connections, NULL);
    metric_family(m, METRIC_GAUGE, "api_body_bytes", "bytes",
                  "Body bytes of requests not yet answered.");
    metric_u64(m, s->body_bytes, NULL);
    metric_family(m, METRIC_COUNTER, "api_refusals", "",
                  "Requests refused and connections closed before any processing.");
    for (unsigned i = 0; i < REFUSED_N; i++)
        metric_u64(m, s->refused[i], "reason", http_refusal_name[i], NULL);
}

const struct feature api_feature = {
    "api",
    .config = &api_config,
    .metrics = &(const struct feature_metrics){.write = write_api_metrics},
};
