// SPDX-License-Identifier: BSD-3-Clause
// acl_manager_test.c - access lists and sets from files to lookups by forwarders: replaced, changed
// in place, refused, reverted
//
// Calls acl_manager's work without its thread, with real lists and sets. Compares the state in
// force with the linear oracle, and counters with the counts of a forwarder.
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "acl/list.h"
#include "acl_manager/acl_active.h"
#include "base/file.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "table/acl_meter.h"
#include "table/acl_target.h"
#include "table/counter.h"
#include "table/grace.h"
#include "tests/unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[] = "/tmp/acl-manager-test-XXXXXX", file[64], gz[64];
static struct text why;
static const struct acl_reread nothing_again;

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *text_file(const char *text)
{
    static char name[80];

    snprintf(name, sizeof name, "%s-text", file);
    write_file(name, text);
    return name;
}

// --- desired state -------------------------------------------------------------------------------

static struct acl_desired *wanted_new(void)
{
    struct acl_desired *w = acl_desired_new();

    w->memory_bytes = 1ull << 30;
    w->build_ns = 60000000000ull;
    return w;
}

static void want_set(struct acl_desired *w, const char *name, const char *members, const char *from)
{
    struct acl_desired_set *s = vec_push(&w->set);
    char said[300];

    memset(s, 0, sizeof *s);
    snprintf(s->name, sizeof s->name, "%s", name);
    snprintf(s->file, sizeof s->file, "%s", from);
    assert_int_equal(acl_file_members(text_file(members), &s->member, said, sizeof said), 0);
    text_printf(&s->text, "%s%s", members, from);
}

static void want_list(struct acl_desired *w, const char *name, const char *rules, const char *from)
{
    struct acl_desired_list *l = vec_push(&w->list);
    char said[300] = "";

    memset(l, 0, sizeof *l);
    snprintf(l->name, sizeof l->name, "%s", name);
    snprintf(l->file, sizeof l->file, "%s", from);
    l->otherwise = ACL_DENY;
    if (acl_file_rules(text_file(rules), &l->rules, said, sizeof said))
        fail_msg("%s", said);
    text_printf(&l->text, "%s%s", rules, from);
}

// The sizes predicted before the change.
static void assert_sizes(const struct acl_change *c)
{
    for (size_t i = 0; i < c->wanted->list.n; i++)
        assert_int_equal(
            c->sizes.rules.item[i],
            acl_active_list_find(c->wanted->list.item[i].name)->build->content->rules->order.n);
    for (size_t i = 0; i < c->wanted->set.n; i++) {
        struct acl_set_stats s;

        acl_set_stats(acl_active_set_find(c->wanted->set.item[i].name)->set, &s);
        assert_int_equal(c->sizes.members.item[i], s.members[0] + s.members[1]);
    }
}

static int go_to(struct acl_desired *w, bool stays)
{
    text_clear(&why);
    struct acl_change *c = acl_prepare(w, &nothing_again, &why);
    acl_desired_put(w);
    if (!c)
        return -EINVAL;
    int r = acl_change_do(c, &why);
    if (!r)
        assert_sizes(c);
    if (!r && !stays)
        acl_change_undo(c);
    acl_change_end(c, !r && stays);
    grace_wait();
    acl_active_tidy();
    return r;
}

static const struct acl_content *content(const char *list)
{
    return acl_content_of(acl_active_list_find(list)->id);
}

static struct acl_key4 key(const char *src, const char *dst, uint8_t proto, uint16_t dport)
{
    struct acl_key4 k = {.l4 = {.sport = 1024, .dport = dport, .proto = proto, .part = ACL_WHOLE}};
    struct ip_addr a, b;

    assert_int_equal(ip_parse(src, &a) | ip_parse(dst, &b), 0);
    k.src_be = a.ip4;
    k.dst_be = b.ip4;
    return k;
}

// Classifies and counts like a forwarder, and returns the number of the rule.
static uint32_t pass(const char *list, struct acl_key4 k)
{
    const struct acl_content *c = content(list);
    uint32_t slot;

    acl_classify4(c->rules, &k, &slot, 1);
    struct acl_hits *h = &c->hits[0][acl_place(c, slot)];
    h->packets++;
    h->bytes += 100;
    return slot == ACL_MISS ? 0 : c->action[slot].number;
}

static uint64_t packets(const char *list, uint32_t number)
{
    const struct acl_build *b = acl_active_list_find(list)->build;
    const struct acl *a = b->content->rules;

    return acl_build_hits(b, number ? acl_slot_of(a, number) : ACL_MISS).packets;
}

// --- tests ---------------------------------------------------------------------------------------

static const char edge[] = "10 permit tcp from any to any port 443\n20 deny ip from set bad\n30 "
                           "permit udp from 10.0.0.0/8\n";

static void start(void)
{
    struct acl_desired *w = wanted_new();

    want_set(w, "bad", "192.0.2.0/24\n", "");
    want_list(w, "edge", edge, "");
    assert_int_equal(go_to(w, true), 0);
}

static int empty(void **state)
{
    go_to(wanted_new(), true);
    assert_int_equal(acl_active.list.n + acl_active.set.n, 0);
    return 0;
}

#define emptied_test(name) unit_test_of(name, NULL, empty)

emptied_test(lists_and_sets_are_found_by_forwarders)
{
    start();
    assert_int_equal(pass("edge", key("192.0.2.1", "10.0.0.1", 6, 443)), 10);
    assert_int_equal(pass("edge", key("192.0.2.1", "10.0.0.1", 6, 80)), 20);
    assert_int_equal(pass("edge", key("10.1.1.1", "10.0.0.1", 17, 80)), 30);
    assert_int_equal(pass("edge", key("198.51.100.1", "10.0.0.1", 6, 80)), 0);
    assert_int_equal(content("edge")->verb[content("edge")->slots], ACL_DENY);
}

emptied_test(counters_of_rules_that_stay_are_kept)
{
    struct acl_desired *w = wanted_new();

    start();
    const struct acl_content *before = content("edge");
    for (unsigned i = 0; i < 5; i++)
        pass("edge", key("1.1.1.1", "10.0.0.1", 6, 443));
    pass("edge", key("1.1.1.1", "10.0.0.1", 6, 80));
    want_set(w, "bad", "192.0.2.0/24\n", "");
    want_list(w, "edge",
              "10 deny tcp from any to any port 443\n20 deny ip from set bad to 10.0.0.0/8\n30 "
              "permit udp from 10.0.0.0/8\n40 permit 89\n",
              "");
    assert_int_equal(go_to(w, true), 0);
    assert_ptr_not_equal(content("edge"), before); // more than one rule: built aside
    assert_int_equal(packets("edge", 10), 5); // it matches the same packets, with another action
    assert_int_equal(packets("edge", 20), 0);
    assert_int_equal(packets("edge", 0), 1);
    pass("edge", key("1.1.1.1", "10.0.0.1", 6, 443));
    assert_int_equal(packets("edge", 10), 6);
    acl_build_clear(acl_active_list_find("edge")->build);
    assert_int_equal(packets("edge", 10) + packets("edge", 0), 0);
}

static uint64_t total(unsigned verdict)
{
    struct acl_hits sum[ACL_VERDICTS] = {{0}};

    acl_build_totals(acl_active_list_find("edge")->build, sum);
    assert_int_equal(sum[verdict].bytes, 100 * sum[verdict].packets);
    return sum[verdict].packets;
}

static void assert_totals(uint64_t permit, uint64_t deny, uint64_t reject, uint64_t redirect,
                          uint64_t by_default)
{
    assert_int_equal(total(ACL_PERMIT), permit);
    assert_int_equal(total(ACL_DENY), deny);
    assert_int_equal(total(ACL_REJECT), reject);
    assert_int_equal(total(ACL_REDIRECTS), redirect);
    assert_int_equal(total(ACL_DEFAULT), by_default);
}

static void go_to_rules(const char *rules, bool stays)
{
    struct acl_desired *w = wanted_new();

    want_set(w, "bad", "192.0.2.0/24\n", "");
    want_list(w, "edge", rules, "");
    assert_int_equal(go_to(w, stays), 0);
}

// Rules are added, deleted, get another action, and reuse each other's slots; some changes are
// reverted, and counters are cleared.
emptied_test(totals_by_verdict_never_fall_whatever_becomes_of_the_rules)
{
    const struct acl_key4 web = key("1.1.1.1", "10.0.0.1", 6, 443),
                          other = key("1.1.1.1", "10.0.0.1", 6, 80),
                          bad = key("192.0.2.1", "10.0.0.1", 6, 80);

    start();
    pass("edge", web);
    pass("edge", bad);
    pass("edge", other);
    assert_totals(1, 1, 0, 0, 1);
    // one rule is deleted in place, and comes back
    go_to_rules("10 permit tcp from any to any port 443\n30 permit udp from 10.0.0.0/8\n", false);
    assert_int_equal(packets("edge", 20), 1);
    assert_totals(1, 1, 0, 0, 1);
    go_to_rules("10 permit tcp from any to any port 443\n30 permit udp from 10.0.0.0/8\n", true);
    pass("edge", bad);
    assert_totals(1, 1, 0, 0, 2);
    // reuses its slot
    go_to_rules("10 permit tcp from any to any port 443\n25 reject ip from set bad\n30 permit udp "
                "from 10.0.0.0/8\n",
                true);
    pass("edge", bad);
    assert_int_equal(packets("edge", 25), 1);
    assert_totals(1, 1, 1, 0, 2);
    // built aside
    go_to_rules("10 deny tcp from any to any port 443\n30 permit udp redirect to 192.0.2.9\n",
                true);
    assert_int_equal(packets("edge", 10), 1);
    assert_totals(1, 1, 1, 0, 2);
    pass("edge", web);
    pass("edge", key("10.0.0.1", "10.0.0.2", 17, 1));
    assert_totals(1, 2, 1, 1, 2);
    go_to_rules("10 deny ip\n", false);
    assert_totals(1, 2, 1, 1, 2);
    acl_build_clear(acl_active_list_find("edge")->build);
    assert_totals(0, 0, 0, 0, 0);
    pass("edge", web);
    assert_totals(0, 1, 0, 0, 0);
    for (unsigned i = 0; i < 200; i++) { // rules that reuse each other's slots
        go_to_rules(
            i % 2   ? "10 deny tcp from any to any port 443\n30 permit udp redirect to 192.0.2.9\n"
            : i % 4 ? "10 deny tcp from any to any port 443\n20 permit tcp\n30 permit udp redirect "
                      "to 192.0.2.9\n"
                    : "10 deny tcp from any to any port 443\n20 reject tcp\n30 permit udp redirect "
                      "to 192.0.2.9\n",
            true);
        pass("edge", other);
    }
    assert_totals(50, 1, 50, 0, 100);
}

emptied_test(one_rule_comes_and_goes_in_place)
{
    start();
    const struct acl_content *before = content("edge");
    for (unsigned round = 0; round < 200; round++) {
        struct acl_desired *w = wanted_new();
        char rules[300];
        uint32_t epoch = before->epoch;

        snprintf(rules, sizeof rules, round % 2 ? "%s" : "%s15 %s ip from 203.0.113.0/24\n", edge,
                 round % 4 ? "permit" : "reject");
        want_set(w, "bad", "192.0.2.0/24\n", "");
        want_list(w, "edge", rules, "");
        assert_int_equal(go_to(w, true), 0);
        assert_ptr_equal(content("edge"), before);
        assert_true(before->epoch > epoch); // verdict caches forget
        assert_int_equal(pass("edge", key("203.0.113.9", "10.0.0.1", 6, round % 2 ? 443 : 80)),
                         round % 2 ? 10 : 15);
        if (round % 2 == 0) {
            uint32_t slot = acl_slot_of(before->rules, 15);
            assert_int_equal(before->verb[slot], round % 4 ? ACL_PERMIT : ACL_REJECT);
            // not the count of the previous rule in its slot
            assert_int_equal(packets("edge", 15), 1);
        }
    }
    assert_int_equal(packets("edge", 10), 100);
}

// --- temporary rules ---

// 0, or -errno with `why`. del: 0 = none.
static int temporarily(const char *add, uint32_t del, bool replace)
{
    struct acl_temporary t = {.list = "edge", .add = add, .replace = replace};

    if (del)
        *vec_push(&t.del) = del;
    text_clear(&why);
    struct acl_reread again = {.temporary = &t};
    struct acl_change *c = acl_prepare(acl_active.wanted, &again, &why);
    vec_free(&t.del);
    if (!c)
        return -EINVAL;
    int r = acl_change_do(c, &why);
    if (!r)
        assert_sizes(c);
    acl_change_end(c, !r);
    grace_wait();
    acl_active_tidy();
    return r;
}

static uint32_t temporary(void)
{
    return acl_active_list_find("edge")->build->temporary;
}

emptied_test(temporary_rules_stay_beside_those_of_the_configuration)
{
    const struct acl_key4 flood = key("203.0.113.9", "10.0.0.1", 17, 53),
                          web = key("203.0.113.9", "10.0.0.1", 6, 443);

    start();
    const struct acl_content *before = content("edge");
    assert_int_equal(temporarily("5 deny udp from 203.0.113.0/24\n6 deny 47\n", 0, false), 0);
    assert_ptr_equal(content("edge"), before);
    assert_int_equal(temporary(), 2);
    assert_int_equal(before->verb[acl_slot_of(before->rules, 5)], ACL_DENY); // without ACL_MORE
    assert_int_equal(pass("edge", flood), 5);
    assert_int_equal(pass("edge", web), 10);
    // the configuration changes: in place, and to a new list
    go_to_rules("10 permit tcp from any to any port 443\n30 permit udp from 10.0.0.0/8\n", true);
    assert_int_equal(pass("edge", flood), 5);
    go_to_rules("30 permit udp from 10.0.0.0/8\n40 deny tcp\n", true);
    assert_int_equal(pass("edge", flood), 5);
    assert_int_equal(temporary(), 2);
    assert_int_equal(packets("edge", 5), 3);
    // another match for a number; the other rule keeps its count
    assert_int_equal(temporarily("6 deny 50\n", 0, false), 0);
    assert_int_equal(packets("edge", 5), 3);
    assert_int_equal(temporary(), 2);
    // deleted one by one; absent numbers do not matter
    assert_int_equal(temporarily("", 5, false), 0);
    assert_int_equal(temporarily("", 5, false), 0);
    assert_int_equal(pass("edge", flood), 0);
    assert_int_equal(temporary(), 1);
    assert_int_equal(temporarily("7 deny udp\n", 0, true), 0);
    assert_int_equal(temporary(), 1);
    assert_int_equal(pass("edge", flood), 7);
    assert_int_equal(temporarily("", 0, true), 0);
    assert_int_equal(temporary(), 0);
    assert_int_equal(acl_build_order(acl_active_list_find("edge")->build)->n, 2);
}

emptied_test(a_wrong_temporary_rule_changes_nothing)
{
    static const struct {
        const char *add;
        uint32_t del;
        const char *why;
    } wrong[] = {
        {"10 deny udp\n", 0, "rule 10 is in the configuration"},
        {"", 20, "rule 20 is in the configuration"},
        {"5 deny udp\n5 deny tcp\n", 0, "rule 5 appears twice"},
        {"5 deny udp\n6 dney tcp\n", 0, "line:2: unknown action 'dney'"},
        {"5 deny udp from set bad\n", 0, "names address-set 'bad'"},
        {"5 permit udp mirror nowhere\n", 0, "there is no mirror-session 'nowhere'"},
    };

    start();
    assert_int_equal(temporarily("3 deny 47\n", 0, false), 0);
    const struct acl_content *before = content("edge");
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(temporarily(wrong[i].add, wrong[i].del, true), -EINVAL);
        if (!strstr(text_str(&why), wrong[i].why))
            fail_msg("%s", text_str(&why));
        assert_ptr_equal(content("edge"), before);
        assert_int_equal(temporary(), 1);
    }
    // the configuration may not take a number of theirs
    struct acl_desired *w = wanted_new();
    want_set(w, "bad", "192.0.2.0/24\n", "");
    want_list(w, "edge", "3 permit ip\n", "");
    assert_int_equal(go_to(w, true), -EINVAL);
    assert_non_null(strstr(text_str(&why), "rule 3 appears twice"));
}

emptied_test(many_temporary_rules_come_at_once_and_the_same_ones_change_nothing)
{
    static char rules[600000];
    size_t n = 0;

    for (unsigned i = 0; i < 10000; i++)
        n += (size_t)snprintf(rules + n, sizeof rules - n, "%u deny udp from 11.%u.%u.0/24\n",
                              1000 + i, i >> 8, i & 255);
    start();
    assert_int_equal(temporarily(rules, 0, false), 0);
    assert_int_equal(temporary(), 10000);
    assert_int_equal(pass("edge", key("11.0.0.3", "10.0.0.1", 17, 1)), 1000);
    const struct acl_content *same = content("edge");
    char *few = rules + strlen(rules); // more rules in place than there can be lists
    for (unsigned i = 0; i < 1500; i++)
        few += sprintf(few, "%u deny 47 from 12.%u.%u.0/24\n", 20000 + i, i >> 8, i & 255);
    assert_int_equal(temporarily(rules, 0, false), 0);
    assert_ptr_equal(content("edge"), same);
    assert_int_equal(temporary(), 11500);
    assert_int_equal(pass("edge", key("11.1.2.3", "10.0.0.1", 17, 1)), 1258);
    const struct acl_content *before = content("edge");
    assert_int_equal(temporarily(rules, 0, true), 0);
    assert_ptr_equal(content("edge"), before);
    assert_int_equal(packets("edge", 1258), 1);
    assert_int_equal(temporarily("", 0, true), 0);
    assert_int_equal(pass("edge", key("11.1.2.3", "10.0.0.1", 17, 1)), 0);
}

emptied_test(rules_share_a_policer)
{
    start();
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(
            temporarily("50 permit tcp police packets 100\n51 permit 47 police with 50\n", 0,
                        false),
            0);
        const struct acl_content *c = content("edge");
        uint16_t meter = c->action[acl_slot_of(c->rules, 50)].meter;

        assert_int_equal(c->action[acl_slot_of(c->rules, 51)].meter, meter);
        assert_int_equal(acl_meter_table[meter].sharers, 1);
        go_to_rules(round % 2 ? edge : "10 deny ip\n20 deny ip\n", true); // a new list
        assert_int_equal(temporarily("", 0, true), 0);
        for (uint16_t id = 1; id < ACL_METER_MAX; id++)
            assert_int_equal(acl_meter_table[id].sharers, 0);
    }
    assert_int_not_equal(temporarily("59 deny 47\n60 permit 47 police with 10\n", 0, false), 0);
    assert_int_equal(temporary(), 0);
}

// A rule for every bucket of a side, all of which are full, needs more room than there is:
// reclaiming builds larger buckets and leaves no garbage.
emptied_test(buckets_that_are_full_come_back_larger)
{
    static char rules[131072];
    struct acl_desired *w = wanted_new();
    struct acl_cost cost;
    size_t n = 0;

    for (unsigned i = 0; i < 90 * 16; i++)
        n += (size_t)snprintf(rules + n, sizeof rules - n,
                              "%u permit tcp from 10.%u.0.0/16 to any port %u\n", 100 + i, i / 16,
                              i);
    for (unsigned i = 0; i < 92; i++)
        n += (size_t)snprintf(rules + n, sizeof rules - n,
                              "%u permit tcp from any to 10.%u.0.0/16\n", 5000 + i, i);
    want_list(w, "edge", rules, "");
    assert_int_equal(go_to(w, true), 0);
    const struct acl_content *before = content("edge");
    snprintf(rules + n, sizeof rules - n, "50 permit udp from any to any port 53\n");
    w = wanted_new();
    want_list(w, "edge", rules, "");
    assert_int_equal(go_to(w, true), 0);
    assert_ptr_equal(content("edge"), before);
    grace_wait();
    assert_false(acl_active_tidy());
    acl_cost(before->rules, &cost);
    assert_true(cost.shelf > 0);
    assert_int_equal(before->rules->garbage.n, 0);
    assert_int_equal(before->rules->classifier[0]->garbage.n, 0);
    assert_null(before->rules->retired);
    assert_int_equal(pass("edge", key("10.7.0.1", "192.0.2.1", 17, 53)), 50);
}

emptied_test(few_members_change_in_place_and_many_by_a_new_set)
{
    struct acl_desired *w = wanted_new();
    struct text many = {0};

    start();
    const struct acl_set *before = acl_active_set_find("bad")->set;
    uint32_t epoch = content("edge")->epoch;
    want_set(w, "bad", "192.0.2.0/25\n2001:db8::/32\n", "");
    want_list(w, "edge", edge, "");
    assert_int_equal(go_to(w, true), 0);
    assert_ptr_equal(acl_active_set_find("bad")->set, before);
    assert_true(content("edge")->epoch > epoch);
    assert_int_equal(pass("edge", key("192.0.2.1", "10.0.0.1", 6, 80)), 20);
    assert_int_equal(pass("edge", key("192.0.2.200", "10.0.0.1", 6, 80)), 0);
    for (unsigned i = 0; i < 6000; i++)
        text_printf(&many, "172.%u.%u.0/24\n", 16 + i / 256, i % 256);
    w = wanted_new();
    want_set(w, "bad", many.s, "");
    want_list(w, "edge", edge, "");
    assert_int_equal(go_to(w, true), 0);
    assert_ptr_not_equal(acl_active_set_find("bad")->set, before);
    assert_int_equal(pass("edge", key("172.20.1.1", "10.0.0.1", 6, 80)), 20);
    assert_int_equal(pass("edge", key("192.0.2.1", "10.0.0.1", 6, 80)), 0);
    text_free(&many);
}

emptied_test(what_is_taken_back_leaves_no_trace)
{
    start();
    pass("edge", key("1.1.1.1", "10.0.0.1", 6, 443));
    const struct acl_content *before = content("edge");
    static const char *const others[] = {
        "10 deny ip\n", "10 permit tcp from any to any port 443\n20 deny ip from set bad\n",
        "5 deny ip\n10 permit tcp from any to any port 443\n20 deny ip from set bad\n30 permit udp "
        "from 10.0.0.0/8\n",
        NULL};

    for (unsigned i = 0; i < 4; i++) {
        struct acl_desired *w = wanted_new();

        if (i < 2)
            want_set(w, "more", "10.0.0.0/8\n", "");
        if (i < 3)
            want_set(w, "bad", i ? "198.51.100.0/24\n" : "192.0.2.0/24\n", "");
        if (others[i])
            want_list(w, "edge", others[i], "");
        want_list(w, "new", "1 permit ip\n", "");
        assert_int_equal(go_to(w, false), 0);
        assert_ptr_equal(content("edge"), before);
        assert_null(acl_active_list_find("new"));
        assert_null(acl_active_set_find("more"));
        assert_int_equal(pass("edge", key("192.0.2.1", "10.0.0.1", 6, 80)), 20);
        assert_int_equal(pass("edge", key("10.0.0.1", "10.0.0.1", 17, 80)), 30);
        assert_int_equal(packets("edge", 10), 1);
        assert_int_equal(packets("edge", 30), i + 1);
    }
}

emptied_test(what_does_not_fit_or_is_wrong_changes_nothing)
{
    struct text rules = {0};
    static const struct {
        const char *file, *says;
    } wrong[] = {
        {"40 permit tcp\n\n50 permti tcp\n", ":3: unknown action 'permti'"},
        {"40 permit tcp\n30 deny ip\n", ":2: rule 30 appears twice"},
        {"40 permit tcp from set none\n", "there is no address-set 'none'"},
        {"40 permit tcp \"x\n", ":1: a quote"},
    };

    start();
    const struct acl_content *before = content("edge");
    for (unsigned i = 0; i < 100000; i++)
        text_printf(&rules, "%u deny tcp from 10.%u.%u.0/24 to any port %u\n", 1000 + i,
                    i >> 8 & 255, i & 255, i % 60000);
    write_file(file, rules.s);
    for (unsigned i = 0; i < 2 + sizeof wrong / sizeof *wrong; i++) {
        struct acl_desired *w = wanted_new();

        if (i == 0)
            w->memory_bytes = 4u << 20;
        if (i == 1)
            w->build_ns = 1000;
        if (i > 1)
            write_file(file, wrong[i - 2].file);
        want_set(w, "bad", "192.0.2.0/24\n", "");
        want_list(w, "edge", edge, file);
        assert_int_equal(go_to(w, true), -EINVAL);
        const char *says = i == 0   ? "'set acl-limit memory "
                           : i == 1 ? "'set acl-limit build-time'"
                                    : wrong[i - 2].says;
        if (!strstr(text_str(&why), says))
            fail_msg("expected \"%s\" in: %s", says, text_str(&why));
        assert_ptr_equal(content("edge"), before);
    }
    text_free(&rules);
}

emptied_test(files_are_plain_gzip_or_columns)
{
    struct acl_desired *w = wanted_new();
    gzFile g = gzopen(gz, "wb");
    char csv[80];

    assert_non_null(g);
    gzputs(g, "# bad ones\n192.0.2.0/24 ; a comment\n\n2001:db8::1\n198.51.100.7,reason\n");
    gzclose(g);
    snprintf(csv, sizeof csv, "%s.csv", file);
    write_file(csv,
               "action,number,protocol,to-port,from\npermit,10,tcp,443,\ndeny,20,ip,,set bad\n");
    want_set(w, "bad", "", gz);
    want_list(w, "edge", "", csv);
    assert_int_equal(go_to(w, true), 0);
    assert_int_equal(pass("edge", key("198.51.100.7", "10.0.0.1", 6, 443)), 10);
    assert_int_equal(pass("edge", key("198.51.100.7", "10.0.0.1", 6, 80)), 20);
    unlink(csv);
    assert_int_equal(truncate(gz, 30), 0);
    struct acl_members m = {0};
    char said[300];
    assert_true(acl_file_members(gz, &m, said, sizeof said) < 0);
    assert_non_null(strstr(said, "damaged"));
    vec_free(&m.item);
    assert_int_equal(acl_file_members("/dev/zero", &m, said, sizeof said), -EINVAL);
    assert_int_equal(acl_file_members("/nonexistent", &m, said, sizeof said), -ENOENT);
}

// A gzip file of n times `line`.
static void write_gz(const char *name, const char *line, unsigned long n)
{
    gzFile g = gzopen(name, "wb1");

    assert_non_null(g);
    while (n--)
        gzputs(g, line);
    gzclose(g);
}

unit_test(a_file_is_bounded_and_is_one)
{
    struct acl_members m = {0};
    struct acl_lines l = {0};
    char said[800], csv[90];

    snprintf(csv, sizeof csv, "%s.csv.gz", gz);
    write_gz(gz, "192.0.2.1\n", ACL_MEMBERS_MAX + 1ul);
    assert_int_equal(acl_file_members(gz, &m, said, sizeof said), -ENOSPC);
    assert_non_null(strstr(said, ":4194305: too many members, expected at most 4194304"));
    vec_free(&m.item);
    write_gz(csv, "\n", 1);
    gzFile g = gzopen(csv, "wb1"); // blanks alone
    for (unsigned i = 0; i < 600u << 10; i++)
        gzprintf(g, "%1000s\n", "");
    gzclose(g);
    assert_int_equal(acl_file_rules(csv, &l, said, sizeof said), -EFBIG);
    assert_non_null(strstr(said, "more than 512 MiB uncompressed"));
    acl_lines_free(&l);
    unlink(csv);
    unlink(gz);
    assert_int_equal(mkfifo(gz, 0600), 0);
    // and it does not wait for a writer
    assert_int_equal(acl_file_members(gz, &m, said, sizeof said), -EINVAL);
    assert_non_null(strstr(said, "not a regular file"));
    unlink(gz);
}

unit_test(what_others_may_not_read_is_not_repeated)
{
    struct acl_members m = {0};
    struct acl_lines l = {0};
    char said[800];

    write_file(file, "root:SECRET:19000\n");
    assert_int_equal(chmod(file, 0640), 0);
    assert_int_equal(acl_file_members(file, &m, said, sizeof said), -EINVAL);
    assert_null(strstr(said, "SECRET"));
    assert_int_equal(acl_file_rules(file, &l, said, sizeof said), -EINVAL);
    assert_null(strstr(said, "SECRET"));
    assert_non_null(strstr(said, ":1: invalid line, not shown because"));
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(acl_file_members(file, &m, said, sizeof said), -EINVAL);
    assert_non_null(strstr(said, "SECRET"));
    acl_lines_free(&l);
    vec_free(&m.item);
}

unit_test(files_lie_in_stated_directories)
{
    struct acl_members m = {0};
    char said[800], link[100], dir[90];

    snprintf(dir, sizeof dir, "%s.dir", file);
    snprintf(link, sizeof link, "%s/link", dir);
    write_file(file, "192.0.2.1\n");
    assert_int_equal(mkdir(dir, 0755), 0);
    assert_int_equal(symlink(file, link), 0);
    assert_int_equal(file_allow(FILE_READ, dir), 0);
    assert_int_equal(acl_file_members(file, &m, said, sizeof said), -EXDEV);
    assert_int_equal(acl_file_members(link, &m, said, sizeof said), -EXDEV);
    assert_non_null(strstr(said, "start kamueed with --file-dir"));
    // nor reveals whether the path exists
    assert_int_equal(acl_file_members("/nonexistent", &m, said, sizeof said), -EXDEV);
    assert_int_equal(file_allow(FILE_READ, "/tmp"), 0);
    assert_int_equal(acl_file_members(link, &m, said, sizeof said), 0);
    file_allow_none();
    vec_free(&m.item);
    unlink(link);
    rmdir(dir);
}

static int go_to_file_and(const char *own)
{
    struct acl_desired *w = wanted_new();

    want_set(w, "bad", "192.0.2.0/24\n", "");
    want_list(w, "edge", own, file);
    return go_to(w, true);
}

// A list's own rules come and go next to the rules of a file, which is read again only when it has
// changed.
emptied_test(list_with_a_file_takes_rules_of_its_own)
{
    const struct timespec moment = {.tv_nsec = 200000000};

    write_file(file, "20 deny ip from set bad\n30 permit udp from 10.0.0.0/8 log\n");
    nanosleep(&moment, NULL); // a file that was just written may be written again
    assert_int_equal(go_to_file_and("10 permit tcp from any to any port 443\n"), 0);
    const struct acl_content *before = content("edge");
    assert_int_equal(
        go_to_file_and("10 permit tcp from any to any port 443\n15 deny ip from set bad\n"), 0);
    assert_ptr_equal(content("edge"), before);
    assert_int_equal(pass("edge", key("192.0.2.9", "10.0.0.1", 6, 80)), 15);
    assert_int_equal(go_to_file_and("10 permit tcp from any to any port 443\n"), 0);
    assert_ptr_equal(content("edge"), before);
    assert_int_equal(pass("edge", key("192.0.2.9", "10.0.0.1", 6, 80)), 20);

    assert_int_equal(go_to_file_and("10 permit tcp from any to any port 443\n30 deny ip\n"),
                     -EINVAL);
    assert_non_null(strstr(text_str(&why), ":2: rule 30 appears twice"));

    // several: built aside
    assert_int_equal(go_to_file_and("11 permit tcp from any to any port 443\n12 deny tcp\n"), 0);
    assert_ptr_not_equal(content("edge"), before);
    assert_int_equal(pass("edge", key("10.0.0.9", "10.0.0.1", 17, 80)), 30);
    assert_int_equal(pass("edge", key("10.0.0.9", "10.0.0.1", 6, 80)), 12);
    assert_int_equal(packets("edge", 20), 1);
    const struct acl_build *b = acl_active_list_find("edge")->build;
    assert_int_equal(acl_build_more(b, acl_slot_of(b->content->rules, 30))->extra,
                     ACL_LOG);

    before = content("edge");
    write_file(file, "20 deny ip from set bad\n40 permit udp from 10.0.0.0/8\n");
    assert_int_equal(
        go_to_file_and("11 permit tcp from any to any port 443\n12 deny tcp\n13 permit 89\n"), 0);
    assert_int_equal(pass("edge", key("10.0.0.9", "10.0.0.1", 17, 80)), 40);
}

static uint32_t seen_at(uint32_t number)
{
    struct acl_build *b = acl_active_list_find("edge")->build;

    return acl_build_last_hit(b, number ? acl_slot_of(b->content->rules, number)
                                        : ACL_MISS)
        ->at_s;
}

emptied_test(last_hit_is_when_a_counter_was_found_changed)
{
    start();
    struct acl_build *b = acl_active_list_find("edge")->build;
    acl_build_sample_hits(b, 0, 10, 100);
    assert_int_equal(seen_at(10), 0);
    pass("edge", key("10.0.0.1", "10.0.0.2", 6, 443));
    acl_build_sample_hits(b, 0, 10, 101);
    acl_build_sample_hits(b, 0, 10, 102);
    assert_int_equal(seen_at(10), 101);
    assert_int_equal(seen_at(30), 0);
    pass("edge", key("10.0.0.1", "10.0.0.2", 17, 1));
    pass("edge", key("11.0.0.1", "10.0.0.2", 17, 1)); // no rule
    acl_build_sample_hits(b, 0, 1, 103);              // not that far
    assert_int_equal(seen_at(30), 0);
    assert_int_equal(seen_at(0), 103);
    acl_build_sample_hits(b, 1, 10, 104);
    assert_int_equal(seen_at(30), 104);

    struct acl_desired *w = wanted_new(); // another content: unchanged rules keep the last hit
    want_set(w, "bad", "192.0.2.0/24\n", "");
    want_list(w, "edge", "10 permit tcp from any to any port 443\n30 permit tcp\n40 deny tcp\n",
              "");
    assert_int_equal(go_to(w, true), 0);
    b = acl_active_list_find("edge")->build;
    acl_build_sample_hits(b, 0, 10, 110);
    assert_int_equal(seen_at(10), 101);
    assert_int_equal(seen_at(30), 0); // a different rule with this number
    acl_build_clear(b);
    acl_build_sample_hits(b, 0, 10, 111);
    assert_int_equal(seen_at(10), 0);
}

// Options of few rules are released with the rule, in place or with its list.
emptied_test(meters_sessions_and_redirects_go_with_their_rules)
{
    static const char with[] =
        "10 permit ip from 10.0.0.0/8\n20 permit udp police 100 mirror ids redirect to 192.0.2.9\n",
                      without[] = "10 permit ip from 10.0.0.0/8\n";
    struct ip_addr to[ACL_REDIRECT_MAX];

    for (unsigned i = 0; i < 3 * ACL_METER_MAX; i++) {
        struct acl_desired *w = wanted_new();

        strcpy(vec_push(&w->mirror)->name, "ids");
        want_list(w, "edge", i % 2 ? without : with, "");
        if (go_to(w, true))
            fail_msg("%u: %s", i, text_str(&why));
        assert_int_equal(acl_redirect_all(to), i % 2 ? 0 : 1);
    }
    struct acl_desired *w = wanted_new();
    want_list(w, "edge", with, "");
    assert_int_equal(go_to(w, true), -EINVAL);
    assert_non_null(strstr(text_str(&why), "there is no mirror-session 'ids'"));
}

// Lists grow and shrink at random, one or many rules at a time, some reverted: always in agreement
// with the oracle.
emptied_test(random_changes_agree_with_the_oracle)
{
    unsigned seed = 7;

    for (unsigned round = 0; round < 150; round++) {
        struct acl_desired *w = wanted_new();
        struct text rules = {0};
        bool stays = rand_r(&seed) % 4;

        // mostly all of them: few differ from round to round
        for (unsigned n = 1; n <= 40; n++)
            if (rand_r(&seed) % (round % 3 ? 20 : 2))
                text_printf(&rules, "%u %s %s from %u.0.0.0/%u to any%s\n", n,
                            n % 3 ? "permit" : "deny", n % 2 ? "tcp" : "udp", n % 7 + 1,
                            n % 5 ? 8u : 7u, n % 4 ? "" : " port 80");
        want_list(w, "edge", text_str(&rules), "");
        text_free(&rules);
        acl_desired_get(w);
        struct acl_desired *was = acl_desired_get(acl_active.wanted);
        assert_int_equal(go_to(w, stays), 0);
        const struct acl_desired_list *l = acl_desired_list_find(stays ? w : was, "edge");
        for (unsigned i = 0; l && i < 50; i++) {
            char src[20];
            snprintf(src, sizeof src, "%u.0.0.%u", rand_r(&seed) % 9, i);
            struct acl_key4 k =
                key(src, "10.0.0.1", rand_r(&seed) % 2 ? 6 : 17, rand_r(&seed) % 2 ? 80 : 81);
            uint32_t wants = 0;
            for (size_t j = 0; j < l->rules.rule.n && !wants; j++)
                if (acl_rule_matches4(&l->rules.rule.item[j], &k, NULL))
                    wants = l->rules.rule.item[j].number;
            assert_int_equal(pass("edge", k), wants);
        }
        acl_desired_put(w);
        acl_desired_put(was);
    }
}

unit_test(damaged_files_are_refused_or_say_what_they_say)
{
    static const char sample[] =
        "number,action,protocol,from,from-port,to,to-port,options\n"
        "10 permit tcp from set a port 1-5 to 2001:db8::/32 port https established tcp-flags "
        "syn,!ack dscp ef log every 3 "
        "police 100 burst 7 class 3 remark-dscp 9 description \"x \\\" y\"\n"
        "20,deny,icmp6,,,,,icmp-type 3/4 "
        "any-fragment\n192.0.2.0/24 # c\n::/0\n";
    unsigned seed = 3;
    uint8_t data[sizeof sample];

    for (unsigned i = 0; i < 20000; i++) {
        memcpy(data, sample, sizeof data);
        for (unsigned n = rand_r(&seed) % 6; n; n--)
            data[rand_r(&seed) % (sizeof data - 1)] =
                rand_r(&seed) % 3 ? (uint8_t)sample[rand_r(&seed) % (sizeof data - 1)]
                                  : (uint8_t)rand_r(&seed);
        size_t from = rand_r(&seed) % 2 ? 0 : rand_r(&seed) % (sizeof data - 1);
        LLVMFuzzerTestOneInput(data + from, sizeof data - 1 - from);
    }
}

// --- frame ---------------------------------------------------------------------------------------

int unit_begin(void **state)
{
    rcu_init();
    thread_adopt(ROLE_ACL_MANAGER, THREAD_SLOT_ACL_MANAGER);
    rcu_thread_register();
    rcu_offline();
    if (counter_init() || acl_table_init() || !mkdtemp(path))
        return -1;
    snprintf(file, sizeof file, "%s/rules", path);
    snprintf(gz, sizeof gz, "%s/set.gz", path);
    acl_active.wanted = acl_desired_new();
    return 0;
}

int unit_end(void **state)
{
    unlink(text_file(""));
    unlink(file);
    unlink(gz);
    rmdir(path);
    text_free(&why);
    acl_desired_put(acl_active.wanted);
    vec_free(&acl_active.list);
    vec_free(&acl_active.set);
    acl_table_fini();
    rcu_thread_unregister();
    rcu_fini();
    return 0;
}
