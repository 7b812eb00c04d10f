/* SPDX-License-Identifier: BSD-3-Clause
 * prelude.h - stands for wasm2c's prelude: integers and memory, and what a program calls
 *
 * Included after the header that wasm2c has made and before its functions. Every operation of
 * compiler/wasm_op.def that wasm2c does not write as an operator of C is here.
 */
#include "kamuee/object.h"

/* What an instance keeps beside the sandbox. No address of it is a number in the sandbox. */
struct w2c_kamuee {
    int32_t budget; /* instructions left for this packet's loops */
    unsigned at;    /* the packet that runs */
    struct program_host host;
    void *trap[5];
    uint64_t counter[KAMUEE_COUNTERS];
};

struct instance {
    struct w2c_kamuee own;
    w2c_m module;
};

#define OWN(z) (&((struct instance *)((char *)(z)-offsetof(struct instance, module)))->own)

/* noipa: whatever the caller has written is in memory when it jumps. */
static void __attribute__((noreturn, noipa, cold)) trap(struct w2c_kamuee *own)
{
    __builtin_longjmp(own->trap, 1);
}
#define TRAP(x) (trap(OWN(instance)), 0)
#define UNREACHABLE TRAP(UNREACHABLE)
#define FUNC_PROLOGUE
#define FUNC_EPILOGUE
#define assert(x) ((void)0)
#define wasm_rt_register_func_type(...) 0
#define FUNC_TYPE_T(x) static const char *const x
#define wasm_rt_allocate_memory(m, ...) ((void)(m))
#define wasm_rt_free_memory(m) ((void)(m))

/* The same reference in the function of a name: a conversion of its types is checked. */
#define DEFINE_LOAD(name, raw, wide, result)                                                       \
    static inline __attribute__((always_inline)) result name(const wasm_rt_memory_t *m, u64 addr)  \
    {                                                                                              \
        raw v;                                                                                     \
        __builtin_memcpy(&v, &m->data[addr & (WASM_PAGE - 1)], sizeof v);                          \
        return (result)(wide)v;                                                                    \
    }
#define DEFINE_STORE(name, raw, given)                                                             \
    static inline __attribute__((always_inline)) void name(wasm_rt_memory_t *m, u64 addr, given g) \
    {                                                                                              \
        raw v = (raw)g;                                                                            \
        __builtin_memcpy(&m->data[addr & (WASM_PAGE - 1)], &v, sizeof v);                          \
    }
DEFINE_LOAD(i32_load, u32, u32, u32)
DEFINE_LOAD(i64_load, u64, u64, u64)
DEFINE_LOAD(i32_load8_s, s8, s32, u32)
DEFINE_LOAD(i64_load8_s, s8, s64, u64)
DEFINE_LOAD(i32_load8_u, u8, u32, u32)
DEFINE_LOAD(i64_load8_u, u8, u64, u64)
DEFINE_LOAD(i32_load16_s, s16, s32, u32)
DEFINE_LOAD(i64_load16_s, s16, s64, u64)
DEFINE_LOAD(i32_load16_u, u16, u32, u32)
DEFINE_LOAD(i64_load16_u, u16, u64, u64)
DEFINE_LOAD(i64_load32_s, s32, s64, u64)
DEFINE_LOAD(i64_load32_u, u32, u64, u64)
DEFINE_STORE(i32_store, u32, u32)
DEFINE_STORE(i64_store, u64, u64)
DEFINE_STORE(i32_store8, u8, u32)
DEFINE_STORE(i32_store16, u16, u32)
DEFINE_STORE(i64_store8, u8, u64)
DEFINE_STORE(i64_store16, u16, u64)
DEFINE_STORE(i64_store32, u32, u64)

/* Data of the module, at the start. The build has checked that they end before the slots. */
#define LOAD_DATA(m, offset, from, size)                                                           \
    do {                                                                                           \
        _Static_assert((offset) <= WASM_PAGE && (size) <= WASM_PAGE - (offset), "data");           \
        for (u32 at = 0; at < (size); at++)                                                        \
            (m).data[(offset) + at] = (from)[at];                                                  \
    } while (0)

#define I32_CLZ(x) ((x) ? __builtin_clz(x) : 32)
#define I64_CLZ(x) ((x) ? __builtin_clzll(x) : 64)
#define I32_CTZ(x) ((x) ? __builtin_ctz(x) : 32)
#define I64_CTZ(x) ((x) ? __builtin_ctzll(x) : 64)

static inline u64 ones(u64 x) /* without a library: the machine may lack the instruction */
{
    x = x - (x >> 1 & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return x * 0x0101010101010101u >> 56;
}
#define I32_POPCNT(x) ((u32)ones((u32)(x)))
#define I64_POPCNT(x) ones(x)

#define DEFINE_DIVISIONS(bits, ut, st, least)                                                      \
    static inline ut div_s##bits(struct w2c_kamuee *own, ut x, ut y)                               \
    {                                                                                              \
        if (UNLIKELY(!y || (x == (ut)(least) && y == (ut)-1)))                                     \
            trap(own);                                                                             \
        return (ut)((st)x / (st)y);                                                                \
    }                                                                                              \
    static inline ut rem_s##bits(struct w2c_kamuee *own, ut x, ut y)                               \
    {                                                                                              \
        if (UNLIKELY(!y))                                                                          \
            trap(own);                                                                             \
        return y == (ut)-1 ? 0 : (ut)((st)x % (st)y);                                              \
    }                                                                                              \
    static inline ut div_u##bits(struct w2c_kamuee *own, ut x, ut y)                               \
    {                                                                                              \
        if (UNLIKELY(!y))                                                                          \
            trap(own);                                                                             \
        return x / y;                                                                              \
    }                                                                                              \
    static inline ut rem_u##bits(struct w2c_kamuee *own, ut x, ut y)                               \
    {                                                                                              \
        if (UNLIKELY(!y))                                                                          \
            trap(own);                                                                             \
        return x % y;                                                                              \
    }
DEFINE_DIVISIONS(32, u32, s32, INT32_MIN)
DEFINE_DIVISIONS(64, u64, s64, INT64_MIN)
#define I32_DIV_S(x, y) div_s32(OWN(instance), x, y)
#define I64_DIV_S(x, y) div_s64(OWN(instance), x, y)
#define I32_REM_S(x, y) rem_s32(OWN(instance), x, y)
#define I64_REM_S(x, y) rem_s64(OWN(instance), x, y)
#define DIV_U(x, y)                                                                                \
    (sizeof(x) == 8 ? div_u64(OWN(instance), x, y) : div_u32(OWN(instance), (u32)(x), (u32)(y)))
#define REM_U(x, y)                                                                                \
    (sizeof(x) == 8 ? rem_u64(OWN(instance), x, y) : rem_u32(OWN(instance), (u32)(x), (u32)(y)))

#define ROTL(x, y, mask) ((x) << ((y) & (mask)) | (x) >> ((0 - (y)) & (mask)))
#define ROTR(x, y, mask) ((x) >> ((y) & (mask)) | (x) << ((0 - (y)) & (mask)))
#define I32_ROTL(x, y) ROTL(x, y, 31)
#define I64_ROTL(x, y) ROTL(x, y, 63)
#define I32_ROTR(x, y) ROTR(x, y, 31)
#define I64_ROTR(x, y) ROTR(x, y, 63)

/* --- what a program calls: numbers of what it has declared, or a fault --- */
#define HIDDEN __attribute__((visibility("hidden")))
#define HIDDEN_INLINE HIDDEN inline __attribute__((always_inline)) /* the number is known there */

HIDDEN void w2c_kamuee_charge(struct w2c_kamuee *own, u32 price)
{
    own->budget -= (int32_t)price;
    if (UNLIKELY(own->budget < 0))
        trap(own);
}

HIDDEN_INLINE void w2c_kamuee_count(struct w2c_kamuee *own, u32 counter, u64 add)
{
    if (UNLIKELY(counter >= PROGRAM_COUNTERS))
        trap(own);
    own->counter[counter & (KAMUEE_COUNTERS - 1)] += add;
}

/* The value of an array; a key beyond its end reads entry 0, speculated or not. */
static inline u64 array_get(const struct program_array *a, u64 key)
{
    u64 inside = 0 - (u64)(key < a->entries);

    __asm__("" : "+r"(inside)); /* no branch */
    return __atomic_load_n(&a->value[key & inside], __ATOMIC_RELAXED) | ~inside;
}

HIDDEN_INLINE u64 w2c_kamuee_get(struct w2c_kamuee *own, u32 table, u64 key)
{
    if (UNLIKELY(table >= PROGRAM_TABLES))
        trap(own);
    const struct program_array *a = &own->host.array[table & (KAMUEE_TABLES - 1)];
    if (a->value)
        return array_get(a, key);
    return own->host.get(own->host.host, table & (KAMUEE_TABLES - 1), key);
}

HIDDEN u32 w2c_kamuee_put(struct w2c_kamuee *own, u32 table, u64 key, u64 value)
{
    if (UNLIKELY(table >= PROGRAM_TABLES))
        trap(own);
    return (u32)own->host.put(own->host.host, table & (KAMUEE_TABLES - 1), key, value);
}

HIDDEN void w2c_kamuee_prefetch(struct w2c_kamuee *own, u32 table, u64 key)
{
    if (UNLIKELY(table >= PROGRAM_TABLES))
        trap(own);
    own->host.prefetch(own->host.host, table & (KAMUEE_TABLES - 1), key);
}

HIDDEN void w2c_kamuee_log(struct w2c_kamuee *own, u32 number, u64 value)
{
    own->host.log(own->host.host, number, value);
}
