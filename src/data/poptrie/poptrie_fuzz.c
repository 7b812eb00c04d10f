// SPDX-License-Identifier: BSD-3-Clause
// poptrie_fuzz.c - libFuzzer: a byte string is a list of operations, checked against the model
//
// Byte 0 selects the family. Then follow operations of 1 + 1 + 1 + 2 bytes: operation, length, stem
// of the key and number of its bits to keep, value; the remaining key bits come from the value so
// that keys repeat. After each operation the model and every kernel must agree on an address of the
// prefix and on its neighbor; at the end all invariants must hold.
//
//     make fuzz
#include "poptrie/reference_lpm.h"
#include "poptrie/poptrie_priv.h"

#include <errno.h>
#include <stdio.h>

#define BULK 5 // fewer than four are looked up one by one
#define MUST(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "poptrie_fuzz: %s:%d: not true: %s\n", __FILE__, __LINE__, #x);        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_key(const uint8_t op[5], unsigned key_bits, uint8_t key[16])
{
    static const uint8_t stem[4][16] = {
        {0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
         0xff},
        {0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 3, 0x12, 0x34, 0x56, 0xff, 0xfe, 0x78, 0x9a, 0xbc},
        {0},
    };
    unsigned keep = (op[2] >> 2) * 2 + (op[1] & 1);

    for (unsigned i = 0; i < 16; i++) {
        unsigned kept = keep >= 8 * (i + 1) ? 8 : keep <= 8 * i ? 0 : keep - 8 * i;
        uint8_t mask = 0xff << (8 - kept);

        key[i] = (stem[op[2] & 3][i] & mask) | (op[3] & (uint8_t)~mask);
    }
    if (key_bits == 32)
        memset(key + 4, 0, 12);
}

static void must_agree(const struct poptrie *t, const struct lpm *m, const uint8_t key[16])
{
    uint32_t want = lpm_find(m, key), dst[BULK], got[BULK];
    uint8_t keys[BULK][16];

    for (unsigned i = 0; i < BULK; i++) {
        memcpy(&dst[i], key, 4);
        memcpy(keys[i], key, 16);
    }
    MUST((m->key_bits == 32 ? poptrie_find4(t, dst[0]) : poptrie_find6(t, key)) == want);
    for (int k = POPTRIE_KERNEL_SCALAR; k < POPTRIE_KERNELS; k++) {
        if (poptrie_set_kernel(k, 0) != 0)
            continue;
        if (m->key_bits == 32)
            poptrie_find4_bulk(t, dst, got, BULK);
        else
            poptrie_find6_bulk(t, (const uint8_t(*)[16])keys, got, BULK);
        for (unsigned i = 0; i < BULK; i++)
            MUST(got[i] == want);
    }
}

static void apply(struct poptrie *t, struct lpm *m, const uint8_t op[5])
{
    unsigned len = op[1] % (m->key_bits + 1);
    uint32_t value = 1 + (op[3] | (op[0] >> 4 == 15 ? op[4] << 8 : 0)) % POPTRIE_VALUE_MAX;
    uint8_t key[16];
    int rc;

    make_key(op, m->key_bits, key);
    t->group->blocks.fail_after = (op[0] & 8) != 0 ? op[4] % 4 : UINT64_MAX;
    t->nodes.fail_after = (op[0] & 16) != 0 ? op[4] % 4 : UINT64_MAX;
    switch (op[0] & 7) {
    case 0: // two of eight operations delete
    case 1:
        rc = poptrie_del(t, key, len);
        MUST(rc == 0 || (rc == -ENOENT) == (lpm_at(m, key, len) == NULL));
        if (rc == 0)
            MUST(lpm_del(m, key, len));
        break;
    case 2:
        poptrie_reclaim(t, poptrie_epoch(t));
        break;
    case 3:
        rc = poptrie_load(t, m->r, m->n);
        MUST(rc == 0 || rc == -ENOMEM || rc == -ENOSPC);
        break;
    default:
        if (m->n == LPM_MAX)
            break;
        rc = poptrie_add(t, key, len, value);
        MUST(rc == 0 || rc == -ENOMEM || rc == -ENOSPC);
        if (rc == 0)
            lpm_set(m, key, len, value);
    }
    t->group->blocks.fail_after = t->nodes.fail_after = UINT64_MAX;
    MUST(poptrie_get(t, key, len) ==
         (lpm_at(m, key, len) != NULL ? lpm_at(m, key, len)->value : POPTRIE_NONE));
    must_agree(t, m, key);
    key[len / 8 % (m->key_bits / 8)] ^= 0x80 >> len % 8;
    must_agree(t, m, key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct lpm m;
    struct poptrie *t;
    char why[200] = "";

    if (size == 0)
        return 0;
    m.n = 0;
    m.key_bits = data[0] % 2 == 0 ? 32 : 128;
    t = poptrie_new(&(struct poptrie_config){.key_bits = m.key_bits, .max_bytes = 1 << 20});
    if (t == NULL)
        return 0;
    for (size_t i = 1; i + 5 <= size; i += 5)
        apply(t, &m, data + i);
    if (poptrie_check(t, why, sizeof(why)) != 0) {
        fprintf(stderr, "poptrie_fuzz: %s\n", why);
        abort();
    }
    poptrie_free(t);
    return 0;
}
