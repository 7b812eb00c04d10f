// SPDX-License-Identifier: BSD-3-Clause
// noop.c - a packet program that changes nothing: the least that one costs
#include <kamuee/program.h>

KAMUEE_DECLARE("window 0");

uint32_t packet(struct kamuee_packet *p)
{
    (void)p;
    return KAMUEE_CONTINUE;
}
