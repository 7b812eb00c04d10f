// SPDX-License-Identifier: BSD-3-Clause
// program.c - packet programs of virtual routers, and the signers whose programs are loaded:
// configuration, state, tables, replacement
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "program_manager/program_load.h"
#include "program_manager/program_manager.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "yang/config_tree.h"
#include "yang/owner.h"

#define ETHER_TYPE_MIN 0x600 // lower values are lengths
#define ENTRIES_MAX 1000     // of a table, in one answer

static const char *const action_name[KAMUEE_ACTIONS] = {"continue", "drop", "class", "next-hop",
                                                        "redirect", "punt", "mirror"};

// --- configuration -------------------------------------------------------------------------------

struct model_program {
    struct program_config config; // name comes first
    char owner[16];               // virtual router; "" = none, it belongs to the default one
    unsigned line;
};

struct model_programs {
    VEC(struct model_program) program; // in natural order of names
    struct program_signers signers;    // whose programs are loaded; sorted by name
};

static struct model_programs *programs_of(const struct model *m)
{
    return m->part[FEATURE_program];
}

static const char *const fault_words[] = {"pass", "drop"};
static const struct column config_columns[] = {
    COLUMN(struct program_config, name, "name"),
    COLUMN(struct program_config, vr, "vr"),
    COLUMN_WORD(struct program_config, hook, "hook", program_hook_name),
    COLUMN(struct program_config, file, "file"),
    COLUMN(struct program_config, order, "order"),
    COLUMN(struct program_config, mirror, "mirror-session"),
    COLUMN_WORD(struct program_config, fault_drops, "on-fault", fault_words),
    {0}};

static void read_next_hops(struct program_config *c, const struct lyd_node *entry)
{
    leaf_foreach (lyd_child(entry), entry->schema, "next-hop", hop)
        if (config_value(lyd_child(hop), "address"))
            ip_parse(config_value(lyd_child(hop), "address"),
                     &c->next_hop[leaf_number(lyd_child(hop), "number", 0)]);
}

static void read_program(struct model *m, void *row, const struct lyd_node *entry)
{
    struct model_program *p = row;
    struct program_config *c = &p->config;
    const struct lyd_node *first = lyd_child(entry);

    snprintf(c->vr, sizeof c->vr, VR_DEFAULT_NAME);
    columns_read(first, config_columns, c);
    leaf_copy(p->owner, sizeof p->owner, first, "vr", "");
    if (config_value(first, "ether-type"))
        c->ether_type = (uint16_t)strtoul(config_value(first, "ether-type"), NULL, 16);
    read_next_hops(c, entry);
}

static void read_signer(struct model *m, void *part, const struct lyd_node *entry)
{
    struct program_signers *s = &programs_of(m)->signers;
    const struct lyd_node *first = lyd_child(entry);

    leaf_copy(s->signer[s->n].name, sizeof s->signer->name, first, "name", "");
    leaf_copy(s->signer[s->n++].key, sizeof s->signer->key, first, "key", "");
}

// The router's own use of the EtherType; NULL if there is none.
static const char *type_taken(uint16_t type)
{
    static const struct {
        uint16_t type;
        const char *what;
    } taken[] = {{0x0800, "IPv4"},        {0x86dd, "IPv6"},       {0x8100, "a VLAN tag"},
                 {0x88a8, "a VLAN tag"},  {0x9100, "a VLAN tag"}, {0x8809, "a slow protocol"},
                 {0x8808, "flow control"}};

    for (unsigned i = 0; i < sizeof taken / sizeof *taken; i++)
        if (taken[i].type == type)
            return taken[i].what;
    return NULL;
}

static void check_program(const struct model *m, const void *row, struct errors *e)
{
    const struct model_program *p = row;
    const struct program_config *c = &p->config;
    const char *taken = type_taken(c->ether_type);

    owner_check_name("program", c->name, p->owner, p->line, e);
    if (c->hook == PROGRAM_ETHER_TYPE && c->ether_type < ETHER_TYPE_MIN)
        errors_add_of(
            e, p->owner, p->line,
            "program %s: hook 'ether-type' needs 'ether-type', its Ethernet type, at least 0x0600",
            c->name);
    else if (c->hook != PROGRAM_ETHER_TYPE && c->ether_type)
        errors_add_of(
            e, p->owner, p->line,
            "program %s: hook '%s' has no 'ether-type', expected hook 'ether-type' with it",
            c->name, program_hook_name[c->hook]);
    else if (taken)
        errors_add_of(e, p->owner, p->line,
                      "program %s: ether-type 0x%04x is %s, expected another one; IP packets are "
                      "at hooks 'ether', 'input' and 'output'",
                      c->name, c->ether_type, taken);
    for (unsigned h = 0; c->hook == PROGRAM_OUTPUT && h < KAMUEE_NEXT_HOPS; h++)
        if (c->next_hop[h].family) {
            errors_add_of(e, p->owner, p->line,
                          "program %s: at hook 'output' packets have their next hop, expected no "
                          "'next-hop' or another hook",
                          c->name);
            break;
        }
}

// --- steps ---------------------------------------------------------------------------------------

static int run_program(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_program *p = to;

    if (from && to)
        return program_manager_change(&p->config, err, n);
    if (to)
        return program_manager_add(&p->config, err, n);
    program_manager_del(s->name);
    return 0;
}

static int run_signers(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return program_trust_set(to, err, n);
}

// There is nothing to undo.
static int run_check(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return to ? program_manager_check(to, err, n) : 0;
}

// Signers take effect before any program of the same change is loaded, and each program of the new
// configuration is checked first, so that a change can be refused before anything has changed.
static void plan_signers(struct change *c)
{
    static const struct step_kind signers = {"program-signer", run_signers},
                                  check = {"signature of program", run_check};
    const struct model_programs *from = programs_of(c->from), *to = programs_of(c->to);

    if (!memcmp(&from->signers, &to->signers, sizeof to->signers)) // padding is zero
        return;
    step_add(c, &signers, "", &from->signers, &to->signers, 0);
    vec_foreach (&to->program, p)
        step_add(c, &check, p->config.name, NULL, &p->config, p->line);
}

static bool program_stays(const struct change *c, const char *name)
{
    const struct model_program *a = model_find_in(&programs_of(c->from)->program, name),
                               *b = model_find_in(&programs_of(c->to)->program, name);

    return a && b && vr_stays(c, a->config.vr) && vr_stays(c, b->config.vr);
}

static const struct feature_config program_config = {
    .part_size = sizeof(struct model_programs),
    .lists =
        (const struct feature_list[]){
            {.node = "program",
             LIST_ROWS(struct model_programs, program),
             .read = read_program,
             .check = check_program,
             LIST_STEP(struct model_program, "program", run_program),
             .remove = PHASE_REMOVE_USERS,
             .add = PHASE_ADD_USERS,
             .stays = program_stays,
             LIST_VALUE(struct model_program, config)}, // padding is zero
            {.node = "program-signer", .read = read_signer},
            {0}},
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_signers}, {0}},
};

// --- state ---------------------------------------------------------------------------------------

static void write_number(struct jwrite *j, const char *name, const char *leaf, uint64_t n)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", name);
    jwrite_u64(j, leaf, n);
    jwrite_end(j, '}');
}

static const struct column count_columns[] = {
    COUNTER(struct program_count, faults, "faults", "faults",
            "Times that a program was switched off on a forwarder."),
    COUNTER(struct program_count, fault_packets, "fault-packets", "packets",
            "Packets that found their program off."),
    COLUMN(struct program_count, no_way, "no-way"),
    {0}};

static void write_counts(struct jwrite *j, const struct program_status *s)
{
    const struct program_declared *d = s->declared;
    const struct program_count *n = &s->count;

    jwrite_begin(j, "verdict", '[');
    for (unsigned i = 0; i < KAMUEE_ACTIONS; i++)
        write_number(j, action_name[i], "packets", n->verdict[i]);
    jwrite_end(j, ']');
    columns_write(j, count_columns, n);
    jwrite_begin(j, "reason", '[');
    for (unsigned i = 0; i < d->n_reasons; i++)
        write_number(j, d->reason[i], "packets", n->reason[i]);
    jwrite_end(j, ']');
    jwrite_begin(j, "counter", '[');
    for (unsigned i = 0; i < d->n_counters; i++)
        write_number(j, d->counter[i], "value", n->counter[i]);
    jwrite_end(j, ']');
}

static void write_tables(struct jwrite *j, const struct program_status *s)
{
    jwrite_begin(j, "table", '[');
    for (unsigned i = 0; i < s->declared->n_tables; i++) {
        const struct declared_table *t = &s->declared->table[i];
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "name", t->name);
        jwrite_string(j, "kind", t->array ? "array" : "hash");
        jwrite_int(j, "size", t->entries);
        if (!t->array)
            jwrite_int(j, "used", __atomic_load_n(&s->table[i]->taken, __ATOMIC_RELAXED));
        jwrite_bool(j, "read-only", t->read_only);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_log(struct jwrite *j, const struct program_log *log)
{
    if (!log->lines)
        return;
    jwrite_begin(j, "log", '{');
    jwrite_int(j, "number", log->number);
    jwrite_u64(j, "value", log->value);
    jwrite_int(j, "lines", log->lines);
    jwrite_end(j, '}');
}

static void write_program(struct jwrite *j, const struct program_status *s)
{
    const struct program_config *c = s->config;
    const struct program_count *n = &s->count;
    char type[8];

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", c->name);
    jwrite_string(j, "vr", c->vr);
    jwrite_string(j, "hook", program_hook_name[c->hook]);
    if (c->ether_type) {
        snprintf(type, sizeof type, "0x%04x", c->ether_type);
        jwrite_string(j, "ether-type", type);
    }
    jwrite_string(j, "file", c->file);
    jwrite_int(j, "order", c->order);
    jwrite_string(j, "status", s->off ? "off" : "running");
    if (s->off) {
        jwrite_string(j, "fault", program_fault_name[s->fault]);
        jwrite_int(j, "threads-off", s->off);
    }
    jwrite_string_any(j, "source-hash", s->source_hash);
    jwrite_string_any(j, "signer", s->signer);
    if (s->instructions)
        jwrite_int(j, "instructions", s->instructions);
    jwrite_int(j, "window", s->declared->window);
    jwrite_int(j, "loads", s->loads);
    jwrite_int(j, "seconds", (int64_t)((clock_now_ns() - s->loaded_ns) / NS_PER_SECOND));
    jwrite_u64(j, "packets", n->packets);
    if (n->timed_packets)
        jwrite_int(j, "cycles", (int64_t)(n->timed_cycles / n->timed_packets));
    write_counts(j, s);
    write_tables(j, s);
    write_log(j, &s->log);
    jwrite_end(j, '}');
}

static void list_programs(struct show *s)
{
    struct program_status p;

    for (unsigned i = 0; program_manager_at(i, &p); i++)
        if (show_wants(s, p.config->name))
            write_program(&s->out, &p);
}

// --- operations ----------------------------------------------------------------------------------

static void run_replace(struct http *h, const struct lyd_node *op)
{
    char err[1024] = "";
    int r = program_manager_replace(operation_input(op, "name"), err, sizeof err);

    if (!r)
        http_reply(h, 204, NULL, NULL);
    else if (r == -ENOENT || r == -EINVAL)
        http_refuse(h, r == -ENOENT ? 404 : 400, "invalid-value", "%s", err);
    else
        http_refuse(h, 409, "resource-denied", "%s", err);
}

// The table in the input; NULL: the request has been refused.
static struct program_table *find_table(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "name"), *table = operation_input(op, "table");
    struct program_status s;

    if (!program_manager_find(name, &s)) {
        http_refuse(h, 404, "invalid-value", "there is no program %s", name);
        return NULL;
    }
    for (unsigned t = 0; t < s.declared->n_tables; t++)
        if (!strcmp(s.declared->table[t].name, table))
            return s.table[t];
    http_refuse(h, 404, "invalid-value", "program %s has no table '%s': see show program %s", name,
                table, name);
    return NULL;
}

static void run_table(struct http *h, const struct lyd_node *op)
{
    const struct program_table *t = find_table(h, op);
    uint64_t at = operation_input_number(op, "place", 0), key, value;
    struct jwrite j;
    struct text text = {0};
    unsigned n = 0;

    if (!t)
        return;
    output_begin(&j, &text);
    jwrite_begin(&j, "entry", '[');
    for (; n < ENTRIES_MAX && program_table_next(t, &at, &key, &value); n++) {
        jwrite_begin(&j, NULL, '{');
        jwrite_u64(&j, "key", key);
        jwrite_u64(&j, "value", value);
        jwrite_end(&j, '}');
    }
    jwrite_end(&j, ']');
    if (n == ENTRIES_MAX)
        jwrite_u64(&j, "place", at);
    output_send(h, &j);
}

static void run_table_set(struct http *h, const struct lyd_node *op)
{
    struct program_table *t = find_table(h, op);
    bool removes = !*operation_input(op, "value");
    uint64_t key = operation_input_number(op, "key", 0);

    if (!t)
        return;
    if (!program_table_put(t, key,
                           removes ? t->array ? 0 : PROGRAM_NOT_THERE
                                   : operation_input_number(op, "value", 0)))
        http_reply(h, 204, NULL, NULL);
    else if (t->array)
        http_refuse(h, 400, "invalid-value", "key %llu is not in the array, expected 0 to %u",
                    (unsigned long long)key, t->entries - 1);
    else
        http_refuse(h, 409, "resource-denied",
                    "the table has its %u entries, expected one that is there", t->entries);
}

// --- metrics -------------------------------------------------------------------------------------

static void write_verdict_metrics(struct metrics *m)
{
    struct program_status s;

    metric_family(m, METRIC_COUNTER, "program_packets", "packets",
                  "Packets that a program of a virtual router has seen, by its verdict.");
    for (unsigned i = 0; program_manager_at(i, &s); i++)
        for (unsigned a = 0; a < KAMUEE_ACTIONS; a++)
            metric_u64(m, s.count.verdict[a], "program", s.config->name, "vr", s.config->vr,
                       "verdict", action_name[a], NULL);
}

static void write_count_metrics(struct metrics *m)
{
    struct program_status s;

    metric_family(m, METRIC_COUNTER, "program_counter", "", "Counters that programs declare.");
    for (unsigned i = 0; program_manager_at(i, &s); i++)
        for (unsigned c = 0; c < s.declared->n_counters; c++)
            metric_u64(m, s.count.counter[c], "program", s.config->name, "vr", s.config->vr,
                       "counter", s.declared->counter[c], NULL);
    for (const struct column *c = count_columns; (c = column_family(m, "program", c)); c++)
        for (unsigned i = 0; program_manager_at(i, &s); i++)
            column_metric(m, c, &s.count, "program", s.config->name, "vr", s.config->vr, NULL);
}

static void write_program_metrics(struct metrics *m, const void *kept)
{
    struct program_status s;

    if (!program_manager_at(0, &s))
        return;
    write_verdict_metrics(m);
    write_count_metrics(m);
}

const struct feature program_feature = {
    "program",
    .config = &program_config,
    .state = (const struct feature_state[]){{"program", .list = list_programs}, {0}},
    .operations =
        (const struct feature_operation[]){{"program-replace", run_replace, OPERATION_CHANGES},
                                           {"program-table", .run = run_table},
                                           {"program-table-set", .run = run_table_set},
                                           {0}},
    .metrics = &(const struct feature_metrics){.write = write_program_metrics},
};
