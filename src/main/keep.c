// SPDX-License-Identifier: BSD-3-Clause
// keep.c - gives descriptors to a keeper and takes them back at the start (keep.h)
//
// All of them are put again whenever a new keeper starts, so losing a keeper costs nothing as long
// as kamueed lives; without one it tries again every few seconds. The keeper sends nothing unasked:
// a readable connection means that it has ended. A keeper that takes no descriptor is killed.
// keep_start_later() and keep_join() are for an upgrade, in which the former kamueed still uses the
// keeper.
#include "main/keep.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/log.h"
#include "base/unwell.h"
#include "base/vec.h"
#include "core/manager.h"
#include "main/keeper_protocol.h"

#define RETRY_S 10

static enum { NONE, SYSTEMD, PROCESS } way;
static char path[PATH_MAX];
static int connection = -1;
static struct event *ended, *retry;
static struct event_base *base;
static void (*put_again)(void);
static bool later; // until keep_join
static VEC(struct taken {
    char name[KEEPER_NAME_MAX];
    int fd;
}) taken;

void keep_add(const char *name, int fd)
{
    struct taken *t = vec_push(&taken);

    t->fd = fd;
    snprintf(t->name, sizeof t->name, "%s", name);
}

static void take_from_systemd(void)
{
    char **names = NULL;
    int n = sd_listen_fds_with_names(1, &names);

    for (int i = 0; i < n; i++) {
        keep_add(names[i], SD_LISTEN_FDS_START + i);
        free(names[i]);
    }
    free(names);
}

static unsigned n_held;

static void count_held(const char *name, int fd)
{
    n_held++;
    close(fd);
}

static bool connect_keeper(void (*fn)(const char *name, int fd))
{
    char err[300];

    n_held = 0;
    connection = keep_process_open(path, fn, err, sizeof err);
    unwell_set("kamuee-keeper", connection < 0 ? err : NULL);
    if (connection < 0)
        log_warning("keep: no keeper, so TAPs lose their carrier, and the kernel its routes, if "
                    "kamueed crashes: error=%s", LOG_VALUE(err));
    return connection >= 0;
}

static void choose_way(const char *run_dir)
{
    const char *wish = getenv("KAMUEE_KEEPER"), *dir = realpath(run_dir, NULL) ?: run_dir;

    snprintf(path, sizeof path, "%s/" KEEPER_SOCKET, dir);
    if (dir != run_dir)
        free((char *)dir);
    way = wish && !strcmp(wish, "none")                         ? NONE
          : getenv("FDSTORE") || (wish && !strcmp(wish, "systemd")) ? SYSTEMD
                                                                : PROCESS;
}

void keep_start(const char *run_dir)
{
    choose_way(run_dir);
    if (way == SYSTEMD)
        take_from_systemd();
    if (way == PROCESS)
        connect_keeper(keep_add);
    if (taken.n)
        log_notice("keep: descriptors of the previous kamueed taken over: n=%zu", taken.n);
}

void keep_start_later(const char *run_dir)
{
    choose_way(run_dir);
    later = true;
}

void keep_each(const char *name, void (*fn)(int fd))
{
    vec_foreach (&taken, t)
        if (t->fd >= 0 && !strcmp(t->name, name)) {
            fn(t->fd);
            t->fd = -1;
        }
}

static void put_into_systemd(const char *name, int fd)
{
    char text[80];

    snprintf(text, sizeof text, "FDSTORE=1\nFDNAME=%s", name);
    int r = sd_pid_notify_with_fds(0, 0, text, &fd, 1);
    if (r <= 0)
        log_warning("keep: systemd does not take a descriptor: name=%s error=%s", name,
                    LOG_VALUE(r ? strerror(-r) : "NOTIFY_SOCKET is not set"));
}

static void watch_connection(void);

static void drop_connection(void)
{
    drop_event(&ended);
    if (connection >= 0)
        close(connection);
    connection = -1;
}

// An event reports a keeper that has ended and puts all descriptors again; one that hangs is
// killed.
void keep_put(const char *name, int fd)
{
    if (way == SYSTEMD)
        put_into_systemd(name, fd);
    if (connection < 0 || keeper_send(connection, KEEPER_PUT, name, fd) || errno == EPIPE)
        return;
    log_warning("keep: the keeper does not take a descriptor: name=%s error=\"%m\"", name);
    keep_process_end(connection); // another keeper gets all of them
    drop_connection();
    if (retry)
        event_add(retry, &(struct timeval){.tv_sec = RETRY_S});
}

// Tries again later on failure.
static bool connect_again(void)
{
    bool there = connect_keeper(count_held);

    if (there)
        watch_connection();
    else
        event_add(retry, &(struct timeval){.tv_sec = RETRY_S});
    return there;
}

static void renew(evutil_socket_t fd, short what, void *arg)
{
    if (!connect_again())
        return;
    put_again();
    log_notice("keep: another keeper was started");
}

// The connection is readable: the keeper sends nothing unasked, so it has ended.
static void on_end(evutil_socket_t fd, short what, void *arg)
{
    log_warning("keep: the keeper has ended");
    drop_connection();
    renew(-1, 0, NULL);
}

static void watch_connection(void)
{
    ended = event_new(base, connection, EV_READ, on_end, NULL);
    if (!ended || event_add(ended, NULL))
        log_error("keep: no memory to watch the keeper");
}

int keep_watch(struct event_base *loop, void (*again)(void))
{
    base = loop;
    put_again = again;
    if (way != PROCESS)
        return 0;
    retry = event_new(loop, -1, 0, renew, NULL);
    if (!retry)
        return -ENOMEM;
    if (connection >= 0)
        watch_connection();
    else if (!later)
        event_add(retry, &(struct timeval){.tv_sec = RETRY_S});
    return 0;
}

// Either the former kamueed's keeper holds our descriptors, or it has ended and a new one starts
// empty.
void keep_join(void)
{
    later = false;
    if (way == PROCESS && connect_again() && !n_held)
        put_again();
}

// systemd keeps its store over a restart and empties it at a stop.
void keep_end(bool restart)
{
    drop_event(&retry);
    if (connection >= 0 && !restart)
        keeper_send(connection, KEEPER_END, "", -1);
    keep_process_continue();
    drop_connection();
    vec_foreach (&taken, t)
        if (t->fd >= 0)
            close(t->fd);
    vec_free(&taken);
    way = NONE;
}
