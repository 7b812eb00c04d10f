// SPDX-License-Identifier: BSD-3-Clause
// port_socket_test.c - removes sockets of dead programs, but no living ones and no other files
#include "device/port_probe.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char path[64], err[300];

static int listen_at(int type, const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = strlen(name);
    bool abstract = name[0] == '@';

    memcpy(a.sun_path, name, n);
    if (abstract)
        a.sun_path[0] = 0;
    int fd = socket(AF_UNIX, type, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + !abstract)),
                     0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static int name_it(void **state)
{
    snprintf(path, sizeof path, "/tmp/port_socket_test.%d", getpid());
    unlink(path);
    err[0] = 0;
    return 0;
}

static int remove_it(void **state)
{
    unlink(path);
    return 0;
}

#define socket_test(name) unit_test_of(name, name_it, remove_it)

socket_test(a_file_that_nobody_listens_on_goes)
{
    close(listen_at(SOCK_SEQPACKET, path));
    assert_int_equal(access(path, F_OK), 0);
    assert_false(port_socket_is_taken(path));
    assert_int_equal(port_socket_clear(path, err, sizeof err), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(port_socket_clear(path, err, sizeof err), 0); // there is none
    assert_false(port_socket_is_taken(path));
}

socket_test(a_living_programs_file_stays_and_no_call_comes_in)
{
    static const int type[] = {SOCK_SEQPACKET, SOCK_STREAM};

    for (int i = 0; i < 2; i++) {
        int fd = listen_at(type[i], path);
        fcntl(fd, F_SETFL, O_NONBLOCK);
        assert_true(port_socket_is_taken(path));
        assert_int_equal(port_socket_clear(path, err, sizeof err), 0);
        assert_int_equal(access(path, F_OK), 0);
        assert_int_equal(accept(fd, NULL, NULL), -1);
        assert_int_equal(errno, EAGAIN);
        close(fd);
        unlink(path);
    }
}

socket_test(another_file_stays_and_is_named)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);

    close(fd);
    assert_false(port_socket_is_taken(path));
    assert_int_equal(port_socket_clear(path, err, sizeof err), -EEXIST);
    assert_non_null(strstr(err, path));
    assert_int_equal(access(path, F_OK), 0);
}

socket_test(abstract_names_are_found_and_leave_nothing)
{
    char name[80];

    snprintf(name, sizeof name, "@%s", path);
    int fd = listen_at(SOCK_SEQPACKET, name);
    assert_true(port_socket_is_taken(name));
    assert_false(port_socket_is_taken(path));
    close(fd);
    assert_false(port_socket_is_taken(name));
    assert_int_equal(port_socket_clear(name, err, sizeof err), 0);
}

unit_test(names_that_are_none_are_taken_by_nobody)
{
    char longest[200];

    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_false(port_socket_is_taken(longest));
    assert_false(port_socket_is_taken(""));
    assert_int_equal(port_socket_clear("", err, sizeof err), 0);
}
