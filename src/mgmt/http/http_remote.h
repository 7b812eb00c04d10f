// SPDX-License-Identifier: BSD-3-Clause
// http_remote.h - kamuee-http, the process that reads what clients of TCP send
//
// kamueed accepts a connection, notes its peer, and hands it over; from then on it has one end of a
// pair of UNIX sockets in place of TCP's (remote_protocol.h). So all that is bounded, asked and
// answered is as on the socket. The process is started for the first listener; one that ends is
// started again, and its connections end with it. Called by http_listen.c and http_tls.c; control
// role.
#ifndef HTTP_HTTP_REMOTE_H
#define HTTP_HTTP_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "http/remote_protocol.h"

struct bufferevent;

void http_remote_know(const char *program); // for tests: where it lies
int http_remote_start(char *err, size_t err_size); // unless it runs. 0 or -errno with a sentence
void http_remote_stop(void);

// The connection is kamuee-http's from now on; the bufferevent, with the same number of a
// descriptor, is of the pair. False: nothing has changed.
bool http_remote_take(struct bufferevent *bev, bool tls);

// For http_tls.c. False: it is not there, or does not listen.
bool http_remote_send(enum remote_word word, bool flag, int fd);
bool http_remote_answer(struct remote_answer *a); // to TRY; waits for a moment

#endif
