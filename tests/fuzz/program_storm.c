// SPDX-License-Identifier: BSD-3-Clause
// program_storm.c - very many hostile packet programs: checked and interpreted, built and run
//
//     program_storm MODULES FUNCTIONS [SEED]
//
// MODULES: made by program_generate.h, every other one with some bytes changed; read, checked and
// interpreted (program_check.h). FUNCTIONS: built by wasm2c and the compiler, 128 in one object,
// under AddressSanitizer where this program is; each gets packets, and must do what the interpreter
// does: verdict or fault, memory, counters, calls of the host; and change nothing else.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "compiler/build.h"
#include "program_check.h"
#include "program_generate.h"
#include "program_interpret.h"

#define BATCH 128 // functions
#define PACKETS 8 // of each function

static unsigned long verdicts, faults, counted; // of the batches

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % n);
}

static void change_bytes(struct text *t)
{
    for (unsigned n = 1 + random_below(3); n; n--)
        t->s[8 + random_below((uint32_t)t->n - 8)] = (char)random_below(random_below(2) ? 256 : 12);
}

static void check_modules(unsigned long modules, uint64_t seed)
{
    static struct wasm_module m;
    unsigned long accepted = 0;

    for (unsigned long i = 0; i < modules; i++) {
        struct text t = {0};
        random_state = seed + i;
        program_generate(&m, seed + i, 0);
        wasm_write(&m, false, &t);
        if (i % 2)
            change_bytes(&t);
        accepted += program_check((const uint8_t *)t.s, t.n, seed + i, 2);
        text_free(&t);
    }
    printf("%lu modules, %lu accepted and interpreted\n", modules, accepted);
    bug_on(modules > 1000 && accepted < modules / 4); // else the generator makes nothing
}

// --- built ---

struct built {
    void *library;
    const struct program_object *object;
    uint8_t *memory;
    uint64_t calls;
    struct program_host host;
};

static void make_source(uint64_t seed, struct text *source)
{
    static const char declared[] = "\6kamueecounter a;counter b;table hash x 9;table array y 9";
    static struct wasm_module m;
    uint8_t head[2] = {0, sizeof declared - 1};

    program_generate(&m, seed, BATCH);
    wasm_write(&m, false, source);
    text_append(source, head, sizeof head);
    text_append(source, declared, sizeof declared - 1);
}

static void build_batch(uint64_t seed, struct build *b)
{
    char why[512] = "";

    *b = (struct build){.name = "storm.wasm", .sanitize = STORM_SANITIZE};
    make_source(seed, &b->source);
    int r = build_check(b, why, sizeof why);
    r = r ? r : build_object(b, why, sizeof why);
    if (r) {
        fprintf(stderr, "seed %llu: %s\n%s\n", (unsigned long long)seed, why, text_str(&b->said));
        abort();
    }
}

static void load_batch(const struct build *b, struct built *o)
{
    char path[32];
    int fd = memfd_create("storm", MFD_CLOEXEC);

    bug_on(fd < 0 || write(fd, b->object.s, b->object.n) != (ssize_t)b->object.n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    o->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!o->library)
        fprintf(stderr, "%s\n", dlerror());
    o->object = o->library ? dlsym(o->library, "kamuee_program") : NULL;
    bug_on(!o->object);
    close(fd);
    o->memory = aligned_alloc(64, o->object->instance_bytes);
    bug_on(!o->memory);
    memset(o->memory, 0, o->object->instance_bytes);
    o->calls = 0;
    o->host = program_check_host(&o->calls);
    bug_on(o->object->start(o->memory, &o->host));
}

// What lies before the page and is no counter, budget, or place to jump to: it never changes.
static uint64_t sum_of_host(const struct built *o)
{
    uint64_t sum = 0;

    for (size_t i = 8; i < 8 + sizeof o->host; i++)
        sum = sum * 31 + o->memory[i];
    return sum;
}

static void compare_packet(struct built *o, struct interpreter *t, unsigned function, uint64_t *r)
{
    uint8_t *page = (uint8_t *)o->object->slots(o->memory) - PROGRAM_SLOTS_AT;
    struct kamuee_packet *slot = o->object->slots(o->memory);
    uint32_t verdict = 0, expected = 0;
    uint64_t calls = 0, sum = sum_of_host(o);

    struct program_host host = program_check_host(&calls);
    t->host = &host;
    o->calls = 0;
    program_check_fill(slot, r);
    slot->interface = function;
    memcpy(t->memory + PROGRAM_SLOTS_AT, slot, sizeof *slot);
    bool fine = interpret_packet(t, PROGRAM_SLOTS_AT, &expected);
    unsigned done = o->object->run(o->memory, 1, &verdict);
    verdicts += fine;
    faults += !fine;
    bug_on(done != fine || (fine && verdict != expected));
    bug_on(memcmp(page, t->memory, INTERPRET_MEMORY) || calls != o->calls);
    bug_on(memcmp(o->object->counters(o->memory), t->counter, sizeof t->counter));
    bug_on(sum != sum_of_host(o));
    bug_on(o->object->instructions < t->executed);
}

static void run_batch(const struct build *b, uint64_t seed)
{
    static struct wasm_module m;
    static struct interpreter t;
    struct wasm_refusal why;
    struct built o = {0};

    load_batch(b, &o);
    bug_on(wasm_read(&m, (const uint8_t *)b->module.s, b->module.n, PROGRAM_SLOTS_AT, &why) ||
           wasm_check(&m, &why));
    bug_on(!interpret_begin(&t, &m, &o.host, GENERATE_COUNTERS, GENERATE_TABLES));
    for (unsigned i = 0; i < BATCH * PACKETS; i++)
        compare_packet(&o, &t, i % BATCH, &seed);
    counted += t.counter[0] || t.counter[1];
    interpret_end(&t);
    o.object->stop(o.memory);
    free(o.memory);
    dlclose(o.library);
}

int main(int argc, char **argv)
{
    unsigned long modules = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
    unsigned long functions = argc > 2 ? strtoul(argv[2], NULL, 10) : BATCH;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL);

    printf("seed %llu\n", (unsigned long long)seed);
    seed *= 0x9e3779b97f4a7c15u; // seeds of neighbors do not overlap
    check_modules(modules, seed);
    if (functions && access("/usr/bin/wasm2c", X_OK)) {
        printf("without wasm2c nothing is built\n");
        return 77; // for meson: skipped
    }
    for (unsigned long done = 0; done < functions; done += BATCH) {
        struct build b;
        build_batch(seed + done, &b);
        run_batch(&b, seed + done);
        build_free(&b);
    }
    printf("%lu functions built and run: %lu verdicts, %lu faults\n",
           (functions + BATCH - 1) / BATCH * BATCH, verdicts, faults);
    bug_on(functions && (!counted || verdicts < functions || faults < functions / 8));
    return 0;
}
