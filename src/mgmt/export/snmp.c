// SPDX-License-Identifier: BSD-3-Clause
// snmp.c - the AgentX session with an SNMP agent, such as net-snmp's snmpd
//
//     OFF -> WAITING -> CONNECTING -> OPENING -> REGISTERING -> UP
//               ^------------ whatever goes wrong -------'
//
// One connection, kept by control's loop. While an answer waits for rib_manager, what the master
// sends meanwhile stays in the socket's buffer. A session that ends, for whatever reason, is opened
// again after RETRY_MS; a master that does not read its answers loses it. All trees (mib.h) are
// registered when the session opens, those of virtual routers in the context of their names;
// LOOK_MS is how often interfaces and virtual routers are looked at.
#include "export/snmp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "core/thread.h"
#include "export/export.h"
#include "export/mib.h"
#include "export/snmp_answer.h"
#include "export/snmp_pdu.h"
#include "table/iface.h"
#include "table/vr.h"

#define RETRY_MS 1000
#define LOOK_MS 250
#define UNREAD_MAX 1048576 // bytes of answers that a master leaves unread

static struct session {
    enum { OFF, WAITING, CONNECTING, OPENING, UP } state;
    struct snmp_config config;
    struct event_base *loop;
    struct bufferevent *socket;
    struct event *retry, *look;
    uint32_t id, packet; // of the session, of our last PDU
    char context[VR_MAX][AGENTX_CONTEXT_MAX]; // of each virtual router as registered, "" = not
    struct text out, answer;
    bool reading;
    char error[96];
    uint64_t sessions, notifications, lost;
} session;

static void after(struct event *e, unsigned ms)
{
    struct timeval t = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    if (event_add(e, &t))
        log_error("snmp: no memory for a timer");
}

// --- the end of a session ------------------------------------------------------------------------

static void close_socket(void)
{
    snmp_answer_forget();
    if (session.socket)
        bufferevent_free(session.socket);
    session.socket = NULL;
    memset(session.context, 0, sizeof session.context);
    text_clear(&session.out);
    text_clear(&session.answer);
}

static void lose(const char *why)
{
    if (session.state == UP || strcmp(session.error, why))
        log_warning("snmp: no session: master=%s error=\"%s\"", session.config.master, why);
    snprintf(session.error, sizeof session.error, "%s", why);
    close_socket();
    session.state = WAITING;
    after(session.retry, RETRY_MS);
}

static void send_text(struct text *t)
{
    if (t->n && bufferevent_write(session.socket, t->s, t->n))
        log_error("snmp: no memory for the send buffer");
    text_clear(t);
}

static void send_out(void)
{
    send_text(&session.out);
}

static bool is_read(void)
{
    return evbuffer_get_length(bufferevent_get_output(session.socket)) < UNREAD_MAX;
}

// --- what we send of our own ---------------------------------------------------------------------

static void send_open(void)
{
    snmp_pdu_open(&session.out, ++session.packet);
    send_out();
}

// In the context of the virtual router; `default` has none.
static void register_trees(enum agentx_type type, const char *vr)
{
    bool all = !strcmp(vr, "default");

    for (unsigned i = 0; i < mib_n; i++)
        if (all || mib_table[i].per_vr)
            snmp_pdu_register(&session.out, type, session.id, ++session.packet, &mib_table[i].tree,
                              all ? "" : vr);
}

static void register_all(void)
{
    for (uint16_t id = 0; id < VR_MAX; id++) {
        const struct vr *v = vr_get(id);
        char *context = session.context[id];
        if (context[0] && (!v->used || strcmp(context, v->name))) {
            register_trees(AGENTX_UNREGISTER, context);
            context[0] = '\0';
        }
        if (v->used && !context[0]) {
            snprintf(context, AGENTX_CONTEXT_MAX, "%s", v->name);
            register_trees(AGENTX_REGISTER, context);
        }
    }
    send_out();
}

static void announce(void *ctx, uint16_t id, bool up)
{
    if (!session.config.notifications)
        return;
    if (session.state != UP || !is_read()) {
        session.lost++;
        return;
    }
    snmp_pdu_link(&session.out, session.id, ++session.packet, id, up);
    send_out();
    session.notifications++;
}

// --- what the master sends -----------------------------------------------------------------------

static void on_response(const struct agentx_header *h, const uint8_t *payload)
{
    struct agentx_reader r;

    agentx_reader_init(&r, h, payload);
    agentx_read_u32(&r); // its uptime
    uint16_t error = agentx_read_u16(&r);
    if (session.state == OPENING && (error || r.failed)) {
        lose("the SNMP agent refuses to open a session");
    } else if (session.state == OPENING) {
        session.id = h->session;
        session.state = UP;
        session.sessions++;
        session.error[0] = '\0';
        register_all();
        log_notice("snmp: session opened: master=%s session=%u", session.config.master, session.id);
    } else if (error) {
        snprintf(session.error, sizeof session.error,
                 "the SNMP agent reports error %u (RFC 2741 6.2.16)", error);
        log_warning("snmp: the agent reports an error: master=%s packet=%u error=%u",
                    session.config.master, h->packet, error);
    }
}

static void read_all(void);

static void send_answer(void)
{
    send_text(&session.answer);
    if (!session.reading)
        read_all();
}

// False: the session is over.
static bool take_pdu(const struct agentx_header *h, const uint8_t *payload)
{
    switch (h->type) {
    case AGENTX_RESPONSE:
        on_response(h, payload);
        return session.socket;
    case AGENTX_GET:
    case AGENTX_GET_NEXT:
    case AGENTX_GET_BULK:
    case AGENTX_TEST_SET:
        snmp_answer_begin(h, payload, &session.answer, send_answer);
        return true;
    case AGENTX_CLEANUP_SET: // has no response
        return true;
    case AGENTX_CLOSE:
        lose("the SNMP agent closed the session");
        return false;
    }
    snmp_pdu_acknowledge(&session.out, h); // it has no answer of its own
    send_out();
    return true;
}

// One PDU of the buffer; false: there is none that can be taken now.
static bool read_one(struct evbuffer *in)
{
    struct agentx_header h;
    uint8_t head[AGENTX_HEADER];

    if (snmp_answer_rests() || evbuffer_copyout(in, head, sizeof head) < (ssize_t)sizeof head)
        return false;
    if (agentx_read_header(head, &h)) {
        lose("the SNMP agent does not speak AgentX");
        return false;
    }
    size_t n = sizeof head + h.payload;
    if (evbuffer_get_length(in) < n)
        return false;
    if (!is_read()) {
        lose("the SNMP agent does not read its responses");
        return false;
    }
    const uint8_t *pdu = evbuffer_pullup(in, (ssize_t)n);
    if (!pdu || !take_pdu(&h, pdu + sizeof head))
        return false;
    evbuffer_drain(in, n);
    return true;
}

static void read_all(void)
{
    session.reading = true;
    while (session.socket && read_one(bufferevent_get_input(session.socket)))
        ;
    session.reading = false;
}

// --- the connection ------------------------------------------------------------------------------

static void on_read(struct bufferevent *b, void *ctx)
{
    read_all();
}

static void on_event(struct bufferevent *b, short what, void *ctx)
{
    char why[96];

    if (what & BEV_EVENT_CONNECTED) {
        session.state = OPENING;
        send_open();
        return;
    }
    snprintf(why, sizeof why, what & BEV_EVENT_EOF ? "the SNMP agent closed the connection" : "%s",
             evutil_socket_error_to_string(errno));
    lose(why);
}

// "tcp:ADDRESS:PORT" or a path. 0 or -EINVAL.
static int read_address(const char *master, struct sockaddr_storage *a, socklen_t *n)
{
    struct sockaddr_un *u = (struct sockaddr_un *)a;
    int size = sizeof *a;

    memset(a, 0, sizeof *a);
    if (!strncmp(master, "tcp:", 4)) {
        int r = evutil_parse_sockaddr_port(master + 4, (struct sockaddr *)a, &size);
        *n = (socklen_t)size;
        return r ? -EINVAL : 0;
    }
    if (master[0] != '/' || strlen(master) >= sizeof u->sun_path)
        return -EINVAL;
    u->sun_family = AF_UNIX;
    memcpy(u->sun_path, master, strlen(master));
    *n = sizeof *u;
    return 0;
}

// 0: connected, or on its way; or -errno.
static int connect_socket(void)
{
    struct sockaddr_storage a;
    socklen_t n;
    int r = read_address(session.config.master, &a, &n);
    int fd = r ? -1 : socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return r ? r : -errno;
    if (connect(fd, (struct sockaddr *)&a, n) && errno != EINPROGRESS) {
        r = -errno;
        close(fd);
        return r;
    }
    session.socket =
        bufferevent_socket_new(session.loop, fd, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (!session.socket) {
        close(fd);
        return -ENOMEM;
    }
    bufferevent_setcb(session.socket, on_read, NULL, on_event, NULL);
    return bufferevent_enable(session.socket, EV_READ | EV_WRITE) ||
                   bufferevent_socket_connect(session.socket, NULL, 0)
               ? -EIO
               : 0;
}

static void connect_now(evutil_socket_t fd, short what, void *ctx)
{
    session.state = CONNECTING;
    int r = connect_socket();
    if (r)
        lose(strerror(-r));
}

static void look_now(evutil_socket_t fd, short what, void *ctx)
{
    mib_if_look(announce, NULL);
    if (session.state == UP)
        register_all();
    after(session.look, LOOK_MS);
}

// --- export.c ------------------------------------------------------------------------------------

static void end_session(void)
{
    if (session.state == UP) {
        snmp_pdu_close(&session.out, session.id, ++session.packet);
        evutil_socket_t fd = bufferevent_getfd(session.socket);
        if (send(fd, session.out.s, session.out.n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            log_debug("snmp: cannot close the session properly: error=%s",
                      LOG_VALUE(strerror(errno)));
    }
    close_socket();
    if (session.retry)
        event_del(session.retry);
    if (session.look)
        event_del(session.look);
    session.state = OFF;
}

void snmp_start(struct event_base *loop)
{
    session.loop = loop;
    session.retry = evtimer_new(loop, connect_now, NULL);
    session.look = evtimer_new(loop, look_now, NULL);
    bug_on(!session.retry || !session.look);
}

void snmp_stop(void)
{
    end_session();
    if (session.retry)
        event_free(session.retry);
    if (session.look)
        event_free(session.look);
    text_free(&session.out);
    text_free(&session.answer);
    session = (struct session){0};
}

int snmp_set(const struct snmp_config *c, char *err, size_t err_size)
{
    struct sockaddr_storage a;
    socklen_t n;

    thread_must_be(ROLE_CONTROL);
    if (c->master[0] && read_address(c->master, &a, &n)) {
        snprintf(err, err_size,
                 "agentx is '%s', expected the path of a UNIX socket, such as /var/agentx/master, "
                 "or tcp:ADDRESS:PORT",
                 c->master);
        return -EINVAL;
    }
    bool same = !strcmp(c->master, session.config.master);
    session.config = *c;
    if (same || !session.loop)
        return 0;
    end_session();
    session.error[0] = '\0';
    if (!c->master[0])
        return 0;
    session.state = WAITING;
    mib_if_look(NULL, NULL);
    after(session.look, LOOK_MS);
    after(session.retry, 0);
    return 0;
}

void snmp_state(struct snmp_state *s)
{
    thread_must_be(ROLE_CONTROL);
    *s = (struct snmp_state){.status = session.state == OFF  ? "off"
                                       : session.state == UP ? "up"
                                                             : "connecting",
                             .master = session.config.master,
                             .session = session.id,
                             .sessions = session.sessions,
                             .gets = snmp_counts.gets,
                             .get_nexts = snmp_counts.get_nexts,
                             .get_bulks = snmp_counts.get_bulks,
                             .sets = snmp_counts.sets,
                             .variables = snmp_counts.variables,
                             .errors = snmp_counts.errors,
                             .notifications = session.notifications,
                             .notifications_lost = session.lost};
    memcpy(s->error, session.error, sizeof s->error);
    for (uint16_t vr = 0; vr < VR_MAX; vr++)
        for (unsigned i = 0; session.context[vr][0] && i < mib_n; i++)
            s->trees += vr == VR_DEFAULT || mib_table[i].per_vr;
}
