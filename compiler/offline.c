// SPDX-License-Identifier: BSD-3-Clause
// offline.c - runs a built program on a capture (offline.h)
//
// Frames are collected to bursts and copied into the slots of an instance, as in a forwarder. A
// fault ends the instance: the rest of the burst runs in a new one, so its counters are added up
// before.
#include "compiler/offline.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/object.h"
#include "compiler/capture.h"
#include "compiler/verdicts.h"
#include "compiler/tables.h"

const char *const offline_hook_name[OFFLINE_HOOKS] = {"ether", "input", "output", "ether-type"};

struct offline_run {
    const struct offline_options *options;
    const struct program_object *object;
    struct program_declared declared;
    struct tables tables;
    struct program_host host;
    struct verdict_list verdicts;
    void *library, *memory;
    uint64_t counted[KAMUEE_COUNTERS]; // by earlier instances
    struct capture_frame frame[PROGRAM_SLOTS];
};

static uint64_t get_entry(void *host, uint32_t table, uint64_t key)
{
    return tables_get(&((struct offline_run *)host)->tables, table, key);
}

static int32_t put_entry(void *host, uint32_t table, uint64_t key, uint64_t value)
{
    return tables_put(&((struct offline_run *)host)->tables, table, key, value, false);
}

static void prefetch_entry(void *host, uint32_t table, uint64_t key)
{
}

static void take_log(void *host, uint32_t number, uint64_t value)
{
    verdicts_log(&((struct offline_run *)host)->verdicts, number, value);
}

static int refuse(char *why, size_t n, const char *what, const char *with)
{
    snprintf(why, n, what, with);
    return -EINVAL;
}

static int load(struct offline_run *r, const char *path, char *why, size_t n)
{
    r->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    r->object = r->library ? dlsym(r->library, "kamuee_program") : NULL;
    if (!r->object)
        return refuse(why, n, "%s", dlerror());
    if (r->object->abi != KAMUEE_PROGRAM_ABI)
        return refuse(why, n, "%s: built for another version; build it again", path);
    int e = program_declared_read(r->object->declared, &r->declared, why, n);
    if (!e && !tables_make(&r->tables, &r->declared))
        e = refuse(why, n, "%s: no memory for its tables", path);
    return e;
}

static int fill_entry(struct offline_run *r, const char *entry, char *why, size_t n)
{
    const char *colon = strchr(entry, ':'), *equal = colon ? strchr(colon, '=') : NULL;
    char key[24] = "";
    uint64_t k, v;

    if (!equal || (size_t)(equal - colon) > sizeof key)
        return refuse(why, n, "--table %s: NAME:KEY=VALUE", entry);
    snprintf(key, sizeof key, "%.*s", (int)(equal - colon - 1), colon + 1);
    for (uint32_t i = 0; i < r->declared.n_tables; i++) {
        const char *name = r->declared.table[i].name;
        if (strlen(name) != (size_t)(colon - entry) || memcmp(name, entry, strlen(name)))
            continue;
        if (text_parse_u64(key, 0, UINT64_MAX, &k) ||
            text_parse_u64(equal + 1, 0, UINT64_MAX, &v) || tables_put(&r->tables, i, k, v, true))
            return refuse(why, n, "--table %s: a number out of range, or the table is full", entry);
        return 0;
    }
    return refuse(why, n, "--table %s: the program declares no such table", entry);
}

static int begin_instance(struct offline_run *r)
{
    size_t size = (r->object->instance_bytes + 4095u) & ~4095u;

    r->memory = aligned_alloc(4096, size);
    if (!r->memory)
        return -ENOMEM;
    memset(r->memory, 0, size);
    return r->object->start(r->memory, &r->host);
}

static void end_instance(struct offline_run *r)
{
    if (!r->memory)
        return;
    for (unsigned i = 0; i < KAMUEE_COUNTERS; i++)
        r->counted[i] += r->object->counters(r->memory)[i];
    r->object->stop(r->memory);
    free(r->memory);
    r->memory = NULL;
}

static uint32_t mix_flow(const struct capture_frame *f)
{
    unsigned from = f->family == 4 ? 12 : 8, to = f->family == 4 ? 20 : f->family == 6 ? 40 : 0;
    uint32_t h = 2166136261u;

    for (unsigned i = from; i < to && i < f->length; i++)
        h = (h ^ f->data[i]) * 16777619u;
    return h;
}

static void fill_slot(const struct offline_run *r, const struct capture_frame *f,
                      struct kamuee_packet *p)
{
    uint32_t window = r->declared.window;

    *p = (struct kamuee_packet){
        .time = f->time,
        .length = f->length,
        .interface = r->options->interface,
        .hash = r->declared.hash ? mix_flow(f) : 0,
        .ether_type = f->ether_type,
        .family = r->options->hook == HOOK_ETHER_TYPE ? 0 : f->family,
        .class = r->options->class,
        .readable = (uint16_t)(f->length < window ? f->length : window),
    };
    memcpy(p->data, f->data, p->readable);
}

// Runs n frames starting at `first`; after a fault continues in a new instance with the next frame.
static int run_burst(struct offline_run *r, unsigned first, unsigned n)
{
    struct kamuee_packet *slot = r->object->slots(r->memory);
    uint32_t verdict[PROGRAM_SLOTS];

    for (unsigned i = 0; i < n; i++)
        fill_slot(r, &r->frame[first + i], &slot[i]);
    unsigned done = r->object->run(r->memory, n, verdict);
    for (unsigned i = 0; i < done && i < n; i++)
        verdicts_take(&r->verdicts, &r->frame[first + i], &slot[i], verdict[i]);
    if (done >= n)
        return 0;
    verdicts_fault(&r->verdicts, &r->frame[first + done]);
    end_instance(r);
    int e = begin_instance(r);
    return e || done + 1 == n ? e : run_burst(r, first + done + 1, n - done - 1);
}

static int run_capture(struct offline_run *r, struct capture *c)
{
    unsigned n = 0;
    int e = 0;

    while (!e && capture_next(c, &r->frame[n])) {
        uint64_t number = r->frame[n].number;
        bool here = r->options->hook == HOOK_ETHER_TYPE || r->frame[n].family;
        r->verdicts.elsewhere += !here;
        n += here;
        if (n == PROGRAM_SLOTS) {
            e = run_burst(r, 0, n);
            n = 0;
        }
        r->frame[n].number = number;
    }
    return e || !n ? e : run_burst(r, 0, n);
}

static int run_all(struct offline_run *r, char *why, size_t n)
{
    struct capture *c = NULL;
    int e = 0;

    for (unsigned i = 0; !e && i < r->options->n_entries; i++)
        e = fill_entry(r, r->options->entry[i], why, n);
    if (!e && !(c = capture_open(r->options->capture, why, n)))
        e = -EINVAL;
    if (!e && begin_instance(r))
        e = refuse(why, n, "%s", "no memory for an instance");
    if (e)
        return e;
    verdicts_begin(&r->verdicts);
    if (run_capture(r, c))
        e = refuse(why, n, "%s", "no memory for an instance");
    capture_close(c);
    end_instance(r);
    verdicts_end(&r->verdicts, r->counted);
    return e;
}

int offline_run(const char *object, const struct offline_options *o, char *why, size_t n)
{
    struct offline_run *r = calloc(1, sizeof *r);

    if (!r)
        return refuse(why, n, "%s", "no memory");
    r->options = o;
    r->host = (struct program_host){
        .host = r, .get = get_entry, .put = put_entry, .prefetch = prefetch_entry, .log = take_log};
    r->verdicts = (struct verdict_list){.declared = &r->declared, .json = o->json, .hook = o->hook};
    int e = load(r, object, why, n);
    e = e ? e : run_all(r, why, n);
    tables_free(&r->tables);
    text_free(&r->verdicts.out);
    if (r->library)
        dlclose(r->library);
    free(r);
    return e;
}
