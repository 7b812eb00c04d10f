// SPDX-License-Identifier: BSD-3-Clause
// options_test.c - the command line, and one kamueed per run directory
#include "main/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/unit.h"

static struct options o;
static int code;

static bool parse(char *arg1, char *arg2)
{
    char *argv[] = {"kamueed", arg1, arg2, NULL};

    optind = 1;
    return options_parse(arg2 ? 3 : arg1 ? 2 : 1, argv, &o, &code);
}

unit_test(no_options_mean_the_usual_places)
{
    assert_true(parse(NULL, NULL));
    assert_string_equal(o.config_path, "/etc/kamuee/kamuee.conf");
    assert_string_equal(o.run_dir, "/run/kamuee");
    assert_false(o.config_given || o.no_huge || o.check);
    assert_int_equal(o.memory_mib, 0);
    assert_int_equal(o.memory_nodes, 0);
    assert_int_equal(o.log_level, -1);
}

unit_test(values_are_taken_and_checked)
{
    assert_true(parse("--memory", "256"));
    assert_int_equal(o.memory_mib, 256);
    assert_true(parse("--memory-nodes", "2"));
    assert_int_equal(o.memory_nodes, 2);
    assert_false(parse("--memory-nodes", "9"));
    assert_true(parse("--log-level", "warning"));
    assert_int_equal(o.log_level, LOG_LEVEL_WARNING);
    assert_true(parse("--file-dir", "/srv/lists"));
    assert_string_equal(o.file_dir[0], "/srv/lists");
    assert_true(parse("--device-dir", "/run/vpp") && !o.file_dir[0] && o.device_dir[0] &&
                !o.device_dir[1]);
    assert_false(parse("--file-dir", "lists"));
    assert_int_equal(code, EXIT_USAGE);
    assert_true(parse("--config", "x.conf"));
    assert_true(o.config_given);
    assert_false(parse("--memory", "63"));
    assert_int_equal(code, EXIT_USAGE);
    assert_false(parse("--memory", "12x"));
    assert_int_equal(code, EXIT_USAGE);
    assert_false(parse("--log-level", "loud"));
    assert_int_equal(code, EXIT_USAGE);
    assert_false(parse("--no-such-option", NULL));
    assert_int_equal(code, EXIT_USAGE);
    assert_false(parse("stray", NULL));
    assert_int_equal(code, EXIT_USAGE);
}

unit_test(version_and_help_end_well)
{
    assert_false(parse("--version", NULL));
    assert_int_equal(code, EXIT_OK);
    assert_false(parse("--help", NULL));
    assert_int_equal(code, EXIT_OK);
}

unit_test(second_instance_is_refused_and_told_the_first_ones_pid)
{
    char dir[] = "/tmp/kamuee-instance-XXXXXX", err[300] = "", pid[24];

    assert_non_null(mkdtemp(dir));
    assert_int_equal(instance_lock(dir, err, sizeof err), 0);
    snprintf(pid, sizeof pid, "pid %d)", (int)getpid());
    pid_t child = fork(); // flock is per open file: a second open is refused, also ours
    if (!child) {
        int r = instance_lock(dir, err, sizeof err);
        _exit(r == -EBUSY && strstr(err, pid) && strstr(err, "--run-dir") ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    instance_unlock();
    assert_int_equal(rmdir(dir), 0); // the lock file is gone
}

unit_test(lock_of_a_killed_instance_is_taken_over)
{
    char dir[] = "/tmp/kamuee-instance-XXXXXX", path[64], err[300] = "", text[24] = "";

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/kamueed.lock", dir);
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    assert_int_equal(write(fd, "999999\n", 7), 7);
    close(fd);
    assert_int_equal(instance_lock(dir, err, sizeof err), 0);
    fd = open(path, O_RDONLY);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    assert_int_equal(atoi(text), getpid());
    instance_unlock();
    assert_int_equal(rmdir(dir), 0);
}

// Like a new kamueed that hangs in an upgrade after the old one was killed.
unit_test(whoever_has_the_lock_of_a_dead_owner_is_ended)
{
    char dir[] = "/tmp/kamuee-instance-XXXXXX", path[64], err[300] = "", ready;
    int to[2], status;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/kamueed.lock", dir);
    assert_int_equal(pipe(to), 0);
    pid_t left = fork();
    if (!left) {
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        signal(SIGTERM, SIG_IGN);
        if (write(fd, "999999\n", 7) != 7 || flock(fd, LOCK_EX) || write(to[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(to[0], &ready, 1), 1);
    assert_int_equal(instance_lock(dir, err, sizeof err), 0);
    assert_int_equal(waitpid(left, &status, 0), left);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    instance_unlock();
    assert_int_equal(rmdir(dir), 0);
}

unit_test(impossible_run_directory_is_explained)
{
    char err[300] = "";

    assert_true(instance_lock("/proc/nowhere/else", err, sizeof err) < 0);
    assert_non_null(strstr(err, "--run-dir"));
    assert_true(instance_lock("/dev/null", err, sizeof err) < 0);
    assert_non_null(strstr(err, "not a directory"));
}
