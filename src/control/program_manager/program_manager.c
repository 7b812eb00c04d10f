// SPDX-License-Identifier: BSD-3-Clause
// program_manager.c - see program_manager.h
//
// Invariant: programs[] is sorted by virtual router, hook, order and name, and the set published
// for a virtual router and hook is the corresponding run of programs.
#include "program_manager/program_manager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/thread.h"
#include "table/acl_target.h"
#include "table/counter.h"
#include "table/vr.h"

struct managed {
    struct program_config config;
    struct program_loaded loaded;
    struct program program;
    struct program_count before; // counters of the programs that it replaced
    uint64_t loaded_ns;
    uint32_t loads;
};

static VEC(struct managed *) programs;
static bool has_sets;

// --- making and freeing --------------------------------------------------------------------------

static void managed_free(struct managed *m)
{
    if (!m)
        return;
    for (unsigned t = 0; t < KAMUEE_TABLES; t++)
        program_table_free(m->program.table[t]);
    for (unsigned h = 0; h < KAMUEE_NEXT_HOPS; h++)
        if (m->program.next_hop[h])
            acl_redirect_put(m->program.next_hop[h]);
    if (m->program.mirror)
        acl_mirror_put(m->program.mirror);
    program_unload(&m->loaded, &m->program);
    free(m);
}

// Sets the number of arguments that the program may use with each verdict.
static void set_arguments(struct managed *m)
{
    uint32_t *most = m->program.arguments;
    bool out = m->config.hook == PROGRAM_OUTPUT;

    most[KAMUEE_CONTINUE] = 1;
    most[KAMUEE_DROP] = m->loaded.declared.n_reasons ? m->loaded.declared.n_reasons : 1;
    most[KAMUEE_CLASS] = 8;
    most[KAMUEE_NEXT_HOP] = out ? 0 : KAMUEE_NEXT_HOPS;
    most[KAMUEE_REDIRECT] = out ? 0 : 1u << 24;
    most[KAMUEE_PUNT] = !out;
    most[KAMUEE_MIRROR] = m->program.mirror != 0;
}

static int get_targets(struct managed *m, char *err, size_t n)
{
    const struct program_config *c = &m->config;

    for (unsigned h = 0; h < KAMUEE_NEXT_HOPS; h++)
        if (c->next_hop[h].family &&
            !(m->program.next_hop[h] = acl_redirect_get(&c->next_hop[h]))) {
            snprintf(err, n,
                     "program %s: too many next hops of programs and access lists (at most %d)",
                     c->name, ACL_REDIRECT_MAX - 1);
            return -ENOSPC;
        }
    if (c->mirror[0] && !(m->program.mirror = acl_mirror_get(c->mirror))) {
        snprintf(err, n, "program %s: too many mirror sessions (at most %d)", c->name,
                 ACL_MIRROR_MAX - 1);
        return -ENOSPC;
    }
    return 0;
}

static bool table_is_alike(const struct declared_table *a, const struct declared_table *b)
{
    return !strcmp(a->name, b->name) && a->array == b->array && a->entries == b->entries;
}

// Index of the old program's table that the new one keeps using as table t; KAMUEE_TABLES if none.
static unsigned table_kept(const struct managed *m, unsigned t, const struct managed *old)
{
    const struct program_declared *was = &old->loaded.declared;

    for (unsigned k = 0; k < was->n_tables; k++)
        if (table_is_alike(&was->table[k], &m->loaded.declared.table[t]))
            return k;
    return KAMUEE_TABLES;
}

// Creates tables or keeps tables of the old program, which shares them until it is freed.
static int make_tables(struct managed *m, const struct managed *old, char *err, size_t n)
{
    for (unsigned t = 0; t < m->loaded.declared.n_tables; t++) {
        const struct declared_table *d = &m->loaded.declared.table[t];
        unsigned kept = old ? table_kept(m, t, old) : KAMUEE_TABLES;

        m->program.table[t] = kept < KAMUEE_TABLES
                                  ? old->program.table[kept]
                                  : program_table_new("program tables", d->array, d->entries);
        if (!m->program.table[t]) {
            snprintf(err, n, "program %s: no memory for table '%s' of %u entries", m->config.name,
                     d->name, d->entries);
            return -ENOMEM;
        }
    }
    return 0;
}

// Leaves tables that both programs share to `heir` alone.
static void give_tables(struct managed *m, const struct managed *heir)
{
    for (unsigned t = 0; t < KAMUEE_TABLES; t++)
        for (unsigned k = 0; k < KAMUEE_TABLES; k++)
            if (m->program.table[t] && m->program.table[t] == heir->program.table[k])
                m->program.table[t] = NULL;
}

static void fill_program(struct managed *m, uint16_t vr)
{
    struct program *p = &m->program;

    snprintf(p->name, sizeof p->name, "%s", m->config.name);
    p->vr = vr;
    p->hook = m->config.hook;
    p->fault_drops = m->config.fault_drops;
    p->ether_type = m->config.ether_type;
    p->window = (uint16_t)m->loaded.declared.window;
    p->hashed = m->loaded.declared.hash;
    for (unsigned t = 0; t < m->loaded.declared.n_tables; t++)
        p->read_only |= (uint8_t)(m->loaded.declared.table[t].read_only << t);
    set_arguments(m);
}

static int start_program(struct managed *m, char *err, size_t n)
{
    int r = program_start(&m->loaded, &m->program);

    if (r)
        snprintf(err, n, "program %s: its instances cannot be made: %s", m->config.name,
                 strerror(-r));
    return r;
}

// `old` is the program to be replaced, or NULL. Returns NULL with a message in `err` on failure.
static struct managed *managed_new(const struct program_config *c, const struct managed *old,
                                   int *r, char *err, size_t n)
{
    const struct vr *vr = vr_find(c->vr);
    struct managed *m = calloc(1, sizeof *m);
    char why[1024] = "";

    bug_on(!m);
    m->config = *c;
    m->loaded.fd = -1;
    m->loaded_ns = clock_now_ns();
    if (!vr) {
        snprintf(err, n, "program %s: there is no virtual router %s", c->name, c->vr);
        *r = -ENOENT;
    } else if ((*r = program_load(&m->loaded, c->file, why, sizeof why))) {
        snprintf(err, n, "program %s: %s", c->name, why);
    } else if (!(*r = get_targets(m, err, n)) && !(*r = make_tables(m, old, err, n)) &&
               !(*r = start_program(m, err, n))) {
        fill_program(m, vr->id);
        return m;
    }
    if (old)
        give_tables(m, old);
    managed_free(m);
    return NULL;
}

// --- sets ----------------------------------------------------------------------------------------

static int compare_managed(const void *a, const void *b)
{
    const struct managed *x = *(struct managed *const *)a, *y = *(struct managed *const *)b;
    int by = x->program.vr - y->program.vr;

    by = by ? by : x->program.hook - y->program.hook;
    by = by ? by : x->config.order - y->config.order;
    return by ? by : strcmp(x->config.name, y->config.name);
}

static int publish(uint16_t vr, enum program_hook hook, char *err, size_t n)
{
    struct program_set set = {0};

    if (programs.n)
        qsort(programs.item, programs.n, sizeof *programs.item, compare_managed);
    vec_foreach (&programs, m) {
        if ((*m)->program.vr != vr || (*m)->program.hook != hook)
            continue;
        if (set.n == PROGRAM_SET_MAX) {
            snprintf(err, n, "program %s: hook %s of vr %s has %d programs, the most it may have",
                     (*m)->config.name, program_hook_name[hook], vr_get(vr)->name, PROGRAM_SET_MAX);
            return -ENOSPC;
        }
        set.program[set.n++] = &(*m)->program;
    }
    int r = program_set_publish(vr, hook, &set);
    if (r)
        snprintf(err, n, "no memory for programs");
    return r;
}

static struct managed **managed_find(const char *name)
{
    vec_foreach (&programs, m)
        if (!strcmp((*m)->config.name, name))
            return m;
    return NULL;
}

static void take_out(const char *name)
{
    struct managed **m = managed_find(name);

    *m = programs.item[--programs.n];
}

// --- counters ------------------------------------------------------------------------------------

_Static_assert(sizeof(struct program_count) % sizeof(uint64_t) == 0, "words");

static struct program_count sum_of(const struct managed *m)
{
    struct program_count sum = m->before;

    for (unsigned i = 0; i < FORWARDER_MAX; i++) {
        const struct program_instance *in = &m->program.instance[i];
        if (!__atomic_load_n(&in->count.packets, __ATOMIC_RELAXED)) // else its memory may be unused
            continue;
        counter_add_words(&sum, &in->count, sizeof sum);
        counter_add_words(sum.counter, in->counters, sizeof sum.counter);
    }
    return sum;
}

// Copies counters and reasons that have the same name in both programs.
static struct program_count renamed(const struct program_count *was, const struct managed *old,
                                    const struct managed *new)
{
    const struct program_declared *o = &old->loaded.declared, *d = &new->loaded.declared;
    struct program_count c = *was;

    memset(c.counter, 0, sizeof c.counter);
    memset(c.reason, 0, sizeof c.reason);
    for (unsigned i = 0; i < d->n_counters; i++)
        for (unsigned k = 0; k < o->n_counters; k++)
            c.counter[i] += strcmp(d->counter[i], o->counter[k]) ? 0 : was->counter[k];
    for (unsigned i = 0; i < d->n_reasons; i++)
        for (unsigned k = 0; k < o->n_reasons; k++)
            c.reason[i] += strcmp(d->reason[i], o->reason[k]) ? 0 : was->reason[k];
    return c;
}

// --- changes -------------------------------------------------------------------------------------

static int need_sets(char *err, size_t n)
{
    int r = has_sets ? 0 : program_sets_init();

    has_sets = !r;
    if (r)
        snprintf(err, n, "no memory for programs");
    return r;
}

int program_manager_add(const struct program_config *c, char *err, size_t n)
{
    int r = need_sets(err, n);

    thread_must_be(ROLE_CONTROL);
    if (r)
        return r;
    if (programs.n == PROGRAM_MAX) {
        snprintf(err, n, "program %s: there are %d programs, as many as possible", c->name,
                 PROGRAM_MAX);
        return -ENOSPC;
    }
    struct managed *m = managed_new(c, NULL, &r, err, n);
    if (!m)
        return r;
    m->loads = 1;
    *vec_push(&programs) = m;
    r = publish(m->program.vr, m->program.hook, err, n);
    if (r) {
        take_out(c->name);
        managed_free(m);
        return r;
    }
    log_info("program_manager: loaded: program=%s vr=%s hook=%s file=%s", LOG_VALUE(c->name), c->vr,
             program_hook_name[c->hook], LOG_VALUE(c->file));
    return 0;
}

// Replaces `old` by `new`: first in the new place, then in the old one.
static int exchange(struct managed **at, struct managed *old, struct managed *new, char *err,
                    size_t n)
{
    const uint16_t vr = old->program.vr;
    const enum program_hook hook = old->program.hook;

    *at = new;
    int r = publish(new->program.vr, new->program.hook, err, n);
    if (r) {
        *managed_find(new->config.name) = old;
        return r;
    }
    if (vr != new->program.vr || hook != new->program.hook)
        publish(vr, hook, err, n); // the set shrinks, so it has room
    return 0;
}

int program_manager_change(const struct program_config *c, char *err, size_t n)
{
    struct managed **at = managed_find(c->name), *old = at ? *at : NULL;
    int r = -ENOENT;

    thread_must_be(ROLE_CONTROL);
    if (!old) {
        snprintf(err, n, "there is no program %s", c->name);
        return r;
    }
    struct managed *new = managed_new(c, strcmp(old->config.vr, c->vr) ? NULL : old, &r, err, n);
    if (!new)
        return r;
    new->loads = old->loads + 1;
    r = exchange(at, old, new, err, n);
    if (r) {
        give_tables(new, old);
        managed_free(new);
        return r;
    }
    struct program_count was = sum_of(old); // no forwarder counts in it any more
    new->before = renamed(&was, old, new);
    give_tables(old, new);
    managed_free(old);
    log_info("program_manager: replaced: program=%s vr=%s hook=%s file=%s", LOG_VALUE(c->name),
             c->vr, program_hook_name[c->hook], LOG_VALUE(c->file));
    return 0;
}

int program_manager_replace(const char *name, char *err, size_t n)
{
    struct managed **at = managed_find(name);
    struct program_config *c;

    if (!at) {
        snprintf(err, n, "there is no program %s", name);
        return -ENOENT;
    }
    c = malloc(sizeof *c); // the change frees the original
    bug_on(!c);
    *c = (*at)->config;
    int r = program_manager_change(c, err, n);
    free(c);
    return r;
}

int program_manager_check(const struct program_config *c, char *err, size_t n)
{
    struct managed **at = managed_find(c->name), *m = at ? *at : NULL;
    char why[1024] = "";
    bool runs = m && !memcmp(&m->config, c, sizeof *c);

    thread_must_be(ROLE_CONTROL);
    int r = runs ? program_trust_check(m->loaded.fd, c->file, m->loaded.signer, why, sizeof why)
                 : program_load_check(c->file, why, sizeof why);
    if (r)
        snprintf(err, n, "program %s: %s%s", c->name, why,
                 runs ? "; it runs and must be signed or go first" : "");
    return r;
}

void program_manager_del(const char *name)
{
    struct managed **at = managed_find(name), *m;
    char err[256];

    thread_must_be(ROLE_CONTROL);
    if (!at)
        return;
    m = *at;
    take_out(name);
    if (publish(m->program.vr, m->program.hook, err, sizeof err)) {
        log_error("program_manager: still runs: program=%s error=%s", LOG_VALUE(name), err);
        *vec_push(&programs) = m; // stays, so that its memory does
        return;
    }
    managed_free(m);
}

void program_manager_fini(void)
{
    vec_foreach (&programs, m)
        managed_free(*m);
    vec_free(&programs);
    if (has_sets)
        program_sets_fini();
    has_sets = false;
}

// --- state ---------------------------------------------------------------------------------------

static void write_status(const struct managed *m, struct program_status *s)
{
    *s = (struct program_status){.config = &m->config,
                                 .declared = &m->loaded.declared,
                                 .source_hash = m->loaded.source_hash,
                                 .signer = m->loaded.signer,
                                 .instructions = m->loaded.instructions,
                                 .vr = m->program.vr,
                                 .count = sum_of(m),
                                 .table = m->program.table,
                                 .loaded_ns = m->loaded_ns,
                                 .loads = m->loads};
    for (unsigned i = 0; i < FORWARDER_MAX; i++) {
        const struct program_instance *in = &m->program.instance[i];
        uint8_t off = __atomic_load_n(&in->off, __ATOMIC_RELAXED);
        s->off += off != PROGRAM_SOUND;
        s->fault = off ? off : s->fault;
        if (in->log.lines) {
            s->log.number = in->log.number;
            s->log.value = in->log.value;
            s->log.lines += in->log.lines;
        }
    }
}

bool program_manager_at(unsigned i, struct program_status *s)
{
    if (i >= programs.n)
        return false;
    write_status(programs.item[i], s);
    return true;
}

bool program_manager_find(const char *name, struct program_status *s)
{
    struct managed **m = managed_find(name);

    if (m)
        write_status(*m, s);
    return m;
}
