// SPDX-License-Identifier: BSD-3-Clause
// commit_bench.c - time of a commit of one line, next to so many rules of an access list
//
//     commit_bench [RULES [COMMITS [rule]]]     a setting per commit, or with "rule" a rule;
//     revisions
//     go to a directory in $TMPDIR
//
// Real configuration code on fake managers: the result is the time for copying, checking,
// comparing, printing and storing, in microseconds, on any thread (core/aside.h). Freeing memory
// after a commit is not included.
#include <event2/event.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/aside.h"
#include "core/thread.h"
#include "config/change.h"
#include "config/config.h"
#include "config/config_confirm.h"
#include "config/config_edit.h"
#include "fake/fake_managers.h"
#include "yang/yang.h"

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void commit(const char *lines)
{
    const struct commit how = {.by = "bench"};
    struct config_result result = {0};
    struct errors e = {0};
    struct text t = {0};
    struct lyd_node *tree;
    int r = config_edited(config_running(), &(struct config_edit){.text = lines}, &tree, &e);

    r = r ? r : config_commit(tree, &how, &result, &e);
    config_result_free(&result);
    if (!r)
        return;
    errors_text(&e, NULL, &t);
    fprintf(stderr, "commit_bench: refused: %s\n", text_str(&t));
    exit(1);
}

static void load_rules(unsigned n)
{
    struct text t = {0};

    text_printf(&t, "set port p0 devargs net_null0\nset address-set s prefix 192.0.2.0/24\nset acl "
                    "edge default permit\n");
    for (unsigned i = 0; i < n; i++)
        text_printf(&t, "set acl edge rule %u permit tcp from 10.%u.%u.0/24 to %s port %u\n",
                    10 * (i + 1), i >> 8 & 255, i & 255, i % 16 ? "any" : "set s", 1 + i % 60000);
    uint64_t since = clock_now_ns();
    commit(t.s);
    printf("%u rules at once: %.0f us\n", n, (double)(clock_now_ns() - since) / 1e3);
    text_free(&t);
}

int main(int argc, char **argv)
{
    unsigned rules = argc > 1 ? (unsigned)atoi(argv[1]) : 10000,
             n = argc > 2 ? (unsigned)atoi(argv[2]) : 21;
    bool of_rule = argc > 3 && !strcmp(argv[3], "rule");
    char dir[] = "/tmp/commit-bench-XXXXXX", err[256], line[128], file[64];
    uint64_t *took = calloc(n + 1, sizeof *took);
    struct event_base *loop = event_base_new();

    log_set_level(LOG_LEVEL_WARNING);
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    if (!took || !loop || !mkdtemp(dir) || yang_load(err, sizeof err))
        return 1;
    snprintf(file, sizeof file, "%s/file", dir);
    fake_reset();
    config_init(file, dir);
    confirm_init(loop);
    if (aside_start(loop))
        return 1;
    load_rules(rules);
    for (unsigned i = 0; i < n; i++) {
        if (of_rule)
            snprintf(line, sizeof line, "set acl edge rule %u deny udp to any port %u",
                     10 * (1 + i % (rules ? rules : 1)) + 1, 1 + i);
        else
            snprintf(line, sizeof line, "set port p0 mtu %u", 1500 + i % 8000);
        uint64_t since = clock_now_ns();
        commit(line);
        took[i] = (clock_now_ns() - since) / 1000;
    }
    qsort(took, n, sizeof *took, by_number);
    printf("%u commits of one %s: median %lu us, 90 %% %lu, most %lu\n", n,
           of_rule ? "rule" : "setting", (unsigned long)took[n / 2],
           (unsigned long)took[n * 9 / 10], (unsigned long)took[n - 1]);
    aside_stop();
    config_fini();
    yang_unload();
    event_base_free(loop);
    snprintf(line, sizeof line, "rm -r %s", dir);
    free(took);
    return system(line);
}
