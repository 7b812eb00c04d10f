// SPDX-License-Identifier: BSD-3-Clause
// stuck.c - preloaded into kamueed: while the file KAMUEE_STUCK exists, a forwarder that sends by a
// packet socket never returns from the call
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

int sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
    char name[16];

    prctl(PR_GET_NAME, name);
    while (!strncmp(name, "forwarder", 9) && !access(getenv("KAMUEE_STUCK"), F_OK))
        ;
    return ((__typeof__(&sendmmsg))dlsym(RTLD_NEXT, "sendmmsg"))(fd, m, n, flags);
}
