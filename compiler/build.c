// SPDX-License-Identifier: BSD-3-Clause
// build.c - the steps from a source to an object (build.h)
//
// Each step is a tool, its arguments and its input files; the output of one is the input of the
// next, in memory. Only bytes that wasm.h has read, checked and written again reach wabt and the
// system's compiler. prelude.h takes the place of wasm2c's own prelude, which compose() finds only
// in the output of wabt 1.0.32 and 1.0.36; other output is refused. Options without a time, a path
// or a build id make the same object from the same bytes.
#include "compiler/build.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program/object.h"
#include "compiler/compiler.h"
#include "compiler/files.h"
#include "compiler/wasm.h"

#define SLOTS_AT (WASM_PAGE - PROGRAM_SLOTS * (unsigned)sizeof(struct kamuee_packet))
#define STACK_SIZE "4096"
#define FRAME_MAX "8192" // bytes of machine stack per function
#define TOOL_MAX 64
// Makes the sanitizer check by calls instead of inline code, which cuts compile time by a third.
#define CHECKED_BY_CALLS "--param=asan-instrumentation-with-call-threshold=0"

static int fail(char *why, size_t n, const char *what, const char *with)
{
    snprintf(why, n, what, with);
    return -EINVAL;
}

// /usr/bin/NAME, or the newest NAME-VERSION of Debian's packages.
static int find_tool(const char *name, const char *package, char path[TOOL_MAX], char *why,
                     size_t n)
{
    snprintf(path, TOOL_MAX, "/usr/bin/%s", name);
    for (int version = 30; access(path, X_OK) && version >= 13; version--)
        snprintf(path, TOOL_MAX, "/usr/bin/%s-%d", name, version);
    if (!access(path, X_OK))
        return 0;
    snprintf(why, n, "%s is not installed: apt-get install %s", name, package);
    return -ENOENT;
}

static int run_tool(struct build *b, const char *const *argv, const struct compiler_input *input,
                    size_t n_inputs, const char *output, struct text *result, char *why, size_t n)
{
    const struct compiler_run run = {.argv = argv,
                                     .input = input,
                                     .n_inputs = n_inputs,
                                     .limit_ms = COMPILER_WALL_S * 1000,
                                     .output = output,
                                     .result = result,
                                     .said = &b->said};

    text_clear(&b->said);
    return compiler_run(&run, why, n);
}

#define RUN(b, argv, input, output, result)                                                        \
    run_tool(b, argv, input, sizeof(input) / sizeof *(input), output, result, why, n)

// --- C to WebAssembly ---

static int compile_source(struct build *b, struct text *out, char *why, size_t n)
{
    char clang[TOOL_MAX];
    int r = find_tool("clang", "clang lld", clang, why, n);
    const char *const argv[] = {clang,
                                "--target=wasm32",
                                "-std=gnu17",
                                "-O2",
                                "-ffreestanding",
                                "-nostdlib",
                                "-Wall",
                                "-Werror=implicit-function-declaration",
                                "-fno-ident",
                                "-fno-color-diagnostics",
                                "-I.",
                                "-c",
                                b->name,
                                "-o",
                                "out.o",
                                NULL};
    const struct compiler_input input[] = {
        {b->name, b->source.s, b->source.n},
        {"kamuee/program.h", files_program_h, files_program_h_size},
    };

    return r ? r : RUN(b, argv, input, "out.o", out);
}

static int link_source(struct build *b, const struct text *o, char *why, size_t n)
{
    char ld[TOOL_MAX];
    int r = find_tool("wasm-ld", "lld", ld, why, n);
    const char *const argv[] = {ld,
                                "--no-entry",
                                "--export=packet",
                                "--export-if-defined=prepare",
                                "--stack-first",
                                "-z",
                                "stack-size=" STACK_SIZE,
                                "--initial-memory=65536",
                                "--max-memory=65536",
                                "in.o",
                                "-o",
                                "out.wasm",
                                NULL};
    const struct compiler_input input[] = {{"in.o", o->s, o->n}};

    return r ? r : RUN(b, argv, input, "out.wasm", &b->module);
}

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n > m && !strcmp(s + n - m, end);
}

static int make_module(struct build *b, char *why, size_t n)
{
    struct text o = {0};
    int r = 0;

    if (ends_in(b->name, ".c")) {
        r = compile_source(b, &o, why, n);
        r = r ? r : link_source(b, &o, why, n);
    } else if (ends_in(b->name, ".wasm")) {
        text_append(&b->module, b->source.s ? b->source.s : "", b->source.n);
    } else {
        r = fail(why, n, "%s: a source ends in .c, a module in .wasm", b->name);
    }
    text_free(&o);
    return r;
}

// --- our checks ---

static void hash_module(struct build *b)
{
    unsigned char md[EVP_MAX_MD_SIZE];
    unsigned size = 0;

    if (!EVP_Digest(b->module.s, b->module.n, md, &size, EVP_sha256(), NULL))
        size = 0;
    for (unsigned i = 0; i < size && i < 32; i++)
        snprintf(b->hash + 2 * i, 3, "%02x", md[i]);
}

static int take_declared(struct build *b, const struct wasm_module *m, char *why, size_t n)
{
    if (m->declared_size > DECLARED_TEXT_MAX)
        return fail(why, n, "declared: %s", "at most 4096 bytes");
    for (uint32_t i = 0; i < m->declared_size; i++) {
        char c = (char)m->declared[i];
        if (c == '\n' || c == '\t')
            c = ' ';
        if (!c && i + 1 == m->declared_size)
            break; // end of a string
        if (c < ' ' || c > '~')
            return fail(why, n, "declared: %s", "a byte that is no printable ASCII");
        b->declared_text[i] = c;
    }
    return program_declared_read(b->declared_text, &b->declared, why, n);
}

static int check_module(struct build *b, struct wasm_module *m, char *why, size_t n)
{
    struct wasm_refusal refusal = {{0}};
    int r = wasm_read(m, (const uint8_t *)text_str(&b->module), b->module.n, SLOTS_AT, &refusal);

    r = r ? r : wasm_check(m, &refusal);
    if (r)
        return fail(why, n, "%s", refusal.text);
    b->cost = wasm_cost(m);
    b->prepares = m->prepare >= 0;
    b->loops = m->function[m->packet].loops;
    r = take_declared(b, m, why, n);
    if (r)
        return r;
    hash_module(b);
    text_clear(&b->object);
    wasm_write(m, true, &b->object); // replaced when the object is built
    return 0;
}

int build_check(struct build *b, char *why, size_t n)
{
    struct wasm_module *m = calloc(1, sizeof *m);
    int r = m ? make_module(b, why, n) : fail(why, n, "%s", "no memory");

    r = r ? r : check_module(b, m, why, n);
    free(m);
    return r;
}

// --- WebAssembly to an object ---

static int validate(struct build *b, const struct text *module, char *why, size_t n)
{
    char tool[TOOL_MAX];
    int r = find_tool("wasm-validate", "wabt", tool, why, n);
    const char *const argv[] = {tool,
                                "--disable-simd",
                                "--disable-bulk-memory",
                                "--disable-reference-types",
                                "--disable-multi-value",
                                "--disable-saturating-float-to-int",
                                "m.wasm",
                                NULL};
    const struct compiler_input input[] = {{"m.wasm", module->s, module->n}};

    return r ? r : RUN(b, argv, input, NULL, NULL);
}

// Passes no switch that turns a feature off: wasm-validate has refused those features before.
static int translate(struct build *b, const struct text *module, const char *output,
                     struct text *result, char *why, size_t n)
{
    char tool[TOOL_MAX];
    int r = find_tool("wasm2c", "wabt", tool, why, n);
    const char *const argv[] = {tool, "--no-debug-names", "-n", "m", "m.wasm", "-o", "m.c", NULL};
    const struct compiler_input input[] = {{"m.wasm", module->s, module->n}};

    return r ? r : RUN(b, argv, input, output, result);
}

// wasm2c writes the same text up to its version's mark for every module; our prelude replaces it.
static const char *after_prelude(const struct text *c)
{
    static const char *const mark[] = {
        "\nstatic bool s_module_initialized = false;\n", // 1.0.32
        " wasm_rt_tailcallee_t* next)\n#endif\n",         // 1.0.36
    };

    for (size_t i = 0; i < sizeof mark / sizeof *mark; i++) {
        const char *at = strstr(text_str(c), mark[i]);
        if (at)
            return strstr(at + 1, mark[i]) ? NULL : at + strlen(mark[i]);
    }
    return NULL;
}

static void put_string(struct text *t, const char *name, const char *s)
{
    text_printf(t, "#define %s \"", name);
    for (; *s; s++)
        text_printf(t, "\\%03o", (unsigned char)*s);
    text_printf(t, "\"\n");
}

static int compose(struct build *b, const struct text *c, struct text *out, char *why, size_t n)
{
    const char *body = after_prelude(c);
    unsigned budget = b->loops ? WASM_COST_MAX - b->cost : 0;

    if (!body)
        return fail(why, n, "wasm2c: %s",
                    "its output is not that of wabt 1.0.32 or 1.0.36, which Debian 12 and 13 have");
    text_printf(out, "#define PROGRAM_COUNTERS %u\n#define PROGRAM_TABLES %u\n",
                b->declared.n_counters, b->declared.n_tables);
    text_printf(out, "#define PROGRAM_PREPARES %d\n", b->prepares);
    text_printf(out, "#define PROGRAM_BUDGET %u\n#define PROGRAM_INSTRUCTIONS %u\n", budget,
                b->loops ? WASM_COST_MAX : b->cost);
    put_string(out, "PROGRAM_DECLARED", b->declared_text);
    put_string(out, "PROGRAM_HASH", b->hash);
    text_printf(out, "#include \"m.h\"\n#include \"prelude.h\"\n%s\n#include \"object.c\"\n", body);
    return 0;
}

static int compile_object(struct build *b, const struct text *c, const struct text *h, char *why,
                          size_t n)
{
    char cc[TOOL_MAX];
    int r = find_tool("cc", "gcc", cc, why, n);
    // The last arguments: a sanitizer needs larger stack frames and the symbols of its library.
    const char *const argv[] = {cc,
                                "-std=gnu17",
                                b->sanitize ? "-O1" : "-O2",
                                "-fPIC",
                                "-shared",
                                "-nostdlib",
                                "-ffreestanding",
                                "-fwhole-program",
                                "-fvisibility=hidden",
                                "-fwrapv",
                                "-fno-strict-aliasing",
                                "-fno-jump-tables",
                                "-fno-delete-null-pointer-checks",
                                "-fno-stack-protector",
                                "-fno-ident",
                                "-fno-asynchronous-unwind-tables",
                                "-fno-exceptions",
                                "-Werror=implicit-function-declaration",
                                "-I.",
                                "-s",
                                "-Wl,-z,relro,-z,now,-z,noexecstack",
                                "-Wl,--build-id=none,--hash-style=gnu",
                                "program.c",
                                "-o",
                                "out.so",
                                b->sanitize ? "-fsanitize=address"
                                            : "-Werror=frame-larger-than=" FRAME_MAX,
                                b->sanitize ? CHECKED_BY_CALLS : "-Wl,-z,defs",
                                NULL};
    const struct compiler_input input[] = {
        {"program.c", c->s, c->n},
        {"m.h", h->s, h->n},
        {"wasm-rt.h", files_wasm_rt_h, files_wasm_rt_h_size},
        {"prelude.h", files_prelude_h, files_prelude_h_size},
        {"object.c", files_object_c, files_object_c_size},
        {"kamuee/object.h", files_object_h, files_object_h_size},
        {"program/program.h", files_program_h, files_program_h_size},
    };

    text_clear(&b->object);
    return r ? r : RUN(b, argv, input, "out.so", &b->object);
}

int build_object(struct build *b, char *why, size_t n)
{
    struct text module = {0}, c = {0}, h = {0}, whole = {0};

    text_append(&module, text_str(&b->object), b->object.n);
    int r = validate(b, &module, why, n);
    r = r ? r : translate(b, &module, "m.c", &c, why, n);
    r = r ? r : translate(b, &module, "m.h", &h, why, n);
    r = r ? r : compose(b, &c, &whole, why, n);
    r = r ? r : compile_object(b, &whole, &h, why, n);
    text_free(&module);
    text_free(&c);
    text_free(&h);
    text_free(&whole);
    return r;
}

void build_free(struct build *b)
{
    text_free(&b->source);
    text_free(&b->module);
    text_free(&b->object);
    text_free(&b->said);
}
