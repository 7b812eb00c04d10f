// SPDX-License-Identifier: BSD-3-Clause
// acl_fuzz.c - libFuzzer: bytes become changes of a list; after each one, lookups must agree with
// the linear oracle
//
// An operation is 8 bytes: its kind, the rule, and six to vary it. They seed the fixture's
// generator, so that few bytes make rules that overlap much.
#include "acl/acl_fixture.h"

#define RULES 64u
#define OP 8u
#define PACKETS 8u

#define MUST(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "acl_fuzz: %s:%d: not true: %s\n", __FILE__, __LINE__, #x);            \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct acl_rule rule[RULES];

static void seed(const uint8_t op[OP])
{
    memcpy(&kit_seed, op, sizeof kit_seed);
}

static void must_agree(const struct acl *a, const struct kit_key *k)
{
    uint32_t want = kit_first(rule, RULES, k), slot;

    for (unsigned s = 0; s < ACL_SIMDS; s++) {
        if (!acl_use_simd(s))
            continue;
        if (k->v6)
            acl_classify6(a, &k->k6, &slot, 1);
        else
            acl_classify4(a, &k->k4, &slot, 1);
        MUST((slot == ACL_MISS ? UINT32_MAX : acl_rule_of(a, slot)->number) == want);
    }
}

static void change_list(struct acl *a, const uint8_t op[OP])
{
    struct acl_rule *r = &rule[op[1] % RULES];
    char why[160];

    if (r->families) {
        MUST(acl_del(a, r->number) == 0);
        r->families = 0;
        return;
    }
    *r = kit_rule(op[1] % RULES + RULES * op[2]);
    if (op[0] & 2) { // arbitrary bits: refused, or handled correctly
        memcpy((uint8_t *)r + sizeof r->number + op[3] % (sizeof *r - sizeof r->number - 4), op + 4,
               4);
        r->proto_any = *((uint8_t *)r + offsetof(struct acl_rule, proto_any)) & 1;
        if (acl_rule_check(r, why, sizeof why) ||
            (r->src.set != ACL_NO_SET && r->src.set >= KIT_SETS) ||
            (r->dst.set != ACL_NO_SET && r->dst.set >= KIT_SETS)) {
            r->families = 0;
            return;
        }
    }
    MUST(acl_add(a, r) == 0);
}

static void apply(struct acl *a, const uint8_t op[OP])
{
    seed(op);
    if (op[0] & 1)
        change_list(a, op);
    else if (op[0] & 4)
        acl_reclaim(a, acl_epoch(a));
    for (unsigned i = 0; i < PACKETS; i++) {
        const struct acl_rule *r = &rule[kit_random(RULES)];
        struct acl_rule any;

        acl_rule_init(&any, 0, ACL_BOTH);
        struct kit_key k = kit_key(r->families ? r : &any);
        must_agree(a, &k);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    char why[200] = "";
    struct acl *a;

    if (!begun) { // LeakSanitizer does not scan the tables' mappings for pointers
        kit_sets_new();
        atexit(kit_sets_free);
    }
    begun = true;
    memset(rule, 0, sizeof rule);
    kit_config.buckets_from = size && data[0] & 8 ? 1 : UINT32_MAX;
    a = acl_new(&kit_config);
    MUST(a);
    for (size_t i = 0; i + OP <= size; i += OP)
        apply(a, data + i);
    if (acl_check(a, why, sizeof why)) {
        fprintf(stderr, "acl_fuzz: %s\n", why);
        abort();
    }
    acl_free(a);
    return 0;
}
