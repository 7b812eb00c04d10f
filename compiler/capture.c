// SPDX-License-Identifier: BSD-3-Clause
// capture.c - reads frames of a capture file with libpcap (capture.h)
//
// VLAN tags are skipped. The IP header gives the length, because Ethernet pads short frames. Frames
// that are cut too short or too long for a slot are left out, but counted in the numbering.
#include "compiler/capture.h"

#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#define ETHER_IP4 0x0800
#define ETHER_IP6 0x86dd

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

struct capture *capture_open(const char *path, char *why, size_t n)
{
    char said[PCAP_ERRBUF_SIZE] = "";
    pcap_t *p = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, said);

    if (p && pcap_datalink(p) != DLT_EN10MB) {
        snprintf(said, sizeof said, "it has no Ethernet frames");
        pcap_close(p);
        p = NULL;
    }
    if (!p)
        snprintf(why, n, "%s: %s", path, said);
    return (struct capture *)p;
}

void capture_close(struct capture *c)
{
    pcap_close((pcap_t *)c);
}

static bool is_vlan_tag(uint16_t type)
{
    return type == 0x8100 || type == 0x88a8;
}

// Sets family and length from the IP header; the rest of the frame is padding.
static void look_at_ip(struct capture_frame *f)
{
    uint32_t said = f->length;

    if (f->ether_type == ETHER_IP4 && f->length >= 20 && f->data[0] >> 4 == 4) {
        f->family = 4;
        said = get16(f->data + 2);
    } else if (f->ether_type == ETHER_IP6 && f->length >= 40 && f->data[0] >> 4 == 6) {
        f->family = 6;
        said = 40u + get16(f->data + 4);
    }
    if (said < f->length)
        f->length = said;
}

static bool take_frame(struct capture_frame *f, const uint8_t *frame, uint32_t n)
{
    uint32_t at = 12;

    while (at + 6 <= n && is_vlan_tag(get16(frame + at)))
        at += 4;
    if (at + 2 > n || n - at - 2 > CAPTURE_FRAME_MAX)
        return false;
    f->ether_type = get16(frame + at);
    f->family = 0;
    f->length = n - at - 2;
    memcpy(f->data, frame + at + 2, f->length);
    look_at_ip(f);
    return true;
}

bool capture_next(struct capture *c, struct capture_frame *f)
{
    struct pcap_pkthdr *h;
    const uint8_t *frame;

    while (pcap_next_ex((pcap_t *)c, &h, &frame) == 1) {
        f->number++;
        f->time = (uint64_t)h->ts.tv_sec * 1000000000u + (uint64_t)h->ts.tv_usec;
        if (take_frame(f, frame, h->caplen))
            return true;
    }
    return false;
}
