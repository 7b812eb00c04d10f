// SPDX-License-Identifier: BSD-3-Clause
// answer.c - see answer.h
#include "throughput/answer.h"

#include <string.h>
#include <netinet/in.h>

#include "base/checksum.h"

#define ETHER 14
#define ARP_BYTES 28
#define IP6_BYTES 40
#define SOLICITATION_BYTES 32 // of ICMPv6, with the sender's link-layer address option
#define SOLICITATION 135
#define ADVERTISEMENT 136
#define FLAGS_SOLICITED_OVERRIDE 0x60
#define OPTION_SOURCE 1
#define OPTION_TARGET 2

static void turn_ether(uint8_t *frame, const uint8_t mac[6])
{
    memcpy(frame, frame + 6, 6);
    memcpy(frame + 6, mac, 6);
}

static bool answer_arp(uint8_t *frame, const uint8_t mac[6], const struct ip_addr *own)
{
    static const uint8_t request[8] = {0, 1, 8, 0,
                                       6, 4, 0, 1}; // Ethernet, IPv4, their lengths, request
    uint8_t *arp = frame + ETHER, *sender = arp + 8, *target = arp + 18;

    if (own->family != IP4 || memcmp(arp, request, sizeof(request)) ||
        memcmp(target + 6, &own->ip4, 4))
        return false;
    arp[7] = 2; // reply
    memcpy(target, sender, 10);
    memcpy(sender, mac, 6);
    memcpy(sender + 6, &own->ip4, 4);
    turn_ether(frame, mac);
    return true;
}

static bool answer_solicitation(uint8_t *frame, const uint8_t mac[6], const struct ip_addr *own)
{
    uint8_t *ip = frame + ETHER, *icmp = ip + IP6_BYTES;
    uint16_t sum;

    if (own->family != IP6 || ip[6] != IPPROTO_ICMPV6 ||
        (ip[4] << 8 | ip[5]) != SOLICITATION_BYTES || icmp[0] != SOLICITATION ||
        icmp[24] != OPTION_SOURCE || memcmp(icmp + 8, own->b, 16))
        return false;
    memcpy(ip + 24, ip + 8, 16);
    memcpy(ip + 8, own->b, 16);
    ip[7] = 255;
    icmp[0] = ADVERTISEMENT;
    icmp[4] = FLAGS_SOLICITED_OVERRIDE;
    icmp[24] = OPTION_TARGET;
    memcpy(icmp + 26, mac, 6);
    memset(icmp + 2, 0, 2);
    sum = checksum_finish(
        checksum_add(checksum_pseudo6(ip + 8, ip + 24, SOLICITATION_BYTES, IPPROTO_ICMPV6), icmp,
                     SOLICITATION_BYTES));
    memcpy(icmp + 2, &sum, 2);
    turn_ether(frame, mac);
    return true;
}

bool neighbor_answer(uint8_t *frame, size_t bytes, const uint8_t mac[6],
                     const struct ip_addr own[2])
{
    if (bytes >= ETHER + ARP_BYTES && frame[12] == 0x08 && frame[13] == 0x06)
        return answer_arp(frame, mac, &own[0]);
    if (bytes >= ETHER + IP6_BYTES + SOLICITATION_BYTES && frame[12] == 0x86 && frame[13] == 0xdd)
        return answer_solicitation(frame, mac, &own[1]);
    return false;
}
