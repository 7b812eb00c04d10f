// SPDX-License-Identifier: BSD-3-Clause
// turn_test.c - long requests as clients see them: others are answered, edits are serialized, a
// client may leave
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/aside.h"
#include "http/http_peer.h"
#include "server/mgmt.h"
#include "test_server.h"
#include "yang/config_tree.h"

#define CONFIGURE "/restconf/operations/kamuee:configure"
#define CONFIGURATION "/restconf/operations/kamuee:configuration"
#define MTU DATA "port=p0/mtu"
#define RULES 12000 // as many as client_read() can read in one answer

static struct text long_body; // body of `configure`: rules, and a visible change

int unit_begin(void **state)
{
    text_printf(&long_body, "{\"kamuee:input\":{\"text\":\"set port p0 mtu 1444\\n");
    for (unsigned i = 0; i < RULES; i++)
        text_printf(&long_body,
                    "set acl long rule %u permit tcp from 10.0.0.0/24 to any port %u\\n", i + 1,
                    i + 1);
    text_printf(&long_body, "\"}}");
    return server_set_up(state);
}

int unit_end(void **state)
{
    text_free(&long_body);
    return server_tear_down(state);
}

// Sends a request; returns its connection.
static int begin(const char *method, const char *target, const char *body)
{
    struct text t = {0};
    int fd = client_connect(sock);

    text_printf(&t,
                "%s %s HTTP/1.1\r\nHost: k\r\nContent-Type: application/json\r\nContent-Length: "
                "%zu\r\n\r\n",
                method, target, strlen(body));
    text_append(&t, body, strlen(body));
    client_send(loop, fd, t.s, t.n);
    text_free(&t);
    return fd;
}

static int answer_of(int fd)
{
    assert_true(client_read(loop, fd, &reply));
    close(fd);
    return reply.status;
}

static void assert_nothing_from(int fd)
{
    char byte;

    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK), -1);
    assert_int_equal(errno, EAGAIN);
}

// --- tests --------------------------------------------------------------------------------------

served_test(others_are_answered_meanwhile)
{
    int change = begin("POST", CONFIGURE, text_str(&long_body));

    assert_int_equal(ask("GET", MTU, NULL), 200);
    assert_string_equal(reply.body.s, "{\"kamuee:mtu\":9000}\n");
    assert_int_equal(ask("POST", CONFIGURATION, NULL), 200); // in the other lane
    assert_has(reply.body.s, "set port p0 mtu 9000");
    assert_int_equal(ask("GET", "/restconf/data", NULL), 200);
    assert_nothing_from(change);
    assert_int_equal(answer_of(change), 200);
    assert_has(running_text(), "set port p0 mtu 1444");
}

served_test(edits_follow_each_other)
{
    int first = begin("POST", CONFIGURE, text_str(&long_body));
    int second = begin("PUT", MTU, "{\"kamuee:mtu\":1555}");

    assert_int_equal(ask("GET", MTU, NULL), 200);
    assert_string_equal(reply.body.s, "{\"kamuee:mtu\":9000}\n");
    assert_nothing_from(second);
    assert_int_equal(answer_of(second), 204);
    assert_int_equal(answer_of(first), 200); // already committed, or waiting for its access list
    assert_int_equal(ask("GET", MTU, NULL), 200);
}

#define AT_ONCE 100 // clients that each commit an address set and a rule

served_test(each_commit_of_many_at_once_is_answered_in_its_turn)
{
    int fd[AT_ONCE];

    for (unsigned i = 0; i < AT_ONCE; i++) {
        char body[200];

        snprintf(body, sizeof body,
                 "{\"kamuee:input\":{\"line\":[\"set address-set s%u prefix 192.0.2.%u/32\","
                 "\"set acl many%u rule 1 permit ip from set s%u\"]}}",
                 i, i, i, i);
        fd[i] = begin("POST", CONFIGURE, body);
    }
    for (unsigned i = 0; i < AT_ONCE; i++)
        if (answer_of(fd[i]) != 200)
            fail_msg("%s", reply.body.s);
    for (unsigned i = 0; i < AT_ONCE; i++) {
        char line[80];

        snprintf(line, sizeof line, "set acl many%u rule 1 permit ip from set s%u\\n", i, i);
        assert_has(running_text(), line);
    }
}

served_test(what_waits_for_its_turn_is_dropped_with_its_client)
{
    close(begin("POST", CONFIGURE, text_str(&long_body)));
    for (unsigned i = 0; i < 20; i++)
        close(begin("PUT", MTU, "{\"kamuee:mtu\":1555}"));
    int last = begin("PUT", DATA "port=p1/mtu", "{\"kamuee:mtu\":1666}");

    assert_int_equal(answer_of(last), 201);
    assert_has(running_text(), "set port p0 mtu 1444"); // it had begun
}

served_test(who_leaves_is_not_waited_for)
{
    close(begin("POST", CONFIGURE, text_str(&long_body)));
    close(begin("POST", CONFIGURATION, "{}"));
    for (unsigned i = 0; i < 100000 && !strstr(running_text(), "set port p0 mtu 1444"); i++)
        usleep(1000);
    assert_has(running_text(), "set acl long rule 12000 ");
}

// More connections than a peer may have, so that idle ones are closed, while one client has left a
// request behind.
served_test(connections_are_counted_when_a_client_has_left)
{
    int fd[PEER_LIVE_LOCAL + 4];

    close(begin("POST", CONFIGURE, text_str(&long_body)));
    for (unsigned i = 0; i < PEER_LIVE_LOCAL + 4; i++) {
        fd[i] = client_connect(sock);
        event_base_loop(loop, EVLOOP_NONBLOCK);
    }
    assert_int_equal(ask("GET", MTU, NULL), 200);
    for (unsigned i = 0; i < PEER_LIVE_LOCAL + 4; i++)
        close(fd[i]);
}

served_test(stopping_ends_what_is_under_way)
{
    int under_way = begin("POST", CONFIGURE, text_str(&long_body)),
        waits = begin("PUT", MTU, "{\"kamuee:mtu\":1555}");
    int reads = begin("POST", CONFIGURATION, "{}");

    assert_nothing_from(under_way);
    aside_stop();
    for (unsigned i = 0; i < 100; i++)
        event_base_loop(loop, EVLOOP_NONBLOCK);
    assert_int_equal(answer_of(waits), 503);
    assert_has(reply.body.s, "kamueed is stopping; nothing was changed");
    assert_int_equal(answer_of(reads), 200);
    close(under_way); // waits for its access list until mgmt_stop() comes
}
