// SPDX-License-Identifier: BSD-3-Clause
// netns.c - see netns.h
#include "traffic/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/bench.h"

static _Noreturn void die(const char *what, const char *name)
{
    bench_fail("%s '%s': %s", what, name, strerror(errno));
}

void netns_parse(const char *text, struct netns_place *p)
{
    const char *device = strchr(text, '%');

    bench_check(device && device != text && device[1] &&
                    (size_t)(device - text) < sizeof(p->namespace) &&
                    strlen(device + 1) < sizeof(p->device),
                "'%s': expected NAMESPACE%%DEVICE", text);
    memset(p, 0, sizeof(*p));
    memcpy(p->namespace, text, (size_t)(device - text));
    strcpy(p->device, device + 1);
}

void netns_enter(const char *name)
{
    char path[96];
    int fd;

    snprintf(path, sizeof(path), "/run/netns/%s", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET))
        die("entering the network namespace", path);
    close(fd);
}

int netns_packet_socket(const struct netns_place *p, int protocol_host, int *ifindex)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons((uint16_t)protocol_host)};
    int fd;

    netns_enter(p->namespace);
    fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        die("packet socket (needs root) for", p->device);
    at.sll_ifindex = (int)if_nametoindex(p->device);
    if (!at.sll_ifindex || bind(fd, (struct sockaddr *)&at, sizeof(at)))
        die("binding to the device", p->device);
    if (ifindex)
        *ifindex = at.sll_ifindex;
    return fd;
}

void netns_mac(int fd, const struct netns_place *p, uint8_t mac[6])
{
    struct ifreq r = {0};

    strcpy(r.ifr_name, p->device);
    if (ioctl(fd, SIOCGIFHWADDR, &r))
        die("the MAC address of", p->device);
    memcpy(mac, r.ifr_hwaddr.sa_data, 6);
}

void netns_pin(int cpu)
{
    cpu_set_t set;

    if (cpu < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        die("pinning to a core", "--cpu");
}
