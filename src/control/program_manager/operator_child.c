// SPDX-License-Identifier: BSD-3-Clause
// operator_child.c - kamueed runs kamuee-bpf-check and waits for it (see operator.h)
//
// The child's own limits end it after three seconds; if they fail, kamueed kills it. Forwarders
// continue meanwhile.
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "core/child.h"
#include "core/starter.h"
#include "core/thread.h"
#include "program_manager/operator.h"

#define LIMIT_MS ((OPERATOR_CHECK_S + 2) * 1000)

static int tell_end(int status, const char *file, char *err, size_t n)
{
    int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0, code = by ? 0 : WEXITSTATUS(status);

    if (by == SIGXCPU || by == SIGALRM || by == SIGTERM || by == SIGKILL)
        snprintf(err, n,
                 "file '%s': DPDK's BPF needs more than %d s to check it, expected a program with "
                 "fewer ways through it: every 'if' that is not the last doubles them",
                 file, OPERATOR_CHECK_S);
    else if (by)
        snprintf(err, n,
                 "file '%s': DPDK's BPF ended by signal %d (%s) while it checked it, expected an "
                 "object of 'kamuee program build --target operator'",
                 file, by, strsignal(by));
    else if (code == OPERATOR_CHECK_UNCONFINED)
        snprintf(err, n, "file '%s': kamuee-bpf-check cannot give up its rights: see the log",
                 file);
    else if (code)
        return operator_refuse(file, code, err, n);
    else
        return 0;
    return -ENOEXEC;
}

int operator_check(int fd, const char *file, char *err, size_t n)
{
    static struct child child = {.name = "kamuee-bpf-check"};
    char path[PATH_MAX];

    thread_must_be(ROLE_CONTROL);
    if (!starter_runs())
        return 0;
    const char *program =
        starter_find("kamuee-bpf-check", "src/control/program_manager/kamuee-bpf-check",
                     BPF_CHECK_PROGRAM, path);
    int r = child_runs(&child) ? -EBUSY
                               : child_start(&child, program, "", fd, LIMIT_MS);
    if (r) {
        snprintf(err, n, "file '%s': %s, which checks it, cannot be started: %s", file, program,
                 strerror(-r));
        return r;
    }
    if (!child_wait(&child, LIMIT_MS) && !child_end(&child)) {
        snprintf(err, n, "file '%s': kamuee-bpf-check, which checks it, does not end", file);
        return -ETIMEDOUT;
    }
    return tell_end(child.status, file, err, n);
}
