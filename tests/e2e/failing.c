// SPDX-License-Identifier: BSD-3-Clause
// failing.c - preloaded into kamueed: one system call fails, once
//
// The file KAMUEE_FAILING holds one number of 8 bytes, which both sides map: the test sets it to n,
// and the n-th following call of the functions below fails; then it is -1. Large mappings fail,
// small ones do not: a manager ends on purpose without memory for a small object.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGE ((size_t)800 << 10)

static _Atomic int64_t *until;

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("KAMUEE_FAILING");
    long fd = name ? syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC, 0) : -1;
    long p = fd < 0 ? -1 : syscall(SYS_mmap, NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd < 0 || p == -1)
        abort();
    close((int)fd);
    until = (_Atomic int64_t *)p;
}

// Whether this call fails.
static int fails(int error)
{
    int64_t n = until ? atomic_load(until) : 0;

    while (n > 0 && !atomic_compare_exchange_weak(until, &n, n == 1 ? -1 : n - 1))
        ;
    if (n == 1)
        errno = error;
    return n == 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int socket(int domain, int type, int protocol)
{
    return fails(EMFILE) ? -1 : REAL(socket)(domain, type, protocol);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    return fails(ENOMEM) ? -1 : REAL(setsockopt)(fd, level, name, value, size);
}

int bind(int fd, const struct sockaddr *a, socklen_t size)
{
    return fails(ENOMEM) ? -1 : REAL(bind)(fd, a, size);
}

ssize_t sendto(int fd, const void *p, size_t n, int flags, const struct sockaddr *a, socklen_t size)
{
    return fails(ENOBUFS) ? -1 : REAL(sendto)(fd, p, n, flags, a, size);
}

static int open_real(const char *name, const char *path, int flags, mode_t mode)
{
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);

    return fails(EMFILE) ? -1 : real(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list ap;

    va_start(ap, flags);
    mode_t mode = va_arg(ap, mode_t);
    va_end(ap);
    return open_real("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list ap;

    va_start(ap, flags);
    mode_t mode = va_arg(ap, mode_t);
    va_end(ap);
    return open_real("open64", path, flags, mode);
}

static void *map_real(const char *name, void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    void *(*real)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, name);

    return n >= LARGE && fails(ENOMEM) ? MAP_FAILED : real(at, n, prot, flags, fd, from);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    return map_real("mmap", at, n, prot, flags, fd, from);
}

void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t from)
{
    return map_real("mmap64", at, n, prot, flags, fd, from);
}
