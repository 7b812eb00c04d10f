// SPDX-License-Identifier: BSD-3-Clause
// load.c - see load.h
#include "traffic/load.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/text.h"

struct stream load;
struct frame_plan load_plan = {.bytes = {FRAME_SIZE_MIN - FRAME_FCS}, .n_sizes = 1};
struct netns_place load_to;
struct ip_addr load_destination;
static struct netns_place from;
static int cpu = -1;

void load_read_sender(const char *text)
{
    netns_parse(text, &from);
}

void load_read_mac(const char *text)
{
    bench_check(!text_parse_mac(text, load.dst_mac),
                "'%s' is not a MAC address, expected 02:00:00:00:00:01", text);
}

void load_read_source(const char *text)
{
    bench_check(!ip_parse(text, &load.src[0]) && load.src[0].family == IP4,
                "'%s' is not an IPv4 address", text);
}

void load_read_receiver(const char *text)
{
    netns_parse(text, &load_to);
}

void load_read_destination(const char *text)
{
    bench_check(!ip_parse(text, &load_destination) && load_destination.family == IP4,
                "'%s' is not an IPv4 address", text);
}

void load_read_cpu(const char *text)
{
    cpu = atoi(text);
}

bool load_is_complete(void)
{
    return from.device[0] && load.src[0].family;
}

void load_set_destinations(ip4_t first, uint32_t n)
{
    load.dst4 = calloc(n, sizeof *load.dst4);
    bench_check(load.dst4, "no memory for %u destinations", n);
    for (load.n_dst4 = 0; load.n_dst4 < n; load.n_dst4++)
        load.dst4[load.n_dst4] = htonl(ntohl(first) + load.n_dst4);
}

int load_open(void)
{
    int fd = netns_packet_socket(&from, 0, NULL); // protocol 0: this socket receives nothing

    netns_mac(fd, &from, load.src_mac);
    stream_begin(&load, 0);
    return fd;
}

void load_pin(void)
{
    netns_pin(cpu);
}

bool load_read(const uint8_t *frame, size_t bytes, uint32_t *number)
{
    struct mark mark;
    bool is_ours = frame_read(frame, bytes, &mark) == FRAME_GOOD;

    *number = is_ours ? mark.number : 0;
    return is_ours;
}
