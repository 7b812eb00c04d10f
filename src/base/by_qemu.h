// SPDX-License-Identifier: BSD-3-Clause
// by_qemu.h - tests of another CPU, run by QEMU's user mode (tools/make-deb --in): it is slow, and
// not all of Linux
//
// For tests alone, which include cmocka before it. Programs that need the kernel itself have the
// suite `kernel`, which debian/rules leaves out there.
#ifndef BASE_BY_QEMU_H
#define BASE_BY_QEMU_H

#include <stdbool.h>
#include <stdlib.h>

// Meson says so where a cross file names what runs programs.
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
