// SPDX-License-Identifier: BSD-3-Clause
// gate_test.c - raw bytes at the server's door: ends of requests, permitted bodies, limits of a
// peer
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "http/http.h"
#include "http/http_peer.h"
#include "test_server.h"

#define MTU DATA "port=p0/mtu"
#define GET_MTU "GET " MTU " HTTP/1.1\r\nHost: k\r\n\r\n"
#define PUT_MTU "PUT " MTU " HTTP/1.1\r\nHost: k\r\nContent-Type: application/json\r\n"

static struct text got;

// Reads into `got` until `n` answers are there, the connection ends, or nothing more comes. Returns
// the number of answers.
static unsigned hear_answers(int fd, unsigned n)
{
    unsigned answers = 0;
    char buf[65536];

    for (unsigned i = 0; i < 300 && answers < n; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        ssize_t r = recv(fd, buf, sizeof buf, 0);
        if (!r)
            break;
        if (r > 0)
            text_append(&got, buf, (size_t)r);
        else
            usleep(1000);
        answers = 0;
        for (const char *p = text_str(&got); (p = strstr(p, "HTTP/1.")); p++)
            answers += !strncmp(p + 8, " ", 1);
    }
    return answers;
}

static bool has_ended(int fd)
{
    char byte;

    for (unsigned i = 0; i < 300; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        ssize_t r = recv(fd, &byte, 1, 0);
        if (!r || (r < 0 && errno != EAGAIN))
            return true;
        usleep(1000);
    }
    return false;
}

static int say(const char *bytes, size_t n)
{
    int fd = client_connect(sock);

    text_clear(&got);
    client_send(loop, fd, bytes, n);
    return fd;
}

// --- ends of requests ---------------------------------------------------------------------------

served_test(what_others_might_read_otherwise_is_refused)
{
    static const char *const bad[] = {
        PUT_MTU "Content-Length: 19\r\nContent-Length: 19\r\n\r\n{\"kamuee:mtu\":1400}",
        PUT_MTU "Content-Length: 19\r\nContent-Length: 0\r\n\r\n{\"kamuee:mtu\":1400}",
        PUT_MTU "Content-Length: 19, 19\r\n\r\n{\"kamuee:mtu\":1400}",
        PUT_MTU "Content-Length: +19\r\n\r\n{\"kamuee:mtu\":1400}",
        PUT_MTU "Content-Length: 0x13\r\n\r\n{\"kamuee:mtu\":1400}",
        PUT_MTU "Content-Length: \r\n\r\n{\"kamuee:mtu\":1400}",
        PUT_MTU "Content-Length: 99999999999999999999\r\n\r\n{\"kamuee:mtu\":1400}",
        PUT_MTU "Content-Length: 19\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        PUT_MTU "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        PUT_MTU "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        PUT_MTU "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "GET " MTU " HTTP/1.1\nHost: k\r\n\r\n",
        "GET " MTU " HTTP/1.1\r\nHost: k\n\n",
        "GET " MTU " HTTP/1.1\r\nHost: k\r\nX: a\n\r\n\r\n",
        "GET " MTU " HTTP/1.1\r\nHost: k\r\nX: a\rb\r\n\r\n",
        "GET " MTU " HTTP/1.1\r\nHost: k\r\nX: a\r\n folded\r\n\r\n",
        "GET " MTU " HTTP/1.1\r\n Host: k\r\n\r\n",
        "GET " MTU " HTTP/1.1\r\nHost: k\r\nHost: l\r\n\r\n",
        "GET " MTU " HTTP/1.1\r\nHost: k\r\nX : a\r\n\r\n",
        "GET " MTU " HTTP/1.1\r\nHost: k\r\nno colon\r\n\r\n",
        "GET " MTU " HTTP/1.1\r\nHost: k\r\n: no name\r\n\r\n",
        "GET  " MTU " HTTP/1.1\r\nHost: k\r\n\r\n",
        "GET\t" MTU " HTTP/1.1\r\nHost: k\r\n\r\n",
        "GET " MTU " HTTP/2.0\r\nHost: k\r\n\r\n",
        "GET " MTU "\r\nHost: k\r\n\r\n",
        "\r\n" GET_MTU,
        PUT_MTU "Transfer-Encoding: chunked\r\n\r\n13\n{\"kamuee:mtu\":1400}\r\n0\r\n\r\n",
        PUT_MTU "Transfer-Encoding: chunked\r\n\r\n-13\r\n{\"kamuee:mtu\":1400}\r\n0\r\n\r\n",
        PUT_MTU "Transfer-Encoding: chunked\r\n\r\n0x13\r\n{\"kamuee:mtu\":1400}\r\n0\r\n\r\n",
        PUT_MTU "Transfer-Encoding: chunked\r\n\r\n13\r\n{\"kamuee:mtu\":1400}0\r\n\r\n",
        PUT_MTU "Transfer-Encoding: chunked\r\n\r\n13;x=\"\r\n{\"kamuee:mtu\":1400}\r\n0\r\n\r\n",
        PUT_MTU "Transfer-Encoding: chunked\r\n\r\n13\r\n{\"kamuee:mtu\":1400}\r\n0\r\nX: a\n\r\n",
        PUT_MTU
        "Transfer-Encoding: chunked\r\n\r\n13\r\n{\"kamuee:mtu\":1400}\r\n0\r\n folded\r\n\r\n",
        "PUT " MTU
        " HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n{\"kamuee:mtu\":1400}\r\n0\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int fd = say(bad[i], strlen(bad[i]));

        if (hear_answers(fd, 1) != 1 || !strstr(got.s, " 400 ") ||
            !strstr(got.s, "malformed-message"))
            fail_msg("%s\nis answered by %s", bad[i], text_str(&got));
        client_send(loop, fd, GET_MTU, strlen(GET_MTU));
        assert_true(has_ended(fd)); // nothing after it is a request
        close(fd);
    }
    static const char nul[] = "GET " MTU " HTTP/1.1\r\nHost: k\r\nX: a\0b\r\n\r\n";
    int fd = say(nul, sizeof nul - 1);
    assert_int_equal(hear_answers(fd, 1), 1);
    assert_has(got.s, " 400 ");
    close(fd);
    assert_int_equal(ask("GET", MTU, NULL), 200);
    assert_said("9000");
}

// evhttp reads no body of HEAD and TRACE: its content used to become the next request.
served_test(a_body_is_never_the_next_request)
{
    static const char inner[] = "DELETE " MTU " HTTP/1.1\r\nHost: k\r\n\r\n";
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT", "DELETE"};
    struct text t = {0};

    for (unsigned i = 0; i < 6; i++) {
        text_clear(&t);
        text_printf(&t, "%s " MTU " HTTP/1.1\r\nHost: k\r\nContent-Length: %zu\r\n\r\n%s" GET_MTU,
                    methods[i], sizeof inner - 1, inner);
        text_printf(&t,
                    "%s " MTU " HTTP/1.1\r\nHost: k\r\nTransfer-Encoding: "
                              "chunked\r\n\r\n%zx\r\n%s\r\n0\r\n\r\n" GET_MTU,
                    methods[i], sizeof inner - 1, inner);
        int fd = say(t.s, t.n);
        if (hear_answers(fd, 5) != 4)
            fail_msg("%s\nis answered by %s", t.s, text_str(&got));
        assert_true(i == 5 || !strstr(got.s, " 204 "));
        close(fd);
    }
    text_free(&t);
}

served_test(requests_in_any_pieces_are_answered_in_their_order)
{
    static const char all[] = GET_MTU PUT_MTU
        "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"kam\r\ne\r\nuee:mtu\":1400}\r\n0\r\nX: "
        "y\r\n\r\n" GET_MTU PUT_MTU "Content-Length: 19\r\n\r\n{\"kamuee:mtu\":1500}" GET_MTU
        "DELETE " MTU " HTTP/1.1\r\nHost: k\r\n\r\n";
    static const size_t piece[] = {1, 2, 3, 7, 64, sizeof all};

    for (unsigned i = 0; i < sizeof piece / sizeof *piece; i++) {
        int fd = client_connect(sock);

        assert_in_range(ask("PUT", MTU, "{\"kamuee:mtu\":9000}"), 201, 204);
        text_clear(&got);
        for (size_t at = 0; at < sizeof all - 1; at += piece[i]) {
            client_send(loop, fd, all + at,
                        at + piece[i] < sizeof all - 1 ? piece[i] : sizeof all - 1 - at);
            event_base_loop(loop, EVLOOP_NONBLOCK);
        }
        assert_int_equal(hear_answers(fd, 6), 6);
        const char *first = strstr(got.s, "\"kamuee:mtu\":9000"),
                   *second = strstr(got.s, "\"kamuee:mtu\":1400"),
                   *third = strstr(got.s, "\"kamuee:mtu\":1500");
        assert_true(first && first < second && second < third);
        close(fd);
    }
}

served_test(a_header_without_an_end_is_refused)
{
    struct text t = {0};

    text_printf(&t, "GET / HTTP/1.1\r\n");
    while (t.n < HTTP_HEADER_MAX + 100)
        text_printf(&t, "X-%zu: y\r\n", t.n);
    int fd = say(t.s, t.n);
    assert_int_equal(hear_answers(fd, 1), 1);
    assert_has(got.s, " 431 ");
    assert_true(has_ended(fd));
    close(fd);
    text_free(&t);
}

// --- permitted bodies ---------------------------------------------------------------------------

// Asks like a user of the group: in a process of its own, which sends `head`, waits for an answer,
// then sends `body` zero bytes and GET_MTU. Returns both statuses in `got`.
static void ask_as_reader(gid_t gid, const char *head, size_t body)
{
    int told[2], status;
    pid_t child;

    assert_int_equal(pipe(told), 0);
    child = fork();
    if (!child) {
        static char zero[1 << 16];
        char buf[4096];
        ssize_t n;

        if (setgroups(0, NULL) || setgid(gid) || setuid(65534))
            _exit(1);
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        struct sockaddr_storage sa = {.ss_family = AF_UNIX};
        strcpy((char *)&sa + 2, sock);
        if (connect(fd, (struct sockaddr *)&sa, 110) || write(fd, head, strlen(head)) < 0)
            _exit(2);
        n = read(fd, buf, sizeof buf);
        if (n <= 0 || write(told[1], buf, (size_t)n) != n)
            _exit(3);
        for (size_t at = 0; at < body; at += sizeof zero)
            if (write(fd, zero, sizeof zero) != sizeof zero)
                _exit(4);
        if (write(fd, GET_MTU, strlen(GET_MTU)) < 0)
            _exit(5);
        n = read(fd, buf, sizeof buf);
        if (n <= 0 || write(told[1], buf, (size_t)n) != n)
            _exit(6);
        _exit(0);
    }
    close(told[1]);
    while (!waitpid(child, &status, WNOHANG)) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        assert_int_equal(http_stats()->body_bytes, 0);
    }
    assert_int_equal(status, 0);
    char buf[8192];
    ssize_t n = read(told[0], buf, sizeof buf);
    text_clear(&got);
    text_append(&got, buf, n > 0 ? (size_t)n : 0);
    close(told[0]);
}

served_test(a_body_that_the_role_forbids_is_refused_before_it_comes)
{
    const struct group *g = getgrnam("staff");
    struct text t = {0};

    if (geteuid() || !g)
        skip();
    open_directory();
    gid_t staff = g->gr_gid;
    assert_int_equal(configure("set api group read-only staff"), 200);
    static const char *const methods[] = {"PATCH", "PUT", "POST"};
    for (unsigned i = 0; i < 3; i++) {
        text_clear(&t);
        text_printf(&t,
                    "%s /restconf/data HTTP/1.1\r\nHost: k\r\nContent-Type: "
                    "application/json\r\nContent-Length: %u\r\n\r\n",
                    methods[i], 16u << 20);
        ask_as_reader(staff, t.s, 16u << 20);
        assert_has(got.s, " 403 ");
        assert_has(got.s, "has role read-only, but this needs role admin");
        assert_has(got.s, " 200 "); // and the connection continues
    }
    ask_as_reader(staff,
                  "POST /restconf/operations/kamuee:configure HTTP/1.1\r\nHost: "
                  "k\r\nContent-Length: 65536\r\n\r\n",
                  1 << 16);
    assert_has(got.s, " 403 ");
    text_free(&t);
}

served_test(what_a_peer_may_send_at_a_time_is_bounded)
{
    int fd[PEER_BODIES + 1];
    struct text t = {0};

    text_printf(&t, PUT_MTU "Content-Length: %u\r\n\r\n", HTTP_BODY_MAX);
    for (unsigned i = 0; i < PEER_BODIES; i++) {
        fd[i] = say(t.s, t.n);
        assert_int_equal(hear_answers(fd[i], 1), 0);
    }
    assert_int_equal(http_stats()->body_bytes, PEER_BODIES * HTTP_BODY_MAX);
    fd[PEER_BODIES] = say(t.s, t.n);
    assert_int_equal(hear_answers(fd[PEER_BODIES], 1), 1);
    assert_has(got.s, " 429 ");
    assert_has(got.s, "Retry-After: ");
    for (unsigned i = 0; i <= PEER_BODIES; i++)
        close(fd[i]);
    for (unsigned i = 0; i < 100 && http_stats()->body_bytes; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        usleep(10000);
    }
    assert_int_equal(http_stats()->body_bytes, 0);
    assert_int_equal(ask("PUT", MTU, "{\"kamuee:mtu\":1400}"), 204);
    assert_int_equal(http_stats()->body_bytes, 0);
    text_free(&t);
}

// Bytes of requests that the server accepts from a connection until it stops reading.
static size_t push(int fd, const char *request)
{
    struct text t = {0};
    unsigned quiet = 0;
    size_t n = 0, at = 0;

    while (t.n < 1u << 20)
        text_printf(&t, "%s", request);
    while (quiet < 100 && n < 64u << 20) {
        ssize_t w = send(fd, t.s + at, t.n - at, MSG_NOSIGNAL | MSG_DONTWAIT);

        event_base_loop(loop, EVLOOP_NONBLOCK);
        quiet = w > 0 ? 0 : quiet + 1;
        n += w > 0 ? (size_t)w : 0;
        at = (at + (w > 0 ? (size_t)w : 0)) % t.n;
    }
    text_free(&t);
    return n;
}

// While an answer waits, further requests stay in the kernel's buffer, however small they are.
served_test(what_comes_while_an_answer_waits_is_not_read)
{
    static const char stream[] = "GET /restconf/streams/events HTTP/1.1\r\nHost: k\r\n\r\n";
    static const char head[] = "GET " MTU " HTTP/1.1\r\nHost: k\r\nX: ";
    struct text large = {0};
    int kernel = 0, fd = say(stream, strlen(stream));
    socklen_t size = sizeof kernel;

    assert_int_equal(hear_answers(fd, 1), 1);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kernel, &size), 0);
    assert_in_range(push(fd, GET_MTU), 1, (size_t)kernel + 2 * HTTP_HEADER_MAX);
    close(fd);

    text_printf(&large, "%s%*s\r\n\r\n", head, (int)(HTTP_HEADER_MAX - sizeof head - 16), "x");
    fd = say(stream, strlen(stream));
    assert_int_equal(hear_answers(fd, 1), 1);
    assert_in_range(push(fd, large.s), 1, (size_t)kernel + 2 * HTTP_HEADER_MAX);
    for (unsigned i = 0; i < 50; i++) // nor does sending an event let more in
        assert_in_range(ask("PUT", MTU, i & 1 ? "{\"kamuee:mtu\":9000}" : "{\"kamuee:mtu\":1400}"),
                        200, 204);
    assert_in_range(push(fd, large.s), 0, HTTP_HEADER_MAX);
    close(fd);
    text_free(&large);
}

// All requests that a client sends ahead are answered, in order, when it reads.
served_test(what_was_not_read_is_answered_later)
{
    enum { ASKED = 3000 };
    struct text t = {0};
    unsigned answers = 0;
    size_t sent = 0;
    int fd = client_connect(sock);

    for (unsigned i = 0; i < ASKED; i++)
        text_printf(&t, "GET " MTU " HTTP/1.1\r\nHost: k\r\nX: %0800u\r\n\r\n", i);
    text_clear(&got);
    for (unsigned i = 0; answers < ASKED && i < 100000; i++) {
        ssize_t w = send(fd, t.s + sent, t.n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        sent += w > 0 ? (size_t)w : 0;
        event_base_loop(loop, EVLOOP_NONBLOCK);
        char buf[65536];
        ssize_t r = recv(fd, buf, sizeof buf - 1, MSG_DONTWAIT);
        if (r > 0)
            text_append(&got, buf, (size_t)r);
        if (i % 1000 == 999 || sent == t.n) {
            answers = 0;
            for (const char *p = text_str(&got); (p = strstr(p, "HTTP/1.1 200")); p++)
                answers++;
        }
    }
    assert_int_equal(answers, ASKED);
    close(fd);
    text_free(&t);
}

served_test(a_peer_with_too_many_connections_loses_the_most_silent_one)
{
    int fd[PEER_LIVE_LOCAL + 5];

    for (unsigned i = 0; i < PEER_LIVE_LOCAL + 5; i++) {
        fd[i] = client_connect(sock);
        event_base_loop(loop, EVLOOP_NONBLOCK);
    }
    for (unsigned i = 0; i < 5; i++)
        assert_true(has_ended(fd[i]));
    for (unsigned i = 5; i < PEER_LIVE_LOCAL + 5; i++) {
        text_clear(&got);
        client_send(loop, fd[i], GET_MTU, strlen(GET_MTU));
        assert_int_equal(hear_answers(fd[i], 1), 1);
        close(fd[i]);
    }
    assert_int_equal(http_stats()->refused[REFUSED_CONNECTIONS], 5);
    for (unsigned i = 0; i < 5; i++)
        close(fd[i]);
}
