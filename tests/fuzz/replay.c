// SPDX-License-Identifier: BSD-3-Clause
// replay.c - main() of a libFuzzer harness that is built without libFuzzer
//
// So each harness is compiled and run with every build, not only by `make fuzz`: the files of the
// folders given, then -runs=N inputs, made of these files or of nothing, always the same ones.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX 4096 // bytes
#define FILES_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

struct input {
    uint8_t byte[INPUT_MAX];
    size_t n;
};
static struct input files[FILES_MAX];
static size_t n_files;
static uint64_t seed = 1;

static void give_up(const char *what)
{
    perror(what);
    exit(2);
}

static size_t random_below(size_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

// What a harness that mutates by itself asks of libFuzzer.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    if (size < max_size && !random_below(4))
        data[size++] = 0;
    for (size_t n = random_below(4) + 1; size && n; n--)
        data[random_below(size)] = (uint8_t)random_below(256);
    return size;
}

static void read_file(const char *folder, const char *name)
{
    struct input *in = &files[n_files++];
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        give_up(path);
    in->n = fread(in->byte, 1, sizeof in->byte, f);
    fclose(f);
    LLVMFuzzerTestOneInput(in->byte, in->n);
}

static void read_folder(const char *folder)
{
    DIR *d = opendir(folder);

    if (!d)
        give_up(folder);
    for (struct dirent *e; n_files < FILES_MAX && (e = readdir(d));)
        if (*e->d_name != '.')
            read_file(folder, e->d_name);
    closedir(d);
}

// One of the files with some bytes changed, or bytes alone; half of these are small numbers, which
// mean more to a harness that has words for them.
static void make_input(struct input *in)
{
    size_t top = random_below(2) ? 256 : 80;

    in->n = 0;
    if (n_files && random_below(4))
        *in = files[random_below(n_files)];
    else
        in->n = random_below(300);
    for (size_t i = 0; i < in->n; i++)
        if (!n_files || !random_below(20))
            in->byte[i] = (uint8_t)random_below(top);
}

int main(int argc, char **argv)
{
    static struct input in;
    unsigned long runs = 0;

    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "-runs=", 6))
            runs = strtoul(argv[i] + 6, NULL, 10);
        else
            read_folder(argv[i]);
    }
    for (unsigned long i = 0; i < runs; i++) {
        make_input(&in);
        LLVMFuzzerTestOneInput(in.byte, in.n);
    }
    printf("%lu inputs\n", runs);
    return 0;
}
