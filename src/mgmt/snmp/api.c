// SPDX-License-Identifier: BSD-3-Clause
// api.c - a small HTTP client for kamueed's socket (api.h)
//
// A request that fails because the kept connection was closed is sent once more on a new one. After
// a timeout, requests fail at once for a second, so that a walk over many objects does not wait
// again for each. Answers are read with a limit of size and time.
#include "snmp/api.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"

#define ANSWER_MAX (256u << 20)

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int kept = -1;      // connection, -1 = none
static uint64_t failed_ns; // time of the last timeout, 0 = none

void api_use(const char *socket_path)
{
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
}

static int connect_now(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    if (!connect(fd, (struct sockaddr *)&address, sizeof address))
        return fd;
    int e = errno;
    close(fd);
    return -e;
}

static int send_request(int fd, const char *path)
{
    char text[512];
    int n = snprintf(text, sizeof text, "GET /restconf/%s HTTP/1.1\r\nHost: kamuee\r\n\r\n", path);

    if (n >= (int)sizeof text)
        return -ENAMETOOLONG;
    return send(fd, text, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -EPIPE;
}

// --- reading an answer ---------------------------------------------------------------------------

struct answer {
    int fd;
    uint64_t until_ns;
    VEC(char) in; // received bytes
    size_t at;    // bytes of `in` consumed
    VEC(char) body;
};

// Receives more bytes. 0 or -errno; -EPIPE: connection closed.
static int receive(struct answer *a)
{
    uint64_t now = clock_now_ns();
    struct pollfd p = {.fd = a->fd, .events = POLLIN};
    char some[65536];

    if (now >= a->until_ns || !poll(&p, 1, (int)((a->until_ns - now) / 1000000) + 1))
        return -ETIMEDOUT;
    ssize_t n = read(a->fd, some, sizeof some);
    if (n <= 0)
        return n < 0 ? -errno : -EPIPE;
    if (a->at == a->in.n)
        a->at = a->in.n = 0;
    for (ssize_t i = 0; i < n; i++)
        *vec_push(&a->in) = some[i];
    return 0;
}

// Takes a line without its end, 0-terminated; *line is valid until the next receive.
static int take_line(struct answer *a, char **line)
{
    for (size_t i = a->at;; i++) {
        while (i >= a->in.n) {
            size_t done = i - a->at;
            int r = receive(a);
            if (r)
                return r;
            i = a->at + done;
        }
        if (a->in.item[i] != '\n')
            continue;
        *line = a->in.item + a->at;
        a->in.item[i > a->at && a->in.item[i - 1] == '\r' ? i - 1 : i] = 0;
        a->at = i + 1;
        return 0;
    }
}

static int take_bytes(struct answer *a, size_t n)
{
    if (n > ANSWER_MAX - a->body.n)
        return -EMSGSIZE;
    while (n) {
        size_t have = a->in.n - a->at, some = have < n ? have : n;
        for (size_t i = 0; i < some; i++)
            *vec_push(&a->body) = a->in.item[a->at + i];
        a->at += some;
        n -= some;
        int r = n ? receive(a) : 0;
        if (r)
            return r;
    }
    return 0;
}

static int take_chunks(struct answer *a)
{
    char *line;

    for (;;) {
        int r = take_line(a, &line);
        if (r)
            return r;
        size_t n = strtoul(line, NULL, 16);
        r = take_bytes(a, n);
        r = r ? r : take_line(a, &line); // empty line after each chunk, also after the last
        if (r || !n)
            return r;
    }
}

// Reads head and body. Returns the status, or -errno.
static int take_answer(struct answer *a)
{
    size_t length = 0;
    bool chunked = false;
    char *line;
    int r = take_line(a, &line), status = 0;

    if (!r && sscanf(line, "HTTP/1.1 %d", &status) != 1)
        return -EPROTO;
    while (!r && !(r = take_line(a, &line)) && *line) {
        if (!strncasecmp(line, "Content-Length:", 15))
            length = strtoul(line + 15, NULL, 10);
        chunked |= !strncasecmp(line, "Transfer-Encoding: chunked", 26);
    }
    r = r ? r : chunked ? take_chunks(a) : take_bytes(a, length);
    return r ? r : status;
}

// Value of the only member: {"kamuee:port": VALUE}.
static json_t *value_of(const struct answer *a)
{
    json_t *root = json_loadb(a->body.item ? a->body.item : "", a->body.n, 0, NULL);
    void *first = json_object_iter(root);
    json_t *value = first ? json_incref(json_object_iter_value(first)) : NULL;

    json_decref(root);
    return value;
}

static int request_on(int fd, const char *path, uint64_t until_ns, json_t **value)
{
    struct answer a = {.fd = fd, .until_ns = until_ns};
    int r = send_request(fd, path);

    r = r ? r : take_answer(&a);
    if (r == 200)
        r = (*value = value_of(&a)) ? 0 : -EPROTO;
    else if (r > 0)
        r = r == 404 ? -ENOENT : -EAGAIN;
    vec_free(&a.in);
    vec_free(&a.body);
    return r;
}

int api_get(const char *path, json_t **value)
{
    uint64_t until_ns = clock_now_ns() + API_PATIENCE_MS * (NS_PER_SECOND / 1000);
    char full[400];
    int r = -EPIPE;

    *value = NULL;
    if (failed_ns && clock_now_ns() - failed_ns < NS_PER_SECOND)
        return -ETIMEDOUT;
    failed_ns = 0;
    snprintf(full, sizeof full, "data/%s", path);
    // A kept connection may have been closed meanwhile, a new one has not.
    for (unsigned attempt = 0; attempt < 2 && r == -EPIPE; attempt++) {
        bool fresh = kept < 0;
        kept = fresh ? connect_now() : kept;
        if (kept < 0)
            return -ECONNREFUSED; // whatever the reason, kamueed does not answer
        r = request_on(kept, full, until_ns, value);
        if (r && r != -ENOENT && r != -EAGAIN) {
            close(kept);
            kept = -1;
        }
        if (fresh)
            break;
    }
    if (r == -ETIMEDOUT)
        failed_ns = clock_now_ns();
    return r;
}

int api_listen(const char *filter)
{
    char path[300];
    int fd = connect_now();

    if (fd < 0)
        return fd;
    snprintf(path, sizeof path, "streams/events?filter=%s", filter);
    int r = send_request(fd, path);
    if (!r)
        return fd;
    close(fd);
    return r;
}
