// SPDX-License-Identifier: BSD-3-Clause
// main.c - kamuee-program: builds, checks and tries packet programs (docs/features/program-build.md)
//
//     kamuee-program build SOURCE -o OBJECT [--target tenant|operator]
//     kamuee-program check SOURCE
//
// Run by `kamuee program …`, by users and in tests; kamueed runs it not. Exit status: 0; 1: the
// program is refused; 2: wrong words, or a file.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "program_build/build.h"

struct options {
    const char *word, *source, *output, *target;
};

static int usage(void)
{
    fprintf(stderr, "usage: kamuee-program build SOURCE -o OBJECT [--target tenant|operator]\n"
                    "       kamuee-program check SOURCE\n");
    return 2;
}

static int read_options(int argc, char **argv, struct options *o)
{
    *o = (struct options){.target = "tenant"};
    if (argc < 3)
        return -EINVAL;
    o->word = argv[1];
    for (int i = 2; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "-o") && more)
            o->output = argv[++i];
        else if (!strcmp(argv[i], "--target") && more)
            o->target = argv[++i];
        else if (*argv[i] != '-' && !o->source)
            o->source = argv[i];
        else
            return -EINVAL;
    }
    return o->source ? 0 : -EINVAL;
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

static int write_object(const struct build *b, const char *path)
{
    int r = file_prepare(path, &b->object);

    r = r ? r : file_keep(path);
    if (r)
        fprintf(stderr, "%s: cannot be written: %s\n", path, strerror(-r));
    return r ? 2 : 0;
}

static void tell(const struct build *b)
{
    if (b->loops)
        printf("%s: at most 4096 instructions a packet, counted in its loops", b->name);
    else
        printf("%s: at most %u instructions a packet, no loop", b->name, b->cost);
    printf("; window %u, %u counters, %u reasons, %u tables\n", b->declared.window,
           b->declared.n_counters, b->declared.n_reasons, b->declared.n_tables);
}

static int refuse(const struct build *b, const char *why)
{
    fprintf(stderr, "%s: %s\n%s", b->name, why, text_str(&b->said));
    return 1;
}

static int build_source(struct build *b, const struct options *o)
{
    bool operator = !strcmp(o->target, "operator");
    char why[512] = "";
    int r = operator ? build_operator(b, why, sizeof why) : build_check(b, why, sizeof why);

    if (!r && !operator&& !strcmp(o->word, "build"))
        r = build_tenant(b, why, sizeof why);
    if (r)
        return refuse(b, why);
    if (*text_str(&b->said))
        fputs(text_str(&b->said), stderr); // warnings
    if (!operator)
        tell(b);
    return strcmp(o->word, "build") ? 0 : write_object(b, o->output);
}

int main(int argc, char **argv)
{
    struct build b = {0};
    struct options o;

    if (read_options(argc, argv, &o) || (strcmp(o.word, "build") && strcmp(o.word, "check")) ||
        !strcmp(o.word, "build") != !!o.output ||
        (strcmp(o.target, "tenant") && strcmp(o.target, "operator")))
        return usage();
    int r = read_source(&b, o.source);
    r = r ? r : build_source(&b, &o);
    build_free(&b);
    return r;
}
