// SPDX-License-Identifier: BSD-3-Clause
// fake_config.c - random configurations, for unit tests of mgmt
#include "fake/fake_config.h"

#include <stdbool.h>
#include <stdlib.h>

void fake_config(struct text *t)
{
    int n_ports = rand() % 4, n_vrs = rand() % 3, shift = rand() % 5;
    static const char *const vr[] = {"default", "red", "blue"};

    text_clear(t);
    for (int i = 0; i < n_vrs; i++)
        text_printf(t, "set vr %s table %d%s%s\n", vr[i + 1], 10 + i + 10 * (rand() % 3),
                    rand() % 2 ? " fib-engine lpm" : "", rand() % 2 ? " flow-hash l3" : "");
    if (rand() % 2)
        text_printf(t, "set forwarding flow-hash symmetric flow-hash-seed %d\n", 1 + rand() % 3);
    for (int i = 0; i < n_ports; i++) {
        text_printf(t, "set port p%d devargs net_null%d mtu %d rx-queues 4%s\n", i, (shift + i) % 5,
                    2000 + rand() % 3 * 1000, rand() % 3 ? "" : " enabled false");
        bool queue = rand() % 2;
        if (queue)
            text_printf(t, "set port p%d queue rate %dG\n", i, 1 + rand() % 2);
        if (rand() % 2) {
            const char *of = vr[rand() % (n_vrs + 1)];

            text_printf(t, "set interface p%d vr %s\n", i, of);
            if (queue)
                text_printf(t, "set port p%d queue vr %s weight %d\n", i, of, 1 + rand() % 2);
        }
        for (int v = rand() % 3; v > 0; v--) {
            static const char *const outer[] = {"", " outer-vlan 9", " outer-vlan 9 tpid 0x8100",
                                                " outer-vlan 8"};
            text_printf(t, "set vport v%d%d port p%d vlan %d%s%s\n", i, v, i, v + 10 * (rand() % 2),
                        outer[rand() % 4], rand() % 2 ? " mtu 1400" : "");
            if (queue && rand() % 2)
                text_printf(t, "set port p%d queue vport v%d%d guarantee %dM\n", i, i, v,
                            1 + rand() % 2);
            if (rand() % 2)
                text_printf(t, "set interface v%d%d vr %s\n", i, v, vr[rand() % (n_vrs + 1)]);
        }
        for (int q = rand() % 3; q > 0; q--)
            text_printf(t, "set thread %d forwarder port p%d rx-queue %d\n", 1 + rand() % 3, i, q);
    }
}
