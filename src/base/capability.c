// SPDX-License-Identifier: BSD-3-Clause
// capability.c - checks for a kernel capability, with a sentence for its lack (capability.h)
//
// The effective set is read from /proc once and kept. The sentence names the capability, the action
// and the remedy. CAP_SYS_ADMIN includes CAP_BPF.
#include "base/capability.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define KNOWN (UINT64_C(1) << 63)
#define REMEDY "start kamueed with the systemd unit or as root"

static const struct {
    enum capability number;
    const char *name;
} names[] = {
    {CAPABILITY_NET_ADMIN, "CAP_NET_ADMIN"},
    {CAPABILITY_NET_RAW, "CAP_NET_RAW"},
    {CAPABILITY_IPC_LOCK, "CAP_IPC_LOCK"},
    {CAPABILITY_SYS_ADMIN, "CAP_SYS_ADMIN"},
    {CAPABILITY_BPF, "CAP_BPF"},
};

static const char *name_of(enum capability c)
{
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == c)
            return names[i].name;
    return "?";
}

static uint64_t read_effective(void)
{
    char line[128];
    unsigned long long held = 0;
    FILE *f = fopen("/proc/thread-self/status", "re");

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "CapEff: %llx", &held) == 1)
            break;
    if (f)
        fclose(f);
    return held;
}

bool capability_is_held(enum capability c)
{
    static _Atomic uint64_t held;
    uint64_t now = atomic_load(&held);

    if (!now)
        atomic_store(&held, now = read_effective() | KNOWN);
    return now >> c & 1;
}

int capability_check(enum capability c, const char *what, char *err, size_t err_size)
{
    // CAP_BPF is a part of CAP_SYS_ADMIN: on kernels before 5.8, and still today.
    if (capability_is_held(c) || (c == CAPABILITY_BPF && capability_is_held(CAPABILITY_SYS_ADMIN)))
        return 0;
    snprintf(err, err_size, "%s is missing, which %s needs: " REMEDY ", or grant it to uid %u",
             name_of(c), what, (unsigned)geteuid());
    return -EPERM;
}

int capability_check_locking(const char *what, char *err, size_t err_size)
{
    struct rlimit l;

    if (capability_is_held(CAPABILITY_IPC_LOCK) || getrlimit(RLIMIT_MEMLOCK, &l) ||
        l.rlim_cur == RLIM_INFINITY)
        return 0;
    snprintf(err, err_size,
             "%s locks memory, of which this process may have %lu KiB: set LimitMEMLOCK=infinity "
             "in the unit (ulimit -l unlimited), or grant CAP_IPC_LOCK, which is missing",
             what, (unsigned long)(l.rlim_cur / 1024));
    return -EPERM;
}
