// SPDX-License-Identifier: BSD-3-Clause
// kernel.cl - the program that runs on a GPU: serves a mailbox until it stops
//
// clang turns this into PTX when Kamuee is built, and the driver turns that into the GPU's own
// code.
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;

#include "gpu/mailbox.h"

// One block of threads for each mailbox, for as long as the router runs.
__kernel void gpu_serve(__global struct gpu_mailbox *shared)
{
    struct gpu_mailbox *m = (struct gpu_mailbox *)shared;
    __local volatile uint32_t go;
    uint32_t me = __nvvm_read_ptx_sreg_tid_x(), step = __nvvm_read_ptx_sreg_ntid_x();

    for (uint32_t number = 1;; number++) {
        uint32_t place = (number - 1) % GPU_SLOTS;
        volatile struct gpu_slot *s = &m->slot[place];

        if (me == 0) {
            while (s->request != number && ((volatile struct gpu_mailbox *)m)->stop == 0)
                ;
            go = s->request == number;
        }
        __nvvm_bar_sync(0);
        __nvvm_membar_sys(); // also: nothing older stays in the cache of these threads
        if (go == 0)
            return;
        for (uint32_t i = me; i < s->n; i += step)
            gpu_serve_one(m, place, i);
        __nvvm_membar_sys();
        __nvvm_bar_sync(0);
        if (me == 0) {
            s->answer = number;
            __nvvm_membar_sys();
        }
    }
}
