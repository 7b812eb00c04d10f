// SPDX-License-Identifier: BSD-3-Clause
// process.c - kamuee-snmp: an SNMP subagent that shows kamueed's interfaces, addresses and routes
//
//     manager -- SNMP -- snmpd -- AgentX -- kamuee-snmp -- RESTCONF, UNIX socket -- kamueed
//
// net-snmp's agent library speaks AgentX, keeps the session and knows sysUpTime; snmpd has
// communities, users and views. This process holds no state except its last readings (mib.h), and
// is one of kamueed's read-only clients.
//
// It sends linkUp and linkDown (RFC 2863), and follows the virtual routers that come and go.
// kamueed's events only say when to look: notifications follow from the interfaces themselves, so
// that none is sent twice, or missed while kamueed or the event connection was away. It remembers
// the state of each of kamueed's links and tells the differences to the table just read. The first
// table is only remembered. After an event it looks at most every LOOK_NS, and less often if
// reading takes long. A connection that ends leads to another and to a look.
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "base/version.h"
#include "snmp/api.h"
#include "snmp/interfaces.h"
#include "snmp/mib.h"

#include <net-snmp/agent/agent_callbacks.h>

#define DEFAULT_SOCKET "/run/kamuee/kamuee.sock"
#define DEFAULT_MASTER "/var/agentx/master"
#define FILTER "/kamuee:interface-change%20%7C%20/kamuee:configuration-change"
#define LOOK_NS (NS_PER_SECOND / 5)
#define RETRY_NS NS_PER_SECOND

static int events = -1;         // connection, -1 = none
static bool asked_to_look;      // an event arrived, or may have been missed
static uint64_t look_at_ns, connect_at_ns;

// --- links ---------------------------------------------------------------------------------------

struct told {
    struct key key; // ifIndex
    bool up;
};
typedef VEC(struct told) told_vec;
static told_vec told; // sorted

static void tell_link(const struct interface *i)
{
    static const oid trap_name[] = {1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0};
    const oid trap[] = {1, 3, 6, 1, 6, 3, 1, 1, 5, i->oper == 1 ? 4 : 3};
    const long value[] = {i->key.id[0], i->admin, i->oper};
    static const unsigned column[] = {1, 7, 8}; // ifIndex, ifAdminStatus, ifOperStatus
    netsnmp_variable_list *list = NULL;

    snmp_varlist_add_variable(&list, trap_name, OID_LENGTH(trap_name), ASN_OBJECT_ID, trap,
                              sizeof trap);
    for (unsigned k = 0; k < 3; k++) {
        const oid name[] = {1, 3, 6, 1, 2, 1, 2, 2, 1, column[k], i->key.id[0]};
        snmp_varlist_add_variable(&list, name, OID_LENGTH(name), ASN_INTEGER, &value[k],
                                  sizeof value[k]);
    }
    send_v2trap(list);
    snmp_free_varbind(list);
    log_info("snmp: told of a link: interface=%s ifindex=%u status=%s", i->name, i->key.id[0],
             i->oper == 1 ? "up" : "down");
}

static void tell_changes(const struct interfaces *all)
{
    static bool begun;
    told_vec now = {0};

    vec_foreach (&all->row, i) {
        if (!i->ours)
            continue;
        const struct told *before =
            (const void *)row_at(told.item, told.n, sizeof *told.item, &i->key);
        bool up = i->oper == 1;
        if (begun && (before ? before->up != up : up))
            tell_link(i);
        *vec_push(&now) = (struct told){i->key, up};
    }
    vec_free(&told);
    told = now;
    begun = true;
}

// --- virtual routers -----------------------------------------------------------------------------

static int look_at_contexts(void)
{
    json_t *list = NULL, *o;
    size_t at;
    int r = api_get("kamuee:vr?fields=name", &list);

    if (r && r != -ENOENT)
        return r;
    mib_keep("default");
    json_array_foreach(list, at, o)
        mib_keep(api_text(o, "name"));
    json_decref(list);
    mib_drop_others();
    return 0;
}

// --- events --------------------------------------------------------------------------------------

static void lose_events(void)
{
    unregister_readfd(events);
    close(events);
    events = -1;
    connect_at_ns = clock_now_ns() + RETRY_NS;
    log_notice("snmp: kamueed's events have ended");
}

// The content does not matter: look_at_router finds the change.
static void on_events(int fd, void *ctx)
{
    char some[65536];
    ssize_t n = recv(fd, some, sizeof some, MSG_DONTWAIT);

    if (n > 0)
        asked_to_look = true;
    else if (!n || (errno != EAGAIN && errno != EINTR))
        lose_events();
}

static void listen_to_events(void)
{
    static bool failed;
    int fd = api_listen(FILTER);

    connect_at_ns = clock_now_ns() + RETRY_NS;
    if (fd < 0) {
        if (!failed)
            log_warning("snmp: kamueed does not answer: error=%s", LOG_VALUE(strerror(-fd)));
        failed = true;
        return;
    }
    failed = false;
    events = fd;
    register_readfd(fd, on_events, NULL);
    asked_to_look = true;
    log_notice("snmp: connected to kamueed");
}

static void look_at_router(void)
{
    const struct interfaces *all;
    uint64_t begun = clock_now_ns();

    asked_to_look = false;
    if (look_at_contexts() || interfaces_read_again(&all))
        asked_to_look = true; // try again
    else
        tell_changes(all);
    uint64_t now = clock_now_ns(), ten = (now - begun) * 10;
    look_at_ns = now + (ten > LOOK_NS ? ten : LOOK_NS);
}

static void on_tick(unsigned id, void *ctx) // wakes the loop
{
}

static void start_ticks(void)
{
    struct timeval t = {.tv_usec = 200000};

    snmp_alarm_register_hr(t, SA_REPEAT, on_tick, NULL);
}

// Once per round of the loop.
static void work(void)
{
    uint64_t now = clock_now_ns();

    if (events < 0 && now >= connect_at_ns)
        listen_to_events();
    if (asked_to_look && events >= 0 && now >= look_at_ns)
        look_at_router();
}

// --- the process ---------------------------------------------------------------------------------

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
    ended = 1;
}

static int on_session(int major, int minor, void *server, void *client)
{
    log_notice("snmp: session opened: master=%s",
               netsnmp_ds_get_string(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_X_SOCKET));
    interfaces_new_epoch(); // sysUpTime has restarted
    return 0;
}

static int on_library_log(int major, int minor, void *server, void *client)
{
    struct snmp_log_message *m = server;
    char text[200];

    snprintf(text, sizeof text, "%s", m->msg);
    text[strcspn(text, "\n")] = 0;
    // In each new context the library registers roots that the agent already has.
    if (!strncmp(text, "registering pdu failed: 263", 27))
        log_info("snmp: net-snmp registers twice: text=%s", LOG_VALUE(text));
    else if (m->priority <= LOG_WARNING)
        log_warning("snmp: net-snmp says: text=%s", LOG_VALUE(text));
    return 0;
}

static void set_up_library(const char *master)
{
    setenv("MIBS", "", 1); // object names are not needed
    snmp_disable_stderrlog();
    netsnmp_register_loghandler(NETSNMP_LOGHANDLER_CALLBACK, LOG_DEBUG);
    snmp_register_callback(SNMP_CALLBACK_LIBRARY, SNMP_CALLBACK_LOGGING, on_library_log, NULL);
    netsnmp_ds_set_boolean(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_ROLE, 1);
    netsnmp_ds_set_string(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_X_SOCKET, master);
    netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
    netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
    netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DISABLE_PERSISTENT_LOAD, 1);
    netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DISABLE_PERSISTENT_SAVE, 1);
    init_agent("kamuee-snmp");
    netsnmp_ds_set_int(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_AGENTX_PING_INTERVAL, 2);
    snmp_register_callback(SNMP_CALLBACK_APPLICATION, SNMPD_CALLBACK_INDEX_START, on_session,
                           NULL);
    init_snmp("kamuee-snmp");
}

static int usage(FILE *to)
{
    fprintf(to, "usage: kamuee-snmp [--socket PATH] [--agentx PATH|tcp:ADDRESS:PORT]\n"
                "\n"
                "Shows kamueed's interfaces and routes to this host's SNMP agent, by AgentX.\n"
                "\n"
                "  --socket PATH    kamueed's socket; default " DEFAULT_SOCKET "\n"
                "  --agentx PATH    where the agent listens; default " DEFAULT_MASTER "\n");
    return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"socket", required_argument, NULL, 's'},
                                            {"agentx", required_argument, NULL, 'x'},
                                            {"version", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *socket_path = DEFAULT_SOCKET, *master = DEFAULT_MASTER;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (c) {
        case 's': socket_path = optarg; break;
        case 'x': master = optarg; break;
        case 'v': printf("kamuee-snmp %s\n", kamuee_version); return 0;
        case 'h': return usage(stdout);
        default: return usage(stderr);
        }
    if (optind < argc)
        return usage(stderr);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    api_use(socket_path);
    set_up_library(master);
    start_ticks();
    sd_notify(0, "READY=1");
    while (!ended) {
        work();
        agent_check_and_process(1);
    }
    snmp_shutdown("kamuee-snmp");
    return 0;
}
