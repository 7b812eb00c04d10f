// SPDX-License-Identifier: BSD-3-Clause
// netns_own.c - see netns_own.h
//
// The kernel's cookie identifies a namespace: the kernel does not reuse it before the next boot,
// but reuses an inode number at once. A mark holds the cookie and the boot ID.
//
//     make:    mark, name        without a mark, or with another identity, a name is foreign
//     rename:  new mark, new name, old name, old mark
//     remove:  name, mark
#include "netlink/netns_own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "core/thread.h"
#include "netlink/netns.h"

#define MARK_MAX 96

static char marks[200]; // directory; "" = none

void netns_own_init(const char *directory)
{
    snprintf(marks, sizeof marks, "%s", directory ? directory : "");
}

// --- identity ------------------------------------------------------------------------------------

// Identifies the calling thread's namespace: "COOKIE BOOT".
static int identify_here(char id[MARK_MAX])
{
    char boot[NETNS_BOOT_ID];
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (s < 0)
        return -errno;
    unsigned long long cookie = netns_cookie(s);
    close(s);
    netns_boot_id(boot);
    snprintf(id, MARK_MAX, "%llu %s", cookie, boot);
    return cookie && boot[0] ? 0 : -EIO;
}

static int identify(int fd, char id[MARK_MAX])
{
    int back = netns_enter(fd);

    if (back < 0)
        return back;
    int r = identify_here(id);
    netns_leave(back);
    return r;
}

// --- marks ---------------------------------------------------------------------------------------

static void mark_path(const char *name, const char *end, char path[300])
{
    snprintf(path, 300, "%s/%s%s", marks, name, end);
}

bool netns_own_is_marked(const char *name)
{
    char path[300];

    thread_must_be(ROLE_CONTROL);
    mark_path(name, "", path);
    return marks[0] && !access(path, F_OK);
}

static bool mark_says(const char *name, const char *id)
{
    char path[300];
    struct text t = {0};

    mark_path(name, "", path);
    bool same = !file_read(path, &t) && !strcmp(text_str(&t), id);
    text_free(&t);
    return same;
}

static int write_mark(const char *name, const char *id)
{
    char path[300], next[300];

    if (mkdir(marks, 0700) && errno != EEXIST)
        return -errno;
    mark_path(name, "", path);
    mark_path(name, "~", next); // no namespace of ours has a ~ in its name
    FILE *f = fopen(next, "we");
    if (!f)
        return -errno;
    bool ok = fputs(id, f) >= 0;
    ok = !fclose(f) && ok && !rename(next, path);
    int e = errno ? errno : EIO;
    if (!ok)
        unlink(next);
    return ok ? 0 : -e;
}

static void remove_mark(const char *name)
{
    char path[300];

    mark_path(name, "", path);
    unlink(path);
}

void netns_own_forget(const char *name)
{
    if (netns_own_is_marked(name))
        remove_mark(name);
}

// --- making and finding --------------------------------------------------------------------------

static int set_lo_up(void)
{
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
        e = s < 0 ? -errno : link_change_flags(s, "lo", IFF_UP, 0);

    if (s >= 0)
        close(s);
    return e;
}

static int make_unnamed(char id[MARK_MAX])
{
    int fd = netns_new(), back = fd < 0 ? fd : netns_enter(fd);
    int r = back < 0 ? back : identify_here(id);

    r = r ? r : set_lo_up();
    netns_leave(back);
    if (r)
        netns_close(fd);
    return r ? r : fd;
}

enum found { FOUND_NONE, FOUND_OURS, FOUND_OTHERS };

// Finds out whose namespace has the name now.
static enum found find_named(const char *name)
{
    char id[MARK_MAX], err[200];
    int fd, r = netns_open(name, &fd, err, sizeof err);

    if (r == -ENOENT)
        return FOUND_NONE;
    bool empty = netns_name_is_empty(name); // its file may be readable only by root
    bool ours = !r && !empty && !identify(fd, id) && mark_says(name, id);
    netns_close(fd);
    if (empty && netns_own_is_marked(name) && !netns_name_remove(name))
        return FOUND_NONE; // an earlier kamueed ended halfway
    return ours ? FOUND_OURS : FOUND_OTHERS;
}

bool netns_own_may_make(const char *name)
{
    thread_must_be(ROLE_CONTROL);
    return !marks[0] || find_named(name) != FOUND_OTHERS;
}

static int make_named(const char *name)
{
    char id[MARK_MAX];
    int fd = make_unnamed(id), r = fd < 0 ? fd : write_mark(name, id);

    r = r ? r : netns_name_add(name, fd);
    if (r && fd >= 0)
        remove_mark(name);
    netns_close(fd);
    return r;
}

int netns_own_make(const char *name, char *err, size_t err_size)
{
    thread_must_be(ROLE_CONTROL);
    if (capability_check(CAPABILITY_SYS_ADMIN, "making a network namespace", err, err_size))
        return -EPERM;
    enum found found = marks[0] ? find_named(name) : FOUND_NONE;
    int r = found == FOUND_OTHERS ? -EEXIST
            : found == FOUND_OURS ? 0
            : marks[0]            ? make_named(name)
                                  : -ENOTDIR;

    if (r == -EEXIST)
        snprintf(err, err_size,
                 "there is a network namespace %s that kamueed has not made: use it with "
                 "'namespace %s', or remove it (ip netns del %s)",
                 name, name, name);
    else if (r == -EPERM || r == -EACCES)
        snprintf(err, err_size,
                 "cannot make network namespace %s: this user cannot name it in /run/netns: start "
                 "kamuee-netns (systemctl start kamuee-netns.socket, KAMUEE_NETNS)",
                 name);
    else if (r == -ETIMEDOUT)
        snprintf(err, err_size,
                 "cannot make network namespace %s: kamuee-netns does not answer: restart it "
                 "(systemctl restart kamuee-netns)",
                 name);
    else if (r)
        snprintf(err, err_size, "cannot make network namespace %s: %s", name, strerror(-r));
    else
        log_info("netns_own: %s: netns=%s", found == FOUND_OURS ? "found" : "made", name);
    return r;
}

int netns_own_restore(const char *name, int fd)
{
    char id[MARK_MAX];
    int r = identify(fd, id);

    if (!r && !mark_says(name, id))
        return -EEXIST;
    return r ? r : netns_name_add(name, fd);
}

int netns_own_rename(const char *from, const char *to, char *err, size_t err_size)
{
    char id[MARK_MAX];
    int fd, r = netns_open(from, &fd, err, err_size);

    if (r)
        return r;
    r = find_named(to) == FOUND_NONE ? identify(fd, id) : -EEXIST;
    r = r ? r : write_mark(to, id);
    if (!r && (r = netns_name_add(to, fd)))
        remove_mark(to);
    netns_close(fd);
    if (r) {
        snprintf(err, err_size, "cannot rename network namespace %s to %s: %s", from, to,
                 strerror(-r));
        return r;
    }
    r = netns_name_remove(from);
    if (r)
        log_warning("netns_own: old name stays: netns=%s error=%s", from, LOG_VALUE(strerror(-r)));
    remove_mark(from);
    log_info("netns_own: renamed: from=%s to=%s", from, to);
    return 0;
}

// --- removing ------------------------------------------------------------------------------------

static bool is_tap(int s, const char *name)
{
    struct ethtool_drvinfo d = {.cmd = ETHTOOL_GDRVINFO};

    return !link_ethtool(s, name, &d) && !strcmp(d.driver, "tun");
}

// True if the calling thread's namespace has a device that is up and neither `lo` nor a TAP, which
// may be ours.
static bool has_foreign_device(int s)
{
    struct if_nameindex *all = if_nameindex();
    bool foreign = false;

    for (unsigned i = 0; all && all[i].if_index && !foreign; i++) {
        int flags = link_flags(s, all[i].if_name);
        foreign =
            flags >= 0 && flags & IFF_UP && !(flags & IFF_LOOPBACK) && !is_tap(s, all[i].if_name);
    }
    if (all)
        if_freenameindex(all);
    return foreign;
}

static bool is_used(const char *name)
{
    char err[200];
    int fd, back = netns_open(name, &fd, err, sizeof err) ? -1 : netns_enter(fd);
    bool used = false;

    if (back >= 0) {
        int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        used = s >= 0 && has_foreign_device(s);
        if (s >= 0)
            close(s);
        netns_leave(back);
    }
    return used;
}

static void remove_one(const char *name)
{
    if (find_named(name) == FOUND_OURS) {
        if (is_used(name)) {
            log_notice("netns_own: not removed, because devices in it are up (ip netns del): "
                       "netns=%s",
                       name);
        } else {
            int r = netns_name_remove(name);
            if (r) {
                log_warning("netns_own: not removed: netns=%s error=%s", name,
                            LOG_VALUE(strerror(-r)));
                return; // the mark stays for another attempt
            }
            log_info("netns_own: removed: netns=%s", name);
        }
    }
    remove_mark(name);
}

void netns_own_sweep(bool (*keep)(void *ctx, const char *name), void *ctx)
{
    DIR *d = marks[0] ? opendir(marks) : NULL;

    thread_must_be(ROLE_CONTROL);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && !keep(ctx, e->d_name))
            remove_one(e->d_name);
    if (d)
        closedir(d);
}
