// SPDX-License-Identifier: BSD-3-Clause
// access_test.c - rights of users of the socket and clients of the proxy
//
// The server uses real sockets, groups and token files. The test plays users of the socket in child
// processes with other uids, and the proxy by sending its headers.
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <openssl/sha.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/candidate.h"
#include "http/access.h"
#include "http/token.h"
#include "http/http_peer.h"
#include "server/mgmt.h"
#include "test_server.h"

static char tokens[80], proxy_sock[80];

// --- files --------------------------------------------------------------------------------------

static void name_file(char to[80], const char *name)
{
    snprintf(to, 80, "%.*s/%s", (int)(strrchr(file, '/') - file), file, name);
}

static void write_token(FILE *f, const char *token, const char *role)
{
    uint8_t hash[32];

    SHA256((const uint8_t *)token, strlen(token), hash);
    fprintf(f, "%s %s sha256:", token, role);
    for (unsigned i = 0; i < 32; i++)
        fprintf(f, "%02x", hash[i]);
    fputs("\n", f);
}

static void write_tokens(const char *admin)
{
    FILE *f = fopen(tokens, "w");

    fputs("# tokens of the tests\n\n", f);
    write_token(f, "reader", "read-only");
    write_token(f, "runner", "operator");
    write_token(f, admin, "admin");
    fclose(f);
}

int unit_begin(void **state)
{
    int r = server_set_up(state);

    name_file(tokens, "tokens");
    name_file(proxy_sock, "proxy.sock");
    write_tokens("boss");
    return r;
}

int unit_end(void **state)
{
    unlink(tokens);
    return server_tear_down(state);
}

// --- the proxy ----------------------------------------------------------------------------------

// We play the proxy, for this client.
struct client {
    const char *via, *address, *certificate, *token, *more;
};
static const struct client anybody = {"api", "192.0.2.7", NULL, NULL, ""};

static struct client with_token(const char *token)
{
    struct client c = anybody;

    c.token = token;
    return c;
}

static struct client with_certificate(const char *subject)
{
    struct client c = anybody;

    c.certificate = subject;
    return c;
}

static void add_header(struct text *t, const char *name, const char *value)
{
    if (value)
        text_printf(t, "%s: %s\r\n", name, value);
}

static void format_request(struct text *t, const struct client *c, const char *method,
                           const char *target, const char *body)
{
    text_printf(t, "%s %s HTTP/1.1\r\nHost: k\r\n%s", method, target, c->more);
    add_header(t, ACCESS_VIA_HEADER, c->via);
    add_header(t, ACCESS_CLIENT_HEADER, c->address);
    add_header(t, ACCESS_CERTIFICATE_HEADER, c->certificate);
    if (c->token)
        text_printf(t, "Authorization: %s%s\r\n",
                    strncmp(c->token, "Basic ", 6) ? "Bearer " : "", c->token);
    text_printf(t, "Content-Type: application/yang-data+json\r\nContent-Length: %zu\r\n\r\n%s",
                strlen(body), body);
}

// Status of the answer; 0: the connection ended without one.
static int ask_on(int fd, struct client c, const char *method, const char *target,
                  const char *body)
{
    struct text t = {0};

    format_request(&t, &c, method, target, body);
    client_send(loop, fd, t.s, t.n);
    reply.status = 0;
    client_read(loop, fd, &reply);
    text_free(&t);
    return reply.status;
}

static int ask_by(struct client c, const char *method, const char *target, const char *body)
{
    int fd = client_connect(proxy_sock);

    assert_true(fd >= 0);
    ask_on(fd, c, method, target, body);
    close(fd);
    return reply.status;
}

static int ask_tcp(const char *method, const char *target, const char *token, const char *body)
{
    return ask_by(with_token(token), method, target, body);
}

static const char *my_name(void)
{
    const struct passwd *p = getpwuid(geteuid());

    return p ? p->pw_name : "root";
}

static void open_proxy(void)
{
    assert_int_equal(configure("set api tokens %s\nset api proxy %s", tokens, my_name()), 200);
}

#define MTU DATA "port=p0/mtu"
#define EDIT "{\"kamuee:mtu\":1400}"
#define AUDIT "/restconf/operations/kamuee:audit"

// --- users of the socket ------------------------------------------------------------------------

served_test(a_user_may_what_its_groups_may)
{
    const gid_t none[] = {100, 54321};
    gid_t staff[] = {100, 0};
    char vr[ACCESS_VR_SIZE];
    const struct group *g = getgrnam("staff"); // Debian has it

    if (!g)
        skip();
    staff[1] = g->gr_gid;
    assert_int_equal(access_of_user(0, none, 2, vr), ACCESS_ADMIN);
    assert_int_equal(access_of_user(1234, none, 2, vr), ACCESS_NONE);
    assert_int_equal(access_of_user(1234, staff, 2, vr), ACCESS_NONE);
    assert_int_equal(configure("set api group operator staff"), 200);
    assert_int_equal(access_of_user(1234, staff, 2, vr), ACCESS_OPERATE);
    assert_int_equal(access_of_user(1234, none, 2, vr), ACCESS_NONE);
    assert_int_equal(configure("set api group admin staff"), 200);
    assert_int_equal(access_of_user(1234, staff, 2, vr), ACCESS_ADMIN);
    assert_int_equal(configure("delete api"), 200);
    assert_int_equal(access_of_user(1234, staff, 2, vr), ACCESS_NONE);
}

served_test(a_group_may_be_bound_to_a_vr)
{
    static const char *const name[] = {"staff", "users"}; // Debian has them
    char vr[ACCESS_VR_SIZE];
    gid_t both[2];

    for (int i = 0; i < 2; i++) {
        const struct group *g = getgrnam(name[i]);

        if (!g)
            skip();
        both[i] = g->gr_gid;
    }
    assert_int_equal(configure("set vr blue table 100"), 200);
    assert_int_equal(configure("set vr green table 101"), 200);
    assert_int_equal(configure("set api group vr blue operator staff"), 200);
    assert_int_equal(access_of_user(1234, both, 2, vr), ACCESS_OPERATE);
    assert_string_equal(vr, "blue");
    assert_int_equal(access_of_user(0, both, 2, vr), ACCESS_ADMIN);
    assert_string_equal(vr, "");
    assert_int_equal(configure("set api group vr blue admin users"), 200);
    assert_int_equal(access_of_user(1234, both, 2, vr), ACCESS_ADMIN);
    assert_string_equal(vr, "blue");
    assert_int_equal(configure("set api group vr green admin users"), 200);
    assert_int_equal(access_of_user(1234, both, 2, vr), ACCESS_NONE); // ambiguous
    assert_int_equal(configure("set api group operator users"), 200);
    assert_int_equal(access_of_user(1234, both, 2, vr), ACCESS_OPERATE); // not bound
    assert_string_equal(vr, "");
    assert_int_equal(configure("delete vr blue"), 400); // in use
    assert_int_equal(configure("delete api"), 200);
    for (int i = 0; i < 100; i++) { // many: the host's list is read once
        assert_int_equal(configure("set vr many%d table %d", i, 1000 + i), 200);
        assert_int_equal(configure("set api group vr many%d admin nobody-has-%d operator %s", i, i,
                                   i == 70 ? "staff" : "nobody-has-it"),
                         200);
    }
    assert_int_equal(access_of_user(1234, both, 2, vr), ACCESS_OPERATE);
    assert_string_equal(vr, "many70");
    assert_int_equal(configure("set api group vr many9 read-only staff"), 200);
    assert_int_equal(access_of_user(1234, both, 2, vr), ACCESS_NONE);
    assert_int_equal(configure("delete api"), 200);
    for (int i = 0; i < 100; i++)
        assert_int_equal(configure("delete vr many%d", i), 200);
    assert_int_equal(configure("delete vr blue"), 200);
    assert_int_equal(configure("delete vr green"), 200);
}

// Asks like a user of the groups: in a process of its own. Returns the status, or 0 without a
// connection.
static int ask_as(uid_t uid, gid_t gid, const char *request)
{
    pid_t child = fork();
    int status;

    if (!child) {
        struct text t = {0};
        char buf[512] = "";
        int code = 0;

        if (setgroups(0, NULL) || setgid(gid) || setuid(uid))
            _exit(255);
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        struct sockaddr_storage sa = {.ss_family = AF_UNIX};
        strcpy((char *)&sa + 2, sock);
        if (connect(fd, (struct sockaddr *)&sa, 110))
            _exit(0);
        text_printf(&t, "%s HTTP/1.1\r\nHost: k\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                    request);
        if (write(fd, t.s, t.n) > 0 && read(fd, buf, sizeof buf - 1) > 0)
            sscanf(buf, "HTTP/1.1 %d", &code);
        _exit(code / 10);
    }
    while (!waitpid(child, &status, WNOHANG)) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        usleep(200);
    }
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) * 10;
}

served_test(a_stranger_gets_nothing)
{
    const struct group *g = getgrnam("staff");
    gid_t staff = g ? g->gr_gid : 0;
    struct stat s;

    if (geteuid() || !g)
        skip();
    open_directory();
    assert_int_equal(configure("set api group read-only staff"), 200);
    assert_int_equal(stat(sock, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0660);
    assert_int_equal(ask_as(65534, 65534, "GET /restconf/data/kamuee:state/ledger"), 0);
    assert_int_equal(ask_as(65534, staff, "GET /restconf/data/kamuee:state/ledger"), 200);
    assert_int_equal(ask_as(65534, staff, "POST " AUDIT), 400); // 403, in tens
    // Even if the socket is open to all.
    assert_int_equal(chmod(sock, 0666), 0);
    assert_int_equal(ask_as(65534, 65534, "GET /restconf/data/kamuee:state/ledger"), 400);
}

// Opens a session with this header; returns the name shown for the newest session.
static const char *opened_by(uid_t uid, gid_t gid, const char *sudo_user)
{
    static char name[80];
    char request[256];

    snprintf(request, sizeof request,
             "POST /restconf/operations/kamuee:session-open HTTP/1.1\r\n%s: %s\r\nRest:",
             ACCESS_SUDO_HEADER, sudo_user);
    assert_int_equal(ask_as(uid, gid, request), 200);
    assert_get("state/configuration", 200);
    const char *at = NULL, *next = text_str(&reply.body), *end = strstr(next, "\"revision\"");
    while ((next = strstr(next, "\"by\":\"")) && next < end)
        at = next += 6;
    assert_non_null(at);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
    candidates_end();
    return name;
}

served_test(who_came_by_sudo_is_named_and_only_root_is_believed)
{
    const struct group *g = getgrnam("staff");
    char long_name[40];

    if (geteuid() || !g)
        skip();
    open_directory();
    assert_int_equal(configure("set api group admin staff"), 200);
    assert_string_equal(opened_by(0, 0, "alice"), "root (alice)");
    assert_string_equal(opened_by(0, 0, "root"), "root");
    assert_string_equal(opened_by(0, 0, ""), "root");
    assert_string_equal(opened_by(0, 0, "a) by=bob"), "root");
    memset(long_name, 'a', sizeof long_name);
    long_name[33] = 0;
    assert_string_equal(opened_by(0, 0, long_name), "root");
    assert_string_equal(opened_by(65534, g->gr_gid, "alice"), "nobody");
}

// --- tokens -------------------------------------------------------------------------------------

served_test(a_token_may_what_its_role_may)
{
    open_proxy();
    assert_int_equal(ask_tcp("GET", DATA "state/ledger", NULL, ""), 401);
    assert_said("\"error-tag\":\"access-denied\"");
    assert_has(reply.head.s, "WWW-Authenticate: Bearer");
    assert_int_equal(ask_tcp("GET", MTU, "nobody's", ""), 401);
    assert_int_equal(ask_tcp("GET", MTU, "reader", ""), 200);
    assert_int_equal(ask_tcp("GET", MTU, "Basic cmVhZGVyOnJlYWRlcg==", ""), 200); // reader:reader
    assert_int_equal(ask_tcp("GET", MTU, "Basic cnVubmVyOnJlYWRlcg==", ""), 401); // runner:reader
    assert_int_equal(ask_tcp("GET", MTU, "Basic cmVhZGVy", ""), 401);
    assert_int_equal(ask_tcp("GET", MTU, "Basic ??", ""), 401);
    assert_int_equal(ask_tcp("PUT", MTU, "reader", EDIT), 403);
    assert_said("token reader has role read-only, but this needs role admin");
    assert_int_equal(ask_tcp("POST", AUDIT, "reader", ""), 403);
    assert_int_equal(ask_tcp("POST", AUDIT, "runner", ""), 200);
    assert_int_equal(ask_tcp("PUT", MTU, "runner", EDIT), 403);
    assert_int_equal(ask_tcp("POST", "/restconf/operations/kamuee:shutdown", "runner", ""), 403);
    assert_int_equal(ask_tcp("PUT", MTU, "boss", EDIT), 204);
    assert_int_equal(ask_tcp("GET", "/restconf/streams/events", NULL, ""), 401);
}

served_test(a_changed_file_of_tokens_counts_at_once)
{
    open_proxy();
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 200);
    write_tokens("new-boss");
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 401);
    assert_int_equal(ask_tcp("GET", MTU, "new-boss", ""), 200);
    unlink(tokens);
    assert_int_equal(ask_tcp("GET", MTU, "new-boss", ""), 401);
    write_tokens("boss");
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 200);
}

served_test(who_guesses_tokens_has_to_wait)
{
    struct client other = with_token("boss");

    open_proxy();
    assert_int_equal(ask_tcp("GET", MTU, "reader", ""), 200);
    for (unsigned i = 0; i < GUESSES_MAX; i++)
        assert_int_equal(ask_tcp("GET", MTU, i & 1 ? "guess" : "Basic cmVhZGVyOnJ1bm5lcg==", ""),
                         401);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 429); // it is not even checked
        assert_has(reply.head.s, "Retry-After: 10");
        assert_said("wrong tokens from this address");
    }
    assert_int_equal(http_stats()->refused[REFUSED_UNKNOWN], GUESSES_MAX);
    assert_int_equal(http_stats()->refused[REFUSED_PAUSED], 3);
    assert_int_equal(ask_tcp("GET", MTU, "reader", ""), 200); // it was right before
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 429);
    other.address = "192.0.2.8";
    assert_int_equal(ask_by(other, "GET", MTU, ""), 200);
    assert_int_equal(ask("GET", MTU, NULL), 200);
}

static int listen_to_events(struct client c)
{
    struct text t = {0};
    char head[200];
    ssize_t n = -1;
    int fd = client_connect(proxy_sock);

    format_request(&t, &c, "GET", "/restconf/streams/events", "");
    client_send(loop, fd, t.s, t.n);
    text_free(&t);
    for (unsigned i = 0; n < 0 && i < 3000; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        n = recv(fd, head, sizeof head - 1, MSG_DONTWAIT);
        usleep(1000);
    }
    assert_true(n > 0);
    head[n] = 0;
    assert_has(head, " 200 ");
    return fd;
}

// Does the server end it within so many seconds?
static bool is_ended(int fd, unsigned seconds)
{
    char bytes[4096];

    for (unsigned i = 0; i < 1000 * seconds; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (!n || (n < 0 && errno != EAGAIN))
            return true;
        usleep(1000);
    }
    return false;
}

// A stream ends when its token is removed, or its certificate's name; others continue.
served_test(who_loses_rights_loses_streams)
{
    open_proxy();
    assert_int_equal(
        configure("set api client noc role operator\nset api client nms role operator"), 200);
    int token = listen_to_events(with_token("boss")),
        certificate = listen_to_events(with_certificate("CN=noc,O=Example")),
        stays[] = {listen_to_events(with_token("reader")),
                   listen_to_events(with_certificate("CN=nms"))};

    assert_false(is_ended(token, 2));
    assert_false(is_ended(certificate, 1));
    write_tokens("new-boss");
    assert_true(is_ended(token, 10));
    assert_false(is_ended(certificate, 2));
    assert_int_equal(configure("set api client noc role read-only"), 200);
    assert_true(is_ended(certificate, 10));
    for (int i = 0; i < 2; i++) {
        assert_false(is_ended(stays[i], 2));
        close(stays[i]);
    }
    write_tokens("boss");
    close(token);
    close(certificate);
}

// Otherwise a token with few rights would help to guess the others.
served_test(a_right_token_in_between_helps_no_guesser)
{
    unsigned looked_at = 0;

    open_proxy();
    for (unsigned i = 0; i < 10 * GUESSES_MAX; i++) {
        looked_at += ask_tcp("GET", MTU, "guess", "") == 401;
        assert_int_equal(ask_tcp("GET", MTU, "reader", ""), 200);
    }
    assert_int_equal(looked_at, GUESSES_MAX);
}

served_test(guesses_count_for_a_network_of_ipv6)
{
    static const char *const mine[] = {"2001:db8:0:7::1", "2001:db8:0:7:ffff::2"};
    struct client c = with_token("guess");

    open_proxy();
    for (unsigned i = 0; i < GUESSES_MAX; i++) {
        c.address = mine[i & 1];
        assert_int_equal(ask_by(c, "GET", MTU, ""), 401);
    }
    assert_int_equal(ask_by(c, "GET", MTU, ""), 429);
    c.address = "2001:db8:0:8::1";
    assert_int_equal(ask_by(c, "GET", MTU, ""), 401);
}

// --- headers of the proxy -----------------------------------------------------------------------

served_test(what_the_proxy_does_not_say_is_refused)
{
    struct client c = with_token("boss");

    open_proxy();
    c.address = NULL;
    assert_int_equal(ask_by(c, "GET", MTU, ""), 400);
    assert_said("the proxy sets no Kamuee-Client");
    c.address = "unix:";
    assert_int_equal(ask_by(c, "GET", MTU, ""), 400);
    c = with_token("boss");
    c.via = NULL;
    assert_int_equal(ask_by(c, "GET", MTU, ""), 400);
    c.via = "apis";
    assert_int_equal(ask_by(c, "GET", MTU, ""), 400);
    assert_said("expected api, metrics or web");
    // A header that a client smuggles in next to the proxy's own.
    c = with_certificate("CN=machine 7");
    c.more = "Kamuee-Certificate: CN=boss\r\n";
    assert_int_equal(ask_by(c, "GET", MTU, ""), 400);
    assert_said("there are two Kamuee-Certificate");
    c.certificate = NULL;
    c.more = "kamuee-via: metrics\r\n";
    assert_int_equal(ask_by(c, "GET", MTU, ""), 400);
}

served_test(a_connection_is_of_one_client)
{
    struct client c = with_token("boss");

    open_proxy();
    int fd = client_connect(proxy_sock);
    assert_int_equal(ask_on(fd, c, "GET", MTU, ""), 200);
    c.token = "reader";
    assert_int_equal(ask_on(fd, c, "DELETE", MTU, ""), 403);
    c.address = "192.0.2.8";
    assert_int_equal(ask_on(fd, c, "GET", MTU, ""), 400);
    assert_said("two clients");
    close(fd);
}

// Headers of the proxy have no effect on the socket of this host's users.
served_test(a_user_of_the_socket_is_no_proxy)
{
    const struct group *g = getgrnam("staff");
    gid_t staff = g ? g->gr_gid : 0;
    char request[200];

    if (geteuid() || !g)
        skip();
    open_directory();
    assert_int_equal(configure("set api group read-only staff\nset api client boss role admin"),
                     200);
    snprintf(request, sizeof request,
             "DELETE " MTU " HTTP/1.1\r\nKamuee-Via: api\r\nKamuee-Client: 192.0.2.7\r\n"
             "Kamuee-Certificate: CN=boss\r\nRest:");
    assert_int_equal(ask_as(65534, staff, request), 400); // 403, in tens
    assert_int_equal(ask("GET", MTU, NULL), 200);
}

served_test(only_the_proxy_is_served_by_its_socket)
{
    struct stat s;

    open_proxy();
    assert_int_equal(stat(proxy_sock, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0660);
    if (geteuid())
        skip();
    char saved[sizeof sock];
    strcpy(saved, sock);
    strcpy(sock, proxy_sock);
    assert_int_equal(chmod(sock, 0666), 0); // the socket is open to all
    assert_int_equal(ask_as(65534, 65534,
                            "GET " MTU " HTTP/1.1\r\nKamuee-Via: api\r\n"
                            "Kamuee-Client: 192.0.2.7\r\nAuthorization: Bearer boss\r\nRest:"),
                     0);
    strcpy(sock, saved);
    assert_int_equal(configure("set api proxy nobody"), 200);
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 0); // nor root, now
}

served_test(what_cannot_be_is_refused)
{
    assert_int_equal(configure("set api proxy nobody-has-it"), 409);
    assert_said("there is no user 'nobody-has-it': install kamuee-proxy");
    assert_int_equal(configure("set api proxy %s\nset api tokens /nowhere", my_name()), 409);
    assert_said("/nowhere: cannot be read: No such file or directory");
    assert_null(strstr(running_text(), "api"));
    assert_int_equal(access(proxy_sock, F_OK), -1);
}

served_test(who_closes_his_own_socket_gets_an_answer)
{
    open_proxy();
    assert_int_equal(ask_tcp("DELETE", DATA "api/proxy", "boss", ""), 204);
    for (unsigned i = 0; i < 1500; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        usleep(1000);
    }
    assert_int_equal(access(proxy_sock, F_OK), -1);
    open_proxy();
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 200);
}

served_test(a_large_body_is_refused)
{
    struct text body = {0};

    open_proxy();
    for (unsigned i = 0; i < 3u << 20; i += 64)
        text_printf(&body, "%64s", "");
    assert_int_equal(ask_tcp("PUT", MTU, "boss", body.s), 413);
    assert_said("too-big");
    text_free(&body);
}

// --- clients without identification -------------------------------------------------------------

served_test(by_metrics_there_are_metrics_alone)
{
    struct client c = with_token("boss");

    open_proxy();
    c.via = "metrics";
    assert_int_equal(ask_by(c, "GET", MTU, ""), 404);
    assert_int_equal(ask_by(c, "DELETE", MTU, ""), 404);
    assert_int_equal(ask_by(c, "POST", "/metrics", ""), 405);
    assert_int_equal(ask_by(c, "GET", "/metrics", ""), 200);
}

served_test(by_the_web_page_a_token_is_no_key)
{
    struct client c = with_token("boss");

    open_proxy();
    c.via = "web";
    assert_int_equal(ask_by(c, "DELETE", MTU, ""), 403);
    assert_int_equal(ask_by(c, "GET", DATA "state/ledger", ""), 401);
}

// --- certificates -------------------------------------------------------------------------------

served_test(a_certificate_may_what_its_name_may)
{
    struct client both = with_certificate("CN=noc.example.net");

    open_proxy();
    assert_int_equal(ask_by(with_certificate("CN=machine 7,O=Example"), "GET", MTU, ""), 403);
    assert_said("certificate machine 7 has no role");
    assert_int_equal(configure("set api client noc.example.net role operator"), 200);
    assert_int_equal(ask_by(both, "GET", MTU, ""), 200);
    assert_int_equal(ask_by(both, "DELETE", MTU, ""), 403);
    assert_said("certificate noc.example.net has role operator");
    both.token = "boss"; // a token takes precedence
    assert_int_equal(ask_by(both, "DELETE", MTU, ""), 204);
    assert_int_equal(configure("set api client \\\"machine 7\\\" role admin"), 200);
    assert_int_equal(ask_by(with_certificate("CN=machine 7"), "DELETE", MTU, ""), 404);
}

// Rights of `subject`, where the client "boss" is an admin, and "é,b" an operator.
static enum access_level access_of(const char *subject)
{
    struct who w;

    access_by_certificate(subject, strlen(subject), &w);
    assert_true(w.known);
    return w.access;
}

served_test(only_common_names_of_a_subject_count)
{
    static const struct {
        const char *subject;
        enum access_level access;
    } row[] = {
        {"CN=boss", ACCESS_ADMIN},
        {"O=Example,CN=boss,C=JP", ACCESS_ADMIN},
        {"OU=x+CN=boss", ACCESS_ADMIN},
        {"CN=x,CN=boss", ACCESS_ADMIN},
        {"CN=\\C3\\A9\\,b", ACCESS_OPERATE},
        {"CN=\\c3\\a9\\,b,O=x", ACCESS_OPERATE},
        {"", ACCESS_NONE},
        {"CN=", ACCESS_NONE},
        {"CN=bos", ACCESS_NONE},
        {"CN=boss2", ACCESS_NONE},
        {"CN=x\\,CN=boss", ACCESS_NONE},       // one name: "x,CN=boss"
        {"O=x\\,CN=boss", ACCESS_NONE},
        {"O=x\\\\\\,CN=boss", ACCESS_NONE},
        {"O=x\\\\,CN=boss", ACCESS_ADMIN},     // the organization "x\"
        {"O=CN=boss", ACCESS_NONE},
        {"OCN=boss", ACCESS_NONE},
        {"cn=boss", ACCESS_NONE},
        {"CN=boss\\00", ACCESS_NONE},
        {"CN=boss\\0A", ACCESS_NONE},
        {"CN=boss\\00.example.net", ACCESS_NONE},
        {"CN=boss\\", ACCESS_NONE},
        {"CN=#626f7373", ACCESS_NONE},
        {"CN=\\62oss", ACCESS_ADMIN},
    };

    assert_int_equal(configure("set api client boss role admin\nset api client \\\"é,b\\\" role "
                               "operator"),
                     200);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (access_of(row[i].subject) != row[i].access)
            fail_msg("%s: %s", row[i].subject, access_name[access_of(row[i].subject)]);
}

served_test(a_long_name_is_nobodys)
{
    char subject[400];
    struct who w;

    snprintf(subject, sizeof subject, "CN=%0300d", 0);
    access_by_certificate(subject, strlen(subject), &w);
    assert_int_equal(w.access, ACCESS_NONE);
    assert_string_equal(w.name, "certificate without a name");
}

// A pipe would block the control thread until a program writes into it.
unit_test(files_of_the_api_are_files)
{
    char pipe[80], err[1200];

    name_file(pipe, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(token_file(pipe, err, sizeof err), -EBADMSG);
    assert_non_null(strstr(err, "not a regular file"));
    unlink(pipe);
}

unit_test(a_long_line_of_the_token_file_is_one_line)
{
    char path[80], err[1200];

    name_file(path, "long");
    FILE *f = fopen(path, "w"); // a second half that must not be accepted
    assert_non_null(f);
    fprintf(f, "#%510smallory admin sha256:%064d\n", "", 0);
    fclose(f);
    assert_int_equal(token_file(path, err, sizeof err), -EBADMSG);
    assert_non_null(strstr(err, ":1: the line is longer than 511 bytes"));
    unlink(path);
}

// Three roles for each of 1,000 virtual routers.
unit_test(thousands_of_tokens_are_good_and_one_too_many_is_named)
{
    char path[80], err[1200] = "", token[32];

    name_file(path, "many");
    for (unsigned n = TOKENS_MAX; n <= TOKENS_MAX + 1; n++) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        for (unsigned i = 0; i < n; i++) {
            snprintf(token, sizeof token, "t%u", i);
            write_token(f, token, "read-only");
        }
        fclose(f);
        assert_int_equal(token_file(path, err, sizeof err), n > TOKENS_MAX ? -EBADMSG : 0);
        assert_non_null(token_find("t0"));
        assert_string_equal(token_find("t4095")->name, "t4095");
    }
    assert_non_null(strstr(err, ":4097: expected 'NAME"));
    assert_non_null(strstr(err, "at most 4096 lines"));
    unlink(path);
    assert_int_equal(token_file("", err, sizeof err), 0);
}
