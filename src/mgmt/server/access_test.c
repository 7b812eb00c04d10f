// SPDX-License-Identifier: BSD-3-Clause
// access_test.c - who may do what: users of the socket, tokens, certificates, listeners on TCP
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "config/candidate.h"
#include "http/access.h"
#include "core/starter.h"
#include "http/http_remote.h"
#include "http/http_tls.h"
#include "http/token.h"
#include "http/http_peer.h"
#include "server/mgmt.h"
#include "server/test_server.h"

static char tokens[80], certificate[80], key[80], ca[80], client_pem[80];
static unsigned port; // of the listener

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

// A certificate for `name`, with `other` as alternative name, signed by `by` (NULL: by itself).
static X509 *make_certificate(EVP_PKEY *k, const char *name, const char *other, X509 *by,
                              EVP_PKEY *by_key)
{
    X509 *x = X509_new();
    X509V3_CTX ctx;

    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), by ? 2 : 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 86400);
    X509_set_pubkey(x, k);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const uint8_t *)name,
                               -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(by ? by : x));
    X509V3_set_ctx(&ctx, by ? by : x, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, NID_basic_constraints,
                                            by ? "CA:FALSE" : "critical,CA:TRUE");
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
    if (other) {
        e = X509V3_EXT_conf_nid(NULL, &ctx, NID_subject_alt_name, other);
        X509_add_ext(x, e, -1);
        X509_EXTENSION_free(e);
    }
    assert_true(X509_sign(x, by_key, EVP_sha256()));
    return x;
}

static void write_pem(const char *path, X509 *x, EVP_PKEY *k)
{
    FILE *f = fopen(path, "w");

    if (x)
        PEM_write_X509(f, x);
    if (k)
        PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL);
    fclose(f);
}

static int set_up_files(void **state)
{
    int r = server_set_up(state);
    EVP_PKEY *k = EVP_EC_gen("P-256");
    X509 *root = make_certificate(k, "test root", NULL, NULL, k);
    X509 *server = make_certificate(k, "127.0.0.1", "IP:127.0.0.1", root, k);
    X509 *client = make_certificate(k, "machine 7", "DNS:noc.example.net", root, k);

    name_file(tokens, "tokens");
    name_file(certificate, "cert.pem");
    name_file(key, "key.pem");
    name_file(ca, "ca.pem");
    name_file(client_pem, "client.pem");
    write_pem(ca, root, NULL);
    write_pem(certificate, server, NULL);
    write_pem(key, NULL, k);
    write_pem(client_pem, client, k);
    write_tokens("boss");
    X509_free(root);
    X509_free(server);
    X509_free(client);
    EVP_PKEY_free(k);
    return r;
}

// A pipe would hold the control thread until somebody writes into it.
static void files_of_the_api_are_files(void **state)
{
    char pipe[80], err[1200];

    name_file(pipe, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(token_file(pipe, err, sizeof err), -EBADMSG);
    assert_non_null(strstr(err, "not a regular file"));
    struct tls_files f = {0};
    snprintf(f.certificate, sizeof f.certificate, "%s", certificate);
    snprintf(f.key, sizeof f.key, "%s", pipe);
    assert_int_equal(http_tls_try(&f, false, err, sizeof err), -EBADMSG);
    assert_non_null(strstr(err, "not a regular file"));
    unlink(pipe);
}

static void a_long_line_of_the_token_file_is_one_line(void **state)
{
    char path[80], err[1200];

    name_file(path, "long");
    FILE *f = fopen(path, "w"); // a second half that would count
    assert_non_null(f);
    fprintf(f, "#%510smallory admin sha256:%064d\n", "", 0);
    fclose(f);
    assert_int_equal(token_file(path, err, sizeof err), -EBADMSG);
    assert_non_null(strstr(err, ":1: the line is longer than 511 bytes"));
    unlink(path);
}

// Three roles for each of 1,000 virtual routers.
static void thousands_of_tokens_are_good_and_one_too_many_is_named(void **state)
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

static int tear_down_files(void **state)
{
    const char *const all[] = {tokens, certificate, key, ca, client_pem};

    for (unsigned i = 0; i < 5; i++)
        unlink(all[i]);
    return server_tear_down(state);
}

// --- a client by TCP ----------------------------------------------------------------------------

static int configure(const char *fmt, ...)
{
    struct text t = {0}, body = {0};
    va_list ap;
    char *line;

    va_start(ap, fmt);
    bug_on(vasprintf(&line, fmt, ap) < 0);
    va_end(ap);
    text_printf(&body, "{\"kamuee:input\":{\"line\":[");
    for (char *l = line, *one; (one = strsep(&l, "\n"));)
        text_printf(&body, "%s\"%s\"", body.s[body.n - 1] == '[' ? "" : ",", one);
    text_printf(&body, "]}}");
    int r = ask("POST", "/restconf/operations/kamuee:configure", body.s);
    free(line);
    text_free(&t);
    text_free(&body);
    return r;
}

static unsigned free_port(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof sa;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    bug_on(bind(fd, (struct sockaddr *)&sa, n) || getsockname(fd, (struct sockaddr *)&sa, &n));
    close(fd);
    return ntohs(sa.sin_port);
}

static int tcp_connect(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&sa, sizeof sa)) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void format_request(struct text *t, const char *method, const char *target,
                           const char *token, const char *body)
{
    text_printf(t, "%s %s HTTP/1.1\r\nHost: k\r\nConnection: close\r\n", method, target);
    if (token)
        text_printf(t, "Authorization: %s%s\r\n", strncmp(token, "Basic ", 6) ? "Bearer " : "",
                    token);
    text_printf(t, "Content-Type: application/yang-data+json\r\nContent-Length: %zu\r\n\r\n%s",
                strlen(body), body);
}

// Status of the answer; 0: the connection ended without one.
static int ask_tcp(const char *method, const char *target, const char *token, const char *body)
{
    struct text t = {0};
    int fd = tcp_connect();

    assert_true(fd >= 0);
    format_request(&t, method, target, token, body);
    client_send(loop, fd, t.s, t.n);
    reply.status = 0;
    client_read(loop, fd, &reply);
    close(fd);
    text_free(&t);
    return reply.status;
}

// The same by TLS, with the client's certificate or without; 0 also when there is no TLS to be had.
static int ask_tls(const char *method, const char *target, const char *token, const char *pem)
{
    SSL_CTX *c = SSL_CTX_new(TLS_client_method());
    SSL *s = SSL_new(c);
    struct text t = {0}, got = {0};
    int fd = tcp_connect(), status = 0, r;
    char buf[4096];

    if (pem)
        assert_true(SSL_use_certificate_file(s, pem, SSL_FILETYPE_PEM) == 1 &&
                    SSL_use_PrivateKey_file(s, pem, SSL_FILETYPE_PEM) == 1);
    SSL_CTX_load_verify_locations(c, ca, NULL);
    SSL_set_verify(s, SSL_VERIFY_PEER, NULL);
    SSL_set1_host(s, "127.0.0.1");
    SSL_set_fd(s, fd);
    format_request(&t, method, target, token, "");
    for (unsigned i = 0; i < 5000; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        if (t.n) {
            r = SSL_connect(s) == 1 ? SSL_write(s, t.s, (int)t.n) : -1;
            if (r > 0)
                t.n = 0;
        } else {
            r = SSL_read(s, buf, sizeof buf);
            if (r > 0)
                text_append(&got, buf, (size_t)r);
        }
        if (r <= 0 && SSL_get_error(s, r) != SSL_ERROR_WANT_READ &&
            SSL_get_error(s, r) != SSL_ERROR_WANT_WRITE)
            break;
        if (r <= 0)
            usleep(200);
    }
    if (got.n)
        sscanf(got.s, "HTTP/1.1 %d", &status);
    text_clear(&reply.body);
    text_append(&reply.body, text_str(&got), got.n);
    SSL_free(s);
    SSL_CTX_free(c);
    close(fd);
    text_free(&t);
    text_free(&got);
    return status;
}

#define MTU "/restconf/data/kamuee:port=p0/mtu"
#define EDIT "{\"kamuee:mtu\":1400}"
#define AUDIT "/restconf/operations/kamuee:audit"

// --- users of the socket ------------------------------------------------------------------------

static void a_user_may_what_its_groups_may(void **state)
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

static void a_group_may_be_bound_to_a_vr(void **state)
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
    assert_int_equal(access_of_user(1234, both, 2, vr), ACCESS_NONE); // which is meant?
    assert_int_equal(configure("set api group operator users"), 200);
    assert_int_equal(access_of_user(1234, both, 2, vr), ACCESS_OPERATE); // bound to none
    assert_string_equal(vr, "");
    assert_int_equal(configure("delete vr blue"), 400); // in use
    assert_int_equal(configure("delete api"), 200);
    for (int i = 0; i < 100; i++) { // many: the host's list is read once
        char line[96];

        snprintf(line, sizeof line, "set vr many%d table %d", i, 1000 + i);
        assert_int_equal(configure(line), 200);
        snprintf(line, sizeof line, "set api group vr many%d admin nobody-has-%d operator %s", i, i,
                 i == 70 ? "staff" : "nobody-has-it");
        assert_int_equal(configure(line), 200);
    }
    assert_int_equal(access_of_user(1234, both, 2, vr), ACCESS_OPERATE);
    assert_string_equal(vr, "many70");
    assert_int_equal(configure("set api group vr many9 read-only staff"), 200);
    assert_int_equal(access_of_user(1234, both, 2, vr), ACCESS_NONE);
    assert_int_equal(configure("delete api"), 200);
    for (int i = 0; i < 100; i++) {
        char line[96];

        snprintf(line, sizeof line, "delete vr many%d", i);
        assert_int_equal(configure(line), 200);
    }
    assert_int_equal(configure("delete vr blue"), 200);
    assert_int_equal(configure("delete vr green"), 200);
}

// As a user of the groups asks: in a process of its own. Returns the status, or 0: not even a
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

static void a_stranger_gets_nothing(void **state)
{
    const struct group *g = getgrnam("staff");
    gid_t staff = g ? g->gr_gid : 0;
    struct stat s;

    if (geteuid() || !g)
        skip();
    char *dir = strndup(sock, (size_t)(strrchr(sock, '/') - sock));
    assert_int_equal(chmod(dir, 0755), 0);
    free(dir);
    assert_int_equal(configure("set api group read-only staff"), 200);
    assert_int_equal(stat(sock, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0660);
    assert_int_equal(ask_as(65534, 65534, "GET /restconf/data/kamuee:state/ledger"), 0);
    assert_int_equal(ask_as(65534, staff, "GET /restconf/data/kamuee:state/ledger"), 200);
    assert_int_equal(ask_as(65534, staff, "POST " AUDIT), 400); // 403, in tens
    // Even when the door is left open.
    assert_int_equal(chmod(sock, 0666), 0);
    assert_int_equal(ask_as(65534, 65534, "GET /restconf/data/kamuee:state/ledger"), 400);
}

// Opens a session with this in the header; what the newest session is then called by.
static const char *opened_by(uid_t uid, gid_t gid, const char *sudo_user)
{
    static char name[80];
    char request[256];

    snprintf(request, sizeof request,
             "POST /restconf/operations/kamuee:session-open HTTP/1.1\r\n%s: %s\r\nRest:",
             ACCESS_SUDO_HEADER, sudo_user);
    assert_int_equal(ask_as(uid, gid, request), 200);
    assert_int_equal(ask("GET", "/restconf/data/kamuee:state/configuration", NULL), 200);
    const char *at = NULL, *next = text_str(&reply.body), *end = strstr(next, "\"revision\"");
    while ((next = strstr(next, "\"by\":\"")) && next < end)
        at = next += 6;
    assert_non_null(at);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
    candidates_end();
    return name;
}

static void who_came_by_sudo_is_named_and_only_root_is_believed(void **state)
{
    const struct group *g = getgrnam("staff");
    char long_name[40];

    if (geteuid() || !g)
        skip();
    char *dir = strndup(sock, (size_t)(strrchr(sock, '/') - sock));
    assert_int_equal(chmod(dir, 0755), 0);
    free(dir);
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

static void listen_plain(void)
{
    port = free_port();
    assert_int_equal(
        configure("set api tokens %s\nset api listen 127.0.0.1 port %u tls false", tokens, port),
        200);
}

static void a_token_may_what_its_role_may(void **state)
{
    listen_plain();
    assert_int_equal(ask_tcp("GET", "/restconf/data/kamuee:state/ledger", NULL, ""), 401);
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

static void a_changed_file_of_tokens_counts_at_once(void **state)
{
    listen_plain();
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 200);
    write_tokens("new-boss");
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 401);
    assert_int_equal(ask_tcp("GET", MTU, "new-boss", ""), 200);
    unlink(tokens);
    assert_int_equal(ask_tcp("GET", MTU, "new-boss", ""), 401);
    write_tokens("boss");
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 200);
}

static const char get_as[] = "GET " MTU " HTTP/1.1\r\nHost: k\r\nAuthorization: Bearer %s\r\n\r\n";

static void who_guesses_tokens_has_to_wait(void **state)
{
    struct text t = {0};

    listen_plain();
    int proved = tcp_connect();
    text_printf(&t, get_as, "reader");
    client_send(loop, proved, t.s, t.n);
    assert_true(client_read(loop, proved, &reply));
    assert_int_equal(reply.status, 200);
    for (unsigned i = 0; i < GUESSES_MAX; i++)
        assert_int_equal(ask_tcp("GET", MTU, i & 1 ? "guess" : "Basic cmVhZGVyOnJ1bm5lcg==", ""),
                         401);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 429); // it is not even looked at
        assert_has(reply.head.s, "Retry-After: 10");
        assert_said("wrong tokens from this address");
    }
    assert_int_equal(http_stats()->refused[REFUSED_UNKNOWN], GUESSES_MAX);
    assert_int_equal(http_stats()->refused[REFUSED_PAUSED], 3);
    client_send(loop, proved, t.s, t.n); // who was there before goes on
    assert_true(client_read(loop, proved, &reply));
    assert_int_equal(reply.status, 200);
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 429); // which ends nobody's pause
    assert_int_equal(ask("GET", MTU, NULL), 200);
    close(proved);
    text_free(&t);
}

// A right token between wrong ones buys no further guesses.
static void who_has_a_token_guesses_no_faster(void **state)
{
    struct text right = {0}, wrong = {0};
    unsigned looked_at = 0;

    listen_plain();
    int fd = tcp_connect();
    text_printf(&right, get_as, "reader");
    text_printf(&wrong, get_as, "wrong");
    for (unsigned i = 0; i < 20 * GUESSES_MAX; i++) {
        client_send(loop, fd, i % 9 ? wrong.s : right.s, i % 9 ? wrong.n : right.n);
        assert_true(client_read(loop, fd, &reply));
        looked_at += reply.status == 401;
    }
    assert_int_equal(looked_at, GUESSES_MAX);
    close(fd);
    text_free(&right);
    text_free(&wrong);
}

static int listen_to_events(const char *token)
{
    struct text t = {0};
    char head[200];
    ssize_t n = -1;
    int fd = tcp_connect();

    format_request(&t, "GET", "/restconf/streams/events", token, "");
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

// Whether the server ends it within so many seconds.
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

// A stream ends when its token's line goes; that of another token goes on.
static void who_loses_rights_loses_streams(void **state)
{
    listen_plain();
    int withdrawn = listen_to_events("boss"), stays = listen_to_events("reader");

    assert_false(is_ended(withdrawn, 2));
    write_tokens("new-boss");
    assert_true(is_ended(withdrawn, 10));
    assert_false(is_ended(stays, 2));
    write_tokens("boss");
    close(withdrawn);
    close(stays);
}

// Two requests in one piece: each is of who its own token says.
static void a_token_counts_for_its_own_request(void **state)
{
    struct text t = {0};

    listen_plain();
    for (unsigned first_is_right = 0; first_is_right < 2; first_is_right++) {
        int fd = tcp_connect();

        text_clear(&t);
        text_printf(&t, get_as, first_is_right ? "reader" : "wrong");
        text_printf(&t, get_as, first_is_right ? "wrong" : "reader");
        client_send(loop, fd, t.s, t.n);
        assert_true(client_read(loop, fd, &reply));
        assert_int_equal(reply.status, first_is_right ? 200 : 401);
        close(fd);
    }
    text_free(&t);
}

// --- listeners ----------------------------------------------------------------------------------

static void what_cannot_be_is_refused(void **state)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof sa;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(configure("set api listen 192.0.2.1 tls false\nset api tokens %s", tokens),
                     400);
    assert_said("expected a loopback address such as 127.0.0.1, or TLS");
    assert_int_equal(configure("set api listen 192.0.2.1"), 400);
    assert_said("TLS needs a certificate and its key");
    assert_int_equal(configure("set api listen 127.0.0.1 tls false"), 400);
    assert_said("clients have no way to authenticate: set api tokens FILE");
    assert_int_equal(configure("set api listen 127.0.0.1 tls false\nset api tokens /nowhere"), 409);
    assert_said("/nowhere: cannot be read: No such file or directory");
    assert_int_equal(
        configure("set api listen 127.0.0.1\nset api tls certificate %s key %s\nset api tokens %s",
                  tokens, key, tokens),
        409);
    assert_said("cannot be used");
    bug_on(bind(fd, (struct sockaddr *)&sa, n) || listen(fd, 1) ||
           getsockname(fd, (struct sockaddr *)&sa, &n));
    assert_int_equal(configure("set api tokens %s\nset api listen 127.0.0.1 port %u tls false",
                               tokens, ntohs(sa.sin_port)),
                     409);
    assert_said("use another port");
    assert_null(strstr(running_text(), "api"));
    close(fd);
}

static void who_closes_his_own_listener_gets_an_answer(void **state)
{
    listen_plain();
    assert_int_equal(ask_tcp("DELETE", "/restconf/data/kamuee:api/listen=127.0.0.1", "boss", ""),
                     204);
    for (unsigned i = 0; i < 1500; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        usleep(1000);
    }
    assert_int_equal(tcp_connect(), -1);
}

static void a_crowd_at_the_door_harms_nobody_inside(void **state)
{
    int fd[200], n = 0; // more than are served at a time, fewer than may wait

    listen_plain();
    for (; n < 200; n++) {
        fd[n] = tcp_connect();
        assert_true(fd[n] >= 0);
        if (n % 3)
            client_send(loop, fd[n], "GET / HT", 8);
        event_base_loop(loop, EVLOOP_NONBLOCK);
    }
    assert_int_equal(ask("GET", MTU, NULL), 200);
    while (n--)
        close(fd[n]);
    assert_int_equal(ask_tcp("GET", MTU, "boss", ""), 200);
}

static void a_large_body_by_tcp_is_refused(void **state)
{
    struct text body = {0};

    listen_plain();
    for (unsigned i = 0; i < 3u << 20; i += 64)
        text_printf(&body, "%64s", "");
    assert_int_equal(ask_tcp("PUT", MTU, "boss", body.s), 413);
    assert_said("too-big");
    text_free(&body);
}

// --- TLS ----------------------------------------------------------------------------------------

static void listen_tls(const char *more)
{
    port = free_port();
    assert_int_equal(
        configure(
            "set api tls certificate %s key %s client-ca %s\nset api listen 127.0.0.1 port %u%s",
            certificate, key, ca, port, more),
        200);
}

static void a_certificate_may_what_its_name_may(void **state)
{
    listen_tls("");
    assert_int_equal(ask_tls("GET", MTU, NULL, NULL),
                     0); // no certificate, no tokens: not even an answer
    assert_int_equal(ask_tls("GET", MTU, NULL, client_pem), 403);
    assert_said("certificate machine 7 has no role");
    assert_int_equal(configure("set api client noc.example.net role operator"), 200);
    assert_int_equal(ask_tls("GET", MTU, NULL, client_pem), 200);
    assert_int_equal(ask_tls("DELETE", MTU, NULL, client_pem), 403);
    assert_said("certificate noc.example.net has role operator");
    assert_int_equal(configure("set api client \\\"machine 7\\\" role admin"), 200);
    assert_int_equal(ask_tls("DELETE", MTU, NULL, client_pem), 204);
    assert_int_equal(ask_tcp("GET", MTU, NULL, ""), 0); // not by TLS
}

static void tokens_and_certificates_together(void **state)
{
    char more[120];

    snprintf(more, sizeof more, "\nset api tokens %s", tokens);
    listen_tls(more);
    assert_int_equal(ask_tls("GET", MTU, NULL, NULL), 401);
    assert_said("\"access-denied\"");
    assert_int_equal(ask_tls("GET", MTU, "reader", NULL), 200);
    assert_int_equal(ask_tls("GET", "/nowhere", "reader", client_pem), 404);
    assert_int_equal(ask_tls("BREW", MTU, "reader", NULL), 501);
    assert_said("ietf-restconf:errors");
}

static void a_reload_reads_certificates_again(void **state)
{
    char err[512] = "", saved[8192];

    listen_tls("\nset api client noc.example.net role admin");
    assert_int_equal(ask("POST", "/restconf/operations/kamuee:save-configuration", NULL), 200);
    FILE *f = fopen(key, "r");
    size_t n = fread(saved, 1, sizeof saved, f);
    fclose(f);
    f = fopen(key, "w");
    fclose(f);
    assert_int_not_equal(mgmt_reload(err, sizeof err), 0);
    assert_has(err, "key");
    assert_int_equal(ask_tls("GET", MTU, NULL, client_pem), 200); // the old one stays
    f = fopen(key, "w");
    fwrite(saved, 1, n, f);
    fclose(f);
    assert_int_equal(mgmt_reload(err, sizeof err), 0);
    assert_int_equal(ask_tls("GET", MTU, NULL, client_pem), 200);
}

int main(void)
{
    bug_on(starter_begin());
    http_remote_know(KAMUEE_HTTP);
    const struct CMUnitTest tests[] = {
        served(a_user_may_what_its_groups_may),
        served(a_group_may_be_bound_to_a_vr),
        served(a_stranger_gets_nothing),
        served(who_came_by_sudo_is_named_and_only_root_is_believed),
        served(a_token_may_what_its_role_may),
        served(a_changed_file_of_tokens_counts_at_once),
        served(who_guesses_tokens_has_to_wait),
        served(who_has_a_token_guesses_no_faster),
        served(who_loses_rights_loses_streams),
        served(a_token_counts_for_its_own_request),
        served(what_cannot_be_is_refused),
        served(who_closes_his_own_listener_gets_an_answer),
        served(a_crowd_at_the_door_harms_nobody_inside),
        served(a_large_body_by_tcp_is_refused),
        served(a_certificate_may_what_its_name_may),
        served(tokens_and_certificates_together),
        served(a_reload_reads_certificates_again),
        cmocka_unit_test(files_of_the_api_are_files),
        cmocka_unit_test(a_long_line_of_the_token_file_is_one_line),
        cmocka_unit_test(thousands_of_tokens_are_good_and_one_too_many_is_named),
    };

    return cmocka_run_group_tests(tests, set_up_files, tear_down_files);
}
