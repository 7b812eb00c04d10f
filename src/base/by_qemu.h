// SPDX-License-Identifier: BSD-3-Clause
// by_qemu.h - skips tests under QEMU's user mode emulation, which runs the tests of another CPU
// (tools/make-deb --in): it is slow and does not emulate all of Linux
//
// For tests only; they include cmocka first. Programs that need the real kernel are in the suite
// `kernel`, which debian/rules leaves out under QEMU.
#ifndef BASE_BY_QEMU_H
#define BASE_BY_QEMU_H

#include <stdbool.h>
#include <stdlib.h>

// Meson sets it if the cross file has an exe_wrapper.
static inline bool by_qemu(void)
{
    return getenv("MESON_EXE_WRAPPER");
}

#define skip_by_qemu(why)                                                                          \
    do {                                                                                           \
        if (by_qemu()) {                                                                           \
            print_message("QEMU " why "\n");                                                       \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

#endif
