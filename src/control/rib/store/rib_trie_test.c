// SPDX-License-Identifier: BSD-3-Clause
// rib_trie_test.c - random prefixes against a sorted array
#include <stdlib.h>

#include "rib/rib_trie.h"
#include "tests/unit.h"

#define N 300

static struct prefix model[N]; // sorted
static unsigned n_model;
static unsigned seed;

static struct prefix random_prefix(uint8_t family)
{
    struct prefix p = {.family = family};

    p.len = (uint8_t)(rand_r(&seed) % (family == IP4 ? 33 : 129));
    for (int i = 0; i < (family == IP4 ? 4 : 16); i++)
        p.b[i] = (uint8_t)(rand_r(&seed) &
                           (i % 4 == 0 ? 0x81 : 0xc0)); // few values: many covers and forks
    prefix_canon(&p);
    return p;
}

static unsigned place(const struct prefix *p) // first model entry that is not before p
{
    unsigned i = 0;

    while (i < n_model && prefix_compare(&model[i], p) < 0)
        i++;
    return i;
}

static bool in_model(const struct prefix *p)
{
    unsigned i = place(p);

    return i < n_model && prefix_equal(&model[i], p);
}

static uint32_t next_content(const struct rib_trie *t, uint32_t id)
{
    while (id && !rib_trie_at(t, id)->head)
        id = rib_trie_next(t, id);
    return id;
}

static void assert_is(const struct rib_trie *t, uint32_t id, const struct prefix *p)
{

    assert_int_equal(id != 0, p != NULL);
    if (!id)
        return;
    struct prefix got = rib_trie_prefix(t, id);
    assert_true(prefix_equal(&got, p));
}

static void check_order(const struct rib_trie *t)
{
    uint32_t id = next_content(t, rib_trie_first(t));
    unsigned forks = 0;

    for (unsigned i = 0; i < n_model; i++) {
        assert_is(t, id, &model[i]);
        id = next_content(t, rib_trie_next(t, id));
    }
    assert_int_equal(id, 0);
    for (id = rib_trie_first(t); id; id = rib_trie_next(t, id)) {
        const struct rib_node *n = rib_trie_at(t, id);

        forks += !n->head;
        if (!n->head)
            assert_true(n->child[0] && n->child[1]); // T2
        for (int k = 0; k < 2; k++)
            if (n->child[k]) {
                const struct rib_node *c = rib_trie_at(t, n->child[k]);

                assert_int_equal(c->parent, id); // T1
                assert_true(c->len > n->len);
                assert_int_equal(c->key[n->len >> 3] >> (7 - (n->len & 7)) & 1, k);
            }
    }
    assert_true(forks < n_model || !n_model);
    assert_int_equal(t->node.n_used, n_model + forks);
}

static void check_questions(const struct rib_trie *t, const struct prefix *p)
{
    const struct prefix *cover = NULL, *after = NULL, *in = NULL;
    uint32_t id;

    for (unsigned i = 0; i < n_model; i++) {
        const struct prefix *q = &model[i];

        if (prefix_covers(q, p) && (!cover || q->len > cover->len))
            cover = q;
        if (!after && prefix_compare(q, p) > 0)
            after = q;
        if (!in && prefix_covers(p, q))
            in = q;
    }
    assert_is(t, rib_trie_cover(t, p), cover);
    assert_is(t, next_content(t, rib_trie_after(t, p)), after);
    id = next_content(t, rib_trie_first_in(t, p));
    assert_is(t, id && rib_trie_is_in(t, id, p) ? id : 0, in);
    id = rib_trie_find(t, p);
    assert_int_equal(id && rib_trie_at(t, id)->head, in_model(p));
}

static void change(struct rib_trie *t, const struct prefix *p)
{
    unsigned at = place(p);

    if (in_model(p)) {
        uint32_t id = rib_trie_find(t, p);

        rib_trie_at(t, id)->head = 0;
        rib_trie_prune(t, id);
        memmove(&model[at], &model[at + 1], (--n_model - at) * sizeof *model);
    } else if (n_model < N) {
        rib_trie_at(t, rib_trie_add(t, p))->head = 1;
        memmove(&model[at + 1], &model[at], (n_model++ - at) * sizeof *model);
        model[at] = *p;
    }
}

static void random_changes(uint8_t family)
{
    struct rib_trie t;

    rib_trie_init(&t, family);
    n_model = 0;
    for (int i = 0; i < 6000; i++) {
        struct prefix p = random_prefix(family), q = random_prefix(family);

        if (n_model > 200 && i % 3) // lean towards deletion when there are many
            p = model[(unsigned)rand_r(&seed) % n_model];
        change(&t, &p);
        if (i % 10 == 0)
            check_order(&t);
        check_questions(&t, &p);
        check_questions(&t, &q);
    }
    while (n_model) {
        struct prefix p = model[n_model / 2];

        change(&t, &p);
    }
    assert_int_equal(t.root, 0);
    assert_int_equal(t.node.n_used, 0);
    rib_trie_fini(&t);
}

unit_test(trie_answers_like_a_sorted_array_ipv4)
{
    seed = 1;
    random_changes(IP4);
}

unit_test(trie_answers_like_a_sorted_array_ipv6)
{
    seed = 2;
    random_changes(IP6);
}
