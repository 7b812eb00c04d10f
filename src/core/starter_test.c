// SPDX-License-Identifier: BSD-3-Clause
// starter_test.c - started programs are our children; a program that others can write is refused
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/starter.h"
#include "tests/unit.h"

static int end_of(const char *program, const char *word)
{
    pid_t p;
    int status = 0;

    assert_int_equal(starter_run(program, word, -1, &p), 0);
    assert_int_equal(waitpid(p, &status, 0), p);
    return status;
}

unit_test(test_it_is_our_child)
{
    assert_int_equal(end_of("/bin/true", "x"), 0);
    assert_int_equal(WEXITSTATUS(end_of("/bin/false", "x")), 1);
}

unit_test(test_it_can_be_ended)
{
    pid_t p;
    int status;

    assert_int_equal(starter_run("/bin/sleep", "100", -1, &p), 0);
    assert_int_equal(getpgid(p), p);
    assert_int_equal(kill(-p, SIGTERM), 0);
    assert_int_equal(waitpid(p, &status, 0), p);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

// It is descriptor 3, and there are no others.
unit_test(test_it_has_the_descriptor)
{
    char path[] = "/tmp/starter_test.XXXXXX", said[64] = "";
    const char script[] = "#!/bin/sh\n[ -e /proc/$$/fd/4 ] || echo alone >&3\n";
    int to[2], fd = mkstemp(path), status;
    pid_t p;

    assert_int_equal(write(fd, script, sizeof script - 1), sizeof script - 1);
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
    assert_int_equal(pipe(to), 0);
    if (!starter_check(path)) { // else this program is owned by another user
        assert_int_equal(starter_run(path, "", to[1], &p), 0);
        assert_int_equal(waitpid(p, &status, 0), p);
        close(to[1]);
        assert_true(read(to[0], said, sizeof said - 1) >= 0);
        assert_string_equal(said, "alone\n");
    }
    unlink(path);
}

// The only child of this process.
static pid_t starter_pid(void)
{
    char file[64];
    int pid = 0;

    snprintf(file, sizeof file, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(file, "re");
    if (f && fscanf(f, "%d", &pid) != 1)
        pid = 0;
    if (f)
        fclose(f);
    return pid;
}

unit_test(test_a_stopped_starter_goes_on)
{
    pid_t starter = starter_pid();

    if (!starter)
        skip(); // this kernel does not have the file
    assert_int_equal(kill(starter, SIGSTOP), 0);
    assert_int_equal(end_of("/bin/true", "x"), 0);
}

unit_test(test_what_is_not_there)
{
    pid_t p = 1;

    assert_int_equal(starter_run("/nonsense", "x", -1, &p), -ENOENT);
    assert_int_equal(starter_run("/etc/passwd", "x", -1, &p), -EACCES);
    assert_int_equal(p, 0);
}

// A program that its group can write, or that another user owns.
unit_test(test_only_what_is_roots)
{
    char path[] = "/tmp/starter_test.XXXXXX";
    int fd = mkstemp(path);
    pid_t p;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
    assert_int_equal(fchmod(fd, 0775), 0);
    close(fd);
    assert_int_equal(starter_run(path, "x", -1, &p), -EPERM);
    if (!geteuid()) {
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(end_of(path, "x"), 0);
        assert_int_equal(chown(path, 65534, 0), 0);
        assert_int_equal(starter_run(path, "x", -1, &p), -EPERM);
    }
    unlink(path);
}

// With our arguments in order and the word itself, but without our watchdog's pid.
unit_test(test_a_successor_has_our_arguments_and_environment)
{
    static const char text[] =
        "#!/bin/sh\necho \"$# $1 $2 $3 $STARTER_TEST ${WATCHDOG_PID-none}\" >&3\n";
    char path[] = "/tmp/starter_test.XXXXXX", said[80] = "";
    int fd = mkstemp(path), to[2], status;
    pid_t p;

    assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    close(fd);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    if (!starter_check(path)) { // else this program is owned by another user
        assert_int_equal(starter_run(path, STARTER_SUCCESSOR, to[1], &p), 0);
        assert_int_equal(waitpid(p, &status, 0), p);
        assert_true(read(to[0], said, sizeof said - 1) > 0);
        assert_string_equal(said, "3 --config a b " STARTER_SUCCESSOR " kept none\n");
    }
    close(to[0]);
    close(to[1]);
    unlink(path);
}

int unit_begin(void **state)
{
    static char *const argv[] = {"kamueed", "--config", "a b", NULL};

    setenv("STARTER_TEST", "kept", 1);
    setenv("WATCHDOG_PID", "1", 1);
    starter_know(argv);
    return starter_begin();
}

int unit_end(void **state)
{
    starter_end();
    return 0;
}
