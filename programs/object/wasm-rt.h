/* SPDX-License-Identifier: BSD-3-Clause
 * wasm-rt.h - stands for wabt's header of this name: what the C code of a packet program may use
 *
 * wasm2c's own prelude and runtime are left out (compiler/build.c cuts them off); a
 * name that is not defined here or in prelude.h does not compile, and the object is linked with
 * nothing, so no operation can come in that nobody has looked at. docs/adr/0023.
 *
 * Memory: one page, inline in the instance. Each address is cut to 16 bits, so no access, taken or
 * speculated, leaves the page and the guard behind it. It stands last in the instance.
 */
#ifndef WASM_RT_H_
#define WASM_RT_H_

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WASM_PAGE 65536
#define WASM_GUARD 64 /* an access at the page's last byte ends within */

typedef struct {
    uint8_t data[WASM_PAGE + WASM_GUARD] __attribute__((aligned(64)));
} wasm_rt_memory_t;

/* Types of functions, which no program asks for. */
typedef enum { WASM_RT_I32, WASM_RT_I64 } wasm_rt_type_t;
typedef const char *wasm_rt_func_type_t;

/* What wabt 1.0.32 (Debian 12) calls otherwise. */
#define Z_m_instance_t w2c_m
#define Z_m_instantiate wasm2c_m_instantiate
#define Z_mZ_packet w2c_m_packet
#define Z_mZ_prepare w2c_m_prepare
#define Z_kamuee_instance_t w2c_kamuee
#define Z_kamueeZ_charge w2c_kamuee_charge
#define Z_kamueeZ_count w2c_kamuee_count
#define Z_kamueeZ_get w2c_kamuee_get
#define Z_kamueeZ_put w2c_kamuee_put
#define Z_kamueeZ_prefetch w2c_kamuee_prefetch
#define Z_kamueeZ_log w2c_kamuee_log
static bool s_module_initialized;

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
