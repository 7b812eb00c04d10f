// SPDX-License-Identifier: BSD-3-Clause
// acl_word.c - names for numbers in rules of access lists (IANA's registries)
//
// A number may have several names; the first one is printed. A name is for one family if its
// protocol is (icmp: IPv4, icmp6: IPv6).
#include "acl_manager/acl_word.h"

#include <stddef.h>
#include <string.h>

#include "acl/acl.h"

const struct acl_word acl_protocols[] = {
    {"icmp", 1, ACL_IP4},    {"igmp", 2, ACL_IP4}, {"ipip", 4, 0},
    {"tcp", 6, 0},           {"udp", 17, 0},       {"dccp", 33, 0},
    {"ipv6-in-ip", 41, 0},   {"rsvp", 46, 0},      {"gre", 47, 0},
    {"esp", 50, 0},          {"ah", 51, 0},        {"icmp6", 58, ACL_IP6},
    {"icmpv6", 58, ACL_IP6}, {"eigrp", 88, 0},     {"ospf", 89, 0},
    {"pim", 103, 0},         {"vrrp", 112, 0},     {"l2tp", 115, 0},
    {"sctp", 132, 0},        {"udplite", 136, 0},  {0}};

const struct acl_word acl_ports[] = {{"ftp-data", 20, 0},
                                     {"ftp", 21, 0},
                                     {"ssh", 22, 0},
                                     {"telnet", 23, 0},
                                     {"smtp", 25, 0},
                                     {"tacacs", 49, 0},
                                     {"domain", 53, 0},
                                     {"dns", 53, 0},
                                     {"bootps", 67, 0},
                                     {"bootpc", 68, 0},
                                     {"tftp", 69, 0},
                                     {"http", 80, 0},
                                     {"www", 80, 0},
                                     {"kerberos", 88, 0},
                                     {"pop3", 110, 0},
                                     {"sunrpc", 111, 0},
                                     {"ident", 113, 0},
                                     {"ntp", 123, 0},
                                     {"netbios-ns", 137, 0},
                                     {"netbios-dgm", 138, 0},
                                     {"netbios-ssn", 139, 0},
                                     {"imap", 143, 0},
                                     {"snmp", 161, 0},
                                     {"snmptrap", 162, 0},
                                     {"bgp", 179, 0},
                                     {"irc", 194, 0},
                                     {"ldap", 389, 0},
                                     {"https", 443, 0},
                                     {"smb", 445, 0},
                                     {"isakmp", 500, 0},
                                     {"syslog", 514, 0},
                                     {"dhcpv6-client", 546, 0},
                                     {"dhcpv6-server", 547, 0},
                                     {"rtsp", 554, 0},
                                     {"submission", 587, 0},
                                     {"ldp", 646, 0},
                                     {"ldaps", 636, 0},
                                     {"rsync", 873, 0},
                                     {"imaps", 993, 0},
                                     {"pop3s", 995, 0},
                                     {"socks", 1080, 0},
                                     {"openvpn", 1194, 0},
                                     {"mssql", 1433, 0},
                                     {"pptp", 1723, 0},
                                     {"radius", 1812, 0},
                                     {"radius-acct", 1813, 0},
                                     {"nfs", 2049, 0},
                                     {"mysql", 3306, 0},
                                     {"rdp", 3389, 0},
                                     {"bfd", 3784, 0},
                                     {"ipsec-nat-t", 4500, 0},
                                     {"vxlan", 4789, 0},
                                     {"sip", 5060, 0},
                                     {"postgresql", 5432, 0},
                                     {"vnc", 5900, 0},
                                     {"redis", 6379, 0},
                                     {"http-alt", 8080, 0},
                                     {0}};

const struct acl_word acl_icmp_types[] = {{"echo-reply", 0, 0},
                                          {"unreachable", 3, 0},
                                          {"redirect", 5, 0},
                                          {"echo-request", 8, 0},
                                          {"echo", 8, 0},
                                          {"router-advertisement", 9, 0},
                                          {"router-solicitation", 10, 0},
                                          {"time-exceeded", 11, 0},
                                          {"parameter-problem", 12, 0},
                                          {"timestamp-request", 13, 0},
                                          {"timestamp-reply", 14, 0},
                                          {0}};

const struct acl_word acl_icmp6_types[] = {{"unreachable", 1, 0},
                                           {"packet-too-big", 2, 0},
                                           {"time-exceeded", 3, 0},
                                           {"parameter-problem", 4, 0},
                                           {"echo-request", 128, 0},
                                           {"echo", 128, 0},
                                           {"echo-reply", 129, 0},
                                           {"router-solicitation", 133, 0},
                                           {"router-advertisement", 134, 0},
                                           {"neighbor-solicitation", 135, 0},
                                           {"neighbor-advertisement", 136, 0},
                                           {"redirect", 137, 0},
                                           {0}};

const struct acl_word acl_dscps[] = {
    {"cs0", 0, 0},   {"cs1", 8, 0},   {"cs2", 16, 0},  {"cs3", 24, 0},
    {"cs4", 32, 0},  {"cs5", 40, 0},  {"cs6", 48, 0},  {"cs7", 56, 0},
    {"af11", 10, 0}, {"af12", 12, 0}, {"af13", 14, 0}, {"af21", 18, 0},
    {"af22", 20, 0}, {"af23", 22, 0}, {"af31", 26, 0}, {"af32", 28, 0},
    {"af33", 30, 0}, {"af41", 34, 0}, {"af42", 36, 0}, {"af43", 38, 0},
    {"ef", 46, 0},   {"va", 44, 0},   {"le", 1, 0},    {0}};

const struct acl_word acl_tcp_flags[] = {{"fin", 0x01, 0}, {"syn", 0x02, 0}, {"rst", 0x04, 0},
                                         {"psh", 0x08, 0}, {"ack", 0x10, 0}, {"urg", 0x20, 0},
                                         {"ece", 0x40, 0}, {"cwr", 0x80, 0}, {0}};

const struct acl_word acl_parts[] = {{"fragments", ACL_LATER, 0},
                                     {"first-fragment", ACL_FIRST, 0},
                                     {"any-fragment", ACL_FIRST | ACL_LATER, 0},
                                     {"unfragmented", ACL_WHOLE, 0},
                                     {0}};

const struct acl_word *acl_word_find(const struct acl_word *table, const char *name)
{
    for (; table->name; table++)
        if (!strcmp(table->name, name))
            return table;
    return NULL;
}

const char *acl_word_name(const struct acl_word *table, uint16_t number)
{
    for (; table->name; table++)
        if (table->number == number)
            return table->name;
    return NULL;
}
