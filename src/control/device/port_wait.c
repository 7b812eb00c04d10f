// SPDX-License-Identifier: BSD-3-Clause
// port_wait.c - how a port's receive queues wake a sleeping forwarder
//     packet sockets          the queue's socket, readable while frames wait
//     net_tap                 the queue's file, readable while packets wait
//     NICs with VFIO, virtio  an eventfd for each queue
//     net_vhost               an epoll set with the guest's eventfd in it
//     NICs with UIO           the UIO device, for the only queue
//     memif, net_ring, …      nothing: they must be polled
//
// Drivers do not report which: we request the file and try the interrupt.
#define ALLOW_EXPERIMENTAL_API // rte_eth_dev_rx_intr_ctl_q_get_fd
#include "device/port_device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/waker.h"

// Chooses by the kind of file of a queue whose interrupt can be switched.
static enum plan_wake wake_of_file(int fd)
{
    char path[64], link[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = 0;
    if (!strcmp(link, "anon_inode:[eventfd]"))
        return WAKE_EVENT;
    if (!strcmp(link, "anon_inode:[eventpoll]"))
        return WAKE_EDGE;
    return strncmp(link, "/dev/uio", 8) ? WAKE_POLL : WAKE_UIO;
}

static enum plan_wake find_queue_interrupt(const struct port_device *d, uint16_t queue, int *fd)
{
    if (!d->rx_interrupt || (*fd = rte_eth_dev_rx_intr_ctl_q_get_fd(d->id, queue)) < 0)
        return WAKE_POLL;
    int r = rte_eth_dev_rx_intr_enable(d->id, queue);
    if (r == -ENOTSUP)
        return strcmp(d->driver, "net_tap") ? WAKE_POLL : WAKE_READABLE;
    rte_eth_dev_rx_intr_disable(d->id, queue);
    enum plan_wake wake = r ? WAKE_POLL : wake_of_file(*fd);
    // The driver neither shows nor drains the descriptors in the epoll set.
    return wake == WAKE_EDGE && (*fd = waker_edge_new(*fd)) < 0 ? WAKE_POLL : wake;
}

static struct plan_wait find_queue_wait(struct port_device *d, uint16_t queue)
{
    struct plan_wait w = {
        .port = d->id, .queue = queue, .descriptors = d->config.rx_descriptors, .fd = -1};

    if (d->config.rx_mode == PORT_RX_POLL)
        return w;
    if (d->sockets) {
        w.fd = packet_socket_fd(d->sockets, queue);
        w.wake = WAKE_READABLE;
    } else if (!d->kernel_link.name[0]) {
        w.wake = (uint8_t)find_queue_interrupt(d, queue, &w.fd);
    }
    return w;
}

void port_wait_open(struct port_device *d)
{
    for (uint16_t q = 0; q < d->config.rx_queues; q++)
        d->wait[q] = find_queue_wait(d, q);
    log_debug("port_manager: receive queues: port=%s rx-mode=%s", d->config.name,
              port_rx_mode_name(port_wait_mode(d)));
}

void port_wait_close(struct port_device *d)
{
    for (uint16_t q = 0; q < d->config.rx_queues; q++) {
        if (d->wait[q].wake == WAKE_EDGE)
            close(d->wait[q].fd);
        d->wait[q] = (struct plan_wait){.fd = -1};
    }
}

enum port_rx_mode port_wait_mode(const struct port_device *d)
{
    for (uint16_t q = 0; q < d->config.rx_queues; q++)
        if (d->wait[q].wake == WAKE_POLL)
            return PORT_RX_POLL;
    return PORT_RX_INTERRUPT;
}
