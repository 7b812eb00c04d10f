// SPDX-License-Identifier: BSD-3-Clause
// acl_file_fuzz.c - libFuzzer harness of files of rules and sets
//
// Any file is either refused with a line number, or yields rules that stay the same when printed
// and parsed again.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "acl_manager/acl_file.h"
#include "base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_file(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "w");

    bug_on(!f);
    fwrite(text, 1, n, f);
    fclose(f);
}

static int text_rules(const char *suffix, const char *text, size_t n, struct acl_lines *l,
                      char *why, size_t why_size)
{
    char path[64];

    snprintf(path, sizeof path, "/tmp/acl-file-fuzz-%d%s", getpid(), suffix);
    write_file(path, text, n);
    int r = acl_file_rules(path, l, why, why_size);
    bug_on(r && strncmp(why, path, strlen(path)));
    unlink(path);
    return r;
}

static void same_again(const struct acl_lines *l, size_t i)
{
    const struct acl_more *more = acl_lines_more(l, i);
    struct acl_lines again = {0};
    struct text t = {0};
    char why[300] = "";

    memcpy(again.set, l->set, sizeof again.set);
    again.n_sets = l->n_sets;
    acl_line_format(&l->rule.item[i], l->how.item[i].verb, more, l->set, &t);
    bug_on(text_rules(".printed", t.s, t.n, &again, why, sizeof why));
    bug_on(again.rule.n != 1 || again.n_sets != l->n_sets ||
           again.how.item[0].verb != l->how.item[i].verb);
    bug_on(!acl_rule_equal(&again.rule.item[0], &l->rule.item[i]));
    acl_lines_free(&again);
    text_free(&t);
}

static void rules(const char *suffix, const char *text, size_t n)
{
    struct acl_lines l = {0};
    char why[300] = "";
    size_t at;

    int r = text_rules(suffix, text, n, &l, why, sizeof why);
    bug_on(!r != !why[0]);
    bug_on(l.rule.n != l.how.n);
    for (size_t i = 0; i < l.rule.n; i++)
        same_again(&l, i);
    acl_lines_sort(&l, &at);
    acl_lines_free(&l);
}

static void members(const char *text, size_t n)
{
    struct acl_members m = {0};
    char why[300] = "", path[64];

    snprintf(path, sizeof path, "/tmp/acl-file-fuzz-%d", getpid());
    write_file(path, text, n);
    bug_on(!acl_file_members(path, &m, why, sizeof why) != !why[0]);
    unlink(path);
    acl_members_sort(&m);
    for (size_t i = 1; i < m.item.n; i++)
        bug_on(prefix_compare(&m.item.item[i - 1], &m.item.item[i]) >= 0);
    vec_free(&m.item);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    rules("", text, size);
    rules(".csv", text, size);
    members(text, size);
    return 0;
}
