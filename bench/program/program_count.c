// SPDX-License-Identifier: BSD-3-Clause
// program_count.c - runs a packet program under valgrind's lackey, to count instructions and
// accesses
//
//     program_count OBJECT PACKETS HOOK HEX [TABLE:KEY=VALUE]...
//
// Runs a built object on PACKETS packets with these bytes, and prints the addresses of its slots
// and of a mark, which is written before and after the measured call of run(). So the reader of
// lackey's trace (paper/program.py) finds the measured call and its accesses to packets. Tables are
// kamueed's. The first call, which resolves symbols, is not measured.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/declared.h"
#include "program/object.h"
#include "program/table.h"

static struct program_table *table[KAMUEE_TABLES];
static bool read_only[KAMUEE_TABLES];
static volatile uint64_t mark;

static uint64_t get_value(void *host, uint32_t t, uint64_t key)
{
    return program_table_get(table[t], key);
}

static int32_t put_value(void *host, uint32_t t, uint64_t key, uint64_t value)
{
    return read_only[t] ? -1 : program_table_put(table[t], key, value);
}

static void fetch_value(void *host, uint32_t t, uint64_t key)
{
    program_table_prefetch(table[t], key);
}

static void say_nothing(void *host, uint32_t number, uint64_t value)
{
}

static void fail(const char *what)
{
    fprintf(stderr, "program_count: %s\n", what);
    exit(1);
}

static void make_tables(const struct program_declared *d, struct program_host *host)
{
    for (unsigned t = 0; t < d->n_tables; t++) {
        const struct declared_table *is = &d->table[t];
        table[t] = program_table_new("table", is->array, is->entries);
        read_only[t] = is->read_only;
        if (!table[t])
            fail("no memory");
        if (is->array)
            host->array[t] = (struct program_array){table[t]->value, table[t]->entries};
    }
}

static void fill_table(const struct program_declared *d, const char *entry)
{
    const char *colon = strchr(entry, ':');
    char *end = NULL;

    for (unsigned t = 0; colon && t < d->n_tables; t++)
        if (!strncmp(d->table[t].name, entry, (size_t)(colon - entry))) {
            uint64_t key = strtoull(colon + 1, &end, 0);
            program_table_put(table[t], key, strtoull(end + 1, NULL, 0));
            return;
        }
    fail(entry);
}

static void fill_slot(struct kamuee_packet *p, unsigned window, const char *hook, const char *hex)
{
    unsigned n = (unsigned)strlen(hex) / 2;

    memset(p, 0, sizeof *p);
    p->time = 1;
    p->interface = 1;
    p->length = n;
    p->readable = (uint16_t)(n < window ? n : window);
    for (unsigned i = 0; i < p->readable; i++)
        sscanf(hex + 2 * i, "%2hhx", &p->data[i]);
    p->family = strcmp(hook, "ether-type") ? 4 : 0;
    p->ether_type = (uint16_t)(p->family ? 0x0800 : 0x8847);
}

int main(int argc, char **argv)
{
    struct program_host host = {
        .get = get_value, .put = put_value, .prefetch = fetch_value, .log = say_nothing};
    struct program_declared d;
    uint32_t verdict[PROGRAM_SLOTS];
    char why[256];

    if (argc < 5)
        fail("OBJECT PACKETS HOOK HEX [TABLE:KEY=VALUE]...");
    void *library = dlopen(argv[1], RTLD_NOW);
    const struct program_object *o = library ? dlsym(library, "kamuee_program") : NULL;
    if (!o || program_declared_read(o->declared, &d, why, sizeof why))
        fail(o ? why : "no object");
    unsigned n = (unsigned)atoi(argv[2]);
    make_tables(&d, &host);
    for (int i = 5; i < argc; i++)
        fill_table(&d, argv[i]);
    void *memory = aligned_alloc(4096, (o->instance_bytes + 4095u) & ~4095u);
    memset(memory, 0, o->instance_bytes);
    if (!n || n > PROGRAM_SLOTS || o->start(memory, &host))
        fail("1 to 32 packets");
    struct kamuee_packet *slot = o->slots(memory);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < n; i++)
            fill_slot(&slot[i], d.window, argv[3], argv[4]);
        mark = round;
        if (o->run(memory, n, verdict) != n)
            fail("a fault");
        mark = round;
    }
    printf("{\"slots\": %lu, \"packets\": %u, \"stride\": %zu, \"data\": %zu, \"mark\": %lu, "
           "\"verdict\": [%u, %u]}\n",
           (unsigned long)slot, n, sizeof *slot, offsetof(struct kamuee_packet, data),
           (unsigned long)&mark, verdict[0] & 0xff, verdict[0] >> 8);
    return 0;
}
