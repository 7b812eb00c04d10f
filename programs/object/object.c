/* SPDX-License-Identifier: BSD-3-Clause
 * object.c - the last part of a built program: runs packets and exports `kamuee_program`
 *
 * A fault jumps back to run(), which then says how many packets have a verdict. The slots are the
 * page's last bytes. PROGRAM_… are numbers and texts of the build.
 */
#define SLOTS_AT (WASM_PAGE - PROGRAM_SLOTS * (u32)sizeof(struct kamuee_packet))

static int start(void *memory, const struct program_host *host)
{
    struct instance *i = memory;

    i->own.host = *host;
    wasm2c_m_instantiate(&i->module, &i->own);
    return 0;
}

static void stop(void *memory)
{
    (void)memory;
}

static struct kamuee_packet *slots(void *memory)
{
    return (struct kamuee_packet *)&((struct instance *)memory)->module.w2c_M0.data[SLOTS_AT];
}

static uint64_t *counters(void *memory)
{
    return ((struct instance *)memory)->own.counter;
}

/* The slot's number is cut to its range, so that a speculated one stays in the page as well. */
static inline u32 slot_at(unsigned at)
{
    return SLOTS_AT + (at & (PROGRAM_SLOTS - 1)) * (u32)sizeof(struct kamuee_packet);
}

static __attribute__((noinline)) void run_all(struct instance *i, unsigned n, uint32_t *verdict)
{
    i->own.at = 0;
#if PROGRAM_PREPARES
    for (unsigned at = 0; at < n; at++)
        w2c_m_prepare(&i->module, slot_at(at));
#endif
    for (unsigned at = 0; at < n; at++) {
        i->own.at = at;
        i->own.budget = PROGRAM_BUDGET;
        verdict[at] = w2c_m_packet(&i->module, slot_at(at));
    }
}

static __attribute__((noinline)) unsigned run(void *memory, unsigned n, uint32_t *verdict)
{
    struct instance *i = memory;

    if (__builtin_setjmp(i->own.trap))
        return ((struct instance *)memory)->own.at;
    run_all(i, n < PROGRAM_SLOTS ? n : PROGRAM_SLOTS, verdict);
    return n;
}

/* The compiler may ask for these; there is no library. */
#define ASKED_FOR HIDDEN __attribute__((externally_visible))
ASKED_FOR void *memset(void *to, int value, size_t n)
{
    for (volatile uint8_t *p = to; n--;)
        *p++ = (uint8_t)value;
    return to;
}

ASKED_FOR void *memcpy(void *to, const void *from, size_t n)
{
    volatile uint8_t *t = to;

    for (const uint8_t *f = from; n--;)
        *t++ = *f++;
    return to;
}

const struct program_object kamuee_program
    __attribute__((visibility("default"), externally_visible)) = {
    .abi = KAMUEE_PROGRAM_ABI,
    .instance_bytes = (sizeof(struct instance) + 63) & ~63u,
    .instructions = PROGRAM_INSTRUCTIONS,
    .declared = PROGRAM_DECLARED,
    .source_hash = PROGRAM_HASH,
    .start = start,
    .stop = stop,
    .slots = slots,
    .counters = counters,
    .run = run,
};
