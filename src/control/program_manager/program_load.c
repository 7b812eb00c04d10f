// SPDX-License-Identifier: BSD-3-Clause
// program_load.c - see program_load.h
//
// The file is machine code from kamuee-program. Replacing it means running arbitrary code here, so
// it must belong to root or to kamueed's user, nobody else may write it, and if there are signers
// it must be signed (program_load.h). The loaded object is a private copy in memory, sealed before
// any check: the file may change afterwards, and the same file can be loaded a second time, which
// the path of a library does not allow.
#include "program_manager/program_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "core/mem.h"

#define OBJECT_BYTES_MAX (16u << 20)
#define INSTANCE_BYTES_MAX (1u << 20)
#define PAGE 4096u

// --- the file ------------------------------------------------------------------------------------

static int copy_bytes(int from, int to)
{
    char buf[65536];
    ssize_t n;
    int r = 0;

    while (!r && (n = read(from, buf, sizeof buf)) > 0)
        r = file_write(to, buf, (size_t)n);
    return r ? r : n ? -errno : 0;
}

// Returns the descriptor of a sealed copy in memory, or -errno with a message in `err`.
static int copy_of_file(const char *file, char *err, size_t n)
{
    struct stat st;
    int fd = file_open_named(file, OBJECT_BYTES_MAX, &st), copy = -1, r;

    if (fd < 0) {
        char why[256];
        file_why(fd, why, sizeof why);
        snprintf(err, n, "file '%s': %s", file, why);
        return fd;
    }
    r = program_trust_owner(file, &st, err, n);
    if (!r) {
        copy = memfd_create("kamuee-program", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        r = copy < 0 ? -errno : copy_bytes(fd, copy);
        if (!r &&
            fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
            r = -errno;
        if (r)
            snprintf(err, n, "file '%s' cannot be copied: %s", file, strerror(-r));
    }
    close(fd);
    if (!r)
        return copy;
    if (copy >= 0)
        close(copy);
    return r;
}

// The path differs for each open descriptor, so dlopen() never mistakes a new library for a loaded
// one.
static const char *path_of(int fd, char *buf, size_t n)
{
    snprintf(buf, n, "/proc/self/fd/%d", fd);
    return buf;
}

// --- the object ----------------------------------------------------------------------------------

static int refuse_object(const char *file, const char *what, char *err, size_t n)
{
    snprintf(err, n, "file '%s': %s, expected what this version's 'kamuee-program build' writes",
             file, what);
    return -ENOEXEC;
}

static int check_object(const struct program_object *o, const char *file, char *err, size_t n)
{
    if (!o)
        return refuse_object(file, "it has no 'kamuee_program'", err, n);
    if (o->abi != KAMUEE_PROGRAM_ABI)
        return refuse_object(file, "it was built for another version of the interface", err, n);
    if (!o->instance_bytes || o->instance_bytes > INSTANCE_BYTES_MAX || !o->declared || !o->start ||
        !o->stop || !o->slots || !o->counters || !o->run)
        return refuse_object(file, "its description is incomplete", err, n);
    return 0;
}

static int open_object(struct program_loaded *l, const char *file, char *err, size_t n)
{
    char path[64];

    l->handle = dlopen(path_of(l->fd, path, sizeof path), RTLD_NOW | RTLD_LOCAL);
    if (!l->handle) {
        const char *why = dlerror();
        snprintf(err, n, "file '%s' is no shared object for this machine: %s", file,
                 why ? why : "unknown");
        return -ENOEXEC;
    }
    l->object = dlsym(l->handle, "kamuee_program");
    int r = check_object(l->object, file, err, n);
    if (r)
        return r;
    snprintf(l->source_hash, sizeof l->source_hash, "%s",
             l->object->source_hash ? l->object->source_hash : "");
    l->instructions = l->object->instructions;
    l->stride = (l->object->instance_bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    char why[256];
    r = program_declared_read(l->object->declared, &l->declared, why, sizeof why);
    if (r)
        snprintf(err, n, "file '%s': %s", file, why);
    return r;
}

// Collects the tables of the program that are arrays.
static void arrays_of(const struct program *p, struct program_array array[KAMUEE_TABLES])
{
    for (unsigned t = 0; t < KAMUEE_TABLES; t++)
        if (p->table[t] && p->table[t]->array)
            array[t] = (struct program_array){p->table[t]->value, p->table[t]->entries};
}

// --- instances -----------------------------------------------------------------------------------
//
// Each possible forwarder has an instance, which starts with its first burst, so only forwarders
// that see packets use memory. Until then in->memory points to the instance itself, inside
// `instances`.

struct instances {
    const struct program_loaded *loaded;
    struct program_instance instance[PROGRAM_INSTANCES];
};

// Sets addresses inside memory that is not in use yet.
static int place_instance(const struct program_loaded *l, struct program_instance *in,
                          uint8_t *memory)
{
    in->slot = l->object->slots(memory);
    in->counters = l->object->counters(memory);
    return in->slot && in->counters ? 0 : -ENOEXEC;
}

static int start_instance(const struct program_loaded *l, struct program_instance *in, unsigned i)
{
    struct program_host host = {.host = in,
                                .get = program_get,
                                .put = program_put,
                                .prefetch = program_prefetch,
                                .log = program_say};

    arrays_of(in->program, host.array);
    in->memory = l->memory + i * l->stride;
    in->run = l->object->run;
    return l->object->start(in->memory, &host) ? -ENOMEM : 0;
}

// Runs on a forwarder, or on control for the dry-run instance: see struct program_object.run.
static unsigned start_and_run(void *memory, unsigned n, uint32_t *verdict)
{
    struct program_instance *in = memory, *first = in->program->instance;
    const struct instances *all =
        (const void *)((const uint8_t *)first - offsetof(struct instances, instance));

    if (start_instance(all->loaded, in, (unsigned)(in - first)))
        return 0; // a trap
    return in->run(in->memory, n, verdict);
}

static bool is_started(const struct program_instance *in)
{
    return in->memory && in->memory != in;
}

int program_start(struct program_loaded *l, struct program *p)
{
    struct instances *all = aligned_alloc(64, sizeof *all);
    int r = 0;

    l->memory = mem_map_small("program instances", l->stride * PROGRAM_INSTANCES);
    if (!all || !l->memory) {
        free(all);
        return -ENOMEM;
    }
    memset(all, 0, sizeof *all);
    all->loaded = l;
    p->instance = all->instance;
    for (unsigned i = 0; !r && i < PROGRAM_INSTANCES; i++) {
        struct program_instance *in = &p->instance[i];
        in->program = p;
        in->run = start_and_run;
        in->memory = in;
        r = place_instance(l, in, l->memory + i * l->stride);
    }
    return r ? r : start_instance(l, p->instance, 0); // refuses at once a program that cannot start
}

int program_load(struct program_loaded *l, const char *file, char *err, size_t n)
{
    struct program none = {0};
    int r;

    *l = (struct program_loaded){.fd = -1};
    r = l->fd = copy_of_file(file, err, n);
    if (r < 0)
        return r;
    r = program_trust_check(l->fd, file, l->signer, err, n);
    r = r ? r : open_object(l, file, err, n);
    if (r)
        program_unload(l, &none);
    return r;
}

void program_unload(struct program_loaded *l, struct program *p)
{
    for (unsigned i = 0; l->object && p->instance && i < PROGRAM_INSTANCES; i++)
        if (is_started(&p->instance[i]))
            l->object->stop(p->instance[i].memory);
    if (p->instance)
        free((uint8_t *)p->instance - offsetof(struct instances, instance));
    p->instance = NULL;
    if (l->memory)
        mem_unmap(l->memory, l->stride * PROGRAM_INSTANCES);
    if (l->handle)
        dlclose(l->handle);
    if (l->fd >= 0)
        close(l->fd);
    *l = (struct program_loaded){.fd = -1};
}

int program_load_check(const char *file, char *err, size_t n)
{
    char signer[PROGRAM_SIGNER_NAME];
    int fd = copy_of_file(file, err, n);

    if (fd < 0)
        return fd;
    int r = program_trust_check(fd, file, signer, err, n);
    close(fd);
    return r;
}
