// SPDX-License-Identifier: BSD-3-Clause
// rib_fixture.c - for tests: a real kernel in a fresh namespace, rib_manager on it
//
// The main thread is control; rib_manager is the real thread. For questions answered by mailbox,
// the main thread runs control's loop until the answer arrives.
#include "rib/test/rib_fixture.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/text.h"
#include "core/mailbox.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "rib/rib_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/vr.h"

uint16_t fixture_iface[3];
unsigned fixture_reports, fixture_gone;
bool fixture_has_vrf;
static struct event_base *loop;
static pid_t peer;
static struct vr *vr; // router to query
static sem_t stalled, stall_end; // rib_manager stands still; it may continue

// Control's receiver for reports of rib_manager: in the daemon, iface_manager.c.
static void count_event(const struct iface_kernel_event *e)
{
    fixture_reports++;
    fixture_gone += e->gone;
    fixture_has_vrf = e->has_vrf;
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        fprintf(stderr, "%s: %m\n", path);
    if (fd >= 0)
        close(fd);
}

static void enter_namespace(void)
{
    char map[64];
    uid_t uid = getuid();

    if (!unshare(CLONE_NEWNET))
        return;
    snprintf(map, sizeof map, "0 %u 1", uid);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
        printf("skipped: no right to make network namespaces (run as root, or allow user "
               "namespaces)\n");
        exit(77);
    }
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", map);
}

int unit_begin(void **state)
{
    log_set_level(getenv("FIXTURE_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
    enter_namespace();
    rcu_init();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    rcu_thread_register();
    rcu_offline();
    bug_on(counter_init() || iface_table_init() || multicast_init() || nexthop_table_init() ||
           vr_table_init() || plan_init());
    sem_init(&stalled, 0, 0);
    sem_init(&stall_end, 0, 0);
    rib_iface_set_event(count_event);
    loop = event_base_new();
    bug_on(!loop || mailbox_open(loop));
    return 0;
}

int unit_end(void **state)
{
    mailbox_close();
    event_base_free(loop);
    rcu_barrier();
    plan_fini();
    vr_table_fini();
    multicast_fini();
    nexthop_table_fini();
    iface_table_fini();
    counter_fini();
    rcu_thread_unregister();
    rcu_fini();
    return 0;
}

static int run_va(const char *before, const char *fmt, va_list ap)
{
    char cmd[2048];
    int n = snprintf(cmd, sizeof cmd, "%s", before), status;

    vsnprintf(cmd + n, sizeof cmd - (size_t)n, fmt, ap);
    status = system(cmd);
    if (getenv("FIXTURE_LOG"))
        fprintf(stderr, "# %s -> %d\n", cmd, status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int fixture_try(const char *fmt, ...)
{
    va_list ap;
    int status;

    va_start(ap, fmt);
    status = run_va("exec 2>/dev/null; ", fmt, ap);
    va_end(ap);
    return status;
}

void fixture_do(const char *fmt, ...)
{
    va_list ap;
    int status;

    va_start(ap, fmt);
    status = run_va("", fmt, ap);
    va_end(ap);
    if (status)
        fail_msg("command failed: %s", fmt);
}

void fixture_peer(const char *fmt, ...)
{
    char before[64];
    va_list ap;

    snprintf(before, sizeof before, "nsenter -t %d -n ", peer);
    va_start(ap, fmt);
    bug_on(run_va(before, fmt, ap));
    va_end(ap);
}

int fixture_peer_pid(void)
{
    return peer;
}

static void peer_start(void)
{
    int up[2];
    char c;

    bug_on(pipe(up));
    peer = fork();
    if (!peer) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); // so that a crashed test leaves no process behind
        if (!unshare(CLONE_NEWNET) && write(up[1], "x", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    bug_on(read(up[0], &c, 1) != 1);
    close(up[0]);
    close(up[1]);
}

static void stall(void *arg)
{
    sem_post(&stalled);
    while (sem_wait(&stall_end) && errno == EINTR)
        ;
}

void fixture_stall(void)
{
    bug_on(mailbox_post(ROLE_RIB_MANAGER, stall, NULL));
    while (sem_wait(&stalled) && errno == EINTR)
        ;
}

void fixture_go_on(void)
{
    sem_post(&stall_end);
}

void fixture_in_rib_manager(void (*fn)(void *arg), void *arg)
{
    bug_on(mailbox_call(ROLE_RIB_MANAGER, fn, arg, NULL, FIXTURE_PATIENCE_MS));
}

void fixture_run(unsigned ms)
{
    struct timeval t = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    event_base_loopexit(loop, &t);
    event_base_loop(loop, EVLOOP_NO_EXIT_ON_EMPTY);
}

static void iface_up(unsigned i)
{
    char name[16];
    struct iface *f;

    snprintf(name, sizeof name, "e%u", i);
    f = iface_new(name);
    bug_on(!f);
    f->port = (uint16_t)i;
    f->vr = vr->id;
    f->mtu = 1500;
    f->flags |= IFACE_UP;
    f->carrier = true;
    memcpy(f->mac, "\2\0\0\0\1\0", 6);
    f->mac[5] = (uint8_t)i;
    f->ifindex = (int)if_nametoindex(name);
    f->kind = IFACE_PORT;
    fixture_iface[i] = f->id;
    bug_on(rib_manager_iface_add(f->id));
}

void fixture_select(struct vr *other)
{
    vr = other;
}

void fixture_open_with(size_t receive_bytes)
{
    struct rib_stats s = {0};

    bug_on(unshare(CLONE_NEWNET));
    peer_start();
    fixture_do("ip link set lo up");
    for (int i = 1; i <= 2; i++) {
        fixture_do("ip link add e%d type veth peer name p%d netns %d", i, i, peer);
        fixture_do("ip addr add 10.0.%d.1/24 dev e%d; ip addr add fd0%d::1/64 dev e%d nodad", i, i,
                   i, i);
        fixture_do("ip link set e%d addrgenmode none; ip link set e%d up", i, i);
        fixture_do("ip addr add fe80::%d/64 dev e%d nodad", i,
               i); // otherwise the kernel has no source address for ND
        fixture_peer("ip link set p%d up", i);
        fixture_peer("ip addr add 10.0.%d.2/24 dev p%d", i, i);
        fixture_peer("ip addr add fd0%d::2/64 dev p%d nodad", i, i);
    }
    vr = vr_new("default");
    bug_on(!vr);
    fixture_reports = fixture_gone = 0;
    rib_manager_set_receive_buffer(receive_bytes);
    bug_on(rib_manager_start());
    bug_on(rib_manager_vr_add(vr->id, -1, 254));
    iface_up(1);
    iface_up(2);
    fixture_eventually((fixture_stats(&s), s.synced));
}

void fixture_open(void)
{
    fixture_open_with(16u << 20);
}

struct vr *fixture_red;

void fixture_open_both(void)
{
    fixture_open();
    fixture_red = vr_new("red");
    assert_non_null(fixture_red);
    assert_int_equal(rib_manager_vr_add(fixture_red->id, -1, 77), 0);
    fixture_select(fixture_red);
}

void fixture_close_both(void)
{
    assert_int_equal(rib_manager_vr_del(fixture_red->id), 0);
    vr_free(fixture_red);
    fixture_select(vr_find("default"));
    fixture_close();
}

void fixture_close(void)
{
    char why[200];
    unsigned before;

    for (int i = 1; i <= 2; i++)
        if (fixture_iface[i]) {
            bug_on(rib_manager_iface_del(fixture_iface[i]));
            iface_free(iface_get(fixture_iface[i]));
            fixture_iface[i] = 0;
        }
    before = nexthop_used();
    if (nexthop_check(why, sizeof why))
        fail_msg("%s", why);
    bug_on(rib_manager_vr_del(vr->id));
    rib_manager_stop();
    fixture_run(1);
    vr_free(vr);
    kill(peer, SIGKILL);
    waitpid(peer, NULL, 0);
    rcu_barrier();
    assert_true(before >= nexthop_used());
    assert_int_equal(nexthop_used(), 0); // no holder was forgotten
}

static struct iface *iface_of(const struct nexthop *nh)
{
    return iface_get(nh->iface);
}

static void describe_group(const struct nexthop *nh, char *buf, size_t size)
{
    uint32_t mask = (uint32_t)(nh->group.word >> 32);
    bool has[3] = {0};

    for (uint32_t i = 0; i <= mask; i++) {
        uint32_t id = nexthop_member(nh, i);

        for (int k = 1; k <= 2; k++)
            if (id && nexthop_get(id)->iface == fixture_iface[k])
                has[k] = true;
    }
    snprintf(buf, size, "group%s%s", has[1] ? " e1" : "", has[2] ? " e2" : "");
}

const char *fixture_fib(const char *text)
{
    static char buf[80];
    struct ip_addr a;
    uint32_t id;
    const struct nexthop *nh;
    uint64_t word;
    char mac[MAC_TEXT_MAX];

    bug_on(ip_parse(text, &a));
    rcu_online();
    id = nexthop_real(fib_find(a.family == IP4 ? vr->fib4 : vr->fib6, &a));
    nh = nexthop_get(id);
    word = nexthop_word(nh);
    switch (nexthop_word_kind(word)) {
    case NEXTHOP_NONE: snprintf(buf, sizeof buf, "none"); break;
    case NEXTHOP_GROUP: describe_group(nh, buf, sizeof buf); break;
    case NEXTHOP_ADJACENCY:
        snprintf(buf, sizeof buf, "adjacency %s %s", iface_of(nh)->name,
                 text_format_mac(
                     nexthop_rewrite(nh, word) + NEXTHOP_REWRITE - nexthop_word_head(word), mac));
        break;
    case NEXTHOP_HOLD:
    case NEXTHOP_GLEAN:
    case NEXTHOP_FAILED:
    case NEXTHOP_BROADCAST:
        snprintf(buf, sizeof buf, "%s %s", nexthop_kind_name(nexthop_word_kind(word)),
                 iface_of(nh)->name);
        break;
    default: snprintf(buf, sizeof buf, "%s", nexthop_kind_name(nexthop_word_kind(word)));
    }
    rcu_offline();
    return buf;
}

void fixture_expect(const char *addr, const char *what)
{
    for (unsigned ms = 0; strcmp(fixture_fib(addr), what); ms += 2) {
        if (ms >= FIXTURE_PATIENCE_MS)
            fail_msg("FIB for %s is \"%s\", expected \"%s\"", addr, fixture_fib(addr), what);
        fixture_run(2);
    }
}

struct answer {
    bool there;
    struct rib_stats stats;
    struct rib_audit_report report;
    struct rib_row *row;
    struct neigh_row *neigh;
    unsigned n, max;
};

static void await(struct answer *a)
{
    for (unsigned ms = 0; !a->there && ms < FIXTURE_PATIENCE_MS; ms++)
        fixture_run(1);
    assert_true(a->there);
}

static void got_stats(void *ctx, const struct rib_stats *s)
{
    struct answer *a = ctx;

    a->stats = *s;
    a->there = true;
}

void fixture_stats(struct rib_stats *s)
{
    struct answer a = {0};

    bug_on(rib_manager_stats(vr->id, got_stats, &a));
    await(&a);
    *s = a.stats;
}

static void got_audit(void *ctx, const struct rib_audit_report *r)
{
    struct answer *a = ctx;

    a->report = *r;
    a->there = true;
}

void fixture_audit_report(bool now, struct rib_audit_report *r)
{
    struct answer a = {0};

    bug_on(now ? rib_manager_audit(vr->id, got_audit, &a)
               : rib_manager_audit_report(vr->id, got_audit, &a));
    await(&a);
    *r = a.report;
}

uint64_t fixture_audit(void)
{
    struct rib_audit_report r;

    fixture_audit_report(true, &r);
    assert_int_equal(r.result, 0);
    assert_true(r.checked > 0);
    return r.diverged;
}

void fixture_expect_derived(const struct rib_stats *before)
{
    struct rib_stats s;

    fixture_eventually((fixture_stats(&s), s.resyncs > before->resyncs));
    assert_int_equal(s.swept, before->swept);
    assert_int_equal(s.diverged, before->diverged);
    assert_int_equal(fixture_audit(), 0);
}

static bool got_rows(void *ctx, const struct rib_row *row, unsigned n)
{
    struct answer *a = ctx;

    assert_true(n >= 1 && n <= 256);
    for (unsigned i = 0; i < n; i++, a->n++)
        if (a->n < a->max)
            a->row[a->n] = row[i];
    return true;
}

static void rows_done(void *ctx, int result)
{
    struct answer *a = ctx;

    a->report.result = result;
    a->there = true;
}

unsigned fixture_rows(const struct rib_query *q, struct rib_row *row, unsigned max)
{
    struct answer a = {.row = row, .max = max};

    assert_non_null(rib_walk_open(q, got_rows, rows_done, &a));
    await(&a);
    assert_int_equal(a.report.result, 0);
    return a.n;
}

const char *fixture_routes(const char *prefix)
{
    static char buf[600];
    struct rib_row row[16];
    struct rib_query q = {.vr = vr->id, .match = RIB_EXACT, .protocol = -1, .type = -1};
    char text[IP_TEXT_MAX];
    unsigned n;
    size_t at = 0;

    bug_on(prefix_parse(prefix, &q.prefix, true));
    q.family = q.prefix.family;
    n = fixture_rows(&q, row, 16);
    buf[0] = 0;
    for (unsigned i = 0; i < n && i < 16; i++) {
        for (unsigned k = 0; k < row[i].n_hops; k++)
            at += (size_t)snprintf(
                buf + at, sizeof buf - at, "%s%s@%s", k ? "+" : "",
                row[i].hop[k].gateway.family ? ip_format(&row[i].hop[k].gateway, text) : "link",
                row[i].hop[k].iface);
        at += (size_t)snprintf(buf + at, sizeof buf - at, " m%u%s; ", row[i].metric,
                               row[i].active ? " active" : "");
    }
    return buf;
}

static void got_neigh(void *ctx, const struct neigh_row *row, unsigned n)
{
    struct answer *a = ctx;

    for (unsigned i = 0; i < n && a->n < a->max; i++)
        if (row[i].vr == vr->id)
            a->neigh[a->n++] = row[i];
    a->there = true;
}

unsigned fixture_neighbors(struct neigh_row *row, unsigned max)
{
    struct answer a = {.neigh = row, .max = max};

    bug_on(rib_manager_neigh(got_neigh, &a));
    await(&a);
    return a.n;
}
