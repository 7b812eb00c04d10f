// SPDX-License-Identifier: BSD-3-Clause
// program_fuzz.c - untrusted modules of packet programs; program_check.h has the invariants
//
// The first byte: 0: the rest is the module; otherwise a number for program_generate.h, and the
// rest says which bytes of that module are changed.
#include <string.h>

#include "program_check.h"
#include "program_generate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_changed(uint64_t seed, const uint8_t *change, size_t n)
{
    static struct wasm_module m;
    struct text t = {0};

    program_generate(&m, seed, 0);
    wasm_write(&m, false, &t);
    for (; n >= 3; change += 3, n -= 3)
        t.s[(change[0] << 8 | change[1]) % t.n] = (char)change[2];
    program_check((const uint8_t *)t.s, t.n, seed, 4);
    text_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t seed = 0;

    if (!size)
        return 0;
    if (!*data) {
        program_check(data + 1, size - 1, size, 4);
        return 0;
    }
    size_t n = size < 5 ? size : 5;
    memcpy(&seed, data, n);
    check_changed(seed, data + n, size - n);
    return 0;
}
