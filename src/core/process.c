// SPDX-License-Identifier: BSD-3-Clause
// process.c - reads /proc about this process and others (process.h)
//
// A zombie counts as gone. A process that cannot be looked at, for lack of descriptors for example,
// counts as alive.
#include "core/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t process_resident(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f)
        return 0;
    if (fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

// Field 22 of /proc/self/stat is the start in clock ticks since boot.
uint64_t process_uptime(void)
{
    char line[1024], *p;
    unsigned long long start = 0;
    struct timespec now;
    FILE *f = fopen("/proc/self/stat", "re");

    if (f && fgets(line, sizeof line, f) && (p = strrchr(line, ')')))
        sscanf(p + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &start);
    if (f)
        fclose(f);
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t since = start / (uint64_t)sysconf(_SC_CLK_TCK);
    return start && (uint64_t)now.tv_sec > since ? (uint64_t)now.tv_sec - since : 0;
}

bool process_is_gone(pid_t pid)
{
    char path[32], state = 'Z';

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == ENOENT; // else it cannot be told, for example without descriptors
    if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    fclose(f);
    return state == 'Z' || state == 'X';
}

void process_name(pid_t pid, char name[16])
{
    char path[32];

    name[0] = 0;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%15[^\n]", name) != 1)
        name[0] = 0;
    if (f)
        fclose(f);
}

static void add_region(void *ctx, const struct mem_region *r)
{
    struct process_regions *all = ctx;

    vec_foreach (&all->item, have) {
        if (strcmp(have->name, r->name))
            continue;
        have->bytes += r->bytes;
        have->used += r->used;
        if (strcmp(have->pages, r->pages))
            have->pages = "mixed";
        return;
    }
    *vec_push(&all->item) = *r;
}

void process_regions(struct process_regions *all)
{
    *all = (struct process_regions){0};
    mem_walk(add_region, all);
}
