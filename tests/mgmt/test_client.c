// SPDX-License-Identifier: BSD-3-Clause
// test_client.c - an HTTP client on the same event loop as the server under test
#include "test_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

int client_connect(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    bug_on(fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a));
    return fd;
}

void client_send(struct event_base *loop, int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t w = send(fd, bytes, n, MSG_NOSIGNAL);

        if (w < 0 && errno != EAGAIN)
            return; // refused early: the answer has the reason
        bytes += w > 0 ? w : 0;
        n -= w > 0 ? (size_t)w : 0;
        event_base_loop(loop, EVLOOP_NONBLOCK);
    }
}

// Appends the next chunk to the body; false when more bytes are needed. *at moves behind the chunk;
// the chunk of size 0 is the last.
static bool take_chunk(const struct text *raw, size_t *at, struct text *body, bool *last)
{
    const char *line = raw->s + *at, *end = memmem(line, raw->n - *at, "\r\n", 2);

    if (!end)
        return false;
    size_t size = strtoul(line, NULL, 16), from = (size_t)(end - raw->s) + 2;
    if (from + size + 2 > raw->n)
        return false;
    text_append(body, raw->s + from, size);
    *at = from + size + 2;
    *last = !size;
    return true;
}

// Does `raw` hold a complete answer? Then fills it in.
static bool parse(const struct text *raw, struct answer *a)
{
    const char *end = raw->n ? memmem(raw->s, raw->n, "\r\n\r\n", 4) : NULL, *p;
    size_t at = end ? (size_t)(end - raw->s) + 4 : 0;
    bool last = false;

    if (!end || sscanf(raw->s, "HTTP/1.%*d %d", &a->status) != 1)
        return false;
    text_clear(&a->head);
    text_clear(&a->body);
    text_append(&a->head, raw->s, at);
    if (strstr(a->head.s, "Transfer-Encoding: chunked")) {
        while (!last && take_chunk(raw, &at, &a->body, &last))
            ;
        return last;
    }
    p = strstr(a->head.s, "Content-Length: ");
    size_t n = p ? strtoul(p + 16, NULL, 10) : 0;
    if (raw->n - at < n)
        return false;
    text_append(&a->body, raw->s + at, n);
    return true;
}

bool client_read(struct event_base *loop, int fd, struct answer *a)
{
    struct text raw = {0};
    char buf[65536];
    ssize_t n;
    bool whole = false;

    while (!whole) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        n = recv(fd, buf, sizeof buf, 0);
        if (!n || (n < 0 && errno != EAGAIN))
            break;
        if (n < 0)
            continue;
        text_append(&raw, buf, (size_t)n);
        whole = (raw.n < 1u << 20 || memmem(buf, (size_t)n, "0\r\n\r\n", 5)) && parse(&raw, a);
    }
    text_free(&raw);
    return whole;
}

void answer_free(struct answer *a)
{
    text_free(&a->head);
    text_free(&a->body);
}

int client_ask(struct event_base *loop, const char *path, const char *method, const char *target,
               const char *body, struct answer *a)
{
    struct text t = {0};
    int fd = client_connect(path);

    text_printf(&t, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", method, target);
    if (body)
        text_printf(&t, "Content-Type: application/yang-data+json\r\nContent-Length: %zu\r\n\r\n%s",
                    strlen(body), body);
    else
        text_printf(&t, "\r\n");
    a->status = 0;
    client_send(loop, fd, t.s, t.n);
    bug_on(!client_read(loop, fd, a));
    close(fd);
    text_free(&t);
    return a->status;
}
