// SPDX-License-Identifier: BSD-3-Clause
// restconf_fuzz.c - any bytes on the RESTCONF socket, with fake managers
//
// A small byte stands for a piece of a request, any other for itself. When the first byte is odd, a
// byte 255 separates method and path from the body, and the rest of a well-formed request is put
// around them. Each input is a connection of its own; afterwards the managers must hold the state
// of the running configuration, and no walk may be left open. Then the running configuration is
// restored, so that an input has the same effect every time.
#include <event2/event.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "config/change.h"
#include "config/config.h"
#include "fake/fake_managers.h"
#include "fake/fake_rib.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "server/mgmt.h"
#include "test_client.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/vr.h"
#include "yang/config_tree.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable()
#define __lsan_enable()
#endif

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const pieces[] = {"GET ",
                                       "PUT ",
                                       "PATCH ",
                                       "POST ",
                                       "DELETE ",
                                       "HEAD ",
                                       "OPTIONS ",
                                       "/restconf/data/kamuee:",
                                       "/restconf/data",
                                       "/restconf/operations/kamuee:",
                                       "port",
                                       "=p0",
                                       "=p1",
                                       "=p%30",
                                       "/mtu",
                                       "vport",
                                       "=v1",
                                       "vr",
                                       "=red",
                                       "interface",
                                       "thread",
                                       "=1",
                                       "/forwarder",
                                       "/port",
                                       "/rx-queue",
                                       "state",
                                       "/system",
                                       "/routes=default,ipv4",
                                       "/neighbor",
                                       "/statistics",
                                       "?prefix=1.0.0.0/8",
                                       "&match=longer",
                                       "?depth=2",
                                       "?content=config",
                                       "?with-defaults=report-all",
                                       "configure",
                                       "complete",
                                       "lookup",
                                       "audit",
                                       "port-attach",
                                       "port-detach",
                                       "configuration",
                                       "session-open",
                                       "edit",
                                       "compare",
                                       "confirm",
                                       "\"session\":1",
                                       "\"session\":2",
                                       "\"revision\":0",
                                       "\"text\":",
                                       "\"format\":\"json\"",
                                       "\"confirm-within\":9",
                                       " HTTP/1.1\r\n",
                                       " HTTP/1.0\r\n",
                                       "Content-Length: 40\r\n",
                                       "Content-Length: 90\r\n",
                                       "Transfer-Encoding: chunked\r\n",
                                       "Connection: close\r\n",
                                       "Accept: */*\r\n",
                                       "Content-Type: application/json\r\n",
                                       "\r\n",
                                       "\r\n\r\n",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       "\"kamuee:port\":",
                                       "\"kamuee:vport\":",
                                       "\"kamuee:input\":",
                                       "\"kamuee:mtu\":",
                                       "\"ietf-restconf:data\":",
                                       "\"name\":\"p0\"",
                                       "\"name\":\"p1\"",
                                       "\"devargs\":\"net_null1\"",
                                       "\"mtu\":",
                                       "1400",
                                       "99999",
                                       "true",
                                       "null",
                                       "\"line\":",
                                       "\"set port p0 mtu 1400\"",
                                       "\"delete port p0\"",
                                       "\"address\":[\"192.0.2.1\"]",
                                       ",",
                                       ":",
                                       "\"",
                                       "40\r\n",
                                       "0\r\n\r\n",
                                       "\"vlan\":",
                                       "\"port\":\"p0\""};

#define N_PIECES (sizeof pieces / sizeof *pieces)

static struct event_base *loop;
static char dir[] = "/tmp/restconf-fuzz-XXXXXX", sock[64], file[64];
static const char base_config[] =
    "set port p0 devargs net_null0\nset vport v1 port p0 vlan 7\nset vr red table 7\nset interface "
    "v1 vr red\nset thread 1 forwarder port p0 rx-queue 0\n";

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct mgmt_start s;
    char err[256] = "";

    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    log_set_level(LOG_LEVEL_ERROR);
    rcu_init();
    rcu_thread_register();
    rcu_offline();
    __lsan_disable(); // contents of tables: the leak checker does not scan mapped memory
    bug_on(counter_init() || port_table_init() || iface_table_init() || nexthop_table_init() ||
           vr_table_init() || plan_init() || !vr_new("default"));
    __lsan_enable();
    loop = event_base_new();
    bug_on(!loop || !mkdtemp(dir));
    fake_reset();
    fake_rib_start(loop);
    snprintf(sock, sizeof sock, "%s/kamuee.sock", dir);
    snprintf(file, sizeof file, "%s/kamuee.conf", dir);
    FILE *f = fopen(file, "w");
    bug_on(!f);
    fputs(base_config, f);
    fclose(f);
    bug_on(mgmt_load(&(struct mgmt_files){.config = file}, &s, err, sizeof err) ||
           mgmt_start(loop, dir, err, sizeof err));
    unlink(file);
    return 0;
}

// The managers hold exactly the state that results from applying the running configuration to
// nothing.
static void check_managers(void)
{
    struct text now = {0}, fresh = {0}, calls = {0};
    struct lyd_node *nothing = NULL;
    struct errors e = {0};

    fake_state(&now);
    struct model *empty = config_model_of(&nothing, &e);
    fake_reset();
    bug_on(change_make(empty, config_model(), &e));
    fake_state(&fresh);
    bug_on(strcmp(text_str(&now), text_str(&fresh)));
    model_free(empty);
    lyd_free_all(nothing);
    text_free(&now);
    text_free(&fresh);
    text_free(&calls);
}

static void put_back(void)
{
    struct lyd_node *candidate = NULL;
    struct config_result result = {0};
    struct errors e = {0};

    config_read_text(&candidate, base_config, &e);
    bug_on(config_commit(candidate, &(struct commit){.by = "fuzz"}, &result, &e));
    if (result.n_changes)
        check_managers();
    config_result_free(&result);
}

static void expand(const uint8_t *data, size_t size, struct text *t)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] < N_PIECES)
            text_append(t, pieces[data[i]], strlen(pieces[data[i]]));
        else
            text_append(t, data + i, 1);
    }
}

static void make_request(const uint8_t *data, size_t size, struct text *t)
{
    const uint8_t *part = size && data[0] & 1 ? memchr(data + 1, 255, size - 1) : NULL;
    struct text body = {0};

    if (!part) {
        expand(data, size, t);
        return;
    }
    expand(data + 1, (size_t)(part - data) - 1, t);
    expand(part + 1, (size_t)(data + size - part) - 1, &body);
    text_printf(
        t, " HTTP/1.1\r\nHost: k\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
        body.n);
    text_append(t, text_str(&body), body.n);
    text_free(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text t = {0};
    char buf[65536];
    int fd = client_connect(sock);

    make_request(data, size, &t);
    if (t.n)
        client_send(loop, fd, t.s, t.n);
    for (int i = 0; i < 12; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        while (recv(fd, buf, sizeof buf, 0) > 0)
            ;
    }
    close(fd);
    for (int i = 0; i < 4; i++)
        event_base_loop(loop, EVLOOP_NONBLOCK);
    bug_on(fake_rib_walks);
    check_managers();
    put_back();
    text_free(&t);
    return 0;
}
