// SPDX-License-Identifier: BSD-3-Clause
// mirror.c - mirrors: of ports, and sessions for rules of access lists
//
// A step adds or removes one mirror or session, so a changed one is removed and added again.
#include <string.h>

#include "base/vec.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/watch.h"
#include "tap/mirror_manager.h"
#include "yang/config_tree.h"

// --- configuration -------------------------------------------------------------------------------

struct model_mirror {
    char name[16]; // of the port or session
    struct mirror mirror;
    unsigned line;
};

struct model_mirrors { // in natural order of names
    VEC(struct model_mirror) port, session;
};

static struct model_mirrors *mirrors_of(const struct model *m)
{
    return m->part[FEATURE_mirror];
}

// --- reading -------------------------------------------------------------------------------------

static unsigned points_of(const char *direction)
{
    unsigned rx = 1u << WATCH_RX, tx = 1u << WATCH_TX;

    return !strcmp(direction, "both") ? rx | tx : !strcmp(direction, "rx") ? rx : tx;
}

static void read_mirror(struct model_mirror *r, const struct lyd_node *entry)
{
    const struct lyd_node *to = leaf_inside(lyd_child(entry), entry->schema, "to");

    leaf_copy(r->mirror.to_port, sizeof r->mirror.to_port, to, "port", "");
    leaf_copy(r->mirror.to_tap, sizeof r->mirror.to_tap, to, "tap", "");
    r->line = config_line_of(entry);
    for (const struct lyd_node *leaf = to; leaf && !r->line; leaf = leaf->next)
        r->line = config_line_of(leaf);
}

static void read_port(struct model *m, void *part, const struct lyd_node *port)
{
    leaf_foreach (lyd_child(port), port->schema, "mirror", entry) {
        struct model_mirror *r = vec_push(&mirrors_of(m)->port);

        memset(r, 0, sizeof *r);
        leaf_copy(r->name, sizeof r->name, lyd_child(port), "name", "");
        leaf_copy(r->mirror.port, sizeof r->mirror.port, lyd_child(port), "name", "");
        r->mirror.points = points_of(config_value(lyd_child(entry), "direction"));
        read_mirror(r, entry);
    }
}

static void read_session(struct model *m, void *row, const struct lyd_node *entry)
{
    struct model_mirror *r = row;

    leaf_copy(r->name, sizeof r->name, lyd_child(entry), "name", "");
    leaf_copy(r->mirror.session, sizeof r->mirror.session, lyd_child(entry), "name", "");
    read_mirror(r, entry);
}

// --- rules ---------------------------------------------------------------------------------------

// Mirrors of one port are adjacent.
static void check_directions(const struct model_mirrors *all, const struct model_mirror *r,
                             struct errors *e)
{
    for (const struct model_mirror *o = r;
         o > all->port.item && !strcmp(o[-1].name, r->name); o--)
        if (o[-1].mirror.points & r->mirror.points)
            errors_add(e, o[-1].line > r->line ? o[-1].line : r->line,
                       "port %s: mirror 'both' and mirror 'rx' or 'tx' would copy frames twice, "
                       "expected one of them",
                       r->name);
}

static void check_output(const struct model *m, const struct model_mirror *r, struct errors *e)
{
    const char *name = r->mirror.to_port;
    const struct model_port *p = model_find_port(m, name);

    if (p && p->config.member_of[0])
        errors_add(e, r->line,
                   "mirror to port '%s': it is a member of %s, expected a port of no LAG", name,
                   p->config.member_of);
    else if (p && p->config.lag.mode)
        errors_add(e, r->line, "mirror to port '%s': it is a LAG, expected a port with a device",
                   name);
}

static void check_mirror(const struct model *m, const void *row, struct errors *e)
{
    const struct model_mirror *r = row;
    const struct mirror *i = &r->mirror;
    const char *tap = i->to_tap, *kind = i->session[0] ? "mirror-session" : "port",
               *name = r->name;

    if (!i->to_port[0] == !tap[0])
        errors_add(e, r->line, "%s %s: a mirror needs either 'to port' or 'to tap'", kind, name);
    if (tap[0] && model_owns_name(m, tap))
        errors_add(e, r->line,
                   "%s %s: mirror to tap '%s': the name belongs to an interface, expected another "
                   "name",
                   kind, name, tap);
    if (i->to_port[0] && !strcmp(i->to_port, i->port))
        errors_add(e, r->line,
                   "port %s: a mirror to the port itself would loop, expected another port",
                   i->port);
    else if (i->to_port[0] && model_find_in(&mirrors_of(m)->port, i->to_port))
        errors_add(e, r->line,
                   "%s %s: mirror to port '%s', which is itself mirrored: that would loop, "
                   "expected another port",
                   kind, name, i->to_port);
    if (!i->session[0])
        check_directions(mirrors_of(m), r, e);
    check_output(m, r, e);
}

// --- steps ---------------------------------------------------------------------------------------

static int run_mirror(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    if (!from)
        return mirror_manager_add(&((const struct model_mirror *)to)->mirror, err, n);
    mirror_manager_del(&((const struct model_mirror *)from)->mirror);
    return 0;
}

#define MIRRORS(vec)                                                                               \
    LIST_ROWS(struct model_mirrors, vec), .check = check_mirror, .remove = PHASE_REMOVE_USERS,     \
        .add = PHASE_ADD_USERS, .key_size = offsetof(struct model_mirror, line) // padding is zero
static const struct feature_config mirror_config = {
    .part_size = sizeof(struct model_mirrors),
    .lists =
        (const struct feature_list[]){
            {.node = "port", .read = read_port},
            {.node = "mirror",
             MIRRORS(port),
             LIST_STEP(struct model_mirror, "mirror of port", run_mirror)},
            {.node = "mirror-session",
             .read = read_session,
             MIRRORS(session),
             LIST_STEP(struct model_mirror, "mirror-session", run_mirror)},
            {0}},
};

// --- state ---------------------------------------------------------------------------------------

static const char *mirror_direction(const struct mirror *m)
{
    bool rx = m->points >> WATCH_RX & 1, tx = m->points >> WATCH_TX & 1;

    return rx && tx ? "both" : rx ? "rx" : "tx";
}

static const struct column sent_columns[] = {
    COUNTER(struct watch_count, taken, "sent", "packets",
            "Packets mirrored, by port or, for access-list rules, by mirror session."),
    COUNTER(struct watch_count, bytes, "bytes", "bytes", "Bytes of those frames.",
            .family = "sent_bytes"),
    COUNTER(struct watch_count, missed, "missed", "packets",
            "Packets the mirror missed because its queue was full."),
    {0}};

static void list_mirrors(struct show *s, bool sessions)
{
    struct jwrite *j = &s->out;
    struct watch_count n;
    struct mirror m;

    for (unsigned i = 0; mirror_manager_at(i, &m, &n); i++) {
        if (!m.session[0] == sessions)
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, sessions ? "name" : "port", sessions ? m.session : m.port);
        if (!sessions)
            jwrite_string(j, "direction", mirror_direction(&m));
        jwrite_string(j, m.to_port[0] ? "to-port" : "to-tap", m.to_port[0] ? m.to_port : m.to_tap);
        columns_write(j, sent_columns, &n);
        jwrite_end(j, '}');
    }
}

static void list_port_mirrors(struct show *s)
{
    list_mirrors(s, false);
}

static void list_sessions(struct show *s)
{
    list_mirrors(s, true);
}

static void write_mirror_metrics(struct metrics *m, const void *kept)
{
    struct watch_count n;
    struct mirror mirror;

    if (!mirror_manager_at(0, &mirror, &n))
        return;
    for (const struct column *c = sent_columns; (c = column_family(m, "mirror", c)); c++)
        for (unsigned i = 0; mirror_manager_at(i, &mirror, &n); i++) {
            if (mirror.session[0])
                column_metric(m, c, &n, "session", mirror.session, NULL);
            else
                column_metric(m, c, &n, "port", mirror.port, "direction",
                              mirror_direction(&mirror), NULL);
        }
}

const struct feature mirror_feature = {
    "mirror",
    .config = &mirror_config,
    .state = (const struct feature_state[]){{"mirror", .list = list_port_mirrors},
                                            {"mirror-session", .list = list_sessions},
                                            {0}},
    .metrics = &(const struct feature_metrics){.write = write_mirror_metrics},
};
