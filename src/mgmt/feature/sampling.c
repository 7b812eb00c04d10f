// SPDX-License-Identifier: BSD-3-Clause
// sampling.c - state that sFlow and IPFIX share
#include "feature/sampling.h"

#include "table/iface.h"

void sampling_write_interfaces(struct jwrite *j, uint8_t sample)
{
    jwrite_begin(j, "interface", '[');
    for (uint16_t id = 1; id < IFACE_MAX; id++)
        if (iface_get(id)->kind != IFACE_NONE && iface_get(id)->policy.sample & sample)
            jwrite_string(j, NULL, iface_get(id)->name);
    jwrite_end(j, ']');
}

void sampling_write_collectors(struct jwrite *j, const struct collector_state *c, unsigned n)
{
    jwrite_begin(j, "collector", '[');
    for (unsigned i = 0; i < n; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_ip(j, "address", &c[i].to.addr);
        jwrite_int(j, "port", c[i].to.port);
        jwrite_u64(j, "datagrams", c[i].datagrams);
        jwrite_u64(j, "bytes", c[i].bytes);
        jwrite_u64(j, "datagrams-lost", c[i].lost);
        if (c[i].error[0])
            jwrite_string(j, "error", c[i].error);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}
