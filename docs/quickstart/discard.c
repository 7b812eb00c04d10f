// SPDX-License-Identifier: BSD-3-Clause
// discard.c - the program of docs/quickstart/program.md
#include <kamuee/program.h>

KAMUEE_DECLARE("window 64; counter udp; counter other; reason discard-port");

uint32_t packet(struct kamuee_packet *p)
{
    uint32_t udp = (p->data[0] & 15) * 4;

    if (p->family != 4 || p->readable < 28 || p->data[9] != 17) {
        kamuee_count(1, 1);
        return KAMUEE_CONTINUE;
    }
    kamuee_count(0, 1);
    if (p->data[udp + 2] == 0 && p->data[udp + 3] == 9)
        return KAMUEE_VERDICT(KAMUEE_DROP, 0);
    return KAMUEE_CONTINUE;
}
