// SPDX-License-Identifier: BSD-3-Clause
// rib_row.c - the rows of a dump, processed prefix by prefix
//
// The kernel shows the routes of a prefix (of one table) one after another, in its order. So the
// rows of a prefix are its list, and we take them as a whole: the list in the store is made equal
// to the rows, in candidates and order.
//
// Why this is right: let R be the moment at which the kernel read the list. A change of the prefix
// before R is in the rows, whether its event has arrived or not. A change after R is announced
// after R, and its event stands behind the rows in the queue: we apply it to the list made from the
// rows. There are three exceptions. In them we leave the list alone, and the prefix is a gap of the
// dump (rib_gap.h), so the next dump shows it:
// - A datagram of rows joins the queue some time after it was filled. An event between it and the
//   previous datagram may be newer than its rows (`touched`). An event before the previous datagram
//   is older: Linux changes IPv4 routes one at a time, so there is no other change between a change
//   and its announcement; IPv6 does both under one lock, or announces last. Only an IPv4 deletion
//   is announced first, and may be the last announcement of all, so `touched` lasts until the next
//   event of the family.
// - A row names a next-hop object that was deleted: the kernel announces that before it deletes the
//   routes.
// - The rows may be incomplete: the prefix stood at the end of a datagram, and the next datagram
//   did not continue where it should have.
// An event about a change that is already in the rows does no harm: there is one at most, and
// rib_event.c is idempotent.
//
// So a prefix outside every gap is right from its rows on, and the next dump covers the gaps. The
// next dump does not doubt a prefix again because other events overtook its rows: the prefix was
// right before, and events kept it right. The gaps of successive dumps have less and less in
// common, however fast routes change.
//
// The rows never show one kind of IPv6 route: a route between two legs of a multipath route, since
// Linux jumps from the first leg to the last. If the store has a route behind a multipath route and
// the rows do not show it, it may exist or not. Linux announces all IPv6 deletions, so we keep it;
// when the legs go, rib_event.c requests a dump, which shows it.
#include "rib/vr.h"

enum rib_gap_table rib_gap_table(const struct rib_vr *v, uint32_t table)
{
    return table == v->table          ? RIB_GAP_ROUTER
           : table == RIB_TABLE_LOCAL ? RIB_GAP_LOCAL
                                      : RIB_GAP_OTHER;
}

static uint8_t flags_of(const struct rib_shown *s)
{
    return s->table == RIB_GAP_LOCAL ? RIB_ROUTE_LOCAL : 0;
}

static void release_row(struct rib_vr *v, const struct rib_shown_row *row)
{
    row->path->n_routes--;
    rib_path_put(v, row->path); // when no route has it
}

static void forget_rows(struct rib_vr *v)
{
    vec_foreach (&v->sync.shown.row, row)
        release_row(v, row);
    vec_clear(&v->sync.shown.row);
}

// First route of the table in the node's list, 0 = none; *prev: its predecessor.
static uint32_t first_of(const struct rib *r, uint32_t node, uint8_t flags, uint32_t *prev)
{
    uint32_t id = rib_trie_at(&r->trie, node)->head;

    for (*prev = 0;
         id && rib_route_at(r, id)->flags != flags && rib_route_at(r, id)->flags == RIB_ROUTE_LOCAL;
         id = rib_route_at(r, id)->next)
        *prev = id;
    return id && rib_route_at(r, id)->flags == flags ? id : 0;
}

static uint32_t next_of(const struct rib *r, uint32_t id, uint8_t flags)
{
    uint32_t next = rib_route_at(r, id)->next;

    return next && rib_route_at(r, next)->flags == flags ? next : 0;
}

static bool is_row(const struct rib_route *t, const struct rib_shown_row *row)
{
    return t->path == row->path->id && t->metric == row->metric && t->protocol == row->protocol;
}

// Multipath route whose hidden routes may come next: the walk has passed its first leg, and no
// later row of its metric; NULL: none.
static const struct rib_shown_row *veil_of(const struct rib_shown_row *row,
                                           const struct rib_shown_row *veil)
{
    if (row->path->family == IP6 && rib_is_multipath6(row->path) && row->path->n_hops > 1)
        return row;
    return veil && veil->metric != row->metric ? veil : NULL;
}

// First route from `id` on that the rows would show; *prev: its predecessor.
static uint32_t pass_hidden(struct rib_vr *v, struct rib *r, uint32_t id,
                            const struct rib_shown_row *veil, uint32_t *prev)
{
    const struct rib_shown *s = &v->sync.shown;

    for (; veil && id; id = next_of(r, id, flags_of(s))) {
        struct rib_route *t = rib_route_at(r, id);

        if (t->metric != veil->metric || rib_is_multipath6(rib_path_at(v, t->path)))
            break;
        vec_foreach (&s->row, row)
            if (is_row(t, row))
                return id;
        t->gen = r->gen;
        *prev = id;
    }
    return id;
}

// The list equals the rows: confirms its routes.
static bool confirm_list(struct rib_vr *v, struct rib *r, uint32_t node)
{
    const struct rib_shown *s = &v->sync.shown;
    const struct rib_shown_row *veil = NULL;
    uint8_t flags = flags_of(s);
    uint32_t prev, first = first_of(r, node, flags, &prev), id = first;

    vec_foreach (&s->row, row) {
        id = pass_hidden(v, r, id, veil, &prev);
        if (!id || !is_row(rib_route_at(r, id), row))
            return false;
        veil = veil_of(row, veil);
        id = next_of(r, id, flags);
    }
    if (pass_hidden(v, r, id, veil, &prev))
        return false;
    for (id = first; id; id = next_of(r, id, flags))
        rib_route_at(r, id)->gen = r->gen;
    return true;
}

// Makes the list equal to the rows.
static void take_rows(struct rib_vr *v, struct rib *r, uint32_t node)
{
    const struct rib_shown *s = &v->sync.shown;
    const char *wrong = "the kernel had its candidates in a different order";
    const struct rib_shown_row *veil = NULL;
    uint8_t flags = flags_of(s);
    uint32_t prev, id = first_of(r, node, flags, &prev), next;
    uint64_t gone = 0, added = 0;

    vec_foreach (&s->row,
                 row) { // routes up to and including `prev` are done; `id` is the next one
        uint32_t same = id = pass_hidden(v, r, id, veil, &prev);

        while (same && !is_row(rib_route_at(r, same), row))
            same = next_of(r, same, flags);
        if (same == id && id)
            id = next_of(r, id, flags);
        else if (same)
            rib_route_move(r, same, prev);
        else
            wrong = "in the kernel but not in the RIB", added |= rib_path_links(row->path);
        prev = same ? same
                    : rib_route_add(v, r, node, prev, row->path, row->metric, row->protocol, flags);
        rib_route_at(r, prev)->gen = r->gen;
        veil = veil_of(row, veil);
    }
    for (id = pass_hidden(v, r, id, veil, &prev); id; id = next) {
        next = next_of(r, id, flags);
        if (s->row.n)
            wrong = "no longer in the kernel";
        gone |= rib_path_links(rib_path_at(v, rib_route_at(r, id)->path));
        rib_route_del(v, r, id);
        v->swept++;
    }
    rib_sync_diverge(v, &s->prefix, wrong, gone, added);
}

void rib_rows_end(struct rib_vr *v)
{
    struct rib_shown *s = &v->sync.shown;
    struct rib *r = rib_of(v, s->prefix.family);
    uint32_t node;
    bool changed;

    if (!s->row.n && !s->overtaken)
        return;
    vec_foreach (&s->row, row)
        s->overtaken |= row->path->condemned; // its routes vanished silently meanwhile
    node = rib_trie_add(&r->trie, &s->prefix);
    changed = rib_drop_condemned(v, r, node);
    if (s->overtaken || !confirm_list(v, r, node)) {
        if (s->overtaken || rib_gaps_have(&v->sync.gaps, s->table, &s->prefix))
            rib_gaps_overtaken(&v->sync.gaps, s->table, &s->prefix);
        else
            take_rows(v, r, node);
        changed = true;
    }
    if (changed)
        rib_evaluate(v, r, node);
    forget_rows(v);
    s->overtaken = false;
}

void rib_rows_drop(struct rib_vr *v)
{
    forget_rows(v);
    v->sync.shown.overtaken = false;
}

void rib_rows_event(struct rib_vr *v, const struct prefix *p)
{
    struct rib_shown *s = &v->sync.shown;

    if (s->row.n && prefix_equal(&s->prefix, p)) {
        forget_rows(v);
        s->overtaken = true;
    }
}

static bool is_same_route(const struct rib_shown_row *a, const struct rib_shown_row *b)
{
    if (a->metric != b->metric)
        return false;
    return (a->path == b->path && a->protocol == b->protocol) ||
           (a->path->family == IP6 && rib_is_multipath6(a->path) && rib_is_multipath6(b->path));
}

static bool is_shown(const struct rib_shown *s, const struct rib_shown_row *new)
{
    vec_foreach (&s->row, row)
        if (is_same_route(row, new))
            return true;
    return false;
}

void rib_row_route(struct rib_vr *v, const struct netlink_route *m)
{
    struct rib_shown *s = &v->sync.shown;
    enum rib_gap_table table = rib_gap_table(v, m->table);
    struct rib_shown_row row;
    bool in_tree = table != RIB_GAP_OTHER && !m->cloned && !m->from;

    rib_gaps_row(&v->sync.gaps, table, v->events.datagrams, in_tree ? &m->prefix : NULL);
    if (in_tree && (s->table != table || !prefix_equal(&s->prefix, &m->prefix))) {
        // IPv6: the kernel may have restarted before it had shown all routes of that prefix. It
        // will show it again.
        if (s->table == table && m->prefix.family == IP6 &&
            rib_gap_walks_before(&m->prefix, &s->prefix))
            rib_rows_drop(v);
        else
            rib_rows_end(v);
    }
    if (!rib_wants(v, m)) {
        rib_unfollowed_route(v, m, false);
        return;
    }
    v->sync.checked++;
    s->prefix = m->prefix;
    s->table = table;
    s->overtaken |= rib_sync_is_touched(v, &m->prefix);
    row = (struct rib_shown_row){rib_path_get(v, m), m->metric, m->protocol};
    row.path->n_routes++; // keeps it alive until the rows are taken
    s->overtaken |= row.path->object && !row.path->object->announced;
    // Shown again because a prefix was added before it: IPv6 restarts with the whole prefix, IPv4
    // continues some routes earlier.
    if (is_shown(s, &row)) {
        if (m->prefix.family == IP4) {
            release_row(v, &row);
            return;
        }
        forget_rows(v);
    }
    *vec_push(&s->row) = row;
}
