// SPDX-License-Identifier: BSD-3-Clause
// refused_call.c - the handler of SIGSYS (refused_call.h)
//
// It runs inside the refused call, so it only copies prepared text, writes it with write() and puts
// -EPERM into the register of the result. The names of system calls are looked up before, because
// the handler may not.
#include "base/refused_call.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

// Prepared for the signal handler, which must not look up or format anything.
static char words[80];
static const char (*name_of)[REFUSED_CALL_NAME];
static unsigned n_names;

static void set_answer(ucontext_t *c, long answer)
{
#if defined(__x86_64__)
    c->uc_mcontext.gregs[REG_RAX] = answer;
#elif defined(__aarch64__)
    c->uc_mcontext.regs[0] = (unsigned long long)answer;
#endif
}

static const char *number_text(unsigned number, char text[12])
{
    char *at = text + 11;

    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10));
    return at;
}

// Runs in the calling thread; the system call returns -EPERM.
static void on_refused(int sig, siginfo_t *s, void *context)
{
    char line[sizeof words + REFUSED_CALL_NAME + 1], digits[12];
    unsigned number = (unsigned)s->si_syscall;
    const char *name = number < n_names && name_of[number][0] ? name_of[number]
                                                              : number_text(number, digits);
    size_t at = strlen(words), n = strlen(name);
    int e = errno;

    memcpy(line, words, at);
    memcpy(line + at, name, n);
    line[at + n] = '\n';
    (void)!write(STDERR_FILENO, line, at + n + 1);
    set_answer(context, -EPERM);
    errno = e;
}

int refused_call_tell(const char *who, const char (*name)[REFUSED_CALL_NAME], unsigned n)
{
    struct sigaction a = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO | SA_RESTART};

    snprintf(words, sizeof words, "system_calls: refused by %s's own filter: call=", who);
    name_of = name;
    n_names = name ? n : 0;
    return sigaction(SIGSYS, &a, NULL) ? -errno : 0;
}
