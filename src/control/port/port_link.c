// SPDX-License-Identifier: BSD-3-Clause
// port_link.c - follows the links, kernel interfaces, peers and cards of ports
//
// Polls each link twice a second, or 40 times if there is a kernel interface behind the port (one
// ioctl reads its carrier). Link interrupts of the driver and kernel announcements (carrier.h)
// arrive at once. DPDK's interrupt thread posts interrupts to control's mailbox. Also reopens ports
// whose kernel interface, peer or card came back. While a change is made, which may be of the same
// port, links are only read.
#define ALLOW_EXPERIMENTAL_API // rte_dev_event_callback_register
#include "port/port_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include "base/log.h"
#include "core/aside.h"
#include "core/mailbox.h"
#include "core/manager.h"
#include "device/port_probe.h"
#include "interface/control_event.h"
#include "interface/iface_manager.h"
#include "interface/kernel_state.h"
#include "netlink/carrier.h"
#include "netlink/netns.h"
#include "port/managed_port.h"
#include "tap/tap.h"
#include "thread/thread_manager.h"

#define LINK_POLL_US 25000
#define LINK_POLL_SLOW 20 // ports without kernel interface: every twentieth poll

#define PRESUMED_POLLS 10 // five seconds for links to come back after a restart

static bool poll_fast; // some port has a kernel interface
static unsigned n_polls, n_slow_polls;
static struct event_base *loop; // control's
static struct event *timer;

// The kernel waits until we close the card.
static void follow_removal(struct managed_port *p)
{
    if (!p->leaves)
        return;
    p->leaves = false;
    if (!p->open)
        return;
    log_error("port_manager: the device was removed from the host: port=%s", p->wish.name);
    managed_port_lose(p);
}

#define KERNEL_INTERFACE "interface" // attribute of kernel_state

// A kernel interface that was deleted and made again has a new index: reopens the port.
static void follow_kernel_link(struct managed_port *p)
{
    struct port_config cfg = p->wish;
    char err[480];

    if (!p->open || !p->device.kernel_link.name[0])
        return;
    bool replaced = kernel_link_was_replaced(&p->device.kernel_link);
    kernel_link_explain(&p->device.kernel_link, p->wish.name, err, sizeof err);
    kernel_state_set(p->wish.name, KERNEL_INTERFACE, *err, "%s", err);
    if (!replaced)
        return;
    log_notice("port_manager: its kernel interface was recreated: port=%s", p->wish.name);
    if (managed_port_reopen(p, &cfg, err, sizeof err))
        log_error("port_manager: %s", err);
}

#define PATIENCE_LEAST 2u // polls, twice a second
#define PATIENCE_MOST 64u

// Restarts a device that connects to another program only at its start: when that program appears,
// and when the link stays down because the program left or refused the port. The interval between
// attempts grows.
static void follow_peer(struct managed_port *p)
{
    char err[480];

    if (p->link_up)
        p->n_silent = p->n_patient = 0;
    if (p->waiting && managed_port_start(p, err, sizeof err))
        log_debug("port_manager: %s", err);
    if (!p->started || p->link_up || !port_device_calls_once(&p->device))
        return;
    unsigned patience = RTE_MAX(p->n_patient, PATIENCE_LEAST);
    if (p->n_silent++ < patience)
        return;
    p->n_silent = 0;
    p->n_patient = RTE_MIN(patience * 2, PATIENCE_MOST);
    managed_port_stop(p);
    p->waiting = true;
}

#define RETURNS_MOST 20 // attempts, twice a second

// Reopens a card that was pulled out, plugged in and bound again.
static void follow_card(struct managed_port *p)
{
    struct port_config cfg = p->wish;
    char err[480];

    if (!p->gone || p->n_returns > RETURNS_MOST || !port_probe_is_there(cfg.devargs))
        return;
    if (!p->n_returns++) // it may still be leaving
        return;
    if (!managed_port_reopen(p, &cfg, err, sizeof err))
        log_notice("port_manager: its card is back: port=%s", p->wish.name);
    else if (p->n_returns > RETURNS_MOST)
        log_error("port_manager: its card is back, but cannot be used: delete the port and "
                  "configure it again: %s",
                  err);
}

static void on_kernel_link_change(void *port)
{
    struct managed_port *p = port;

    port_device_keep(&p->device);
    managed_port_update_link(p);
}

static struct carrier *open_carrier(struct managed_port *p)
{
    int back = netns_enter(p->device.netns);
    struct carrier *c =
        back < 0 ? NULL
                 : carrier_listen(loop, p->device.kernel_link.ifindex, on_kernel_link_change, p);

    if (!c)
        log_warning("port_manager: link changes are detected only by polling: port=%s error=\"%m\"",
                    p->wish.name);
    netns_leave(back);
    return c;
}

static void follow_port(struct managed_port *p, bool slow)
{
    follow_removal(p);
    follow_kernel_link(p);
    if (!slow)
        return;
    if (p->open) // not all changes are announced
        port_device_keep(&p->device);
    follow_peer(p);
    follow_card(p);
}

// Links that are not up by now were presumed wrongly (iface_manager.h).
static void end_presumed(void)
{
    if (thread_manager_is_held() || ++n_slow_polls != PRESUMED_POLLS)
        return;
    for (uint16_t id = 0; id < PORT_MAX; id++)
        iface_manager_end_presumed(id);
}

static void update_links(void *all)
{
    bool change = aside_busy(ASIDE_CHANGE); // it may be changing one of these ports

    if (tap_delete_batch_runs()) // the ioctl would block control; announcements still come
        return;
    bool slow = all || n_polls++ % LINK_POLL_SLOW == 0;
    if (slow && !change)
        end_presumed();
    vec_foreach (&managed.port, p)
        if (slow || (*p)->device.kernel_link.name[0]) {
            managed_port_update_link(*p);
            if (!change)
                follow_port(*p, slow);
        }
    poll_fast = false;
    vec_foreach (&managed.port, p)
        poll_fast |= (*p)->device.kernel_link.name[0] != 0;
}

static void on_poll(evutil_socket_t fd, short what, void *arg)
{
    update_links(poll_fast ? NULL : "all");
    event_add(timer, &(struct timeval){.tv_usec = poll_fast ? LINK_POLL_US
                                                            : LINK_POLL_US * LINK_POLL_SLOW});
}

// DPDK's interrupt thread
static int link_interrupt(uint16_t id, enum rte_eth_event_type type, void *arg, void *ret)
{
    mailbox_post(ROLE_CONTROL, update_links, "all"); // if lost, the next poll sees it
    return 0;
}

static void device_removed(void *arg)
{
    uint16_t id = (uint16_t)(uintptr_t)arg;

    vec_foreach (&managed.port, p)
        if ((*p)->device.id == id && (*p)->open) {
            (*p)->leaves = true;
            if (!aside_busy(ASIDE_CHANGE)) // otherwise the next poll does
                follow_removal(*p);
            return;
        }
}

// DPDK's interrupt thread: the driver reports a removal
static int removal_interrupt(uint16_t id, enum rte_eth_event_type type, void *arg, void *ret)
{
    return mailbox_post(ROLE_CONTROL, device_removed, (void *)(uintptr_t)id) ? -1 : 0;
}

// DPDK's interrupt thread: vfio-pci wants the card back, and asks again
static void removal_request(const char *device, enum rte_dev_event_type type, void *arg)
{
    uint16_t id;

    if (type == RTE_DEV_EVENT_REMOVE && !rte_eth_dev_get_port_by_name(device, &id))
        mailbox_post(ROLE_CONTROL, device_removed, (void *)(uintptr_t)id);
}

// --- start and end ---

// Events of driver and kernel.
static void subscribe(const struct control_event *e)
{
    struct managed_port *p = e->port;

    rte_eth_dev_callback_register(p->device.id, RTE_ETH_EVENT_INTR_LSC, link_interrupt, NULL);
    rte_eth_dev_callback_register(p->device.id, RTE_ETH_EVENT_INTR_RMV, removal_interrupt, NULL);
    p->carrier = p->device.kernel_link.name[0] ? open_carrier(p) : NULL;
}

static void unsubscribe(const struct control_event *e)
{
    struct managed_port *p = e->port;

    carrier_end(p->carrier);
    p->carrier = NULL;
    kernel_state_set(p->wish.name, KERNEL_INTERFACE, false, "%s", "");
    rte_eth_dev_callback_unregister(p->device.id, RTE_ETH_EVENT_INTR_LSC, link_interrupt, NULL);
    rte_eth_dev_callback_unregister(p->device.id, RTE_ETH_EVENT_INTR_RMV, removal_interrupt, NULL);
}

int port_link_init(struct event_base *base)
{
    loop = base;
    control_event_listen(EVENT_PORT_OPENED, subscribe);
    control_event_listen(EVENT_PORT_CLOSES, unsubscribe);
    timer = event_new(loop, -1, 0, on_poll, NULL);
    if (!timer || event_add(timer, &(struct timeval){.tv_usec = LINK_POLL_US}))
        return -ENOMEM;
    return rte_dev_event_callback_register(NULL, removal_request, NULL);
}

void port_link_fini(void)
{
    drop_event(&timer);
    rte_dev_event_callback_unregister(NULL, removal_request, NULL);
}
