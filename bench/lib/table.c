// SPDX-License-Identifier: BSD-3-Clause
// table.c - see table.h
#include "lib/table.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table_gen.h"

#define FULL4 901899u
#define FULL6 160147u
#define NTT_LONG 16140u
#define HOSTS 100000u

const char *const pattern_name[N_PATTERNS] = {"uniform", "prefix", "zipf", "sequential"};

void table_add(struct table *t, const uint8_t *key, unsigned len, uint32_t value)
{
    struct poptrie_route *r = &t->route[t->n++];

    *r = (struct poptrie_route){.len = len, .value = value};
    memcpy(r->key, key, t->family == 4 ? 4 : 16);
}

// Routes of a file, both families. It is opened once, so a pipe works too.
static const struct table *file_read(const char *path, unsigned family)
{
    static struct table file[2];
    size_t l = strlen(path), cap = 1u << 22;
    bool gz = l > 3 && strcmp(path + l - 3, ".gz") == 0;
    char line[256], command[4200];
    FILE *f;

    if (file[0].route != NULL)
        return &file[family == 6];
    snprintf(command, sizeof(command), "zcat -- '%s'", path);
    f = gz ? popen(command, "r") : fopen(path, "r");
    if (f == NULL)
        return NULL;
    for (unsigned i = 0; i < 2; i++)
        file[i] =
            (struct table){.family = 4 + 2 * i, .route = malloc(cap * sizeof(*file[i].route))};
    while (fgets(line, sizeof(line), f) != NULL) {
        struct table *t = &file[strchr(line, ':') != NULL];
        char *slash = strchr(line, '/');
        uint8_t key[16];

        if (slash == NULL || t->n == cap)
            continue;
        *slash = '\0';
        if (inet_pton(t->family == 4 ? AF_INET : AF_INET6, line, key) == 1)
            table_add(t, key, atoi(slash + 1), 1);
    }
    if (gz)
        pclose(f);
    else
        fclose(f);
    return &file[family == 6];
}

static int table_read(struct table *t, const char *path)
{
    const struct table *file = file_read(path, t->family);

    if (file == NULL || file->n == 0)
        return -1;
    memcpy(t->route, file->route, file->n * sizeof(*t->route));
    t->n = file->n;
    return 0;
}

// Generating four million takes a while: a smaller table is a prefix of a larger one made before.
static void table_generate(struct table *t, size_t n)
{
    static struct prefix *made;
    static size_t n_made;
    static unsigned family_made;

    if (t->family != family_made || n > n_made) {
        free(made);
        made = calloc(n, sizeof(*made));
        n_made = 0;
        for (unsigned seed = 1; seed <= 4 && n_made < n; seed++) // a seed gives only so many
            n_made += table_gen(made + n_made, n - n_made, seed, t->family);
        family_made = t->family;
    }
    for (size_t i = 0; i < n && i < n_made; i++)
        table_add(t, made[i].b, made[i].len, 1);
}

static void set_bits(uint8_t *key, unsigned from, unsigned to, uint64_t bits)
{
    for (unsigned i = from; i < to; i++, bits >>= 1)
        key[i / 8] = (key[i / 8] & ~(0x80 >> i % 8)) | ((bits & 1) << (7 - i % 8));
}

// Routes of 25 .. 32 bits, most of them hosts, inside /24s of the table.
void table_add_longer(struct table *t, size_t n)
{
    size_t full = t->n;

    while (n > 0) {
        const struct poptrie_route *r = &t->route[bench_random() % full];
        uint64_t x = bench_random();
        unsigned len = x % 2 == 0 ? 32 : 25 + (x >> 1) % 8;
        uint8_t key[16];

        if (r->len != 24)
            continue;
        memcpy(key, r->key, 16);
        set_bits(key, 24, len, x >> 8);
        table_add(t, key, len, 1);
        n--;
    }
}

// Hosts in 2,000 subnets of 50 (IPv4 /24) or 100 subnets of 1,000 (IPv6 /64, random interface
// identifiers), and the subnets themselves.
static void table_add_hosts(struct table *t, size_t n)
{
    unsigned net = t->family == 4 ? 24 : 64, per = t->family == 4 ? 50 : 1000;
    uint8_t key[16] = {0};

    for (size_t i = 0; i < n; i++) {
        if (i % per == 0) {
            memset(key, 0, 16);
            key[0] = 10;
            if (t->family == 6)
                memcpy(key, "\x20\x01\x0d\xb8", 4);
            set_bits(key, t->family == 4 ? 8 : 48, net, bench_random());
            table_add(t, key, net, 1);
        }
        set_bits(key, net, t->family == 4 ? 32 : 128, bench_random());
        table_add(t, key, t->family == 4 ? 32 : 128, 1);
    }
}

int table_make(struct table *t, const char *name, unsigned family, const char *path)
{
    char *end;
    unsigned long n = strtoul(name, &end, 10);

    free(t->route);
    *t = (struct table){.name = name, .family = family};
    t->route = malloc((1u << 22) * sizeof(*t->route));
    if (strcmp(name, "hosts") == 0) {
        table_add_hosts(t, HOSTS);
    } else if (strcmp(name, "full") == 0 || (strcmp(name, "ntt") == 0 && family == 4)) {
        if (path == NULL)
            table_generate(t, family == 4 ? FULL4 : FULL6);
        else if (table_read(t, path) != 0)
            return -1;
        if (strcmp(name, "ntt") == 0)
            table_add_longer(t, NTT_LONG);
    } else if (*end == '\0' && n > 0 && n <= 1u << 22) {
        table_generate(t, n);
    } else {
        return -1;
    }
    return 0;
}

// 1..n: in turn up to 64, scattered above.
void table_next_hops(struct table *t, unsigned n)
{
    for (size_t i = 0; i < t->n; i++)
        t->route[i].value = 1 + (n <= 64 ? i % n : (hash_mix64(i + 1) >> 8) % n);
}

// --- traffic ---

// Cumulative weights, searched from a guide table.
struct zipf zipf_make(unsigned n)
{
    struct zipf z = {n, malloc(((1 << 16) + 1) * sizeof(unsigned)), malloc(n * sizeof(double))};
    double sum = 0;

    for (unsigned i = 0; i < n; i++)
        z.sum[i] = sum += 1.0 / (i + 1);
    for (unsigned g = 0, i = 0; g <= 1 << 16; g++) {
        while (i < n - 1 && z.sum[i] < sum * g * 0x1p-16)
            i++;
        z.guide[g] = i;
    }
    return z;
}

unsigned zipf_rank(const struct zipf *z)
{
    uint64_t r = bench_random() >> 11;
    double at = (double)r * 0x1p-53 * z->sum[z->n - 1];
    unsigned lo = z->guide[r >> 37], hi = z->guide[(r >> 37) + 1];

    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;

        if (z->sum[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void zipf_free(struct zipf *z)
{
    free(z->sum);
    free(z->guide);
}

static unsigned *shuffled(unsigned n)
{
    unsigned *p = malloc(n * sizeof(*p));

    for (unsigned i = 0; i < n; i++)
        p[i] = i;
    for (unsigned i = n; i > 1; i--) {
        unsigned j = bench_random() % i, swap = p[i - 1];

        p[i - 1] = p[j];
        p[j] = swap;
    }
    return p;
}

static void address_in(const struct poptrie_route *r, unsigned bytes, uint8_t *out)
{
    for (unsigned i = 0; i < bytes; i++) {
        int kept = (int)r->len - 8 * (int)i;
        uint8_t mask = kept >= 8 ? 0xff : kept <= 0 ? 0 : 0xff << (8 - kept);

        out[i] = (r->key[i] & mask) | (out[i] & ~mask);
    }
}

static void address_sequential(unsigned family, unsigned i, uint8_t *out)
{
    uint32_t v4 = htonl(0x01000000u + i);
    uint64_t hi = __builtin_bswap64(0x2001020000000000u + ((uint64_t)i << 12));

    if (family == 4)
        memcpy(out, &v4, 4);
    else
        memcpy(out, &hi, 8);
}

struct traffic traffic_new(void)
{
    return (struct traffic){.host = memory_huge(N_ADDRESSES * 4ul),
                            .net = memory_huge(N_ADDRESSES * 4ul),
                            .ip6 = memory_huge(N_ADDRESSES * 16ul)};
}

void traffic_make(const struct table *t, enum pattern p, struct traffic *a)
{
    unsigned n = t->n, *rank = shuffled(n);
    struct zipf z = zipf_make(n);

    for (unsigned i = 0; i < N_ADDRESSES; i++) {
        uint64_t r[2] = {bench_random(), bench_random()};
        uint8_t *b = (uint8_t *)r;

        if (p == SEQUENTIAL)
            address_sequential(t->family, i, b);
        else if (p != UNIFORM)
            address_in(&t->route[p == ZIPF ? rank[zipf_rank(&z)] : bench_random() % n],
                       t->family == 4 ? 4 : 16, b);
        if (t->family == 6) {
            memcpy(a->ip6[i], b, 16);
        } else {
            memcpy(&a->net[i], b, 4);
            a->host[i] = ntohl(a->net[i]);
        }
    }
    zipf_free(&z);
    free(rank);
}
