// SPDX-License-Identifier: BSD-3-Clause
// route.c - the routes file, and the longest match by a one-bit trie
//
// Uses nothing of the router under test, so that an error in its lookup cannot hide here. Slow and
// simple; only traffic generation and verification walk the trie.
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

struct route_node {
    uint32_t child[2]; // 0 = none: the root is no child
    uint16_t hop;
};

static struct shared {
    struct route_table table;
    char path[256];
    unsigned hops, users;
} *shared[8]; // one thread configures the ports

static void *room_grow(void *old, uint32_t *room, size_t item_bytes)
{
    *room = *room ? 2 * *room : 1 << 16;
    void *p = realloc(old, *room * item_bytes);
    if (!p) {
        SAY("no memory for the routes\n");
        abort();
    }
    return p;
}

static bool address_bit(const uint8_t *address, unsigned i)
{
    return address[i / 8] >> (7 - i % 8) & 1;
}

static uint32_t node_new(struct route_family *f)
{
    if (f->n_nodes == f->n_nodes_room)
        f->node = room_grow(f->node, &f->n_nodes_room, sizeof *f->node);
    f->node[f->n_nodes] = (struct route_node){.hop = HOP_NONE};
    return f->n_nodes++;
}

static void prefix_add(struct route_family *f, const struct route_prefix *p, uint16_t hop)
{
    uint32_t at = 0;

    if (!f->n_nodes)
        node_new(f);
    for (unsigned i = 0; i < p->len; i++) {
        unsigned b = address_bit(p->address, i);
        if (!f->node[at].child[b]) {
            uint32_t made = node_new(f); // may move the nodes
            f->node[at].child[b] = made;
        }
        at = f->node[at].child[b];
    }
    if (f->node[at].hop == HOP_NONE)
        f->node[at].hop = hop;
    if (f->n == f->n_room)
        f->prefix = room_grow(f->prefix, &f->n_room, sizeof *f->prefix);
    f->prefix[f->n++] = *p;
}

uint16_t route_find(const struct route_family *f, const uint8_t *address, unsigned bits)
{
    uint16_t hop = HOP_NONE;
    uint32_t at = 0;

    for (unsigned i = 0; f->n_nodes; i++) {
        if (f->node[at].hop != HOP_NONE)
            hop = f->node[at].hop;
        if (i == bits)
            break;
        at = f->node[at].child[address_bit(address, i)];
        if (!at)
            break;
    }
    return hop;
}

// Adds one line; false if it is not a prefix.
static bool add_line(struct route_table *t, char *line, unsigned hops)
{
    struct route_prefix p = {0};
    bool is_ip6 = strchr(line, ':');
    struct route_family *f = is_ip6 ? &t->ip6 : &t->ip4;
    char *slash = strchr(line, '/');
    unsigned len, hop;

    if (!slash)
        return false;
    *slash = 0;
    int n = sscanf(slash + 1, "%u %u", &len, &hop);
    if (inet_pton(is_ip6 ? AF_INET6 : AF_INET, line, p.address) != 1 || n < 1 ||
        len > (is_ip6 ? 128 : 32))
        return false;
    if (n < 2)
        hop = f->n % hops;
    if (hop >= hops)
        return false;
    p.len = (uint8_t)len;
    prefix_add(f, &p, (uint16_t)hop);
    return true;
}

static int read_file(struct route_table *t, const char *path, unsigned hops)
{
    FILE *file = fopen(path, "r");
    char line[256];
    int r = 0;

    if (!file) {
        SAY("routes=%s: %s\n", path, strerror(errno));
        return -errno;
    }
    for (unsigned number = 1; !r && fgets(line, sizeof line, file); number++)
        if (line[0] != '#' && line[0] != '\n' && !add_line(t, line, hops)) {
            SAY("routes=%s: line %u: expected PREFIX/LENGTH, or PREFIX/LENGTH HOP with HOP below "
                "%u\n",
                path, number, hops);
            r = -EINVAL;
        }
    fclose(file);
    return r;
}

static void table_release(struct shared *s)
{
    free(s->table.ip4.prefix);
    free(s->table.ip4.node);
    free(s->table.ip6.prefix);
    free(s->table.ip6.node);
    free(s);
}

struct route_table *route_table_get(const char *path, unsigned hops)
{
    struct shared **room = NULL, *s;

    for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++) {
        s = shared[i];
        if (s && s->hops == hops && !strcmp(s->path, path)) {
            s->users++;
            return &s->table;
        }
        if (!s)
            room = &shared[i];
    }
    s = calloc(1, sizeof *s);
    if (!room || !s) {
        SAY("routes=%s: too many different routes files in one process, or no memory\n", path);
        free(s);
        return NULL;
    }
    if (read_file(&s->table, path, hops)) {
        table_release(s);
        return NULL;
    }
    snprintf(s->path, sizeof s->path, "%s", path);
    s->hops = hops;
    s->users = 1;
    *room = s;
    return &s->table;
}

void route_table_put(struct route_table *t)
{
    for (unsigned i = 0; t && i < sizeof shared / sizeof *shared; i++)
        if (shared[i] && &shared[i]->table == t && --shared[i]->users == 0) {
            table_release(shared[i]);
            shared[i] = NULL;
        }
}
