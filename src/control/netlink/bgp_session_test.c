// SPDX-License-Identifier: BSD-3-Clause
// bgp_session_test.c - which lines of /proc/net/tcp and tcp6 are BGP sessions, and of which peer
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink/netns_use.h"
#include "netlink/netns.h"
#include "tests/unit.h"

unit_test(established_connections_of_port_179_are_told_from_others)
{
    static const struct {
        const char *line, *peer; // NULL: no session
    } row[] = {
        {"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt", NULL},
        {"   0: 0100000A:00B3 0200000A:9C40 01 00000000:00000000 00:00000000", "10.0.0.2"},
        {"  11: 0100000A:9C40 0200000A:00B3 01 00000000:00000000 02:00000A5B", "10.0.0.2"},
        {"   0: 00000000:00B3 00000000:0000 0A 00000000:00000000 00:00000000", NULL},
        {"   0: 0100000A:9C40 0200000A:00B3 02 00000001:00000000 01:00000019", NULL},
        {"   0: 0100000A:9C40 0200000A:00B4 01 00000000:00000000 00:00000000", NULL},
        {"   3: B80D0120000000000000000001000000:00B3 B80D0120000000000000000002000000:D431 01 0:0",
         "2001:db8::2"},
        {"   3: 0000000000000000FFFF00000100000A:00B3 0000000000000000FFFF00000200000A:D431 01 0:0",
         "10.0.0.2"},
        {"   3: B80D0120:00B3 B80D01200000000000000000020000:D431 01 0:0", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct ip_addr peer;
        char text[IP_TEXT_MAX];
        bool is = bgp_session_parse(row[i].line, &peer);
        assert_int_equal(is, row[i].peer != NULL);
        if (is)
            assert_string_equal(ip_format(&peer, text), row[i].peer);
    }
}

static bool has_peer(const char *address)
{
    struct ip_addr peer[256];
    int n = bgp_sessions(NETNS_OWN, peer, 256);
    char text[IP_TEXT_MAX];
    bool found = false;

    assert_in_range(n, 0, 256);
    for (int i = 0; i < n; i++)
        found |= !strcmp(ip_format(&peer[i], text), address);
    return found;
}

// Needs root: port 179 is privileged.
unit_test(a_session_of_this_machine_is_seen_until_it_is_closed)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(179)}, from = a;
    int listening = socket(AF_INET, SOCK_STREAM, 0), one = socket(AF_INET, SOCK_STREAM, 0);

    a.sin_addr.s_addr = inet_addr("127.73.1.9");
    from.sin_addr.s_addr = inet_addr("127.73.1.8");
    from.sin_port = 0;
    if (bind(listening, (struct sockaddr *)&a, sizeof a) || listen(listening, 1) ||
        bind(one, (struct sockaddr *)&from, sizeof from)) {
        close(listening);
        close(one);
        skip();
    }
    assert_false(has_peer("127.73.1.9"));
    assert_int_equal(connect(one, (struct sockaddr *)&a, sizeof a), 0);
    assert_true(has_peer("127.73.1.9"));
    assert_true(has_peer("127.73.1.8"));
    close(one);
    assert_false(has_peer("127.73.1.9"));
    close(listening);
}
