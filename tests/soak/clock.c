// SPDX-License-Identifier: BSD-3-Clause
// clock.c - preloaded into kamueed: the wall clock is off by as many seconds as the file says that
// KAMUEE_CLOCK names (8 bytes, which both sides map); the machine's own clock is left alone
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset_s;

__attribute__((constructor)) static void begin(void)
{
    int fd = open(getenv("KAMUEE_CLOCK"), O_RDONLY | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED)
        abort();
    offset_s = at;
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int r = ((__typeof__(&clock_gettime))dlsym(RTLD_NEXT, "clock_gettime"))(clock, t);

    if (!r && clock == CLOCK_REALTIME && offset_s)
        t->tv_sec += *offset_s;
    return r;
}

time_t time(time_t *to)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (to)
        *to = t.tv_sec;
    return t.tv_sec;
}
