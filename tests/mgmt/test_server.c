// SPDX-License-Identifier: BSD-3-Clause
// test_server.c - a RESTCONF server with faked managers and a client, for unit tests
//
// Server and client share one thread and one loop: ask() runs the loop until the answer has come.
// Each test starts mgmt with base_config and fresh fakes, and stops it at the end.
#include "test_server.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "fake/fake_managers.h"
#include "fake/fake_rib.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "event/event.h"
#include "server/mgmt.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/vr.h"

struct event_base *loop;
static char dir[] = "/tmp/restconf-test-XXXXXX";
char sock[64], file[64];
struct answer reply;

int ask(const char *method, const char *target, const char *body)
{
    return client_ask(loop, sock, method, target, body, &reply);
}

int call(const char *operation, const char *input)
{
    struct text target = {0}, body = {0};

    text_printf(&target, "/restconf/operations/kamuee:%s", operation);
    text_printf(&body, "{\"kamuee:input\":{%s}}", input);
    int status = ask("POST", target.s, body.s);
    text_free(&target);
    text_free(&body);
    return status;
}

int configure(const char *fmt, ...)
{
    struct text body = {0};
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
    text_free(&body);
    return r;
}

void assert_has(const char *text, const char *word)
{
    if (!strstr(text, word))
        fail_msg("\"%s\" is not in %s", word, text);
}

void write_config(const char *text)
{
    FILE *f = fopen(file, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char base_config[] =
    "set port p0 devargs net_null0 mtu 9000\nset port p1 devargs net_null1\nset vport v40 port p0 "
    "vlan 40\n"
    "set vr red table 7\nset interface v40 vr red\nset thread 1 forwarder port p0 rx-queue 0\n";

// cmocka jumps out of the loop when a callback crashes or fails an assertion. No loop runs again
// then, so code that waits for a turn of it would wait forever.
static bool loop_runs(void)
{
    return event_base_loop(loop, EVLOOP_NONBLOCK) >= 0;
}

int server_start(void **state)
{
    struct mgmt_start s;
    char err[1024] = "";

    if (!loop_runs())
        return -1;
    fake_reset();
    fake_acl_loop = loop;
    fake_rib_start(loop);
    write_config(base_config);
    assert_int_equal(mgmt_load(&(struct mgmt_files){.config = file}, &s, err, sizeof err), 0);
    assert_int_equal(mgmt_start(loop, dir, err, sizeof err), 0);
    return 0;
}

int server_stop(void **state)
{
    if (!loop_runs())
        return -1;
    mgmt_stop();
    event_base_loop(loop, EVLOOP_NONBLOCK);
    answer_free(&reply);
    return 0;
}

char *running_text(void)
{
    static struct text t;

    text_clear(&t);
    assert_int_equal(ask("POST", "/restconf/operations/kamuee:configuration", NULL), 200);
    text_append(&t, reply.body.s, reply.body.n);
    return t.s;
}

static void put_interface(const char *name, uint8_t kind, uint16_t vlan)
{
    struct iface *i = iface_new(name);

    assert_non_null(i);
    i->kind = kind;
    i->vlan = vlan;
    i->admin_up = true;
    i->carrier = true;
    i->flags |= IFACE_UP;
    i->mtu = 1500;
    i->addr4 = htobe32(0x0a000001);
    i->addr6_ll[0] = 0xfe;
    i->addr6_ll[1] = 0x80;
}

int server_set_up(void **state)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    rcu_init();
    rcu_thread_register();
    rcu_offline();
    assert_int_equal(counter_init() | port_table_init() | iface_table_init() |
                         nexthop_table_init() | vr_table_init() | plan_init(),
                     0);
    assert_non_null(vr_new("default"));
    snprintf(port_get(0)->name, sizeof port_get(0)->name, "p0");
    put_interface("p0", IFACE_PORT, 0);
    put_interface("v40", IFACE_VPORT, 40);
    loop = event_base_new();
    assert_non_null(mkdtemp(dir));
    snprintf(sock, sizeof sock, "%s/kamuee.sock", dir);
    snprintf(file, sizeof file, "%s/kamuee.conf", dir);
    return 0;
}

int server_tear_down(void **state)
{
    unlink(file);
    rmdir(dir);
    event_base_free(loop);
    vr_free(vr_get(0));
    rcu_barrier();
    plan_fini();
    vr_table_fini();
    nexthop_table_fini();
    iface_table_fini();
    port_table_fini();
    counter_fini();
    rcu_thread_unregister();
    rcu_fini();
    return 0;
}

void open_directory(void)
{
    assert_int_equal(chmod(dir, 0755), 0);
}

// --- events -------------------------------------------------------------------------------------

#define TURNS 2000 // turns of the loop, a millisecond each, until the expected event must have come

struct text heard;

static int listen_to(const char *query)
{
    struct text t = {0};
    int fd = client_connect(sock);

    text_printf(
        &t,
        "GET /restconf/streams/events%s HTTP/1.1\r\nHost: k\r\nAccept: text/event-stream\r\n\r\n",
        query);
    client_send(loop, fd, t.s, t.n);
    text_free(&t);
    text_clear(&heard);
    return fd;
}

// Reads until `word` is in the received text.
void hear(int fd, const char *word)
{
    char buf[4096];

    for (unsigned i = 0; i < TURNS; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        ssize_t n = recv(fd, buf, sizeof buf, MSG_DONTWAIT);
        if (n > 0)
            text_append(&heard, buf, (size_t)n);
        if (strstr(text_str(&heard), word))
            return;
        if (n <= 0)
            usleep(1000);
    }
    fail_msg("\"%s\" was not heard, only: %s", word, text_str(&heard));
}

int start_listening(const char *query)
{
    int fd = listen_to(query);

    hear(fd, ": events of kamueed");
    assert_has(heard.s, "200 OK");
    assert_has(heard.s, "Content-Type: text/event-stream");
    return fd;
}

void leave(int fd)
{
    close(fd);
    for (unsigned i = 0; event_wanted() && i < TURNS; i++) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        usleep(1000);
    }
    assert_false(event_wanted());
}

__attribute__((weak)) int unit_begin(void **state)
{
    return server_set_up(state);
}

__attribute__((weak)) int unit_end(void **state)
{
    return server_tear_down(state);
}
