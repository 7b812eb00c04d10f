// SPDX-License-Identifier: BSD-3-Clause
// upgrade_give.c - see modules.h
//
// Until the new kamueed says BEGUN, nothing of ours has changed, except that we may have received
// nothing for some milliseconds; after a failure we continue to forward. After BEGUN there is no
// way back, and we end without undoing anything: TAPs, sockets, files and the settings of kernel
// interfaces now belong to the new one.
#include "main/modules.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "core/aside.h"
#include "core/child.h"
#include "core/eal.h"
#include "core/manager.h"
#include "core/process.h"
#include "core/starter.h"
#include "feature/upgrade.h"
#include "interface/iface_tap.h"
#include "main/upgrade_proof.h"
#include "main/upgrade_protocol.h"
#include "port/port_manager.h"
#include "server/mgmt.h"
#include "tap/tap.h"
#include "tap/tap_manager.h"
#include "thread/thread_manager.h"

#define PATIENCE_S 180 // from the start of the new one until GO
#define ANSWER_S 3     // for all that we give it, and for all that it says while we do not receive
#define END_MS 500     // from the end of its connection, or SIGKILL, to its exit
#define BRIEF_MS 100   // the same, while we do not receive
#define LINGER_MS 200  // after BEGUN: is it still alive?
#define DEAD_MS 3000   // the same, if its connection is closed
#define BARRIER_US 500000

static struct give {
    struct event_base *loop;
    bool second;
    int socket;
    struct event *said, *timeout;
    uint64_t version;  // of the configuration that the new one has read
    uint64_t until_ns; // of the current step
    bool deaf;         // it does not read our messages
} give = {.socket = -1};
static struct child new = {.name = "new kamueed"};

// --- speaking to the new one ---------------------------------------------------------------------

// Begins a step, in which we wait at most ANSWER_S in all, whatever the new one does.
static void begin_step(void)
{
    give.until_ns = clock_now_ns() + ANSWER_S * NS_PER_SECOND;
    give.deaf = false;
}

static void say(enum upgrade_word word, const char *text, int fd)
{
    if (!give.deaf)
        give.deaf = !descriptor_until(give.socket, give.until_ns) ||
                    !upgrade_send(give.socket, word, text, fd);
}

// --- the end of an upgrade that fails ------------------------------------------------------------

static void let_go(void)
{
    drop_event(&give.said);
    drop_event(&give.timeout);
    if (give.socket >= 0)
        close(give.socket);
    give.socket = -1;
}

__attribute__((format(printf, 1, 2))) static void fail(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(upgrade_state.why, sizeof upgrade_state.why, fmt, ap);
    va_end(ap);
    upgrade_state.phase = "failed";
    upgrade_state.took_ns = clock_now_ns() - upgrade_state.since_ns;
    log_error("upgrade: failed, the running version continues: why=%s",
              LOG_VALUE(upgrade_state.why));
    if (give.socket >= 0 && !give.deaf) {
        begin_step();
        say(UPGRADE_FAILED, upgrade_state.why, -1);
    }
    let_go();
    child_stop(&new);
}

// The new one closed its connection without a message.
static void fail_by_end(void)
{
    const char *binary = upgrade_state.binary;

    if (!child_wait(&new, END_MS))
        fail("%s has closed its connection but not ended: it is being ended", binary);
    else if (WIFSIGNALED(new.status))
        fail("the new kamueed %s; its log lines say more", child_how(&new));
    else if (WEXITSTATUS(new.status) == 2)
        fail("%s does not know --upgrade: it is no kamueed, or one of before upgrades: restart "
             "instead (systemctl restart kamueed)", binary);
    else
        fail("%s %s before it was ready: is it a kamueed? Its log lines say more", binary,
             child_how(&new));
}

// --- giving to the new one -----------------------------------------------------------------------

static void give_tap(int fd)
{
    say(UPGRADE_FILE, "tap", fd);
}

static void give_listener(int fd)
{
    say(UPGRADE_FILE, "listener", fd);
}

static void give_port(void *ctx, const struct port_upgrade *p)
{
    char text[80];

    snprintf(text, sizeof text, "%s %02x:%02x:%02x:%02x:%02x:%02x %d", p->name, p->mac[0],
             p->mac[1], p->mac[2], p->mac[3], p->mac[4], p->mac[5], p->up);
    say(UPGRADE_PORT, text, -1);
}

static void give_all(void)
{
    char text[120];

    begin_step();
    give.version = mgmt_version();
    snprintf(text, sizeof text, "%d %s %d %d %llu", UPGRADE_PROTOCOL, kamuee_version, give.second,
             eal_has_hugepages(), (unsigned long long)mgmt_digest());
    say(UPGRADE_HELLO, text, -1);
    say(UPGRADE_FILE, "lock", instance_lock_fd());
    iface_tap_each(give_tap);
    mgmt_give_listeners(give_listener);
    port_upgrade_each(give_port, NULL);
    say(UPGRADE_DONE, "", -1);
    if (give.deaf)
        fail("the new version did not take over the state within %d s", ANSWER_S);
}

static void on_hello(const char *text)
{
    int protocol = 0;

    if (sscanf(text, "%d %31s", &protocol, upgrade_state.to) != 2)
        fail("%s: its first message is none of kamueed's", upgrade_state.binary);
    else if (protocol != UPGRADE_PROTOCOL)
        fail("version %s hands over by protocol %d, version %s by protocol %d: their states do not "
             "fit: restart instead (systemctl restart kamueed)", upgrade_state.to, protocol,
             kamuee_version, UPGRADE_PROTOCOL);
    else
        give_all();
}

// --- the switch ----------------------------------------------------------------------------------

// NULL, or why it does not begin. Other messages do not extend the wait.
static const char *wait_for_begun(void)
{
    static struct upgrade_message m;
    int fd;

    while (!give.deaf && descriptor_until(give.socket, give.until_ns)) {
        errno = 0; // still 0 at the end of the connection
        if (!upgrade_receive(give.socket, &m, &fd)) {
            if (errno != EAGAIN)
                return child_wait(&new, BRIEF_MS) ? child_how(&new) : "has closed its connection";
            break;
        }
        if (fd >= 0)
            close(fd);
        if (m.word == UPGRADE_BEGUN)
            return NULL;
        if (m.word == UPGRADE_FAILED)
            return m.text;
    }
    return "was too slow";
}

// The new one must be killed: if it is about to begin, or has begun without our knowledge, a clean
// stop would undo things that are ours again. Killed, it undoes nothing, and we still hold the
// TAPs, sockets and files.
static void receive_again(const char *why)
{
    char reason[UPGRADE_TEXT_MAX];

    snprintf(reason, sizeof reason, "%s", why);
    child_kill(&new);
    child_wait(&new, END_MS);
    thread_manager_update();
    fail("the new kamueed did not begin to forward within %d s: %s", ANSWER_S, reason);
}

static void give_state(void)
{
    struct text t = {0};
    int file = memfd_create("state", MFD_CLOEXEC), r = file < 0 ? -errno : mgmt_save_text(&t);

    r = r ? r : file_write(file, t.s, t.n);
    if (r)
        log_error("upgrade: counters are not taken along: error=%s", LOG_VALUE(strerror(-r)));
    else
        say(UPGRADE_STATE, "", file);
    text_free(&t);
    close(file);
}

__attribute__((noreturn)) static void end_too(const char *how)
{
    log_error("upgrade: the new kamueed has ended after it began to forward, so this one ends, "
              "too, and must be started again: why=%s", LOG_VALUE(how));
    mgmt_save();
    eal_leave();
    _exit(EXIT_START);
}

// systemd refuses a main process that has ended, and would take a clean exit of ours for the end of
// the service. If the new one has ended after that, systemd needs its status: we leave it a zombie.
__attribute__((noreturn)) static void end_here(void)
{
    pid_t pid = new.pid;

    if (child_wait(&new, give.deaf ? DEAD_MS : LINGER_MS))
        end_too(child_how(&new));
    sd_notifyf(0, "MAINPID=%d", (int)pid);
    sd_notify_barrier(0, BARRIER_US); // systemd processes it before it sees our end
    if (process_is_gone(pid))
        end_too("ended while it became the main process");
    say(UPGRADE_END, "", -1);
    log_notice("upgrade: this process ends, the new version forwards: pid=%d", (int)pid);
    eal_leave();
    _exit(0);
}

static void give_left(const char *port, uint32_t n)
{
    char text[40];

    snprintf(text, sizeof text, "%s %u", port, n);
    say(UPGRADE_LEFT, text, -1);
}

static void hand_over(void)
{
    char now[24];

    if (give.version != mgmt_version() || aside_busy(ASIDE_CHANGE)) {
        fail("the configuration was changed meanwhile: try again");
        return;
    }
    upgrade_state.phase = "switching";
    begin_step();
    snprintf(now, sizeof now, "%llu", (unsigned long long)clock_now_ns());
    thread_manager_stop_receiving();
    port_upgrade_discard(give_left);
    say(UPGRADE_HALTED, now, -1);
    const char *why = wait_for_begun();
    if (why) {
        receive_again(why);
        return;
    }
    begin_step();
    send_waiting_packets();
    tap_manager_stop();
    thread_manager_fini();
    port_upgrade_close();
    say(UPGRADE_CLOSED, "", -1);
    give_state();
    end_here();
}

// --- messages of the new one ---------------------------------------------------------------------

static void answer_lookups(int file)
{
    if (file < 0 || upgrade_proof_answer(file))
        fail("the lookups that the new kamueed asked for cannot be read");
    else {
        begin_step();
        say(UPGRADE_LOOKUPS, "", -1);
    }
}

static const char *phase_named(const char *text)
{
    static const char *const phase[] = {"starting", "reading", "auditing", "comparing"};

    for (unsigned i = 0; i < sizeof phase / sizeof *phase; i++)
        if (!strcmp(text, phase[i]))
            return phase[i];
    return phase[0];
}

static void on_said(evutil_socket_t s, short what, void *arg)
{
    struct upgrade_message m;
    int fd;

    if (!upgrade_receive(s, &m, &fd)) {
        fail_by_end();
        return;
    }
    switch (m.word) {
    case UPGRADE_HELLO:
        on_hello(m.text);
        break;
    case UPGRADE_PHASE:
        upgrade_state.phase = phase_named(m.text);
        break;
    case UPGRADE_LOOKUPS:
        answer_lookups(fd);
        break;
    case UPGRADE_GO:
        hand_over();
        break;
    case UPGRADE_FAILED:
        fail("%s", m.text);
        break;
    default:
        fail("the new version sent an unknown message");
    }
    if (fd >= 0)
        close(fd);
}

static void on_timeout(evutil_socket_t s, short what, void *arg)
{
    fail("the new kamueed was not ready within %d s, at: %s", PATIENCE_S, upgrade_state.phase);
}

// --- the start -----------------------------------------------------------------------------------

static int choose_binary(const char *wish, char *err, size_t err_size)
{
    char *path = upgrade_state.binary;
    static const char deleted[] = " (deleted)"; // a newer file has replaced it
    size_t n;

    snprintf(path, PATH_MAX, "%s", wish);
    if (!*wish) {
        ssize_t r = readlink("/proc/self/exe", path, PATH_MAX - 1);
        path[r < 0 ? 0 : r] = 0;
        n = strlen(path);
        if (n > sizeof deleted - 1 && !strcmp(path + n - sizeof deleted + 1, deleted))
            path[n - sizeof deleted + 1] = 0;
    }
    int r = starter_check(path);
    if (r == -EPERM)
        snprintf(err, err_size,
                 "%s: not started: root or kamueed's user must own the file, and nobody else may "
                 "write it: chown root, chmod 755", path);
    else if (r)
        snprintf(err, err_size, "%s: %s: name the new kamueed (--binary FILE)", path, strerror(-r));
    return r;
}

static int start_new(char *err, size_t err_size)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int s[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s)) {
        snprintf(err, err_size, "no socket for the new kamueed: %s", strerror(errno));
        return -errno;
    }
    int r = child_start(&new, upgrade_state.binary, STARTER_SUCCESSOR, s[1], CHILD_NO_LIMIT);
    close(s[1]);
    if (r) {
        snprintf(err, err_size, "%s: it cannot be started: %s", upgrade_state.binary, strerror(-r));
        close(s[0]);
        return r;
    }
    give.socket = s[0];
    give.deaf = false;
    give.said = event_new(give.loop, s[0], EV_READ | EV_PERSIST, on_said, NULL);
    give.timeout = event_new(give.loop, -1, 0, on_timeout, NULL);
    if (give.said && give.timeout && !event_add(give.said, NULL) &&
        !event_add(give.timeout, &patience))
        return 0;
    let_go();
    child_stop(&new);
    snprintf(err, err_size, "no memory");
    return -ENOMEM;
}

static int begin_upgrade(const char *binary, char *err, size_t err_size)
{
    thread_must_be(ROLE_CONTROL);
    if (upgrade_runs() || child_runs(&new)) {
        snprintf(err, err_size, "%s", upgrade_runs()
                                          ? "an upgrade is running: kamuee show upgrade"
                                          : "the new kamueed of the last upgrade is still being "
                                            "ended: try again in a few seconds");
        return -EBUSY;
    }
    if (mgmt_commit_waits()) {
        snprintf(err, err_size, "a commit waits for its confirmation: confirm it, or roll it back");
        return -EBUSY;
    }
    if (getpid() == 1) {
        snprintf(err, err_size,
                 "kamueed is the first process here, and a container ends with that: use an init "
                 "that stays (docker run --init ends, too), or replace the container");
        return -EPERM;
    }
    upgrade_state = (struct upgrade_state){
        .phase = "failed", .time_ns = clock_wall_ns(), .since_ns = clock_now_ns()};
    snprintf(upgrade_state.from, sizeof upgrade_state.from, "%s", kamuee_version);
    int r = choose_binary(binary, err, err_size);
    r = r ? r : start_new(err, err_size);
    if (r)
        snprintf(upgrade_state.why, sizeof upgrade_state.why, "%s", err);
    else
        upgrade_state.phase = "starting";
    return r;
}

void upgrade_give_init(struct event_base *loop, bool second)
{
    thread_must_be(ROLE_CONTROL);
    give.loop = loop;
    give.second = second;
    upgrade_by(begin_upgrade);
}

void upgrade_give_fini(void)
{
    upgrade_by(NULL);
    let_go();
    child_end(&new);
}
