// SPDX-License-Identifier: BSD-3-Clause
// mib.c - finds rows by keys, and answers the agent's requests (mib.h)
//
// A tree offers its rows sorted by key, so GET is a search and GETNEXT the next greater one, column
// by column. Rows are read together and kept for ten times as long as reading them took, at least
// one second: so a walk sees one table, and reading takes at most a tenth of the time.
#include "snmp/mib.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ip.h"
#include "base/log.h"
#include "base/vec.h"

// --- keys and rows -------------------------------------------------------------------------------

int key_compare(const struct key *a, const struct key *b)
{
    for (unsigned i = 0; i < a->n && i < b->n; i++)
        if (a->id[i] != b->id[i])
            return a->id[i] < b->id[i] ? -1 : 1;
    return a->n < b->n ? -1 : a->n > b->n;
}

void key_add_address(struct key *k, const struct ip_addr *a, uint32_t zone)
{
    enum { UNKNOWN = 0, IPV4 = 1, IPV6 = 2, IPV6Z = 4 }; // InetAddressType
    unsigned n = a->family ? ip_bits(a->family) / 8 : 0;

    key_add(k, !n ? UNKNOWN : zone ? IPV6Z : a->family == IP4 ? IPV4 : IPV6);
    key_add(k, zone ? n + 4 : n);
    for (unsigned i = 0; i < n; i++)
        key_add(k, a->b[i]);
    for (unsigned i = 0; zone && i < 4; i++)
        key_add(k, zone >> (24 - 8 * i) & 0xff);
}

const struct key *rows_behind(const void *rows, size_t n, size_t size, const struct key *key,
                              bool include)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int d = key_compare((const struct key *)((const char *)rows + mid * size), key);
        if (d < 0 || (!d && !include))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n ? (const struct key *)((const char *)rows + lo * size) : NULL;
}

const struct key *row_at(const void *rows, size_t n, size_t size, const struct key *key)
{
    const struct key *row = rows_behind(rows, n, size, key, true);

    return row && !key_compare(row, key) ? row : NULL;
}

static int in_order(const void *a, const void *b)
{
    return key_compare(a, b);
}

void rows_sort(void *rows, size_t *n, size_t size)
{
    char *all = rows;
    size_t kept = 0;

    if (*n)
        qsort(rows, *n, size, in_order);
    for (size_t i = 0; i < *n; i++)
        if (!kept || in_order(all + (kept - 1) * size, all + i * size))
            memmove(all + kept++ * size, all + i * size, size);
    *n = kept;
}

int scalar_find(const struct key *key, bool include, const struct key **row)
{
    static const struct key instance = {1, {0}};

    *row = rows_behind(&instance, 1, sizeof instance, key, include);
    return 0;
}

// --- freshness -----------------------------------------------------------------------------------

bool fresh_is(const struct fresh *f)
{
    return clock_now_ns() < f->until_ns;
}

void fresh_end(struct fresh *f, uint64_t begun_ns)
{
    uint64_t now = clock_now_ns(), ten = (now - begun_ns) * 10;

    f->until_ns = now + (ten > NS_PER_SECOND ? ten : NS_PER_SECOND);
}

// --- values --------------------------------------------------------------------------------------

void value_integer(netsnmp_variable_list *v, long n)
{
    snmp_set_var_typed_integer(v, ASN_INTEGER, n);
}

void value_unsigned(netsnmp_variable_list *v, u_char type, uint64_t n)
{
    struct counter64 big = {.high = n >> 32, .low = n & UINT32_MAX};

    if (type == ASN_COUNTER64)
        snmp_set_var_typed_value(v, type, &big, sizeof big);
    else
        snmp_set_var_typed_integer(v, type, (long)(n & UINT32_MAX));
}

void value_bytes(netsnmp_variable_list *v, const void *s, size_t n)
{
    snmp_set_var_typed_value(v, ASN_OCTET_STR, n ? s : "", n);
}

// NVT ASCII: each character that is not printable ASCII becomes one '?', however many bytes it has.
void value_text(netsnmp_variable_list *v, const char *s, size_t max)
{
    char out[256];
    size_t n = 0;

    for (; *s && n < max && n < sizeof out; s++)
        if ((*s & 0xc0) != 0x80) // not a continuation byte of UTF-8
            out[n++] = *s < ' ' || *s > '~' ? '?' : *s;
    value_bytes(v, out, n);
}

// --- requests ------------------------------------------------------------------------------------

struct mib_place { // of a request in a tree: ROOT.1.column.key
    unsigned column;
    struct key key;
};

// False: the name is after the whole tree.
static bool place_of(const struct mib_tree *t, const netsnmp_variable_list *v, struct mib_place *p)
{
    size_t n = v->name_length;
    const oid *id = v->name;

    *p = (struct mib_place){0};
    int d = snmp_oid_compare(id, n < t->n ? n : t->n, t->root, t->n);
    if (d)
        return d < 0;
    id += t->n;
    n -= t->n;
    if (t->columns && n) {
        if (id[0] != 1)
            return id[0] < 1;
        id++;
        n--;
        p->column = n ? (unsigned)id[0] : 0;
        id += n > 0;
        n -= n > 0;
    }
    for (size_t i = 0; i < n; i++)
        key_add(&p->key, (uint32_t)id[i]);
    return p->column <= 31;
}

static void set_name(const struct mib_tree *t, netsnmp_variable_list *v, unsigned column,
                     const struct key *row)
{
    oid name[MAX_OID_LEN];
    size_t n = t->n;

    memcpy(name, t->root, t->n * sizeof *name);
    if (t->columns) {
        name[n++] = 1;
        name[n++] = column;
    }
    for (unsigned i = 0; i < row->n; i++)
        name[n++] = row->id[i];
    snmp_set_var_objid(v, name, n);
}

static int find_row(const struct mib_tree *t, const char *vr, const struct mib_place *p,
                    bool include, const struct key **row)
{
    *row = NULL;
    return t->find ? t->find(vr, &p->key, include, row) : 0;
}

static const char *vr_of(const netsnmp_handler_registration *reg)
{
    return reg->contextName && *reg->contextName ? reg->contextName : "default";
}

// 0: answered, or there is no such object; otherwise the SNMP error.
static int answer_get(const struct mib_tree *t, const char *vr, netsnmp_request_info *r,
               netsnmp_agent_request_info *info)
{
    const struct key *row = NULL;
    struct mib_place p;
    bool is = place_of(t, r->requestvb, &p) && (!t->columns || t->columns >> p.column & 1);
    int e = is ? find_row(t, vr, &p, true, &row) : 0;

    if (e)
        return SNMP_ERR_GENERR;
    if (!is)
        netsnmp_set_request_error(info, r, SNMP_NOSUCHOBJECT);
    else if (!row || key_compare(row, &p.key))
        netsnmp_set_request_error(info, r, SNMP_NOSUCHINSTANCE);
    else
        t->value(r->requestvb, row, p.column);
    return 0;
}

static int answer_get_next(const struct mib_tree *t, const char *vr, netsnmp_request_info *r)
{
    const struct key *row = NULL;
    struct mib_place p;

    if (!place_of(t, r->requestvb, &p))
        return 0;
    bool include = r->inclusive;
    for (unsigned c = p.column; c <= (t->columns ? 31 : 0); c++) {
        if (c != p.column) { // next column: from its first row
            p.key.n = 0;
            include = false;
        }
        if (t->columns && !(t->columns >> c & 1))
            continue;
        int e = find_row(t, vr, &p, include, &row);
        if (e)
            return SNMP_ERR_GENERR;
        if (!row)
            continue;
        set_name(t, r->requestvb, c, row);
        t->value(r->requestvb, row, c);
        return 0;
    }
    return 0; // the library continues after the tree
}

static int answer_requests(netsnmp_mib_handler *handler, netsnmp_handler_registration *reg,
                  netsnmp_agent_request_info *info, netsnmp_request_info *requests)
{
    const struct mib_tree *t = handler->myvoid;

    for (netsnmp_request_info *r = requests; r; r = r->next) {
        if (r->processed)
            continue;
        int e = info->mode == MODE_GET       ? answer_get(t, vr_of(reg), r, info)
                : info->mode == MODE_GETNEXT ? answer_get_next(t, vr_of(reg), r)
                                             : SNMP_ERR_GENERR;
        if (e)
            netsnmp_set_request_error(info, r, e);
    }
    return SNMP_ERR_NOERROR;
}

// --- registration --------------------------------------------------------------------------------

#define PRIORITY 100 // above the agent's own modules, which have 127

static const struct mib_tree *const trees[] = {mib_if_trees, mib_ip_trees, mib_route_trees};

struct registered {
    char vr[16];
    bool kept;
    VEC(netsnmp_handler_registration *) of;
};
static VEC(struct registered) registered;

static bool has_tree(const struct mib_tree *t, const char *vr)
{
    bool is_default = !strcmp(vr, "default");

    return t->who == EACH_VR || (t->who == DEFAULT_CONTEXT) == is_default;
}

void mib_keep(const char *vr)
{
    vec_foreach (&registered, r)
        if (!strcmp(r->vr, vr)) {
            r->kept = true;
            return;
        }
    struct registered *all = vec_push(&registered);
    *all = (struct registered){.kept = true};
    snprintf(all->vr, sizeof all->vr, "%s", vr);
    for (unsigned i = 0; i < sizeof trees / sizeof *trees; i++)
        for (const struct mib_tree *t = trees[i]; t->name; t++) {
            if (!has_tree(t, vr))
                continue;
            // Registers a scalar with its instance, as the agent does: the longer name wins.
            netsnmp_handler_registration *reg = netsnmp_create_handler_registration(
                t->name, answer_requests, t->root, t->n + !t->columns, HANDLER_CAN_RONLY);
            bug_on(!reg);
            reg->handler->myvoid = (void *)t;
            reg->priority = PRIORITY;
            reg->range_subid = t->to ? (int)t->n : 0;
            reg->range_ubound = t->to;
            if (strcmp(vr, "default"))
                reg->contextName = strdup(vr);
            if (netsnmp_register_handler(reg) == MIB_REGISTERED_OK)
                *vec_push(&all->of) = reg;
            else
                log_error("snmp: not registered: tree=%s vr=%s", t->name, vr);
        }
}

void mib_drop_others(void)
{
    for (size_t i = registered.n; i-- > 0;) {
        struct registered *r = &registered.item[i];

        if (r->kept) {
            r->kept = false;
            continue;
        }
        vec_foreach (&r->of, reg)
            netsnmp_unregister_handler(*reg);
        vec_free(&r->of);
        vec_del_swap(&registered, i);
    }
}
