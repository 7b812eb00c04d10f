// SPDX-License-Identifier: BSD-3-Clause
// commit_test.c - a commit is all or nothing, on disk too: every step of it fails once, and dies
// once
//
// The linker redirects this program's system calls on files to the __wrap functions below, and the
// fake managers call `step` before each call. So a test can make the n-th step fail, like a full
// disk, or be the last one of the process, like kill -9.
#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libyang/libyang.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/file.h"
#include "config/change.h"
#include "config/config.h"
#include "model/model.h"
#include "config/config_confirm.h"
#include "config/config_edit.h"
#include "fake/fake_config.h"
#include "fake/fake_managers.h"
#include "config/revision.h"
#include "core/thread.h"
#include "yang/config_tree.h"
#include "yang/yang.h"
#include "tests/unit.h"

// --- steps --------------------------------------------------------------------------------------

static int fail_at, die_at; // the n-th step from now, 0 = none
static bool failed;

static void step(void)
{
    if (die_at && !--die_at)
        kill(getpid(), SIGKILL);
}

// Should this system call fail?
static bool fails(void)
{
    step();
    if (!fail_at || --fail_at)
        return false;
    failed = true;
    errno = ENOSPC;
    return true;
}

static time_t clock_back_s; // the wall clock was set back by so much

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int r = __real_clock_gettime(clock, t);

    if (clock == CLOCK_REALTIME)
        t->tv_sec -= clock_back_s;
    return r;
}

int __real_open(const char *path, int flags, ...);
int __real_open64(const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *p, size_t n);
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
ssize_t __wrap_write(int fd, const void *p, size_t n);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);

int __wrap_open(const char *path, int flags, ...)
{
    return fails() ? -1 : __real_open(path, flags, 0640);
}

int __wrap_open64(const char *path, int flags, ...)
{
    return fails() ? -1 : __real_open64(path, flags, 0640);
}

// A disk that fills up accepts a part first.
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    return n > 100 ? __real_write(fd, p, 100) : fails() ? -1 : __real_write(fd, p, n);
}

int __wrap_fsync(int fd)
{
    return fails() ? -1 : __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
    return fails() ? -1 : __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
    return fails() ? -1 : __real_unlink(path);
}

// --- a router -----------------------------------------------------------------------------------

static char dir[] = "/tmp/commit-test-XXXXXX", state_dir[64], file[64];
static struct event_base *loop;

static unsigned revision_count(void)
{
    unsigned n = 0;

    while (revision_at(n))
        n++;
    return n;
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "we");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void each_revision_file(void (*fn)(const char *path))
{
    DIR *d = opendir(state_dir);
    char path[400];

    for (struct dirent *entry; d && (entry = readdir(d));)
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", state_dir, entry->d_name);
            fn(path);
        }
    if (d)
        closedir(d);
}

static void remove_file(const char *path)
{
    assert_int_equal(__real_unlink(path), 0);
}

static void stop(void)
{
    config_fini();
}

// Starts like a new process: with fresh managers and the files on disk.
static int start_with(struct lyd_node *tree, struct errors *e)
{
    struct model *m = config_model_of(&tree, e);

    return config_start(tree, m, e);
}

static void start(void)
{
    struct lyd_node *tree;
    struct errors e = {0};
    struct text source = {0};

    fake_reset();
    fake_step = step;
    config_init(file, state_dir);
    assert_int_equal(config_read_start(false, false, &tree, &e, &source), 0);
    confirm_init(loop);
    assert_int_equal(start_with(tree, &e), 0);
    text_free(&source);
}

static void start_anew(const char *config)
{
    stop();
    each_revision_file(remove_file);
    write_file(config);
    start();
}

static struct errors said;
static bool file_noted; // by the last commit

// Commits the lines on top of the running configuration.
static int commit_lines(const char *lines, const struct commit *how)
{
    struct config_result result = {0};
    struct lyd_node *tree;

    errors_free(&said);
    int r = config_edited(config_running(), &(struct config_edit){.text = lines}, &tree, &said);
    assert_int_equal(r, 0);
    r = config_commit(tree, how, &result, &said);
    file_noted = false;
    for (unsigned i = 0; i < result.notes.n; i++)
        file_noted |=
            strstr(result.notes.item[i].sentence, "was changed since it was last read") != NULL;
    config_result_free(&result);
    return r;
}

static const struct commit at_once = {.by = "alice", .comment = "because"};

// The running configuration, and the state of the managers; the caller frees it.
static char *now(void)
{
    struct text t = {0};

    config_print(config_running(), &t);
    text_printf(&t, "--\n");
    fake_state(&t);
    return t.s;
}

static void assert_now(const char *wanted)
{
    char *is = now();

    assert_string_equal(is, wanted);
    free(is);
}

#define A                                                                                          \
    "set port p0 devargs net_null0\nset port p0 mtu 2000\nset vport v1 port p0\nset vport v1 "     \
    "vlan 1\n"
#define B                                                                                          \
    "set port p0 mtu 3000\nset port p1 devargs net_null1\nset vport v2 port p1 vlan 2\ndelete "    \
    "vport v1\nset interface p1 urpf ipv4 loose\n"
#define C "set port p0 promiscuous false\n"

static void count_file(const char *path)
{
    failed = failed || strstr(path, ".new"); // no temporary file is left
}

// --- tests --------------------------------------------------------------------------------------

unit_test(what_was_committed_is_there_after_a_restart_until_the_file_is_changed)
{
    start_anew(A);
    assert_int_equal(commit_lines(C, &at_once), 0);
    char *committed = now();
    stop();
    start();
    assert_now(committed);
    assert_int_equal(revision_count(), 2);
    assert_string_equal(config_revision(0)->by, "alice");
    assert_string_equal(config_revision(0)->comment, "because");
    assert_int_equal(config_revision(0)->n_changes, 1);
    assert_string_equal(config_revision(1)->by, file);
    stop();
    write_file("set port p7 devargs net_null7\n");
    start();
    assert_non_null(model_find_port(config_model(), "p7"));
    assert_int_equal(revision_count(), 3);
    struct config_result result = {0};
    struct lyd_node *tree;
    assert_int_equal(
        config_edited(config_running(), &(struct config_edit){.revision = "1"}, &tree, &said),
        0); // nothing is lost
    assert_int_equal(config_commit(tree, &at_once, &result, &said), 0);
    config_result_free(&result);
    assert_now(committed);
    free(committed);
}

unit_test(an_unconfirmed_commit_is_not_what_a_restart_begins_with)
{
    start_anew(A);
    char *before = now();
    assert_int_equal(commit_lines(C, &(struct commit){.by = "alice", .confirm_s = 600}), 0);
    stop();
    start();
    assert_now(before);
    assert_int_equal(revision_count(), 2);
    assert_null(config_revision(1)); // "the previous one" never means it
    assert_int_equal(commit_lines(C, &(struct commit){.by = "alice", .confirm_s = 600}), 0);
    assert_int_equal(confirm_now("bob", (char[9]){0}, 9), 0);
    char *after = now();
    stop();
    start();
    assert_now(after);
    free(before);
    free(after);
}

unit_test(what_nobody_confirms_goes_back)
{
    start_anew(A);
    char *before = now();
    assert_int_equal(
        commit_lines(B, &(struct commit){.by = "alice", .session = 7, .confirm_s = 600}), 0);
    assert_int_equal(commit_lines(C, &(struct commit){.by = "bob", .confirms = true}), -EBUSY);
    assert_int_equal(commit_lines(C, &at_once), -EBUSY);
    assert_int_equal(
        commit_lines(
            C, &(struct commit){.by = "alice", .session = 7, .confirms = true, .confirm_s = 1}),
        0);
    assert_int_equal(confirm_waiting()->revision, 3);
    while (confirm_waiting())
        event_base_loop(loop, EVLOOP_ONCE);
    assert_now(before);
    assert_int_equal(config_snapshot()->revision, 1);
    free(before);
}

unit_test(a_commit_of_the_same_session_confirms_and_of_no_other)
{
    const struct commit waits = {.by = "root", .session = 7, .confirm_s = 600},
                        mine = {.by = "root", .session = 7, .confirms = true},
                        other = {.by = "root", .session = 8, .confirms = true},
                        none = {.by = "root", .confirms = true};

    start_anew(A);
    assert_int_equal(commit_lines(B, &waits), 0);
    char *runs = now();
    for (unsigned i = 0; i < 2; i++) {
        const char *lines = i ? "" : "set port p0 mtu 4000\n";
        assert_int_equal(commit_lines(lines, &other), -EBUSY);
        assert_non_null(strstr(said.item[0].sentence,
                               "a commit by root in session 7 must be confirmed in that session"));
        assert_int_equal(commit_lines(lines, &none), -EBUSY);
    }
    assert_now(runs);
    assert_int_equal(confirm_waiting()->session, 7);
    assert_int_equal(commit_lines("", &mine), 0);
    assert_null(confirm_waiting());
    assert_true(revision_at(0)->confirmed);
    assert_int_equal(commit_lines("set port p0 mtu 4000\n", &waits), 0);
    assert_int_equal(commit_lines(C, &mine), 0);
    assert_null(confirm_waiting());
    assert_int_equal(config_snapshot()->revision, 4);
    free(runs);
}

unit_test(without_a_session_the_same_person_confirms)
{
    start_anew(A);
    assert_int_equal(
        commit_lines(B, &(struct commit){.by = "root (alice)", .session = 7, .confirm_s = 600}), 0);
    assert_false(confirm_is_of(0, "root (alice)"));
    confirm_session_ended(8);
    assert_true(confirm_is_of(7, "root (alice)"));
    confirm_session_ended(7);
    assert_true(confirm_is_of(0, "root (alice)"));
    assert_false(confirm_is_of(0, "root"));
    assert_false(confirm_is_of(7, "root (alice)"));
    assert_int_equal(commit_lines("", &(struct commit){.by = "root (bob)", .confirms = true}),
                     -EBUSY);
    assert_int_equal(commit_lines("", &(struct commit){.by = "root (alice)", .confirms = true}), 0);
    assert_null(confirm_waiting());
}

// Asserts the configuration of the revision that is so many back.
static void assert_back(const char *back, const char *config)
{
    struct text t = {0};
    struct lyd_node *tree;

    errors_free(&said);
    assert_int_equal(
        config_edited(config_running(), &(struct config_edit){.revision = back}, &tree, &said), 0);
    config_print(tree, &t);
    text_printf(&t, "--"); // as now() writes it
    assert_int_equal(strncmp(text_str(&t), config, t.n), 0);
    lyd_free_all(tree);
    text_free(&t);
}

unit_test(what_was_rolled_back_is_never_the_one_before)
{
    start_anew(A);
    char *before = now();
    assert_int_equal(
        commit_lines("set port p0 mtu 4000\n", &(struct commit){.by = "alice", .confirm_s = 1}), 0);
    assert_back("1", before);
    while (confirm_waiting())
        event_base_loop(loop, EVLOOP_ONCE);
    struct lyd_node *tree;
    assert_int_equal(
        config_edited(config_running(), &(struct config_edit){.revision = "1"}, &tree, &said),
        -ENOENT); // there is none
    assert_int_equal(commit_lines(C, &at_once), 0);
    char *after = now();
    for (unsigned i = 0; i < 2; i++) { // and after a restart
        assert_int_equal(revision_count(), 3);
        assert_true(config_was_rolled_back(revision_at(1)));
        assert_back("0", after);
        assert_back("1", before);
        assert_int_equal(
            config_edited(config_running(), &(struct config_edit){.revision = "2"}, &tree, &said),
            -ENOENT);
        assert_string_equal(revision_at(1)->first_change, "set port p0 mtu 4000");
        stop();
        start();
    }
    free(before);
    free(after);
}

// The n-th system call finds the disk full. False if there are fewer.
static bool refused_at(int n)
{
    start_anew(A);
    char *before = now();
    failed = false;
    fail_at = n;
    int r = commit_lines(B, &at_once);
    fail_at = 0;
    bool was = failed;
    if (r) {
        assert_int_equal(r, -ENOSPC);
        assert_non_null(strstr(said.item[0].sentence, "No space left on device; free disk space"));
        assert_now(before);
        stop();
        start();
        assert_now(before);
    }
    failed = false;
    each_revision_file(count_file);
    assert_false(failed);
    assert_int_equal(commit_lines(C, &at_once), 0); // there is space again
    free(before);
    return was;
}

unit_test(a_full_disk_refuses_the_commit_and_changes_nothing)
{
    int n = 1;

    while (refused_at(n))
        n++;
    assert_true(n > 5); // open, write, sync, rename, sync of the directory
}

unit_test(what_a_manager_refuses_leaves_no_revision)
{
    int n = 1;

    for (int r = -EIO; r; n++) {
        start_anew(A);
        char *before = now();
        fake_fail_at = n;
        r = commit_lines(B, &at_once);
        fake_fail_at = 0;
        assert_int_equal(revision_count(), r ? 1 : 2);
        if (r)
            assert_now(before);
        failed = false;
        each_revision_file(count_file);
        assert_false(failed);
        free(before);
    }
    assert_true(n > 5);
}

// The process dies at the n-th step. False if there are fewer.
static bool dies_at(int n, const struct commit *how, bool confirm)
{
    int status = 0;
    pid_t child = fork();

    if (!child) {
        char err[600];

        die_at = n;
        if (commit_lines(B, how) || (confirm && confirm_now("alice", err, sizeof err)))
            _exit(2);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || !WEXITSTATUS(status));
    return WIFSIGNALED(status);
}

// With `confirm` of `commit confirmed` and its confirmation.
static void die_at_each_step(bool confirm)
{
    struct commit how = {.by = "alice", .confirm_s = confirm ? 600 : 0};
    bool died = true;
    int n, old = 0, new = 0;

    start_anew(A);
    char *a = now();
    assert_int_equal(commit_lines(B, &at_once), 0);
    char *b = now();
    for (n = 1; died; n++) {
        start_anew(A);
        died = dies_at(n, &how, confirm);
        stop();
        start();
        char *is = now();
        old += !strcmp(is, a);
        new += !strcmp(is, b);
        assert_int_equal(old + new, n);
        assert_true(died || !strcmp(is, b));
        failed = false;
        each_revision_file(count_file);
        assert_false(failed);
        assert_int_equal(commit_lines(C, &at_once), 0);
        free(is);
    }
    print_message("%d steps, died at each: %d times the old configuration, %d times the new one\n",
                  n - 1, old, new);
    assert_true(old > 8 && new > 0);
    free(a);
    free(b);
}

unit_test(death_at_any_step_leaves_the_old_or_the_new_configuration)
{
    die_at_each_step(false);
    die_at_each_step(true);
}

unit_test(a_revision_that_is_cut_off_anywhere_is_left_aside)
{
    char path[REVISION_PATH_MAX];
    struct stat s;

    start_anew(A);
    char *before = now();
    assert_int_equal(commit_lines(C, &at_once), 0);
    revision_path(revision_at(0), path);
    assert_int_equal(stat(path, &s), 0);
    for (off_t n = s.st_size - 1; n >= 0; n -= 1 + n / 40) {
        assert_int_equal(truncate(path, n), 0);
        stop();
        start();
        assert_now(before);
        assert_int_equal(revision_count(), 1);
    }
    assert_int_equal(commit_lines(C, &at_once), 0);
    assert_int_equal(revision_at(0)->id, 3); // its number is not used again
    free(before);
}

unit_test(a_name_out_of_range_or_a_pipe_is_left_aside)
{
    static const char *const name[] = {"18446744073709551615.conf", "99999999999999999999999.conf",
                                       "18446744073709551614.unconfirmed"};
    char path[128];

    start_anew(A);
    char *before = now();
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/revision-%s", state_dir, name[i]);
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fputs("damaged\n", f);
        fclose(f);
    }
    snprintf(path, sizeof path, "%s/revision-81.conf", state_dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    stop();
    start(); // it does not wait for a writer
    assert_now(before);
    assert_int_equal(revision_count(), 1);
    assert_int_equal(commit_lines(C, &at_once), 0);
    assert_int_equal(revision_at(0)->id, 82);
    stop();
    start();
    assert_int_equal(revision_at(0)->id, 82);
    free(before);
}

// Writes the newest revision like an earlier kamueed with a leaf that is gone: complete, with its
// own checksum.
static void write_as_of_an_older_schema(const char *line)
{
    char path[REVISION_PATH_MAX], end[32];
    struct text t = {0}, old = {0};

    revision_path(revision_at(0), path);
    assert_int_equal(file_read(path, &t), 0);
    text_printf(&old, "%.*s%s\n", (int)(strstr(t.s, "\n# end ") + 1 - t.s), t.s, line);
    snprintf(end, sizeof end, "# end %016" PRIx64 "\n", hash_bytes(old.s, old.n, 1));
    text_append(&old, end, strlen(end));
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(old.s, 1, old.n, f), old.n);
    fclose(f);
    text_free(&t);
    text_free(&old);
}

unit_test(a_revision_of_an_older_schema_is_refused_by_name_and_others_remain)
{
    struct errors e = {0};
    struct text source = {0};
    struct lyd_node *tree;

    start_anew(A);
    assert_int_equal(commit_lines(C, &at_once), 0);
    write_as_of_an_older_schema("set port p0 color red");
    stop();
    fake_reset();
    config_init(file, state_dir);
    assert_int_equal(config_read_start(false, false, &tree, &e, &source), -EINVAL);
    assert_non_null(strstr(source.s, "revision-2.conf"));
    assert_non_null(strstr(e.item[0].sentence, "unknown word 'color'"));
    errors_free(&e);
    lyd_free_all(tree);
    assert_int_equal(config_read_start(false, true, &tree, &e, &source), 0); // --from-file
    confirm_init(loop);
    assert_int_equal(start_with(tree, &e), 0);
    assert_non_null(model_find_port(config_model(), "p0"));
    char *before = now();
    assert_int_equal(
        config_edited(config_running(), &(struct config_edit){.revision = "1"}, &tree, &e),
        -EINVAL);
    assert_now(before);
    free(before);
    errors_free(&e);
    text_free(&source);
}

static void assert_no_retired_setting(void)
{
    char *lines = now();

    assert_null(strstr(lines, "snmp"));
    assert_null(strstr(lines, "listen"));
    assert_null(strstr(lines, "access-list"));
    assert_null(strstr(lines, "program"));
    free(lines);
    assert_non_null(model_find_port(config_model(), "p0"));
}

// Otherwise a router would not start with a new version.
unit_test(retired_settings_of_a_file_are_passed_over)
{
    struct lyd_node *tree;
    struct errors e = {0};

    start_anew("set snmp agentx /run/agentx\n" A "set api listen 127.0.0.1 port 8443 tls false\n"
               "set gpu g device emulated\nset gpu g access-list l\n" // it was for lists only
               "set program b hook input file /b.o target operator\n"); // no file to be loaded
    assert_no_retired_setting();
    assert_int_equal(config_edited(config_running(),
                                   &(struct config_edit){.text = "set snmp agentx /x\n"}, &tree,
                                   &e),
                     -EINVAL);
    assert_non_null(strstr(e.item[0].sentence, "package kamuee-snmp has replaced it"));
    errors_free(&e);
}

unit_test(retired_settings_of_a_revision_are_passed_over)
{
    struct lyd_node *tree;
    struct errors e = {0};

    start_anew(A);
    assert_int_equal(commit_lines(C, &at_once), 0);
    write_as_of_an_older_schema("set web listen 127.0.0.1");
    stop();
    start();
    assert_no_retired_setting();
    // It is also possible to return to it.
    assert_int_equal(
        config_edited(config_running(), &(struct config_edit){.revision = "1"}, &tree, &e), 0);
    lyd_free_all(tree);
}

unit_test(what_acl_manager_refuses_is_not_committed)
{
    start_anew(A);
    assert_int_equal(commit_lines("set acl e rule 1 permit tcp\n", &at_once), 0);
    fake_acl_refuse("acl e: too large");
    assert_int_equal(commit_lines("set acl e rule 3 permit icmp\n", &at_once), -EINVAL);
    assert_non_null(strstr(said.item[0].sentence, "too large"));
    fake_acl_refuse(NULL);
    assert_int_equal(commit_lines("set acl e rule 3 permit icmp\n", &at_once), 0);
}

unit_test(a_clock_that_goes_back_changes_neither_the_order_nor_what_waits)
{
    start_anew(A);
    assert_int_equal(commit_lines("set port p0 mtu 3000", &at_once), 0);
    clock_back_s = 86400;
    assert_int_equal(commit_lines("set port p0 mtu 4000", &at_once), 0);
    char *last = now();
    assert_true(revision_at(0)->time_ns < revision_at(1)->time_ns);
    assert_int_equal(commit_lines(C, &(struct commit){.by = "alice", .confirm_s = 600}), 0);
    assert_in_range(confirm_waiting()->seconds, 590, 600);
    clock_back_s = 2 * 86400;
    assert_in_range(confirm_waiting()->seconds, 590, 600);
    stop();
    start();
    assert_now(last);
    clock_back_s = 0;
    free(last);
}

// Asserts that a router with nothing else gets `wanted` by reading the text.
static void assert_replays(const char *text, const char *wanted)
{
    start_anew(text);
    assert_now(wanted);
}

unit_test(the_last_fifty_are_kept_and_replay_to_the_state_they_had)
{
    char *past[70], back[12];
    struct text t = {0}, text[REVISIONS_MAX] = {{0}};
    struct lyd_node *tree;

    srand(7);
    start_anew("");
    for (int i = 0; i < 70;) {
        struct config_result result = {0};

        fake_config(&t);
        assert_int_equal(
            config_edited(NULL, &(struct config_edit){.text = text_str(&t)}, &tree, &said), 0);
        assert_int_equal(config_commit(tree, &at_once, &result, &said), 0);
        if (result.n_changes) // not equal by chance
            past[i++] = now();
        config_result_free(&result);
    }
    assert_int_equal(revision_count(), REVISIONS_MAX);
    for (int i = 0; i < REVISIONS_MAX; i++) {
        snprintf(back, sizeof back, "%d", i);
        assert_int_equal(
            config_edited(config_running(), &(struct config_edit){.revision = back}, &tree, &said),
            0);
        config_print(tree, &text[i]);
        lyd_free_all(tree);
    }
    for (int i = 0; i < REVISIONS_MAX; i++) {
        assert_replays(text_str(&text[i]), past[69 - i]);
        text_free(&text[i]);
    }
    for (int i = 0; i < 70; i++)
        free(past[i]);
    text_free(&t);
}

// `save` writes the running configuration: no note is needed. An edit of the file is noted at the
// next commit.
unit_test(a_file_that_says_what_runs_is_not_noted)
{
    struct text t = {0};

    start_anew(A);
    assert_int_equal(commit_lines("set port p0 mtu 3000", &at_once), 0);
    config_print(config_running(), &t);
    text_printf(&t, "# saved\n");
    write_file(text_str(&t));
    text_free(&t);
    assert_int_equal(commit_lines("set vport v1 vlan 2", &at_once), 0);
    assert_false(file_noted);
    write_file(A);
    assert_int_equal(commit_lines("set vport v1 vlan 3", &at_once), 0);
    assert_true(file_noted);
}

int unit_begin(void **state)
{
    char err[256];

    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    assert_non_null(mkdtemp(dir));
    snprintf(state_dir, sizeof state_dir, "%s/run/state", dir);
    snprintf(file, sizeof file, "%s/kamuee.conf", dir);
    loop = event_base_new();
    log_set_level(LOG_LEVEL_ERROR);
    return yang_load(err, sizeof err);
}

int unit_end(void **state)
{
    stop();
    errors_free(&said);
    each_revision_file(remove_file);
    rmdir(state_dir);
    *strrchr(state_dir, '/') = '\0';
    rmdir(state_dir);
    remove_file(file);
    rmdir(dir);
    event_base_free(loop);
    yang_unload();
    return 0;
}
