// SPDX-License-Identifier: BSD-3-Clause
// tap_keep.c - the descriptors that a former process left with the keeper
//
// The kernel tells the name and namespace of an offered descriptor's TAP; the keeper's word does
// not count. A claim takes the first descriptor of a TAP and closes the others, which would keep
// the TAP alive.
#include "tap/tap.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/thread.h"

#define OWN_NETNS "/proc/thread-self/ns/net"

struct offer {
    int fd; // -1: claimed
    ino_t netns;
    struct ifreq tap; // name and flags
};
static VEC(struct offer) all;
static size_t first; // all offers before it are claimed
static void (*put_copy)(int fd);

// Reads name and flags of the descriptor's TAP. Returns false if the TAP is gone or fd is no TAP.
static bool identify(int fd, struct offer *o)
{
    struct stat s;

    *o = (struct offer){.fd = fd};
    if (ioctl(fd, TUNGETIFF, &o->tap))
        return false;
    int netns = ioctl(fd, TUNGETDEVNETNS);
    bool known = netns >= 0 && !fstat(netns, &s);
    if (known)
        o->netns = s.st_ino;
    if (netns >= 0)
        close(netns);
    return known;
}

void tap_keep_by(void (*put)(int fd))
{
    put_copy = put;
}

void tap_keep_offer(int fd)
{
    struct offer o;

    thread_must_be(ROLE_CONTROL);
    if (identify(fd, &o)) {
        *vec_push(&all) = o;
        return;
    }
    log_info("tap_keep: kept descriptor dropped, its TAP no longer exists: error=\"%m\"");
    close(fd);
}

static ino_t netns_here(void)
{
    struct stat s;

    return stat(OWN_NETNS, &s) ? 0 : s.st_ino;
}

static bool is_of(const struct offer *o, const char *name, ino_t netns)
{
    return o->fd >= 0 && o->netns == netns && !strcmp(o->tap.ifr_name, name);
}

// Uses only the first descriptor; others would keep the TAP alive after the first one is closed.
static int take_offer(const char *name, ino_t netns)
{
    int fd = -1;

    while (first < all.n && all.item[first].fd < 0)
        first++;
    for (size_t i = first; i < all.n; i++) {
        struct offer *o = &all.item[i];
        if (!is_of(o, name, netns))
            continue;
        if (fd < 0)
            fd = o->fd;
        else
            close(o->fd);
        o->fd = -1;
    }
    return fd;
}

int tap_keep_claim(const char *name)
{
    struct offer o;

    thread_must_be(ROLE_CONTROL);
    if (!all.n)
        return -1;
    int fd = take_offer(name, netns_here());
    if (fd < 0 || identify(fd, &o))
        return fd;
    close(fd);
    return -1;
}

bool tap_keep_renamed(const char *from, const char *to)
{
    ino_t here = all.n ? netns_here() : 0;
    bool offered = false;

    thread_must_be(ROLE_CONTROL);
    vec_foreach (&all, o)
        if (is_of(o, from, here)) {
            snprintf(o->tap.ifr_name, sizeof o->tap.ifr_name, "%s", to);
            offered = true;
        }
    return offered;
}

// Does not keep a TAP that could not be recognized later: no process could attach to it again.
void tap_keep_put(int fd)
{
    struct offer o;

    thread_must_be(ROLE_CONTROL);
    if (put_copy && identify(fd, &o))
        put_copy(fd);
}

int tap_keep_take(char name[16])
{
    struct offer now;

    thread_must_be(ROLE_CONTROL);
    for (; first < all.n; first++) {
        int fd = all.item[first].fd;

        all.item[first].fd = -1;
        if (fd >= 0 && identify(fd, &now)) {
            memcpy(name, now.tap.ifr_name, sizeof now.tap.ifr_name);
            return fd;
        }
        if (fd >= 0)
            close(fd);
    }
    tap_keep_fini();
    return -1;
}

void tap_keep_fini(void)
{
    vec_foreach (&all, o)
        if (o->fd >= 0)
            close(o->fd);
    vec_free(&all);
    first = 0;
}
