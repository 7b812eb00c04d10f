// SPDX-License-Identifier: BSD-3-Clause
// keep_test.c - the keeper returns its descriptors, and only to the right user
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "core/process.h"
#include "core/starter.h"
#include "main/keep.h"
#include "main/keeper_protocol.h"
#include "tests/unit.h"

static char dir[40], path[80];
static unsigned n_taken;
static char names[8][KEEPER_NAME_MAX];
static int fds[8];

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/keep-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/" KEEPER_SOCKET, dir);
    n_taken = 0;
    return 0;
}

static int connect_keeper(void)
{
    char err[300] = "";
    int s = keep_process_connect(path, err, sizeof err);

    assert_string_equal(err, "");
    assert_true(s >= 0);
    return s;
}

// Waits until the keeper has ended.
static void end_keeper(int s)
{
    char byte;

    assert_true(keeper_send(s, KEEPER_END, "", -1));
    assert_int_equal(recv(s, &byte, 1, 0), 0);
    close(s);
}

static int tear_down(void **state)
{
    unlink(path);
    return rmdir(dir);
}

static void take(const char *name, int fd)
{
    assert_true(n_taken < 8);
    snprintf(names[n_taken], sizeof names[0], "%s", name);
    fds[n_taken++] = fd;
}

static int file_with(const char *text)
{
    int fd = memfd_create("kept", MFD_CLOEXEC);

    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return fd;
}

static void assert_file_has(int fd, const char *text)
{
    char got[40] = "";

    assert_true(pread(fd, got, sizeof got - 1, 0) >= 0);
    assert_string_equal(got, text);
    close(fd);
}

#define keeper_test(name) unit_test_of(name, set_up, tear_down)

keeper_test(what_was_put_is_there_after_a_crash)
{
    int s = connect_keeper(), one = file_with("one"), two = file_with("two");

    assert_true(keeper_send(s, KEEPER_PUT, "tap", one));
    assert_true(keeper_send(s, KEEPER_PUT, "state", two));
    close(one);
    close(two);
    close(s); // like a crash
    s = connect_keeper();
    assert_int_equal(keep_process_take(s, take), 0);
    assert_int_equal(n_taken, 2);
    assert_string_equal(names[0], "tap");
    assert_string_equal(names[1], "state");
    assert_file_has(fds[0], "one");
    assert_file_has(fds[1], "two");
    n_taken = 0; // again: it still holds them
    assert_int_equal(keep_process_take(s, take), 0);
    assert_int_equal(n_taken, 2);
    end_keeper(s);
}

keeper_test(a_stop_leaves_nothing)
{
    int s = connect_keeper(), one = file_with("one");

    assert_true(keeper_send(s, KEEPER_PUT, "tap", one));
    end_keeper(s);
    s = connect_keeper();
    assert_int_equal(keep_process_take(s, take), 0);
    assert_int_equal(n_taken, 0);
    close(one);
    end_keeper(s);
}

keeper_test(the_connection_tells_that_the_keeper_was_killed)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    char byte;
    int s = connect_keeper(), pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_true(keeper_send(s, KEEPER_PUT, "tap", pair[0]));
    close(pair[0]);
    assert_int_equal(getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &n), 0);
    assert_int_equal(keep_process_take(s, take), 0); // the keeper has it
    close(fds[0]);
    end_keeper(s);
    assert_int_equal(recv(pair[1], &byte, 1, 0), 0); // the last copy is closed
    close(pair[1]);
}

keeper_test(nonsense_ends_the_connection_and_not_the_keeper)
{
    int s = connect_keeper(), one = file_with("one"), other;
    char byte;

    assert_true(keeper_send(s, KEEPER_PUT, "tap", one));
    close(one);
    assert_int_equal(send(s, "x", 1, MSG_NOSIGNAL), 1);
    assert_int_equal(recv(s, &byte, 1, 0), 0);
    other = connect_keeper();
    assert_true(keeper_send(other, KEEPER_PUT, "without a descriptor", -1));
    assert_int_equal(keep_process_take(other, take), 0);
    assert_int_equal(n_taken, 1);
    close(fds[0]);
    close(s);
    end_keeper(other);
}

// Only root can become another user.
keeper_test(another_user_gets_nothing)
{
    int s, one, status;
    pid_t child;

    if (geteuid())
        skip();
    s = connect_keeper();
    one = file_with("one");
    assert_true(keeper_send(s, KEEPER_PUT, "tap", one));
    close(one);
    close(s);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(chmod(path, 0666), 0); // even with these permissions
    child = fork();
    if (!child) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
        int c = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        if (setuid(65534) || connect(c, (struct sockaddr *)&at, sizeof at))
            _exit(2);
        _exit(keep_process_take(c, take) && !n_taken ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    s = connect_keeper(); // still works for us
    assert_int_equal(keep_process_take(s, take), 0);
    assert_int_equal(n_taken, 1);
    close(fds[0]);
    end_keeper(s);
}

keeper_test(two_run_directories_have_two_keepers)
{
    char first[80];
    int one = file_with("one"), s = connect_keeper(), t;

    assert_true(keeper_send(s, KEEPER_PUT, "tap", one));
    close(one);
    snprintf(first, sizeof first, "%s", path);
    snprintf(path, sizeof path, "%s/other.sock", dir);
    t = connect_keeper();
    assert_int_equal(keep_process_take(t, take), 0);
    assert_int_equal(n_taken, 0);
    end_keeper(t);
    unlink(path);
    snprintf(path, sizeof path, "%s", first);
    end_keeper(s);
}

static pid_t peer_of(int s)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    assert_int_equal(getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &n), 0);
    return peer.pid;
}

static int open_keeper(void)
{
    char err[300] = "";
    int s = keep_process_open(path, take, err, sizeof err);

    assert_string_equal(err, "");
    assert_true(s >= 0);
    return s;
}

keeper_test(a_stopped_keeper_gives_what_it_has)
{
    int s = open_keeper(), one = file_with("one"), two = file_with("two");
    char name[16];

    assert_true(keeper_send(s, KEEPER_PUT, "tap", one));
    assert_int_equal(keep_process_take(s, take), 0); // the keeper has it, and listens itself
    close(fds[0]);
    close(s);
    s = connect_keeper();
    pid_t keeper = peer_of(s);
    process_name(keeper, name);
    assert_string_equal(name, "kamuee-keeper");
    assert_int_equal(kill(keeper, SIGSTOP), 0);
    assert_true(keeper_send(s, KEEPER_PUT, "tap", two)); // not read yet
    close(s);
    close(one);
    close(two);
    n_taken = 0;
    s = open_keeper();
    assert_int_equal(peer_of(s), keeper);
    assert_int_equal(n_taken, 2);
    assert_file_has(fds[0], "one");
    assert_file_has(fds[1], "two");
    end_keeper(s);
}

// Like a keeper that waits for a file system, or whose executable is broken.
keeper_test(a_keeper_that_never_answers_is_ended_and_another_one_begins)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char ready;
    int to[2], status;

    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    assert_int_equal(pipe(to), 0);
    pid_t deaf = fork();
    if (!deaf) {
        int l = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        signal(SIGTERM, SIG_IGN);
        prctl(PR_SET_NAME, "kamuee-keeper");
        if (bind(l, (struct sockaddr *)&at, sizeof at) || listen(l, 4) ||
            write(to[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(to[0], &ready, 1), 1);
    int s = open_keeper();
    assert_int_not_equal(peer_of(s), deaf);
    assert_int_equal(waitpid(deaf, &status, 0), deaf);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    end_keeper(s);
}

keeper_test(a_path_that_is_too_long_is_said)
{
    char err[300] = "", longer[200];

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(keep_process_connect(longer, err, sizeof err), -1);
    assert_non_null(strstr(err, "--run-dir"));
}

int main(void)
{
    bug_on(starter_begin());

    return unit_tests_run(NULL, NULL);
}
