// SPDX-License-Identifier: BSD-3-Clause
// process.c - kamuee-http: reads what clients of TCP send, for kamueed (docs/adr/0019)
//
// kamueed starts it (http/http_remote.h) with descriptor 3, by which it gets each connection with
// one end of a pair of UNIX sockets. Between the two, bytes go
//
//     client  -- TLS -- reader.c -->  kamueed         well-formed requests alone
//     client  <------- TLS --------   kamueed         as they are
//
// and at most ROOM bytes wait for either side. It has no capability and no file, and decides
// nothing: whom kamueed drops, it drops. It ends when kamueed has ended, and what kamueed had
// answered has been sent.
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/log.h"
#include "http/remote_protocol.h"
#include "remote/certificates.h"
#include "remote/confine.h"
#include "remote/reader.h"

#define ROOM (64u << 10)
#define LAST_S 20        // a client has to read the rest of what kamueed said
#define LAST_MAX 128     // such clients
#define ALONE_S 5        // the same, of a kamueed that has ended
#define STUCK_S 30       // of processor time without on_alive()
#define ALIVE_S 10

struct link { // a client and kamueed's end
    struct bufferevent *client, *router;
    struct remote_reader reader;
    bool tls, greeted;
    bool client_ended; // it says nothing more
    struct event *last; // kamueed has ended the connection: for how long the client may read yet
    struct link *next, **at; // of all
};

static struct event_base *base;
static struct link *links;
static unsigned n_last;
static bool alone; // kamueed has ended

// --- a connection ends --------------------------------------------------------------------------

static void link_free(struct link *l)
{
    SSL *ssl = bufferevent_openssl_get_ssl(l->client);

    if (l->next)
        l->next->at = l->at;
    *l->at = l->next;
    if (ssl && l->greeted) {
        SSL_shutdown(ssl); // says that this was all
        ERR_clear_error();
    }
    if (l->last) {
        event_free(l->last);
        n_last--;
    }
    bufferevent_free(l->client);
    if (l->router)
        bufferevent_free(l->router);
    free(l);
    if (alone && !links)
        event_base_loopbreak(base);
}

static void on_last(evutil_socket_t fd, short what, void *arg)
{
    link_free(arg);
}

static size_t unsent(struct bufferevent *b)
{
    return evbuffer_get_length(bufferevent_get_output(b));
}

// Those that read slowest go first: the list has the newest at its head.
static void bound_last(void)
{
    struct link *oldest = NULL;

    for (struct link *l = links; l && n_last > LAST_MAX; l = l->next)
        oldest = l->last ? l : oldest;
    if (oldest)
        link_free(oldest);
}

// Also when it was noticed by writing.
static void take_rest(struct link *l)
{
    struct evbuffer *to = bufferevent_get_output(l->client), *rest = evbuffer_new();

    bug_on(!rest);
    bufferevent_read_buffer(l->router, to);
    while (evbuffer_read(rest, bufferevent_getfd(l->router), -1) > 0)
        ;
    evbuffer_add_buffer(to, rest);
    evbuffer_free(rest);
}

// kamueed ended it: the client gets what was said before.
static void router_ended(struct link *l)
{
    const struct timeval most = {.tv_sec = LAST_S};

    take_rest(l);
    bufferevent_free(l->router);
    l->router = NULL;
    l->reader.dead = true;
    l->last = unsent(l->client) ? event_new(base, -1, 0, on_last, l) : NULL;
    if (!l->last) {
        link_free(l);
        return;
    }
    event_add(l->last, &most);
    n_last++;
    bound_last();
}

// --- bytes --------------------------------------------------------------------------------------

static void from_client(struct bufferevent *client, void *arg)
{
    struct link *l = arg;
    struct evbuffer *in = bufferevent_get_input(client);

    if (!l->router) {
        evbuffer_drain(in, evbuffer_get_length(in));
        return;
    }
    reader_take(&l->reader, in, bufferevent_get_output(l->router));
    if (unsent(l->router) > ROOM)
        bufferevent_disable(client, EV_READ);
}

static void from_router(struct bufferevent *router, void *arg)
{
    struct link *l = arg;

    bufferevent_read_buffer(router, bufferevent_get_output(l->client));
    if (unsent(l->client) > ROOM)
        bufferevent_disable(router, EV_READ);
}

static void say_end(struct link *l)
{
    if (l->client_ended && l->router && !unsent(l->router))
        shutdown(bufferevent_getfd(l->router), SHUT_WR);
}

static void router_has_read(struct bufferevent *router, void *arg)
{
    struct link *l = arg;

    if (l->client_ended)
        say_end(l);
    else
        bufferevent_enable(l->client, EV_READ);
}

static void client_has_read(struct bufferevent *client, void *arg)
{
    struct link *l = arg;

    if (!l->router)
        link_free(l);
    else
        bufferevent_enable(l->router, EV_READ);
}

// --- a connection begins ------------------------------------------------------------------------

static void greet(struct link *l)
{
    SSL *ssl = bufferevent_openssl_get_ssl(l->client);
    char names[REMOTE_NAMES_MAX];
    size_t n = 0;
    bool certificate = ssl && certificates_names(ssl, names, sizeof names, &n);
    const struct remote_greeting g = {REMOTE_MARK, certificate, (uint16_t)n};

    l->greeted = true;
    bufferevent_write(l->router, &g, sizeof g);
    bufferevent_write(l->router, names, n);
}

static void on_client(struct bufferevent *client, short what, void *arg)
{
    struct link *l = arg;

    ERR_clear_error();
    if (what & BEV_EVENT_CONNECTED) {
        greet(l);
    } else if (what & BEV_EVENT_EOF && l->greeted) {
        l->client_ended = true; // it may still read
        say_end(l);
    } else {
        link_free(l);
    }
}

static void on_router(struct bufferevent *router, short what, void *arg)
{
    router_ended(arg);
}

static struct bufferevent *client_of(int fd, bool tls)
{
    SSL *ssl = tls ? certificates_new() : NULL;
    struct bufferevent *b;

    if (!tls)
        return bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    b = ssl ? bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                             BEV_OPT_CLOSE_ON_FREE)
            : NULL;
    if (b)
        bufferevent_openssl_set_allow_dirty_shutdown(b, 1);
    return b;
}

static void link_new(int fd, int pair, bool tls)
{
    struct link *l = calloc(1, sizeof *l);

    bug_on(!l);
    l->tls = tls;
    l->client = client_of(fd, tls);
    if (!l->client) {
        close(fd);
        close(pair);
        free(l);
        return;
    }
    l->router = bufferevent_socket_new(base, pair, BEV_OPT_CLOSE_ON_FREE);
    bug_on(!l->router);
    l->next = links;
    l->at = &links;
    if (l->next)
        l->next->at = &l->next;
    links = l;
    bufferevent_setcb(l->client, from_client, client_has_read, on_client, l);
    bufferevent_setcb(l->router, from_router, router_has_read, on_router, l);
    if (!tls)
        greet(l);
    bufferevent_enable(l->client, EV_READ | EV_WRITE);
    bufferevent_enable(l->router, EV_READ | EV_WRITE);
}

// --- kamueed ------------------------------------------------------------------------------------

static void take_connection(int pair)
{
    char way;
    int fd = -1;

    if (descriptor_receive(pair, &way, 1, &fd) == 1 && fd >= 0) {
        link_new(fd, pair, way == REMOTE_TLS);
        return;
    }
    if (fd >= 0)
        close(fd);
    close(pair);
}

static void serve_message(const struct remote_message *m, int fd)
{
    struct remote_answer a;

    if (m->word == REMOTE_CONNECTION && fd >= 0) {
        take_connection(fd);
    } else if (fd >= 0) {
        certificates_put(m->word, fd);
    } else if (m->word == REMOTE_TRY) {
        certificates_try(m->flag, &a);
        (void)!write(REMOTE_FD, &a, sizeof a);
    } else if (m->word == REMOTE_USE) {
        certificates_use();
    }
}

static void on_message(evutil_socket_t s, short what, void *arg)
{
    struct remote_message m;
    ssize_t n;
    int fd;

    while ((n = descriptor_receive(s, &m, sizeof m, &fd)) == sizeof m)
        serve_message(&m, fd);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    alone = true;
    event_base_loopbreak(base);
}

// A loop that turns no more ends the process, and kamueed starts another one.
static void on_alive(evutil_socket_t fd, short what, void *arg)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = STUCK_S}, NULL);
}

static void serve(void)
{
    struct event *messages = event_new(base, REMOTE_FD, EV_READ | EV_PERSIST, on_message, NULL),
                 *alive = event_new(base, -1, EV_PERSIST, on_alive, NULL);

    bug_on(!messages || !alive || event_add(messages, NULL) ||
           event_add(alive, &(struct timeval){.tv_sec = ALIVE_S}));
    on_alive(-1, 0, NULL);
    event_base_dispatch(base);
    event_free(messages);
    if (links) {
        event_base_loopexit(base, &(struct timeval){.tv_sec = ALONE_S});
        event_base_dispatch(base);
    }
}

// --- main ---------------------------------------------------------------------------------------

static void set_up(void)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE}; // all of a unit get SIGTERM
    struct rlimit n;

    for (unsigned i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    if (!getrlimit(RLIMIT_NOFILE, &n)) {
        n.rlim_cur = n.rlim_max;
        setrlimit(RLIMIT_NOFILE, &n);
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){0}); // it has the key
    OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS | OPENSSL_INIT_LOAD_CONFIG, NULL);
    SSL_CTX_free(SSL_CTX_new(TLS_server_method())); // loads what needs files
    base = event_base_new();
    bug_on(!base || chdir("/"));
}

int main(void)
{
    int type = 0;
    socklen_t size = sizeof type;
    char err[200];

    if (getsockopt(REMOTE_FD, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET) {
        fprintf(stderr, "kamuee-http: kamueed starts it\n");
        return 2;
    }
    set_up();
    if (confine(err, sizeof err)) {
        fprintf(stderr, "kamuee-http: %s\n", err);
        return 1;
    }
    serve();
    return 0;
}
