// SPDX-License-Identifier: BSD-3-Clause
// steps.c - see steps.h
#include "forward/steps.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ucontext.h>

#include "lib/bench.h"

#ifdef __x86_64__

#define STEPS_MAX (1u << 20)
#define REGISTERS 17 // REG_R8 .. REG_RIP
#define TRAP_FLAG "0x100"
#define STACK_BYTES (64u << 10) // of the handler: the forwarder's own stays as it is

static greg_t (*step)[REGISTERS];
static unsigned n_steps;

static void step_done(int signal, siginfo_t *info, void *context)
{
    if (n_steps < STEPS_MAX)
        memcpy(step[n_steps], ((ucontext_t *)context)->uc_mcontext.gregs, sizeof step[0]);
    n_steps++;
}

static __attribute__((noinline)) unsigned poll_stepped(unsigned (*poll)(void))
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq $" TRAP_FLAG ", (%%rsp)\n popfq\n"
                     "lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    unsigned n = poll();
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~" TRAP_FLAG ", (%%rsp)\n popfq\n"
                     "lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    return n;
}

unsigned steps_write(FILE *to, unsigned (*poll)(void))
{
    static char room[STACK_BYTES];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    const struct sigaction trap = {.sa_sigaction = step_done, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    step = malloc(STEPS_MAX * sizeof *step);
    bench_check(step && !sigaltstack(&stack, NULL) && !sigaction(SIGTRAP, &trap, NULL),
                "no memory for the steps");
    memset(step, 0, STEPS_MAX * sizeof *step);
    n_steps = 0;
    unsigned n = poll(); // work that is due once a millisecond (budget.h)
    n += poll_stepped(poll);
    bench_check(n_steps <= STEPS_MAX, "a poll has more than %u steps", STEPS_MAX);
    for (unsigned i = 0; i < n_steps; i++) {
        fputs("step", to);
        for (unsigned k = 0; k < REGISTERS; k++)
            fprintf(to, " %llx", step[i][k]);
        fputc('\n', to);
    }
    free(step);
    return n;
}
#else
unsigned steps_write(FILE *to, unsigned (*poll)(void))
{
    bench_fail("steps are counted on x86-64 only");
}
#endif

void steps_memory(FILE *to, const char *name, const void *first, size_t bytes)
{
    fprintf(to, "memory %s %zx %zx\n", name, (size_t)first, (size_t)first + bytes);
}

void steps_case(FILE *to, const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], file[256];
    unsigned long first, end, offset;

    bench_check(maps, "no /proc/self/maps");
    fprintf(to, "case %s\n", name);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx r-xp %lx %*s %*s %255s", &first, &end, &offset, file) == 4)
            fprintf(to, "map %lx %lx %lx %s\n", first, end, offset, file);
    fclose(maps);
}
