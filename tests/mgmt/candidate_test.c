// SPDX-License-Identifier: BSD-3-Clause
// candidate_test.c - concurrent edits lose no change; predicted effects of a change
#include <stdint.h>
#include <errno.h>
#include <ftw.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "config/candidate.h"
#include "config/config_rebase.h"
#include "config/host.h"
#include "fake/fake_managers.h"
#include "model/model.h"
#include "yang/config_tree.h"
#include "tests/unit.h"

static struct errors said;
static struct config_result result;
static const struct commit alice = {.by = "alice"}, bob = {.by = "bob"};

#define BASE                                                                                       \
    "set port p0 devargs net_null0\nset port p0 mtu 2000\nset port p1 devargs net_null1\n"        \
    "set vport v1 port p0\nset vport v1 vlan 1\n"

#define RANDOM 123456u
static uint64_t first_id; // of the first session in all tests
ssize_t __real_getrandom(void *bytes, size_t n, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t n, unsigned flags);

ssize_t __wrap_getrandom(void *bytes, size_t n, unsigned flags)
{
    static const uint32_t random = RANDOM;

    if (first_id || n != sizeof random)
        return __real_getrandom(bytes, n, flags);
    memcpy(bytes, &random, sizeof random);
    return sizeof random;
}

static struct candidate *open_as(const char *by)
{
    char err[200];
    struct candidate *c = candidate_open(by, "", err, sizeof err);

    assert_non_null(c);
    return c;
}

static int edit(struct candidate *c, const char *lines)
{
    errors_free(&said);
    return candidate_edit(c, &(struct config_edit){.text = lines}, &said);
}

static int commit(struct candidate *c, const struct commit *how)
{
    errors_free(&said);
    config_result_free(&result);
    return candidate_commit(c, how, &result, &said);
}

static void assert_prints(const struct lyd_node *tree, const char *wanted)
{
    struct text t = {0};

    config_print(tree, &t);
    assert_string_equal(text_str(&t), wanted);
    text_free(&t);
}

static int begin(void **state)
{
    struct candidate *c;

    fake_reset();
    config_init("/nonexistent", NULL);
    c = open_as("test");
    first_id = first_id ? first_id : candidate_id(c);
    assert_int_equal(edit(c, BASE), 0);
    assert_int_equal(commit(c, &alice), 0);
    candidate_close(c);
    return 0;
}

static int end(void **state)
{
    candidates_end();
    config_fini();
    errors_free(&said);
    config_result_free(&result);
    return 0;
}

#define candidate_test(name) unit_test_of(name, begin, end)

candidate_test(edits_take_effect_when_committed_and_bad_ones_change_nothing)
{
    struct candidate *c = open_as("alice");

    assert_int_equal(edit(c, "set port p0 mtu 3000\nset port p0 mut 7\n"), -EINVAL);
    assert_prints(candidate_snapshot(c)->tree, BASE);
    assert_int_equal(edit(c, "set port p0 mtu 3000\n"), 0);
    assert_prints(config_running(), BASE);
    assert_int_equal(commit(c, &(struct commit){.by = "alice", .check_only = true}), 0);
    assert_string_equal(text_str(&result.change), "set port p0 mtu 3000\n");
    assert_prints(config_running(), BASE);
    assert_int_equal(commit(c, &alice), 0);
    assert_int_equal(model_find_port(config_model(), "p0")->config.mtu, 3000);
}

candidate_test(changes_of_two_editors_are_added)
{
    struct candidate *a = open_as("alice"), *b = open_as("bob");

    assert_int_equal(edit(a, "set port p0 mtu 3000\ndelete vport v1\n"), 0);
    assert_int_equal(edit(b, "set port p1 mtu 4000\nset port p0 promiscuous false\n"), 0);
    assert_int_equal(commit(b, &bob), 0);
    assert_int_equal(commit(a, &alice), 0);
    assert_string_equal(text_str(&result.change), "set port p0 mtu 3000\ndelete vport v1\n");
    assert_non_null(strstr(result.notes.item[0].sentence, "others have committed since you began"));
    assert_prints(
        config_running(),
        "set port p0 devargs net_null0\nset port p0 mtu 3000\nset port p0 promiscuous false\n"
        "set port p1 devargs net_null1\nset port p1 mtu 4000\n");
}

// Bob commits his lines, then alice's are refused with this sentence, and after an update hers win.
static void assert_collision(const char *hers, const char *his, const char *sentence,
                             const char *after_update)
{
    struct candidate *a = open_as("alice"), *b = open_as("bob");
    struct errors notes = {0};
    struct text before = {0}, after = {0};

    assert_int_equal(edit(a, hers), 0);
    assert_int_equal(edit(b, his), 0);
    assert_int_equal(commit(b, &bob), 0);
    config_print(config_running(), &before);
    assert_int_equal(commit(a, &alice), -EAGAIN);
    assert_string_equal(said.item[0].sentence, sentence);
    assert_non_null(strstr(said.item[said.n - 1].sentence, "'update' to merge"));
    config_print(config_running(), &after);
    assert_string_equal(text_str(&after), text_str(&before));
    candidate_update(a, &notes);
    assert_string_equal(notes.item[0].sentence, sentence);
    assert_prints(candidate_snapshot(a)->tree, after_update);
    errors_free(&notes);
    text_free(&before);
    text_free(&after);
}

candidate_test(the_same_value_changed_in_two_ways_is_refused_and_named)
{
    assert_collision("set port p0 mtu 3000\n", "set port p0 mtu 4000\nset port p1 mtu 5000\n",
                     "you set port p0 mtu 3000, but meanwhile someone else set port p0 mtu 4000",
                     "set port p0 devargs net_null0\nset port p0 mtu 3000\nset port p1 devargs "
                     "net_null1\nset port p1 mtu 5000\n"
                     "set vport v1 port p0\nset vport v1 vlan 1\n");
}

candidate_test(a_change_of_what_another_took_away_is_refused_and_named)
{
    assert_collision("set vport v1 mtu 1400\n", "delete vport v1\n",
                     "you set vport v1 mtu 1400, but meanwhile someone else deleted vport v1",
                     "set port p0 devargs net_null0\nset port p0 mtu 2000\nset port p1 devargs "
                     "net_null1\nset vport v1 mtu 1400\n");
}

candidate_test(taking_away_what_another_changed_is_refused_and_named)
{
    assert_collision(
        "delete vport v1\n", "set vport v1 mtu 1400\n",
        "you deleted vport v1, but meanwhile someone else set vport v1 mtu 1400",
        "set port p0 devargs net_null0\nset port p0 mtu 2000\nset port p1 devargs net_null1\n");
}

candidate_test(the_same_change_by_two_is_no_collision)
{
    struct candidate *a = open_as("alice"), *b = open_as("bob");

    assert_int_equal(edit(a, "delete vport v1\nset port p0 mtu 3000\n"), 0);
    assert_int_equal(edit(b, "delete vport v1\nset port p0 mtu 3000\n"), 0);
    assert_int_equal(commit(b, &bob), 0);
    assert_int_equal(commit(a, &alice), 0);
    assert_int_equal(result.n_changes, 0);
}

// BASE with three of these changes.
static struct lyd_node *random_edit(void)
{
    static const char *const change[] = {"set port p0 mtu 3000\n",
                                         "set port p0 mtu 4000\n",
                                         "delete port p0 mtu\n",
                                         "set port p1 mtu 3000\n",
                                         "delete vport v1\n",
                                         "set vport v1 mtu 1400\n",
                                         "set vport v2 port p1 vlan 3\n",
                                         "set vport v2 port p1 vlan 4\n",
                                         "set vr red table 7\n",
                                         "set interface p1 vr red\n",
                                         "set thread 1 forwarder port p0 rx-queue 0\n",
                                         "set thread 1 forwarder port p0 rx-queue 1\n"};
    struct lyd_node *tree = NULL;
    struct errors e = {0};

    config_read_text(&tree, BASE, &e);
    for (int i = 0; i < 3; i++)
        config_read_text(&tree, change[(unsigned)rand() % (sizeof change / sizeof *change)], &e);
    errors_free(&e); // a deleted node cannot be deleted again
    return tree;
}

candidate_test(it_does_not_matter_who_commits_first)
{
    unsigned collided = 0;

    srand(5);
    for (int i = 0; i < 500; i++) {
        struct lyd_node *mine = random_edit(), *theirs = random_edit();
        struct errors a = {0}, b = {0};
        struct text x = {0}, y = {0};
        struct lyd_node *first = config_rebase(config_running(), mine, theirs, &a),
                        *second = config_rebase(config_running(), theirs, mine, &b);

        config_print(first, &x);
        config_print(second, &y);
        assert_int_equal(!a.n, !b.n);
        collided += !!a.n;
        if (!a.n)
            assert_string_equal(text_str(&x), text_str(&y));
        lyd_free_all(mine);
        lyd_free_all(theirs);
        lyd_free_all(first);
        lyd_free_all(second);
        errors_free(&a);
        errors_free(&b);
        text_free(&x);
        text_free(&y);
    }
    assert_in_range(collided, 50, 450);
}

static struct lyd_node *tree_of(const char *lines, const char *more)
{
    struct lyd_node *tree = NULL;
    struct errors e = {0};

    config_read_text(&tree, lines, &e);
    config_read_text(&tree, more, &e);
    if (e.n)
        fail_msg("%s: %s", more, e.item[0].sentence);
    return tree;
}

// A change without conflicts is repeated completely: in both directions.
static void assert_repeated(const struct lyd_node *from, const struct lyd_node *to)
{
    struct errors e = {0};
    struct lyd_node *got = config_rebase(from, to, from, &e);
    struct text want = {0}, is = {0};

    assert_int_equal(e.n, 0);
    config_print(to, &want);
    config_print(got, &is);
    assert_string_equal(text_str(&is), text_str(&want));
    text_free(&want);
    text_free(&is);
    lyd_free_all(got);
}

candidate_test(a_change_alone_is_repeated_whole_in_each_form_of_a_line)
{
    static const char *const base = BASE "set policer a cir 1M\n",
                             *const change[] = {
                                 "set port p0 mtu 3000\n",
                                 "set vport v2 port p1 vlan 3\n",
                                 "set vr red table 7\n",
                                 "set policer a exceed drop\n", // a value without its name
                                 "set policer a exceed remark-dscp 10\n",
                                 "set policer b cir 2M\nset policer b exceed drop\n",
                                 "set acl x rule 10 permit udp\n",
                                 "set acl x rule 10 permit tcp to 192.0.2.1 police 1000\n",
                                 "set thread 1 forwarder port p0 rx-queue 0\n",
                                 "set counters nexthop true\n",
                             };

    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        struct lyd_node *from = tree_of(base, ""), *to = tree_of(base, change[i]);
        assert_repeated(from, to);
        assert_repeated(to, from);
        lyd_free_all(from);
        lyd_free_all(to);
    }
}

// A shell that outlives a daemon must not find another session under its own number.
candidate_test(numbers_of_sessions_begin_anywhere)
{
    uint64_t id = candidate_id(open_as("alice"));

    assert_int_equal(first_id, RANDOM + 1);
    assert_true(id > first_id);
    assert_int_equal(candidate_id(open_as("bob")), id + 1);
}

candidate_test(sessions_are_bounded_and_those_with_changes_stay)
{
    struct candidate *c = open_as("alice");
    uint64_t id = candidate_id(c);
    struct candidate_state s;
    char err[200];
    unsigned n = 0;

    assert_int_equal(edit(c, "set port p0 mtu 3000\n"), 0);
    for (int i = 0; i < 3 * CANDIDATES_MAX; i++)
        assert_non_null(candidate_open("bob", "", err, sizeof err));
    while (candidate_at(n, &s))
        n++;
    assert_int_equal(n, CANDIDATES_MAX);
    assert_ptr_equal(candidate_find(id, ""), c);
    for (unsigned i = 0; candidate_at(i, &s); i++)
        assert_int_equal(edit(candidate_find(s.id, ""), "set port p1 mtu 4000\n"), 0);
    assert_null(candidate_open("carol", "", err, sizeof err));
    assert_non_null(strstr(err, "32 sessions with uncommitted changes are open"));
    assert_null(candidate_find(99999, ""));
}

candidate_test(json_and_the_text_of_another_configuration_can_be_added_or_take_its_place)
{
    struct candidate *c = open_as("alice");
    struct errors e = {0};

    assert_int_equal(
        candidate_edit(
            c,
            &(struct config_edit){.json = true,
                                  .text = "{\"kamuee:port\":[{\"name\":\"p1\",\"mtu\":7000}]}"},
            &e),
        0);
    assert_int_equal(
        candidate_edit(c,
                       &(struct config_edit){
                           .json = true, .text = "{\"kamuee:port\":[{\"name\":\"p1\",\"mtu\":1}]}"},
                       &e),
        -EINVAL);
    assert_string_equal(e.item[0].sentence,
                        "port p1: 'mtu' is '1', expected 68..9600 (bytes)");
    assert_prints(candidate_snapshot(c)->tree,
                  "set port p0 devargs net_null0\nset port p0 mtu 2000\nset port p1 devargs "
                  "net_null1\nset port p1 mtu 7000\n"
                  "set vport v1 port p0\nset vport v1 vlan 1\n");
    assert_int_equal(
        candidate_edit(
            c, &(struct config_edit){.replace = true, .text = "set port p9 devargs net_null9\n"},
            &said),
        0);
    assert_prints(candidate_snapshot(c)->tree, "set port p9 devargs net_null9\n");
    assert_int_equal(candidate_edit(c, &(struct config_edit){.revision = "0"}, &said), 0);
    assert_prints(candidate_snapshot(c)->tree, BASE);
    errors_free(&e);
    assert_int_equal(candidate_edit(c, &(struct config_edit){.revision = "7"}, &e), -ENOENT);
    assert_string_equal(e.item[0].sentence,
                        "there is no revision 7, expected 0 to 0 ('show configuration revisions')");
    errors_free(&e);
}

candidate_test(what_a_change_will_do_is_told_before_and_after)
{
    static const char lines[] =
        "set port p0 rx-queues 2 mtu 3000 rx-descriptors 64\nset vport v1 vlan 9\nset memory 512\n"
        "set port p7 devargs net_null7 rx-queues 4\nset log-level debug\n";
    struct candidate *c = open_as("alice");

    assert_int_equal(edit(c, lines), 0);
    for (int checked = 1; checked >= 0; checked--) {
        assert_int_equal(commit(c, &(struct commit){.by = "alice", .check_only = checked}), 0);
        assert_int_equal(result.notes.n, 3);
        assert_string_equal(result.notes.item[0].sentence,
                            "'memory' takes effect when kamueed is restarted");
        assert_string_equal(result.notes.item[1].sentence,
                            "restarts port p0: rx-queues, rx-descriptors");
        assert_string_equal(result.notes.item[2].sentence, "restarts vport v1: vlan");
    }
}

static char machine[] = "/tmp/candidate-test-XXXXXX";

// Writes a file below `machine`, and makes its directories.
static void put(const char *path, const char *text)
{
    char full[200];

    snprintf(full, sizeof full, "%s%s", machine, path);
    for (char *slash = strchr(full + sizeof machine, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *f = fopen(full, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
    return remove(path);
}

static void make_machine(void)
{
    assert_non_null(mkdtemp(machine));
    put("/sys/devices/system/cpu/online", "0-3,6\n");
    put("/sys/bus/pci/devices/0000:3b:00.1/vendor", "0x15b3\n");
    put("/run/netns/blue", "");
    put("/proc/meminfo", "MemTotal:        8008716 kB\nMemAvailable:    4008716 kB\n");
    host_set_root(machine);
}

candidate_test(what_the_machine_lacks_is_refused_before_anything_happens)
{
    struct candidate *c = open_as("alice");

    make_machine();
    text_clear(&fake_calls);
    assert_int_equal(
        edit(c,
             "set memory 100000\nset thread 9 forwarder port p0 rx-queue 0\nset thread 3 forwarder "
             "port p1 rx-queue 0\n"
             "set port p2 devargs 0000:af:00.0\nset port p3 devargs 0000:3b:00.1 namespace blue\n"
             "set vr red namespace red\n"),
        0);
    assert_int_equal(commit(c, &(struct commit){.by = "alice", .check_only = true}), -EINVAL);
    assert_int_equal(said.n, 4);
    assert_string_equal(said.item[0].sentence,
                        "'memory' is '100000', expected at most 7821 (MiB), the host's memory");
    assert_string_equal(
        said.item[1].sentence,
        "vr red: there is no network namespace 'red', expected one of 'ip netns list'");
    assert_string_equal(said.item[2].sentence,
                        "port p2: there is no PCI device 0000:af:00.0, expected one of 'lspci -D'");
    assert_string_equal(said.item[3].sentence,
                        "thread 9: core 9 does not exist or is offline, expected one of 0-3,6");
    assert_int_equal(commit(c, &alice), -EINVAL);
    assert_string_equal(text_str(&fake_calls), "");
    host_set_root(NULL);
    assert_int_equal(commit(c, &alice), 0); // resources that exist already do not block others
    host_set_root(machine);
    assert_int_equal(edit(c, "set port p0 mtu 3000\n"), 0);
    assert_int_equal(commit(c, &alice), 0);
    assert_int_equal(nftw(machine, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}
