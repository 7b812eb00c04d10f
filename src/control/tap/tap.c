// SPDX-License-Identifier: BSD-3-Clause
// tap.c - one TAP device of Linux
// Offloads are off (TUNSETOFFLOAD 0): the kernel completes checksums and segments packets before we
// read a frame, and ethtool cannot change that. tap_sysctl.c has the kernel's settings of a TAP.
#include "tap/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ip.h"
#include "base/log.h"
#include "base/vec.h"
#include "netlink/netns.h"
#include "netlink/rtnetlink.h"

#define UDEVD "/run/udev/control" // exists while it runs
#define TAP_FLAGS (IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
#define COMPARED (TAP_FLAGS | IFF_TUN | IFF_MULTI_QUEUE)

// --- a socket for ioctls in a network namespace, shared by all its TAPs ---
// One socket for each of 10,000 TAPs would exceed the limit of open files. A namespace is
// identified by its inode, which is not reused while our socket is in it.

#define NETNS_HERE "/proc/thread-self/ns/net"

static VEC(struct shared {
    ino_t netns;
    int sock;
    unsigned users;
}) all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // TAPs are deleted aside

static int open_socket(void)
{
    return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static struct shared *find_shared(ino_t netns)
{
    vec_foreach (&all, s)
        if (s->netns == netns)
            return s;
    return NULL;
}

static int share_socket(ino_t netns)
{
    struct shared *s = find_shared(netns);

    if (!s) {
        int sock = open_socket();
        if (sock < 0)
            return -1;
        s = vec_push(&all);
        *s = (struct shared){.netns = netns, .sock = sock};
    }
    s->users++;
    return s->sock;
}

static int get_socket(void) // in the current namespace; -1 with errno
{
    struct stat here;

    if (stat(NETNS_HERE, &here))
        return open_socket();
    pthread_mutex_lock(&lock);
    int sock = share_socket(here.st_ino);
    pthread_mutex_unlock(&lock);
    return sock;
}

// Returns true if others use it.
static bool unshare_socket(int sock)
{
    vec_foreach (&all, s)
        if (s->sock == sock) {
            if (--s->users)
                return true;
            *s = all.item[--all.n];
            return false;
        }
    return false;
}

static void put_socket(int sock) // -1: does nothing
{
    if (sock < 0)
        return;
    pthread_mutex_lock(&lock);
    if (!unshare_socket(sock))
        close(sock);
    if (!all.n)
        vec_free(&all);
    pthread_mutex_unlock(&lock);
}

uint16_t tap_mtu(uint16_t mtu)
{
    return mtu < IP6_MTU_MIN ? IP6_MTU_MIN : mtu;
}

int tap_set_mtu(const struct tap *t, uint16_t mtu)
{
    struct ifreq r = link_request(t->name);

    r.ifr_mtu = tap_mtu(mtu);
    return !t->foreign && ioctl(t->sock, SIOCSIFMTU, &r) ? -errno : 0;
}

int tap_set_mac(const struct tap *t, const uint8_t mac[6])
{
    struct ifreq now = link_request(t->name), r = now;

    r.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    memcpy(r.ifr_hwaddr.sa_data, mac, 6);
    // Setting the same MAC would still raise an event and flush neighbor entries.
    if (!ioctl(t->sock, SIOCGIFHWADDR, &now) && !memcmp(now.ifr_hwaddr.sa_data, mac, 6))
        return 0;
    return ioctl(t->sock, SIOCSIFHWADDR, &r) ? -errno : 0;
}

// Uses the index, because the TAP may have been renamed.
int tap_read_state(const struct tap *t, struct tap_state *s)
{
    struct ethtool_value link = {.cmd = ETHTOOL_GLINK};
    struct ifreq r = {.ifr_ifindex = t->ifindex};

    *s = (struct tap_state){0};
    if (ioctl(t->sock, SIOCGIFNAME, &r))
        return -errno;
    memcpy(s->name, r.ifr_name, sizeof s->name);
    if (ioctl(t->sock, SIOCGIFHWADDR, &r))
        return -errno;
    memcpy(s->mac, r.ifr_hwaddr.sa_data, sizeof s->mac);
    if (ioctl(t->sock, SIOCGIFMTU, &r))
        return -errno;
    s->mtu = (uint32_t)r.ifr_mtu;
    if (ioctl(t->sock, SIOCGIFFLAGS, &r))
        return -errno;
    s->up = r.ifr_flags & IFF_UP;
    r.ifr_data = (void *)&link;
    s->carrier = !ioctl(t->sock, SIOCETHTOOL, &r) && link.data;
    return 0;
}

int tap_rename(const struct tap *t, const char *from)
{
    struct ifreq r = link_request(from);

    snprintf(r.ifr_newname, sizeof r.ifr_newname, "%s", t->name);
    return ioctl(t->sock, SIOCSIFNAME, &r) ? -errno : 0;
}

int tap_set_carrier(const struct tap *t, bool on)
{
    int value = on;

    return !t->foreign && ioctl(t->fd, TUNSETCARRIER, &value) ? -errno : 0;
}

bool tap_is_up(const struct tap *t)
{
    int flags = link_flags(t->sock, t->name);

    return flags >= 0 && flags & IFF_UP;
}

int tap_set_noarp(const struct tap *t)
{
    return link_change_flags(t->sock, t->name, IFF_NOARP, 0);
}

// These names would be directories of settings for all interfaces: /proc/sys/net/ipv4/conf.
static bool linux_forbids(const char *name)
{
    return !strcmp(name, "all") || !strcmp(name, "default") || !strcmp(name, ".") ||
           !strcmp(name, "..");
}

static void explain_tap_error(const char *name, int e, char *err, size_t err_size)
{
    const char *why = strerror(e);

    if (e == EBUSY)
        why = "another process uses this TAP: check for another running kamueed";
    else if (e == EINVAL && linux_forbids(name))
        why = "Linux has no interface of this name: use another name";
    else if (e == EINVAL || e == EEXIST)
        why = "a device of this name exists and is not a TAP: rename it, or use another name for "
              "the port";
    else if (e == EPERM || e == EACCES)
        why = "no permission: CAP_NET_ADMIN is needed in its network namespace";
    else if (e == ENOENT || e == ENODEV)
        why = "/dev/net/tun is missing: load the kernel module (modprobe tun)";
    snprintf(err, err_size, "TAP %s: %s", name, why);
}

static int find_ifindex(struct tap *t)
{
    struct ifreq r = link_request(t->name);

    if (ioctl(t->sock, SIOCGIFINDEX, &r))
        return -errno;
    t->ifindex = r.ifr_ifindex;
    return 0;
}

static int set_framing(struct tap *t)
{
    int header = sizeof(struct virtio_net_hdr);

    if (ioctl(t->fd, TUNSETVNETHDRSZ, &header) || ioctl(t->fd, TUNSETOFFLOAD, 0ul))
        return -errno;
    return find_ifindex(t);
}

// Opens or creates the TAP of this name in the current namespace. With an index, creates it with
// that ifindex, and fails if the ifindex is taken.
static int open_tap_in_netns(struct tap *t, int index)
{
    struct ifreq r = link_request(t->name);

    r.ifr_flags = TAP_FLAGS;
    t->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (t->fd < 0)
        return -errno;
    if ((!index || !ioctl(t->fd, TUNSETIFINDEX, &index)) && !ioctl(t->fd, TUNSETIFF, &r))
        return set_framing(t);
    int e = errno;
    close(t->fd);
    t->fd = -1;
    return -e;
}

// Creates a TAP with this MAC in a namespace that systemd-udevd does not see, and moves it here,
// which takes the kernel some milliseconds. Otherwise udevd would replace the random MAC of a new
// device after we have set ours (MACAddressPolicy=persistent).
static int make_tap_in_private_netns(struct tap *t, const uint8_t mac[6])
{
    struct tap aside = *t;
    int private = netns_private();
    int here = private < 0 ? private : netns_enter(private);

    if (here < 0)
        return here;
    aside.sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int r = aside.sock < 0 ? -errno : open_tap_in_netns(&aside, 0);
    if (!r)
        r = tap_set_mac(&aside, mac);
    if (!r)
        r = netns_move_link(aside.ifindex, here);
    netns_leave(here);
    if (aside.sock >= 0)
        close(aside.sock);
    if (!r) {
        t->fd = aside.fd;
        return find_ifindex(t);
    }
    if (aside.fd >= 0)
        close(aside.fd);
    return r;
}

// Descriptor of the kept TAP of this name, unless another version made it differently.
static int claim_kept(const char *name)
{
    int fd = tap_keep_claim(name);
    struct ifreq r = {0};

    if (fd >= 0 && ioctl(fd, TUNGETIFF, &r)) { // it has just been deleted
        close(fd);
        return -1;
    }
    if (fd < 0 || (r.ifr_flags & COMPARED) == TAP_FLAGS)
        return fd;
    log_warning("tap: a TAP made differently by another version is recreated: name=%s flags=%#x",
                name, (unsigned)(uint16_t)r.ifr_flags);
    struct tap t = {.fd = fd, .sock = -1};
    snprintf(t.name, sizeof t.name, "%s", name);
    tap_delete(&t);
    return -1;
}

// Attaches to the TAP of this name or creates it; *fresh tells which.
static int attach_or_make(struct tap *t, bool *fresh, int netns, int index, const uint8_t mac[6])
{
    t->fd = claim_kept(t->name);
    t->kept = t->fd >= 0;
    if (t->kept)
        return set_framing(t);
    *fresh = find_ifindex(t) != 0;
    if (*fresh && index && !open_tap_in_netns(t, index))
        return 0;
    if (!*fresh || netns != NETNS_OWN || access(UDEVD, F_OK)) // udevd sees this namespace only
        return open_tap_in_netns(t, 0);
    int r = make_tap_in_private_netns(t, mac);
    if (!r)
        return 0;
    // For example in a container that may not create namespaces.
    log_debug("tap: not made aside: name=%s error=\"%s\"", t->name, strerror(-r));
    return open_tap_in_netns(t, 0);
}

// A new TAP has carrier, a found TAP has none until tap_start. A change makes Linux do deferred
// work, which it does for some hundred devices a second.
static int configure_tap(struct tap *t, bool fresh, const uint8_t mac[6], uint16_t mtu)
{
    int r = fresh || t->kept ? 0 : tap_set_carrier(t, false);

    if (!r)
        r = tap_set_mac(t, mac);
    if (!r)
        r = tap_set_mtu(t, mtu);
    if (!r && ioctl(t->fd, TUNSETPERSIST, 1ul))
        r = -errno;
    return r;
}

int tap_open(struct tap *t, const char *name, int netns, int index, const uint8_t mac[6],
             uint16_t mtu, char *err, size_t err_size)
{
    bool fresh = false;
    int back = netns_enter(netns);

    *t = (struct tap){.fd = -1, .sock = -1};
    snprintf(t->name, sizeof t->name, "%s", name);
    if (back < 0) {
        snprintf(err, err_size, "TAP %s: cannot enter its network namespace: %s", name,
                 strerror(-back));
        return back;
    }
    t->sock = get_socket();
    int r = t->sock < 0 ? -errno : attach_or_make(t, &fresh, netns, index, mac);
    if (!r)
        r = configure_tap(t, fresh, mac, mtu);
    netns_leave(back);
    if (r) {
        explain_tap_error(name, -r, err, err_size);
        if (fresh && t->ifindex)
            tap_delete(t);
        else
            tap_close(t);
        return r;
    }
    t->found = !fresh;
    log_info("tap: %s: name=%s ifindex=%d",
             fresh     ? "made"
             : t->kept ? "kept"
                       : "reused",
             name, t->ifindex);
    return 0;
}

// Makes Linux show "UP" instead of "UNKNOWN", since its carrier has never changed.
static void set_operstate_up(const struct tap *t)
{
    char buf[256] __attribute__((aligned(8)));
    struct nlmsghdr *h = rtnetlink_link(buf, RTM_SETLINK, t->ifindex);

    mnl_attr_put_u8(h, IFLA_OPERSTATE, IF_OPER_UP);
    rtnetlink_request_once(rtnetlink_open_beside(t->sock), h, NULL, NULL);
}

static int set_admin_up(struct tap_start *s)
{
    s->addr_gen_mode = tap_link_local_hold(s->tap);
    if (s->carrier)
        set_operstate_up(s->tap);
    return link_change_flags(s->tap->sock, s->tap->name, IFF_UP, 0);
}

static int start_one(struct tap_start *s)
{
    int back = netns_enter(s->netns), r;

    s->addr_gen_mode = -1;
    if (back < 0)
        return back;
    r = tap_set_carrier(s->tap, s->carrier);
    if (!r && !s->tap->found)
        r = set_admin_up(s);
    netns_leave(back);
    return r;
}

static void start_ipv6(const struct tap_start *s)
{
    int back = netns_enter(s->netns);

    if (back < 0)
        return;
    tap_link_local_start(s->tap, s->addr_gen_mode);
    netns_leave(back);
}

void tap_start(struct tap_start *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s[i].error = start_one(&s[i]);
    for (size_t i = 0; i < n; i++)
        start_ipv6(&s[i]);
}

int tap_adopt(struct tap *t, const char *name, int ifindex, int netns)
{
    struct tap_state now;
    int back = netns_enter(netns);

    *t = (struct tap){.fd = -1, .sock = -1, .ifindex = ifindex, .found = true, .foreign = true};
    snprintf(t->name, sizeof t->name, "%s", name);
    if (back < 0)
        return back;
    t->sock = get_socket();
    int r = t->sock < 0 ? -errno : tap_read_state(t, &now);
    netns_leave(back);
    if (r || strcmp(now.name, name)) {
        tap_close(t);
        return r ? r : -ENODEV;
    }
    return 0;
}

void tap_close(struct tap *t)
{
    if (t->fd >= 0)
        close(t->fd);
    put_socket(t->sock);
    t->fd = t->sock = -1;
    t->ifindex = 0;
}

bool tap_exists(const struct tap *t)
{
    struct ifreq r = {0};

    return t->fd >= 0 && !ioctl(t->fd, TUNGETIFF, &r);
}

void tap_clear_persist(const struct tap *t)
{
    if (t->fd >= 0 && ioctl(t->fd, TUNSETPERSIST, 0ul))
        log_warning("tap: not deleted: name=%s error=\"%m\"", t->name);
}

// Uses the descriptor, because the TAP may have been renamed or moved.
static void delete_link(const struct tap *t)
{
    struct ifreq r = {0};
    char buf[256] __attribute__((aligned(8)));
    struct nlmsghdr *h = rtnetlink_link(buf, RTM_DELLINK, 0);

    int netns = t->fd < 0 || ioctl(t->fd, TUNGETIFF, &r) ? -1 : ioctl(t->fd, TUNGETDEVNETNS);
    if (netns < 0)
        return;
    mnl_attr_put_strz(h, IFLA_IFNAME, r.ifr_name);
    rtnetlink_request_once(rtnetlink_open(netns), h, NULL, NULL);
    close(netns);
}

// Without a keeper, closing the last descriptor would be enough to delete it.
void tap_delete(struct tap *t)
{
    tap_clear_persist(t);
    delete_link(t);
    tap_close(t);
}

void tap_delete_unclaimed(void)
{
    struct tap t = {.sock = -1};

    while ((t.fd = tap_keep_take(t.name)) >= 0) {
        log_info("tap: deleted, no longer configured: name=%s", t.name);
        tap_delete(&t);
    }
}

void tap_delete_orphan(const char *name, int netns)
{
    struct tap t = {.fd = -1, .sock = -1};
    int back = netns_enter(netns);

    snprintf(t.name, sizeof t.name, "%s", name);
    if (back >= 0) {
        t.sock = get_socket();
        // Only if it exists, because attaching would create it. Fails if the device is of another
        // kind or in use.
        if (t.sock >= 0 && !find_ifindex(&t) && !open_tap_in_netns(&t, 0)) {
            log_info("tap: deleted, no longer configured: name=%s", name);
            tap_delete(&t);
        }
    }
    netns_leave(back);
    tap_close(&t);
}

static void log_restored(const struct tap *t, const char *renamed, int error)
{
    if (error) {
        tap_keep_renamed(t->name, renamed);
        log_warning("tap: renamed by another program; to restore the name run 'ip link set if%d "
                    "down; ip link set if%d name %s': error=%s",
                    t->ifindex, t->ifindex, t->name, LOG_VALUE(strerror(-error)));
    } else {
        log_notice("tap: renamed by another program, name restored: name=%s renamed=%s ifindex=%d",
                   t->name, LOG_VALUE(renamed), t->ifindex);
    }
}

void tap_restore_name(const char *name, int netns, int ifindex, const uint8_t mac[6])
{
    struct tap t = {.fd = -1, .sock = -1, .ifindex = ifindex}, now = {.fd = -1};
    struct tap_state seen;
    int back = netns_enter(netns);

    snprintf(t.name, sizeof t.name, "%s", name);
    struct ifreq r = link_request(name);
    t.sock = back >= 0 ? get_socket() : -1;
    if (t.sock >= 0 && ioctl(t.sock, SIOCGIFINDEX, &r) && !tap_read_state(&t, &seen)) {
        bool offered = tap_keep_renamed(seen.name, name);
        now.sock = t.sock;
        memcpy(now.name, seen.name, sizeof now.name);
        if (offered || !memcmp(seen.mac, mac, sizeof seen.mac)) {
            // Opening fails if it is no TAP or another process has it.
            int e = offered ? 0 : open_tap_in_netns(&now, 0);
            log_restored(&t, now.name, e ? e : tap_rename(&t, now.name));
        }
    }
    netns_leave(back);
    if (now.fd >= 0)
        close(now.fd);
    tap_close(&t);
}
