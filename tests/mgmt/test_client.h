// SPDX-License-Identifier: BSD-3-Clause
// test_client.h - an HTTP client on the same event loop as the server under test
#ifndef SERVER_TEST_CLIENT_H
#define SERVER_TEST_CLIENT_H

#include <event2/event.h>
#include <stdbool.h>

#include "base/text.h"

struct answer {
    int status;
    struct text head, body; // body without its chunks
};

int client_connect(const char *path); // non-blocking
void client_send(struct event_base *loop, int fd, const char *bytes, size_t n);
// Runs the loop until one answer is complete (true) or the connection ended early (false).
bool client_read(struct event_base *loop, int fd, struct answer *a);
void answer_free(struct answer *a);
// Connects, sends one request with the body, reads the answer, closes.
int client_ask(struct event_base *loop, const char *path, const char *method, const char *target,
               const char *body, struct answer *a);

#endif
