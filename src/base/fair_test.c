// SPDX-License-Identifier: BSD-3-Clause
// fair_test.c - order of service of a fair queue
#include "base/fair.h"
#include "tests/unit.h"


unit_test(the_oldest_of_one_share_is_next)
{
    struct fair_queue q = {0};
    struct fair_share a = {0};
    struct fair_item i[3];

    assert_null(fair_take(&q, NULL));
    for (unsigned k = 0; k < 3; k++)
        fair_put(&q, &i[k], &a);
    for (unsigned k = 0; k < 3; k++)
        assert_ptr_equal(fair_take(&q, NULL), &i[k]);
    assert_null(fair_take(&q, NULL));
    assert_int_equal(q.n, 0);
}

unit_test(who_has_had_least_is_next_however_many_wait)
{
    struct fair_queue q = {0};
    struct fair_share many = {0}, few = {0};
    struct fair_item i[200], one, own;

    for (unsigned k = 0; k < 200; k++)
        fair_put(&q, &i[k], &many);
    for (unsigned k = 0; k < 100; k++) {
        assert_ptr_equal(fair_take(&q, NULL), &i[k]);
        fair_used(&q, &many, 5);
    }
    fair_put(&q, &one, &few);
    fair_put(&q, &own, NULL);
    assert_ptr_equal(fair_take(&q, NULL), &own); // the router's own
    assert_ptr_equal(fair_take(&q, NULL), &one);
    assert_ptr_equal(fair_take(&q, NULL), &i[100]);
}

// An idle share collects no credit: it does not hold the queue until it has caught up.
unit_test(idleness_is_no_credit)
{
    struct fair_queue q = {0};
    struct fair_share a = {0}, b = {0};
    struct fair_item of_a[20], of_b[20];
    unsigned n = 0;

    fair_used(&q, &a, 1000000);
    fair_put(&q, &of_a[0], &a);
    assert_ptr_equal(fair_take(&q, NULL), &of_a[0]);
    for (unsigned k = 0; k < 20; k++) {
        fair_put(&q, &of_a[k], &a);
        fair_put(&q, &of_b[k], &b);
    }
    for (unsigned k = 0; k < 20; k++) {
        struct fair_item *i = fair_take(&q, NULL);

        n += i->share == &a;
        fair_used(&q, i->share, 10);
    }
    assert_in_range(n, 9, 11);
}

// Nor does a share that used the queue alone owe anything.
unit_test(what_was_used_alone_is_no_debt)
{
    struct fair_queue q = {0};
    struct fair_share once = {0}, many = {0};
    struct fair_item i[20], one;

    fair_put(&q, &one, &once);
    assert_ptr_equal(fair_take(&q, NULL), &one);
    fair_used(&q, &once, 1000000);
    for (unsigned k = 0; k < 20; k++)
        fair_put(&q, &i[k], &many);
    fair_put(&q, &one, &once);
    assert_ptr_equal(fair_take(&q, NULL), &i[0]);
    fair_used(&q, &many, 5);
    assert_ptr_equal(fair_take(&q, NULL), &one);
}

static struct fair_share *only;

static bool is_only(const struct fair_item *i)
{
    return i->share == only;
}

unit_test(those_that_may_not_are_passed_over)
{
    struct fair_queue q = {0};
    struct fair_share a = {0}, b = {0};
    struct fair_item x, y;

    fair_put(&q, &x, &a);
    fair_put(&q, &y, &b);
    only = &b;
    assert_ptr_equal(fair_take(&q, is_only), &y);
    assert_null(fair_take(&q, is_only));
    assert_ptr_equal(fair_take(&q, NULL), &x);
}
