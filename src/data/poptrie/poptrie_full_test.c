// SPDX-License-Identifier: BSD-3-Clause
// poptrie_full_test.c - a full Internet table: every kernel agrees with the routes
//
// The table is the file named by KAMUEE_PREFIXES (one prefix per line, .gz or plain), or a
// generated one of the same size. For each address, the oracle tests whether the exact prefix is
// stored, longest first (poptrie_get), which never uses the readers' memory.
#include "poptrie/reference_lpm.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/table_gen.h"
#include "tests/unit.h"

#define FULL4 901899u
#define FULL6 160147u
#define ADDRESSES 20000u

static size_t read_routes(const char *path, struct poptrie_route *r, size_t max, unsigned family)
{
    size_t l = strlen(path), n = 0;
    bool gz = l > 3 && strcmp(path + l - 3, ".gz") == 0;
    char line[128], command[4200];
    FILE *f;

    snprintf(command, sizeof(command), "zcat -- '%s'", path);
    f = gz ? popen(command, "r") : fopen(path, "r");
    assert_non_null(f);
    while (n < max && fgets(line, sizeof(line), f) != NULL) {
        char *slash = strchr(line, '/');

        if (slash == NULL || (strchr(line, ':') != NULL) != (family == 6))
            continue;
        *slash = '\0';
        r[n] = (struct poptrie_route){.len = atoi(slash + 1)};
        n += inet_pton(family == 6 ? AF_INET6 : AF_INET, line, r[n].key) == 1;
    }
    if (gz)
        pclose(f);
    else
        fclose(f);
    return n;
}

static size_t make_routes(struct poptrie_route *r, size_t max, unsigned family)
{
    const char *path = getenv("KAMUEE_PREFIXES");
    struct prefix *p;
    size_t n;

    if (path != NULL)
        return read_routes(path, r, max, family);
    p = calloc(max, sizeof(*p));
    n = table_gen(p, max, 1, family);
    for (size_t i = 0; i < n; i++) {
        r[i] = (struct poptrie_route){.len = p[i].len};
        memcpy(r[i].key, p[i].b, 16);
    }
    free(p);
    return n;
}

static uint32_t oracle(const struct poptrie *t, unsigned key_bits, const uint8_t key[16])
{
    for (unsigned len = key_bits + 1; len-- > 0;) {
        uint32_t v = poptrie_get(t, key, len);

        if (v != POPTRIE_NONE)
            return v;
    }
    return POPTRIE_NONE;
}

static void kernels_must_agree(const struct poptrie *t, unsigned bits, const uint8_t (*key)[16])
{
    uint32_t *want = calloc(ADDRESSES, sizeof(*want)), *got = calloc(ADDRESSES, sizeof(*got));
    uint32_t *dst = calloc(ADDRESSES, sizeof(*dst));

    for (unsigned i = 0; i < ADDRESSES; i++) {
        want[i] = oracle(t, bits, key[i]);
        memcpy(&dst[i], key[i], 4);
        assert_int_equal(bits == 32 ? poptrie_find4(t, dst[i]) : poptrie_find6(t, key[i]), want[i]);
    }
    for (int k = POPTRIE_KERNEL_SCALAR; k < POPTRIE_KERNELS; k++) {
        if (poptrie_set_kernel(k, 0) != 0)
            continue;
        for (unsigned from = 0; from < ADDRESSES; from += 50)
            if (bits == 32)
                poptrie_find4_bulk(t, dst + from, got + from, 50);
            else
                poptrie_find6_bulk(t, key + from, got + from, 50);
        assert_memory_equal(got, want, ADDRESSES * sizeof(*got));
    }
    free(want);
    free(got);
    free(dst);
}

static void full_table(unsigned family, size_t max, unsigned next_hops)
{
    unsigned bits = family == 4 ? 32 : 128;
    struct poptrie *t = poptrie_new(&(struct poptrie_config){.key_bits = bits});
    struct poptrie_route *r = calloc(max, sizeof(*r));
    uint8_t(*key)[16] = calloc(ADDRESSES, sizeof(*key));
    size_t n = make_routes(r, max, family);
    struct poptrie_stats s;
    uint64_t seed = 99;
    char why[200] = "";

    assert_true(n > max / 2);
    for (size_t i = 0; i < n; i++)
        r[i].value = 1 + lpm_random(&seed) % next_hops;
    assert_int_equal(poptrie_load(t, r, n), 0);
    if (poptrie_check(t, why, sizeof(why)) != 0)
        fail_msg("%s", why);
    poptrie_usage(t, &s);
    assert_true(s.bytes_used <= (family == 4 ? 4u << 20 : 12u << 20));
    assert_true(s.writer_bytes <= n * 40);
    for (unsigned i = 0; i < ADDRESSES; i++) { // inside routes, and anywhere
        const struct poptrie_route *at = &r[lpm_random(&seed) % n];
        uint8_t net[16];

        memset(net, i % 4 == 0 ? 0 : 0xff, 16);
        lpm_mask(net, at->len);
        for (unsigned j = 0; j < bits / 8; j++)
            key[i][j] = (at->key[j] & net[j]) | (lpm_random(&seed) >> 40 & (uint8_t)~net[j]);
    }
    kernels_must_agree(t, bits, (const uint8_t(*)[16])key);
    free(key);
    free(r);
    poptrie_free(t);
}

unit_test(full_ip4_table_answers_as_its_routes_say)
{
    full_table(4, FULL4, 500);
}

unit_test(full_ip4_table_holds_60000_next_hops)
{
    full_table(4, FULL4, 60000);
}

unit_test(full_ip6_table_answers_as_its_routes_say)
{
    full_table(6, FULL6, 500);
}

unit_test(full_ip6_table_holds_60000_next_hops)
{
    full_table(6, FULL6, 60000);
}
