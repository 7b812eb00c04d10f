// SPDX-License-Identifier: BSD-3-Clause
// gpu_classify_test.c - images of random lists against the definition of a rule (acl_rule_matches4,
// 6)
#include "acl/acl_fixture.h"
#include "gpu/classify.h"
#include "gpu/list_image.h"

#define MOST 700u

static struct acl_rule rule[MOST];

static struct acl *list_new(uint32_t n)
{
    struct acl *a = acl_new(&kit_config);

    assert_non_null(a);
    assert_int_equal(acl_load(a, rule, n), 0);
    return a;
}

static uint32_t ask(const struct gpu_list_image *i, const struct kit_key *k)
{
    _Alignas(8) struct acl_key6 six = k->k6; // keys are aligned to 8 in a mailbox

    return k->v6 ? gpu_classify6(i->bytes, (const uint32_t *)&six)
                 : gpu_classify4(i->bytes, (const uint32_t *)&k->k4);
}

static struct gpu_list_image image_of(const struct acl *a)
{
    struct gpu_list_image i;
    char why[200] = "";

    if (gpu_list_image_make(&i, a, why, sizeof(why)) != 0)
        fail_msg("no image: %s", why);
    return i;
}

// Returns how many of `keys` packets matched a rule.
static unsigned agree(const struct acl *a, uint32_t n, unsigned keys)
{
    struct gpu_list_image i = image_of(a);
    unsigned found = 0;

    for (unsigned k = 0; k < keys; k++) {
        struct kit_key key = kit_key(&rule[kit_random(n)]);
        uint32_t want = kit_first(rule, n, &key), slot = ask(&i, &key);
        uint32_t got = slot == ACL_MISS ? UINT32_MAX : acl_rule_of(a, slot)->number;

        if (got != want)
            fail_msg("rule %u was found, and %u is the first that matches", got, want);
        found += got != UINT32_MAX;
    }
    gpu_list_image_free(&i);
    return found;
}

static void the_first_rule_is_found(void **state)
{
    unsigned found = 0;

    for (unsigned round = 0; round < 60; round++) {
        uint32_t n = round < 10 ? 1 + round : 1 + kit_random(MOST - 1);
        struct acl *a;

        for (uint32_t i = 0; i < n; i++) // numbers differ from the order of slots
            rule[i] = kit_rule_without_sets((i * 7919 + round) % 100003);
        a = list_new(n);
        found += agree(a, n, 1000);
        acl_free(a);
    }
    assert_true(found > 20000 && found < 59000);
    printf("%u of 60000 packets matched a rule\n", found);
}

static void an_empty_list_has_no_rule(void **state)
{
    struct acl *a = acl_new(&kit_config);
    struct gpu_list_image i = image_of(a);
    struct kit_key k = {.v6 = false};

    assert_int_equal(ask(&i, &k), ACL_MISS);
    k.v6 = true;
    assert_int_equal(ask(&i, &k), ACL_MISS);
    gpu_list_image_free(&i);
    acl_free(a);
}

static void many_combinations_are_rounded_down(void **state)
{
    struct gpu_list_image i;
    struct acl *a;
    uint32_t n = 0;

    for (unsigned src = 1; src <= 32; src++)
        for (unsigned dst = 13; dst <= 32; dst++, n++) {
            acl_rule_init(&rule[n], 1 + n, ACL_IP4);
            kit_address(rule[n].src.addr, false);
            kit_address(rule[n].dst.addr, false);
            rule[n].src.len = (uint8_t)src;
            rule[n].dst.len = (uint8_t)dst;
        }
    a = list_new(n);
    i = image_of(a);
    assert_in_range(i.tuples, 2, GPU_TUPLES_MAX);
    printf("%u combinations of lengths: %u tuples, chains of at most %u\n", n, i.tuples, i.chain);
    gpu_list_image_free(&i);
    agree(a, n, 3000);
    acl_free(a);
}

// --- lists that stay on the CPU ---

static void must_be_refused(uint32_t n, const char *said)
{
    struct acl *a = list_new(n);
    struct gpu_list_image i;
    char why[200] = "";

    assert_int_equal(gpu_list_image_make(&i, a, why, sizeof(why)), -ENOTSUP);
    assert_null(i.bytes);
    assert_non_null(strstr(why, said));
    acl_free(a);
}

static void rules_that_differ_in_ranges_alone_are_refused(void **state)
{
    for (uint32_t k = 0; k <= GPU_CHAIN_MAX; k++) {
        acl_rule_init(&rule[k], k, ACL_IP4);
        rule[k].proto_any = false;
        rule[k].proto = 6;
        rule[k].dport[0] = (uint16_t)k;
        rule[k].dport[1] = (uint16_t)(2 * k + 1);
    }
    must_be_refused(GPU_CHAIN_MAX + 1, "257 of its rules");
    struct acl *a = list_new(GPU_CHAIN_MAX);
    agree(a, GPU_CHAIN_MAX, 2000);
    acl_free(a);
}

static void address_sets_are_refused(void **state)
{
    acl_rule_init(&rule[0], 10, ACL_BOTH);
    acl_rule_init(&rule[1], 20, ACL_BOTH);
    rule[1].dst.set = 0;
    must_be_refused(2, "rule 20 names an address set");
}

// --- a device with arbitrary memory ---

static void any_memory_is_searched_to_an_end(void **state)
{
    struct acl *a;
    struct gpu_list_image i;
    struct gpu_image *image;

    for (uint32_t k = 0; k < MOST; k++)
        rule[k] = kit_rule_without_sets(k);
    a = list_new(MOST);
    i = image_of(a);
    image = i.bytes;
    // no chain has an end
    for (uint32_t k = 0; k <= image->ip4.head_mask; k++)
        ((uint32_t *)((uint8_t *)i.bytes + image->ip4.heads))[k] = 1;
    for (uint32_t k = 1; k <= i.rules[0]; k++)
        ((struct gpu_rule4 *)((uint8_t *)i.bytes + image->ip4.rules))[k].rest.slot &=
            ~GPU_RULE_LAST;
    assert_true(i.rules[0] > GPU_CHAIN_MAX);
    for (unsigned k = 0; k < 1000; k++) {
        struct kit_key key = kit_key(&rule[kit_random(MOST)]);
        key.v6 = false;
        ask(&i, &key);
    }
    gpu_list_image_free(&i);
    acl_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_is_found),
        cmocka_unit_test(an_empty_list_has_no_rule),
        cmocka_unit_test(many_combinations_are_rounded_down),
        cmocka_unit_test(rules_that_differ_in_ranges_alone_are_refused),
        cmocka_unit_test(address_sets_are_refused),
        cmocka_unit_test(any_memory_is_searched_to_an_end),
    };

    return cmocka_run_group_tests(tests, sets_new, sets_free);
}
