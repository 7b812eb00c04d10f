// SPDX-License-Identifier: BSD-3-Clause
// api.c - a small HTTP client for kamueed's socket (api.h)
//
// Requests are in HTTP/1.0: the answer is one piece, and ends with the connection. After a timeout,
// requests fail at once for a second, so that a walk over many objects does not wait again for
// each. Answers are read with a limit of size and time.
#include "snmp/api.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

#define ANSWER_MAX (256u << 20)

static struct sockaddr_un address = {.sun_family = AF_UNIX};
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
    int n = snprintf(text, sizeof text, "GET /restconf/%s HTTP/1.0\r\nHost: kamuee\r\n\r\n", path);

    if (n >= (int)sizeof text)
        return -ENAMETOOLONG;
    return send(fd, text, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -EPIPE;
}

// Reads to the end of the connection. 0 or -errno.
static int receive(int fd, uint64_t until_ns, struct text *answer)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char some[65536];
    ssize_t n;

    do {
        uint64_t now = clock_now_ns();

        if (now >= until_ns || !poll(&p, 1, (int)((until_ns - now) / NS_PER_MS) + 1))
            return -ETIMEDOUT;
        n = read(fd, some, sizeof some);
        if (n > 0)
            text_append(answer, some, (size_t)n);
        if (answer->n > ANSWER_MAX)
            return -EMSGSIZE;
    } while (n > 0);
    return n < 0 ? -errno : 0;
}

// Value of the only member of the body: {"kamuee:port": VALUE}.
static json_t *value_of(const char *answer)
{
    const char *body = strstr(answer, "\r\n\r\n");
    json_t *root = body ? json_loads(body, 0, NULL) : NULL;
    void *first = json_object_iter(root);
    json_t *value = first ? json_incref(json_object_iter_value(first)) : NULL;

    json_decref(root);
    return value;
}

static int take_answer(const char *answer, json_t **value)
{
    int status = 0;

    if (sscanf(answer, "HTTP/1.%*d %d", &status) != 1)
        return -EPROTO;
    if (status != 200)
        return status == 404 ? -ENOENT : -EAGAIN;
    *value = value_of(answer);
    return *value ? 0 : -EPROTO;
}

int api_get(const char *path, json_t **value)
{
    uint64_t until_ns = clock_now_ns() + API_PATIENCE_MS * NS_PER_MS;
    struct text answer = {0};
    char full[400];

    *value = NULL;
    if (failed_ns && clock_now_ns() - failed_ns < NS_PER_SECOND)
        return -ETIMEDOUT;
    failed_ns = 0;
    int fd = connect_now();
    if (fd < 0)
        return -ECONNREFUSED; // whatever the reason, kamueed does not answer
    snprintf(full, sizeof full, "data/%s", path);
    int r = send_request(fd, full);
    r = r ? r : receive(fd, until_ns, &answer);
    r = r ? r : take_answer(text_str(&answer), value);
    if (r == -ETIMEDOUT)
        failed_ns = clock_now_ns();
    text_free(&answer);
    close(fd);
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
