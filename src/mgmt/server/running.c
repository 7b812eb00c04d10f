// SPDX-License-Identifier: BSD-3-Clause
// running.c - see running.h
//
// Any version that can be upgraded answers this request on its socket. In HTTP/1.0 the answer is
// one piece, and ends with the connection.
#include "server/running.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_S 10 // for each part of the answer

static bool connect_to(int s, const char *run_dir)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = PATIENCE_S};

    return snprintf(a.sun_path, sizeof a.sun_path, "%s/kamuee.sock", run_dir) <
               (int)sizeof a.sun_path &&
           !setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) &&
           !connect(s, (struct sockaddr *)&a, sizeof a);
}

static bool exchange(int s, struct text *answer)
{
    static const char request[] = "POST /restconf/operations/kamuee:configuration HTTP/1.0\r\n"
                                  "Host: kamuee\r\nContent-Length: 0\r\n\r\n";
    char buf[16384];
    ssize_t n;

    if (send(s, request, sizeof request - 1, MSG_NOSIGNAL) != sizeof request - 1)
        return false;
    while ((n = read(s, buf, sizeof buf)) > 0)
        text_append(answer, buf, (size_t)n);
    return !n;
}

// The body is {"kamuee:output": {"text": "set …"}}.
static bool take_lines(const char *answer, struct text *t)
{
    const char *body = strstr(answer, "\r\n\r\n");
    json_t *root = body ? json_loads(body, 0, NULL) : NULL;
    const json_t *output = json_object_get(root, "kamuee:output");
    const char *lines = json_string_value(json_object_get(output, "text"));

    text_printf(t, "%s", lines ? lines : "");
    json_decref(root);
    return lines;
}

bool running_lines(const char *run_dir, struct text *t)
{
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct text answer = {0};
    bool ok = s >= 0 && connect_to(s, run_dir) && exchange(s, &answer) &&
              take_lines(text_str(&answer), t);

    if (s >= 0)
        close(s);
    text_free(&answer);
    return ok;
}
