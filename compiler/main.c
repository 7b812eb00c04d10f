// SPDX-License-Identifier: BSD-3-Clause
// main.c - kamuee-program: builds, checks and tests packet programs
//
// Run by `kamuee program …`, by users and by tests; kamueed does not run it. Exit status: 0; 1: the
// program is refused; 2: usage or file error.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "compiler/build.h"
#include "compiler/offline.h"
#include "compiler/signature.h"

struct command {
    const char *word, *source, *output, *key;
    struct offline_options offline;
};

static int usage(void)
{
    fprintf(stderr, "usage: kamuee-program build SOURCE -o OBJECT\n"
                    "       kamuee-program check SOURCE\n"
                    "       kamuee-program test SOURCE|OBJECT --pcap FILE [--hook "
                    "ether|input|output|ether-type]\n"
                    "           [--interface N] [--class N] [--table NAME:KEY=VALUE]... [--json]\n"
                    "       kamuee-program sign OBJECT --key PRIVATE\n"
                    "       kamuee-program verify OBJECT --key PUBLIC\n"
                    "SOURCE: x.c or x.wasm; OBJECT: x.so\n");
    return 2;
}

static int read_hook(const char *name, enum offline_hook *hook)
{
    for (int i = 0; i < OFFLINE_HOOKS; i++) {
        if (!strcmp(name, offline_hook_name[i])) {
            *hook = (enum offline_hook)i;
            return 0;
        }
    }
    return -EINVAL;
}

static int read_number(const char *s, uint64_t max, uint64_t *v)
{
    return text_parse_u64(s, 0, max, v);
}

static int read_value(struct command *o, const char *name, const char *value)
{
    struct offline_options *t = &o->offline;
    uint64_t v = 0;
    int r = 0;

    if (!strcmp(name, "-o"))
        o->output = value;
    else if (!strcmp(name, "--key"))
        o->key = value;
    else if (!strcmp(name, "--pcap"))
        t->capture = value;
    else if (!strcmp(name, "--hook"))
        r = read_hook(value, &t->hook);
    else if (!strcmp(name, "--interface") && !(r = read_number(value, UINT32_MAX, &v)))
        t->interface = (uint32_t)v;
    else if (!strcmp(name, "--class") && !(r = read_number(value, 7, &v)))
        t->class = (uint8_t)v;
    else if (!strcmp(name, "--table") && t->n_entries < OFFLINE_ENTRIES_MAX)
        t->entry[t->n_entries++] = value;
    else
        r = r ? r : -EINVAL;
    return r;
}

static int read_options(int argc, char **argv, struct command *o)
{
    *o = (struct command){.word = argc > 2 ? argv[1] : ""};
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--json"))
            o->offline.json = true;
        else if (*argv[i] == '-' && (i + 1 == argc || read_value(o, argv[i], argv[i + 1])))
            return -EINVAL;
        else if (*argv[i] == '-')
            i++;
        else if (o->source)
            return -EINVAL;
        else
            o->source = argv[i];
    }
    return 0;
}

static bool is_word(const struct command *o, const char *word)
{
    return !strcmp(o->word, word);
}

static int check_options(const struct command *o)
{
    static const char *const words[] = {"build", "check", "test", "sign", "verify"};
    bool known = false;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        known |= is_word(o, words[i]);
    if (!known || !o->source || is_word(o, "build") != !!o->output ||
        is_word(o, "test") != !!o->offline.capture ||
        (is_word(o, "sign") || is_word(o, "verify")) != !!o->key)
        return -EINVAL;
    return 0;
}

static bool name_is_plain(const char *s)
{
    return *s != '.' && *s != '-' && strlen(s) < 64 &&
           !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")];
}

static int read_source(struct build *b, const char *path)
{
    const char *slash = strrchr(path, '/');
    char why[160];
    int r = file_read(path, &b->source);

    b->name = slash ? slash + 1 : path;
    if (r) {
        file_why(r, why, sizeof why);
        fprintf(stderr, "%s: %s\n", path, why);
    } else if (b->source.n > BUILD_SOURCE_MAX || !name_is_plain(b->name)) {
        fprintf(stderr, "%s: at most 1 MiB, and a name of letters, digits, '-', '_' and '.'\n",
                path);
        r = -EINVAL;
    }
    return r ? 2 : 0;
}

// Makes the object world-readable, since kamueed must read it.
static int write_object(const struct build *b, const char *path)
{
    bool is_new = access(path, F_OK);
    int r = file_prepare(path, &b->object);

    r = r ? r : file_keep(path);
    if (!r && is_new && chmod(path, 0644))
        r = -errno;
    if (r)
        fprintf(stderr, "%s: cannot be written: %s\n", path, strerror(-r));
    return r ? 2 : 0;
}

static void tell_cost(const struct build *b)
{
    if (b->loops)
        printf("%s: at most 4096 instructions a packet, counted in its loops", b->name);
    else
        printf("%s: at most %u instructions a packet, no loop", b->name, b->cost);
    printf("; window %u, counters %u, reasons %u, tables %u\n", b->declared.window,
           b->declared.n_counters, b->declared.n_reasons, b->declared.n_tables);
}

static int refuse(const struct build *b, const char *why)
{
    fprintf(stderr, "%s: %s\n%s", b->name, why, text_str(&b->said));
    return 1;
}

static int make_object(struct build *b, const struct command *o)
{
    char why[512] = "";
    int r = build_check(b, why, sizeof why);

    if (*text_str(&b->said)) // warnings, or the reason of the refusal
        fputs(text_str(&b->said), stderr);
    text_clear(&b->said);
    if (!r && !is_word(o, "check"))
        r = build_object(b, why, sizeof why);
    if (!r && !is_word(o, "test"))
        tell_cost(b);
    return r ? refuse(b, why) : 0;
}

static int run_object(const char *name, const char *path, const struct command *o)
{
    char why[512] = "";

    if (!offline_run(path, &o->offline, why, sizeof why))
        return 0;
    fprintf(stderr, "%s: %s\n", name, why);
    return 2;
}

static int run_built(const struct build *b, const struct command *o)
{
    char path[32];
    int fd = memfd_create("program", MFD_CLOEXEC);

    if (fd < 0 || write(fd, b->object.s, b->object.n) != (ssize_t)b->object.n) {
        fprintf(stderr, "no memory: %s\n", strerror(errno));
        return 2;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int r = run_object(b->name, path, o);
    close(fd);
    return r;
}

static bool is_object(const char *path)
{
    size_t n = strlen(path);

    return n > 3 && !strcmp(path + n - 3, ".so");
}

static int run_given(const struct command *o)
{
    char path[4096];

    snprintf(path, sizeof path, "%s%s", strchr(o->source, '/') ? "" : "./", o->source);
    return run_object(o->source, path, o);
}

static int sign_or_verify(struct build *b, const struct command *o)
{
    char why[512] = "";
    int r = 0;

    if (file_read(o->source, &b->object)) {
        fprintf(stderr, "%s: cannot be read\n", o->source);
        return 2;
    }
    if (is_word(o, "verify"))
        r = program_signature_check(text_str(&b->object), b->object.n, o->key, why, sizeof why);
    else
        r = program_sign(&b->object, o->key, why, sizeof why);
    if (r) {
        fprintf(stderr, "%s: %s\n", o->source, why);
        return 1;
    }
    return is_word(o, "verify") ? 0 : write_object(b, o->source);
}

static int build_and_use(struct build *b, const struct command *o)
{
    int r = read_source(b, o->source);

    r = r ? r : make_object(b, o);
    if (!r && is_word(o, "test"))
        r = run_built(b, o);
    else if (!r && is_word(o, "build"))
        r = write_object(b, o->output);
    return r;
}

int main(int argc, char **argv)
{
    static struct command o;
    struct build b = {0};
    int r;

    if (read_options(argc, argv, &o) || check_options(&o))
        return usage();
    if (o.key)
        r = sign_or_verify(&b, &o);
    else if (is_word(&o, "test") && is_object(o.source))
        r = run_given(&o);
    else
        r = build_and_use(&b, &o);
    build_free(&b);
    return r;
}
