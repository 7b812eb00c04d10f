// SPDX-License-Identifier: BSD-3-Clause
// model_api.c - the management interface of a configuration: read, and judged by what the schema
// cannot say
#include "model/model_api.h"

#include <stdlib.h>
#include <string.h>

#include "model/model_leaf.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static void read_listen(struct model_api *a, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);

    if (a->config.n_listen == HTTP_LISTEN_MAX)
        return; // the schema has refused it
    a->line[a->config.n_listen] = leaf_line(entry, NULL);
    struct http_listen *l = &a->config.listen[a->config.n_listen++];
    bug_on(ip_parse(config_value(first, "address"), &l->address));
    l->port = (uint16_t)leaf_number(first, "port", 0);
    l->tls = leaf_true(first, "tls");
}

static void read_client(struct access_config *a, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    const char *role = config_value(first, "role");

    if (a->n_clients == ACCESS_CLIENTS_MAX)
        return;
    struct access_client *c = &a->client[a->n_clients++];
    leaf_copy(c->name, sizeof c->name, first, "name", "");
    c->access = role ? (uint8_t)access_of_name(role) : ACCESS_NONE;
}

void model_read_api(struct model *m, const struct lyd_node *tree)
{
    const struct lysc_node *api = yang_child(NULL, "api", true);
    const struct lyd_node *first = leaf_inside(tree, NULL, "api");
    const struct lyd_node *tls = leaf_inside(first, api, "tls"),
                          *group = leaf_inside(first, api, "group");
    struct api_config *c = &m->api.config;
    struct lyd_nodes v = {0};

    leaf_copy(c->tls.certificate, sizeof c->tls.certificate, tls, "certificate", "");
    leaf_copy(c->tls.key, sizeof c->tls.key, tls, "key", "");
    leaf_copy(c->tls.client_ca, sizeof c->tls.client_ca, tls, "client-ca", "");
    leaf_copy(c->access.tokens, sizeof c->access.tokens, first, "tokens", "");
    leaf_copy(c->access.group[ACCESS_READ].name, sizeof c->access.group[0].name, group, "read-only",
              "kamuee-read");
    leaf_copy(c->access.group[ACCESS_OPERATE].name, sizeof c->access.group[0].name, group,
              "operator", "kamuee-oper");
    leaf_copy(c->access.group[ACCESS_ADMIN].name, sizeof c->access.group[0].name, group, "admin",
              "kamuee");
    config_children(first, yang_child(api, "listen", true), &v);
    for (size_t i = 0; i < v.n; i++)
        read_listen(&m->api, v.item[i]);
    v.n = 0;
    config_children(first, yang_child(api, "client", true), &v);
    for (size_t i = 0; i < v.n; i++)
        read_client(&c->access, v.item[i]);
    free(v.item);
}

static bool is_loopback(const struct ip_addr *a)
{
    static const uint8_t one[16] = {[15] = 1};

    return a->family == IP4 ? a->b[0] == 127 : !memcmp(a->b, one, 16);
}

static void check_listen(const struct api_config *c, const struct http_listen *l, unsigned line,
                         struct errors *e)
{
    char text[IP_TEXT_MAX];
    const char *address = ip_format(&l->address, text);

    if (!is_loopback(&l->address) && !l->tls)
        errors_add(e, line,
                   "api listen %s: 'tls' is 'false', expected a loopback address such as "
                   "127.0.0.1, or TLS",
                   address);
    if (l->tls && (!*c->tls.certificate || !*c->tls.key))
        errors_add(e, line,
                   "api listen %s: TLS needs a certificate and its key: set api tls certificate "
                   "FILE key FILE",
                   address);
    if (!*c->access.tokens && !(l->tls && *c->tls.client_ca))
        errors_add(e, line,
                   "api listen %s: clients have no way to authenticate: set api tokens FILE%s",
                   address, l->tls ? ", or set api tls client-ca FILE" : "");
}

void model_check_api(const struct model *m, struct errors *e)
{
    const struct api_config *c = &m->api.config;

    for (unsigned i = 0; i < c->n_listen; i++)
        check_listen(c, &c->listen[i], m->api.line[i], e);
}
