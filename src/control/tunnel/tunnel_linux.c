// SPDX-License-Identifier: BSD-3-Clause
// tunnel_linux.c - see tunnel_linux.h
//
// Reports of rib_manager wait in `news` until a turn takes them, because the turn of a change may
// be suspended: `devices` stays the same throughout a turn. If packets cannot tell devices apart,
// all of these are left to Linux, so that the order in which they were made does not matter.
#include "tunnel/tunnel_linux.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/plain.h"
#include "base/vec.h"
#include "core/aside.h"
#include "core/manager.h"
#include "core/thread.h"
#include "interface/control_event.h"
#include "interface/iface_manager.h"
#include "interface/vr_manager.h"
#include "netlink/netns_use.h"
#include "rib/rib_manager.h"
#include "table/iface.h"
#include "table/vr.h"
#include "table/vr_budget.h"

#define IPSEC_S 1
#define PAUSE_US 20000 // makes one change of many devices that appear together

struct device {
    struct iface_tunnel_event told;
    struct tunnel_settings settings; // wanted settings of its tunnel
    uint16_t iface;                  // interface of its tunnel, 0 = left to Linux
    struct tunnel_settings made;     // actual settings of its tunnel
    uint8_t mac[6];
    uint16_t mtu;
    char why[240]; // reason for leaving it to Linux; "" = none so far
};

static VEC(struct device) devices; // sorted by virtual router and ifindex
static VEC(struct iface_tunnel_event) news;
static struct event *timer, *ipsec_timer;
static bool ipsec[VR_MAX]; // IPsec policies exist: forwarding would send in the clear

// --- reports of Linux ---

static int compare_device(const struct device *d, uint16_t vr, int ifindex)
{
    return d->told.vr != vr ? d->told.vr - vr : d->told.link.ifindex - ifindex;
}

// Index of the first device that is not before (vr, ifindex).
static size_t device_at(uint16_t vr, int ifindex)
{
    size_t low = 0, high = devices.n;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_device(&devices.item[middle], vr, ifindex) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct device *insert_at(size_t at)
{
    vec_push(&devices);
    memmove(&devices.item[at + 1], &devices.item[at],
            (devices.n - 1 - at) * sizeof *devices.item);
    devices.item[at] = (struct device){0};
    return &devices.item[at];
}

static void give_back(struct device *d);

// Settles soon, after a change of something that matters.
static void look_again(void)
{
    if (timer && (devices.n || news.n) && !event_pending(timer, EV_TIMEOUT, NULL))
        event_add(timer, &(struct timeval){.tv_usec = PAUSE_US});
}

static void forget_at(size_t at)
{
    give_back(&devices.item[at]);
    memmove(&devices.item[at], &devices.item[at + 1],
            (devices.n - 1 - at) * sizeof *devices.item);
    devices.n--;
}

static void take_one(const struct iface_tunnel_event *e)
{
    size_t at = device_at(e->vr, e->link.ifindex);
    bool known = at < devices.n && !compare_device(&devices.item[at], e->vr, e->link.ifindex);

    if (e->gone && known)
        forget_at(at);
    else if (!e->gone)
        (known ? &devices.item[at] : insert_at(at))->told = *e;
}

// More reports may arrive meanwhile.
static void take_news(void)
{
    for (size_t k = 0; k < news.n; k++) {
        struct iface_tunnel_event e = news.item[k];
        take_one(&e);
    }
    vec_clear(&news);
}

static void on_told(const struct iface_tunnel_event *e)
{
    thread_must_be(ROLE_CONTROL);
    if (tunnel_is_fallback(&e->link))
        return;
    *vec_push(&news) = *e;
    look_again();
}

// --- may it be taken over? ---

// Checks all virtual routers that have devices; returns true if one of them changed.
static bool look_at_ipsec(void)
{
    bool news_of_it = false;
    uint16_t seen = VR_MAX;

    vec_foreach (&devices, d) {
        uint16_t vr = d->told.vr;
        if (vr == seen)
            continue;
        bool forwarded, has = netlink_has_ipsec(vr_manager_netns(vr), &forwarded);
        news_of_it |= has != ipsec[vr];
        ipsec[vr] = has;
        seen = vr;
    }
    return news_of_it;
}

static void log_left(const struct device *d, const char *was)
{
    if (d->why[0] && strcmp(d->why, was))
        log_notice("tunnel_linux: left to Linux: device=%s vr=%s kind=%s reason=%s",
                   d->told.link.name, vr_get(d->told.vr)->name, d->told.link.tunnel.word,
                   LOG_VALUE(d->why));
}

static void judge(struct device *d)
{
    const struct netlink_link *l = &d->told.link;
    const char *why = tunnel_judge(l, &d->settings);
    char name[PLAIN_NAME_SHOWN];

    d->settings.id.vr = d->told.vr;
    d->why[0] = 0;
    if (l->odd_name[0])
        snprintf(d->why, sizeof d->why,
                 "its name, '%s', is none that an interface can have: rename it, with letters, "
                 "digits, '_', '.' and '-' only", plain_name_shown(l->odd_name, name));
    else if (why)
        snprintf(d->why, sizeof d->why, "it %s", why);
    else if (d->told.master[0])
        snprintf(d->why, sizeof d->why, "it is a member of %s", d->told.master);
    else if (ipsec[d->told.vr])
        snprintf(d->why, sizeof d->why,
                 "its packets may have to be encrypted: the namespace has IPsec policies");
    else if (l->tunnel.dev && !iface_find_ifindex(d->told.vr, l->tunnel.dev))
        snprintf(d->why, sizeof d->why, "its dev %s is no interface of virtual router %s",
                 d->told.dev, vr_get(d->told.vr)->name);
}

static int compare_ids(const void *x, const void *y)
{
    const struct device *a = *(struct device *const *)x, *b = *(struct device *const *)y;

    return memcmp(&a->settings.id, &b->settings.id, sizeof a->settings.id);
}

static void same_ends(struct device *d, const struct device *other)
{
    if (!d->why[0])
        snprintf(d->why, sizeof d->why, "packets do not tell it from %s, which has the same ends",
                 other->told.link.name);
}

static void judge_pairs(void)
{
    struct device **by_id = calloc(devices.n + 1, sizeof *by_id);
    size_t n = 0;

    bug_on(!by_id);
    vec_foreach (&devices, d)
        if (d->settings.id.kind)
            by_id[n++] = d;
    qsort(by_id, n, sizeof *by_id, compare_ids);
    for (size_t k = 1; k < n; k++)
        if (!compare_ids(&by_id[k - 1], &by_id[k])) {
            same_ends(by_id[k - 1], by_id[k]);
            same_ends(by_id[k], by_id[k - 1]);
        }
    free(by_id);
}

// The configuration comes first: devices get only the part of a virtual router's budgets that its
// configured interfaces leave.
static void judge_budgets(void)
{
    static const enum vr_budget_kind kinds[] = {VR_BUDGET_INTERFACES, VR_BUDGET_TUNNELS};
    static uint32_t used[VR_MAX][2];

    memset(used, 0, sizeof used);
    for (uint16_t id = 1; id < iface_id_end(); id++) {
        const struct iface *i = iface_get(id);
        bool counts = i->kind != IFACE_NONE && !tunnel_is_by_linux(i);
        used[i->vr][0] += counts;
        used[i->vr][1] += counts && i->kind == IFACE_TUNNEL;
    }
    vec_foreach (&devices, d) {
        const uint16_t vr = d->told.vr;
        for (unsigned k = 0; k < 2 && !d->why[0]; k++)
            if (!vr_budget_has_room(vr, kinds[k], used[vr][k]))
                snprintf(d->why, sizeof d->why, "its virtual router's budget of %s is used up: %lu",
                         vr_budget_info[kinds[k]].word, vr_budget_limit(vr, kinds[k]));
        used[vr][0] += !d->why[0];
        used[vr][1] += !d->why[0];
    }
}

// --- taking over, giving back ---

static void give_back(struct device *d)
{
    char err[200];

    if (!d->iface)
        return;
    const char *name = iface_get(d->iface)->name;
    d->iface = 0;
    log_info("tunnel_linux: given back: interface=%s", name);
    if (iface_manager_del(name, err, sizeof err))
        log_error("tunnel_linux: %s", err);
}

static void take_over(struct device *d)
{
    const struct netlink_link *l = &d->told.link;
    struct tunnel_device device = {.ifindex = l->ifindex};
    char vr[sizeof vr_get(0)->name];

    memcpy(device.mac, l->mac, sizeof device.mac);
    snprintf(vr, sizeof vr, "%s", vr_get(d->told.vr)->name);
    d->mtu = (uint16_t)(l->mtu < UINT16_MAX ? l->mtu : UINT16_MAX);
    if (tunnel_end_add(l->name, &d->settings, d->mtu, vr, &device, d->why, sizeof d->why))
        return;
    d->iface = iface_find_name(l->name)->id;
    d->made = d->settings;
    memcpy(d->mac, l->mac, sizeof d->mac);
    log_info("tunnel_linux: taken over: interface=%s vr=%s kind=%s", l->name, vr, l->tunnel.word);
}

// Compares the properties that cannot be changed while it exists.
static bool is_as_made(const struct device *d)
{
    const struct netlink_link *l = &d->told.link;

    return !memcmp(&d->made, &d->settings, sizeof d->made) &&
           !strcmp(iface_get(d->iface)->name, l->name) &&
           (!tunnel_is_ethernet(d->made.id.kind) || !memcmp(d->mac, l->mac, sizeof d->mac));
}

static void follow_mtu(struct device *d)
{
    uint16_t mtu = (uint16_t)(d->told.link.mtu < UINT16_MAX ? d->told.link.mtu : UINT16_MAX);
    char err[200];

    if (!d->iface || d->mtu == mtu)
        return;
    d->mtu = mtu;
    if (iface_manager_set_tunnel_mtu(d->told.link.name, mtu, err, sizeof err))
        log_warning("tunnel_linux: %s", err);
}

// Takes devices over and gives them back, according to Linux and to the configuration.
static void settle(void)
{
    take_news();
    look_at_ipsec();
    char(*was)[sizeof devices.item->why] = calloc(devices.n + 1, sizeof *was);
    bug_on(!was);
    for (size_t k = 0; k < devices.n; k++) {
        memcpy(was[k], devices.item[k].why, sizeof *was);
        judge(&devices.item[k]);
    }
    judge_pairs();
    judge_budgets();
    vec_foreach (&devices, d)
        if (d->iface && (d->why[0] || !is_as_made(d)))
            give_back(d);
    vec_foreach (&devices, d)
        if (!d->iface && !d->why[0])
            take_over(d);
    for (size_t k = 0; k < devices.n; k++) {
        follow_mtu(&devices.item[k]);
        log_left(&devices.item[k], was[k]);
    }
    free(was);
}

// --- when ---

static void settle_alone(void *ctx)
{
    iface_manager_end_change();
}

static void do_not(void *ctx)
{
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    aside_turn(ASIDE_CHANGE, &(struct turn){settle_alone, do_not, NULL, NULL});
}

static void on_ipsec_timer(evutil_socket_t fd, short what, void *arg)
{
    if (look_at_ipsec())
        look_again();
}

// The configuration needs its name or its ends.
static void yield(const struct iface *i)
{
    vec_foreach (&devices, d)
        if (d->iface == i->id) {
            give_back(d);
            return;
        }
}

// Gives one back, of the virtual router with the most.
static void make_room(void)
{
    static uint32_t n[VR_MAX];
    struct device *one = NULL;

    memset(n, 0, sizeof n);
    vec_foreach (&devices, d)
        n[d->told.vr] += d->iface != 0;
    vec_foreach (&devices, d)
        if (d->iface && (!one || n[d->told.vr] >= n[one->told.vr]))
            one = d;
    if (one)
        give_back(one);
}

// Gives back all of a virtual router that is being deleted.
static void leave(uint16_t vr)
{
    size_t kept = 0;

    for (size_t at = devices.n; at-- > 0;)
        if (devices.item[at].told.vr == vr)
            forget_at(at);
    vec_foreach (&news, e)
        if (e->vr != vr)
            news.item[kept++] = *e;
    news.n = kept;
}

static void on_control_event(const struct control_event *e)
{
    switch (e->kind) {
    case EVENT_VR_LEAVES: leave(e->vr); break;
    case EVENT_IFACE_WANTED: yield(e->iface); break;
    case EVENT_ROOM_WANTED: make_room(); break;
    case EVENT_CHANGE_ENDS: settle(); break;
    default: look_again();
    }
}

void tunnel_linux_init(void)
{
    static const enum control_event_kind kinds[] = {EVENT_VR_BUDGET,    EVENT_VR_LEAVES,
                                                    EVENT_IFACE_WANTED, EVENT_ROOM_WANTED,
                                                    EVENT_IFACE_ADDED,  EVENT_CHANGE_ENDS};

    thread_must_be(ROLE_CONTROL);
    tunnel_ends_init();
    rib_iface_set_tunnel_event(on_told);
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        control_event_listen(kinds[k], on_control_event);
}

int tunnel_linux_start(struct event_base *loop)
{
    const struct timeval pause = {.tv_sec = IPSEC_S};

    tunnel_linux_init();

    timer = evtimer_new(loop, on_timer, NULL);
    ipsec_timer = event_new(loop, -1, EV_PERSIST, on_ipsec_timer, NULL);
    return timer && ipsec_timer && !event_add(ipsec_timer, &pause) ? 0 : -ENOMEM;
}

void tunnel_linux_fini(void)
{
    drop_event(&timer);
    drop_event(&ipsec_timer);
    vec_free(&devices);
    vec_free(&news);
}

void tunnel_linux_each_left(void (*fn)(void *ctx, const struct tunnel_left *t), void *ctx)
{
    thread_must_be(ROLE_CONTROL);
    vec_foreach (&devices, d)
        if (d->why[0])
            fn(ctx, &(struct tunnel_left){.name = d->told.link.name,
                                          .kind = d->told.link.tunnel.word,
                                          .vr = vr_get(d->told.vr)->name,
                                          .reason = d->why});
}
