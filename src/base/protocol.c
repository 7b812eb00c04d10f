// SPDX-License-Identifier: BSD-3-Clause
// protocol.c - the table of routing protocols and their names (protocol.h)
#include "base/protocol.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct {
    uint8_t number;
    const char *name;
} protocols[] = {
    {0, "unspec"},      {1, "redirect"}, {2, "kernel"},       {3, "boot"},         {4, "static"},
    {8, "gated"},       {9, "ra"},       {10, "mrt"},         {11, "zebra"},       {12, "bird"},
    {13, "dnrouted"},   {14, "xorp"},    {15, "ntk"},         {16, "dhcp"},        {17, "mrouted"},
    {18, "keepalived"}, {42, "babel"},   {186, "bgp"},        {187, "isis"},       {188, "ospf"},
    {189, "rip"},       {190, "ripng"},  {191, "nhrp"},       {192, "eigrp"},      {193, "ldp"},
    {194, "sharp"},     {195, "pbr"},    {196, "frr-static"}, {197, "openfabric"}, {198, "srte"}};

const char *protocol_name(unsigned protocol, char buf[PROTOCOL_NAME_SIZE])
{
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (protocols[i].number == protocol)
            return protocols[i].name;
    snprintf(buf, PROTOCOL_NAME_SIZE, "%u", protocol);
    return buf;
}

bool protocol_is(unsigned protocol, int asked)
{
    return (int)protocol == asked || (asked == PROTOCOL_STATIC && protocol == PROTOCOL_FRR_STATIC);
}

const char *protocol_names(void)
{
    static char text[400];
    size_t n = 0;

    for (size_t i = 0; i < sizeof protocols / sizeof *protocols && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? ", " : "", protocols[i].name);
    return text;
}

int protocol_number(const char *name)
{
    uint64_t n;

    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (!strcmp(protocols[i].name, name))
            return protocols[i].number;
    return text_parse_u64(name, 0, 255, &n) ? -1 : (int)n;
}
