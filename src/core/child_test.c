// SPDX-License-Identifier: BSD-3-Clause
// child_test.c - every process is ended in time, and the reason is reported
#include <stdint.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/child.h"
#include "core/process.h"
#include "core/starter.h"
#include "tests/unit.h"

static char path[40];
static unsigned n_ended;
static struct event_base *loop;

static void count_end(struct child *c)
{
    n_ended++;
}

static struct child child = {.name = "test", .ended = count_end};

// Starts a one-line program. Waits if the line writes "x" to descriptor 3 when it is ready.
static void start(const char *line, uint32_t limit_ms)
{
    char word;
    int said[2];
    FILE *f = fopen(path, "we");

    fprintf(f, "#!/bin/sh\n%s\n", line);
    fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
    if (starter_check(path))
        skip(); // this program is owned by another user
    assert_int_equal(pipe(said), 0);
    n_ended = 0;
    assert_int_equal(child_start(&child, path, "", said[1], limit_ms), 0);
    close(said[1]);
    if (strstr(line, "echo x >&3"))
        assert_int_equal(read(said[0], &word, 1), 1);
    close(said[0]);
}

static void run_loop_until_the_end(void)
{
    while (child_runs(&child))
        event_base_loop(loop, EVLOOP_ONCE);
}

unit_test(test_the_status_is_told)
{
    start("exit 7", CHILD_NO_LIMIT);
    assert_true(child_wait(&child, 10000));
    assert_string_equal(child_how(&child), "ended with status 7");
    assert_int_equal(n_ended, 1);
    start("kill -9 $$", CHILD_NO_LIMIT);
    assert_true(child_wait(&child, 10000));
    assert_string_equal(child_how(&child), "was ended by signal 9");
    assert_true(child_wait(&child, 0)); // there is none
}

unit_test(test_who_waits_does_not_wait_longer)
{
    start("sleep 100", CHILD_NO_LIMIT);
    assert_false(child_wait(&child, 20));
    assert_true(child_runs(&child));
    assert_true(child_end(&child));
    assert_string_equal(child_how(&child), "was ended by signal 15");
}

unit_test(test_at_its_limit_it_is_ended_by_the_loop)
{
    start("sleep 100", 100);
    run_loop_until_the_end();
    assert_string_equal(child_how(&child), "was ended by signal 15");
    assert_int_equal(n_ended, 1);
}

unit_test(test_a_deaf_one_is_killed_by_the_loop)
{
    uint64_t since = clock_now_ns();

    start("trap '' TERM; echo x >&3; while :; do sleep 100; done", CHILD_NO_LIMIT);
    child_stop(&child);
    run_loop_until_the_end();
    assert_string_equal(child_how(&child), "was ended by signal 9");
    assert_true(clock_now_ns() - since >= CHILD_GRACE_MS * NS_PER_MS);
}

unit_test(test_a_stopped_one_ends_in_order)
{
    start("trap 'exit 5' TERM; echo x >&3; while :; do sleep 0.05; done", CHILD_NO_LIMIT);
    assert_int_equal(kill(child.pid, SIGSTOP), 0);
    assert_true(child_end(&child));
    assert_string_equal(child_how(&child), "ended with status 5");
}

unit_test(test_nobody_of_its_group_stays)
{
    pid_t pid;

    start("(trap '' TERM; echo x >&3; while :; do sleep 0.05; done) & sleep 100", CHILD_NO_LIMIT);
    pid = child.pid;
    assert_true(child_end(&child));
    for (unsigned ms = 0; !kill(-pid, 0) && ms < 10000; ms++)
        usleep(1000);
    assert_int_equal(kill(-pid, 0), -1);
}

unit_test(test_one_that_is_not_ours_is_ended_too)
{
    static struct child other = {.name = "met", .abruptly = true};
    int status;
    pid_t pid = fork();

    if (!pid) {
        signal(SIGTERM, SIG_IGN);
        for (;;)
            pause();
    }
    assert_false(process_is_gone(pid));
    child_take(&other, pid, false, CHILD_NO_LIMIT);
    assert_true(child_end(&other));
    assert_true(process_is_gone(pid));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int unit_begin(void **state)
{
    loop = event_base_new();
    snprintf(path, sizeof path, "/tmp/child_test.%d", (int)getpid());
    return starter_begin() || child_init(loop);
}

int unit_end(void **state)
{
    child_fini();
    starter_end();
    event_base_free(loop);
    return unlink(path);
}
