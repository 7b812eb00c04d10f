// SPDX-License-Identifier: BSD-3-Clause
// process.c - kamuee-snmp: an SNMP subagent that shows kamueed's interfaces, addresses and routes
//
//     manager -- SNMP -- snmpd -- AgentX -- kamuee-snmp -- RESTCONF, UNIX socket -- kamueed
//
// net-snmp's agent library speaks AgentX, keeps the session and knows sysUpTime; snmpd has
// communities, users and views. This process holds no state except its last readings (mib.h), and
// is one of kamueed's read-only clients.
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/log.h"
#include "base/version.h"
#include "snmp/api.h"
#include "snmp/interfaces.h"
#include "snmp/mib.h"
#include "snmp/notify.h"

#include <net-snmp/agent/agent_callbacks.h>

#define DEFAULT_SOCKET "/run/kamuee/kamuee.sock"
#define DEFAULT_MASTER "/var/agentx/master"

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
    notify_start();
    sd_notify(0, "READY=1");
    while (!ended) {
        notify_work();
        agent_check_and_process(1);
    }
    snmp_shutdown("kamuee-snmp");
    return 0;
}
