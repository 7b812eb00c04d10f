// SPDX-License-Identifier: BSD-3-Clause
// test_server.h - a RESTCONF server with faked managers and a client, for unit tests
#ifndef SERVER_TEST_SERVER_H
#define SERVER_TEST_SERVER_H

#include "test_client.h"
#include "tests/unit.h"

extern struct event_base *loop;
extern char sock[64], file[64]; // the server's socket and configuration file
extern struct answer reply;     // to the last ask()

int server_set_up(void **state); // for a group of tests: tables, event loop, directory
int server_tear_down(void **state);
int server_start(void **state);  // for a test: base configuration, fresh fakes
int server_stop(void **state);

int ask(const char *method, const char *target,
        const char *body); // status; the answer is in `reply`
// Calls an operation with the members of its input, as JSON; the same.
int call(const char *operation, const char *input);
// Commits the lines, which '\n' separates; the same.
int configure(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void assert_has(const char *text, const char *word);
#define assert_said(word) assert_has(text_str(&reply.body), word)
void write_config(const char *text); // writes `file`
void open_directory(void);           // of the socket and the files, to other users
// A listener to events. hear() reads into `heard` until `word` is in it, or fails the test.
extern struct text heard;
int start_listening(const char *query);
void hear(int fd, const char *word);
void leave(int fd);
char *running_text(void);            // the operation `configuration`'s answer

#define DATA "/restconf/data/kamuee:"
#define ROUTES "state/routes=default,ipv4"
// The status of the answer; or 200, and `word` in its body, or nothing but `text`.
#define assert_get(target, code) assert_int_equal(ask("GET", DATA target, NULL), code)
#define assert_gets(target, word)                                                                  \
    do {                                                                                           \
        assert_get(target, 200);                                                                   \
        assert_said(word);                                                                         \
    } while (0)
#define assert_gets_only(target, text)                                                             \
    do {                                                                                           \
        assert_get(target, 200);                                                                   \
        assert_string_equal(reply.body.s, text);                                                   \
    } while (0)
#define served_test(name) unit_test_of(name, server_start, server_stop)

#endif
