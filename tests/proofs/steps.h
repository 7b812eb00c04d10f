// SPDX-License-Identifier: BSD-3-Clause
// steps.h - runs a few tasks in every order of their steps
//
// A task is a function on a stack of its own. It gives up the CPU at each step(), which stands in
// front of whatever other tasks can notice: a lock, an atomic access. explore() repeats a scenario
// until all choices of the next task have been made; with `preemptions`, only orders in which at
// most so many tasks are interrupted while they could go on.
//
// Sequential consistency: what weaker memory adds is the subject of tests/model/publish_model.c.
#ifndef STEPS_H
#define STEPS_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define TASKS_MAX 5
#define CHOICES_MAX 512
#define STACK_BYTES 65536

struct task {
    const char *name;
    void (*run)(void);
    bool (*ready)(const void *of); // NULL: may go on
    const void *of;
    bool begun, done;
    jmp_buf at;
    ucontext_t start;
    uint8_t stack[STACK_BYTES];
};

static struct task task[TASKS_MAX];
static unsigned n_tasks, current;
static jmp_buf scheduler;
static ucontext_t scheduler_start;
static const char *harm;

static struct {
    uint8_t taken, of;
} choice[CHOICES_MAX];              // of this execution
static unsigned n_choices, n_fixed; // the first n_fixed repeat an earlier execution

// Returns 0 to n - 1: each in some execution.
static unsigned choose(unsigned n)
{
    if (n < 2)
        return 0;
    if (n_choices == CHOICES_MAX) {
        printf("steps: too many choices\n");
        exit(2);
    }
    if (n_choices >= n_fixed)
        choice[n_choices].taken = 0;
    choice[n_choices].of = (uint8_t)n;
    return choice[n_choices++].taken;
}

// Ends the execution.
static _Noreturn void stop(const char *why)
{
    harm = why;
    _longjmp(scheduler, 1);
}

static void step_until(bool (*ready)(const void *of), const void *of)
{
    task[current].ready = ready;
    task[current].of = of;
    if (!_setjmp(task[current].at))
        _longjmp(scheduler, 1);
    task[current].ready = NULL;
}

static void step(void)
{
    step_until(NULL, NULL);
}

static void task_add(const char *name, void (*run)(void))
{
    struct task *t = &task[n_tasks++];

    t->name = name;
    t->run = run;
    t->ready = NULL;
    t->begun = t->done = false;
}

static void task_main(void)
{
    task[current].run();
    task[current].done = true;
    _longjmp(scheduler, 1);
}

static bool may_run(unsigned i)
{
    return i < n_tasks && !task[i].done && (!task[i].ready || task[i].ready(task[i].of));
}

static void task_continue(unsigned i)
{
    struct task *t = &task[i];

    current = i;
    if (_setjmp(scheduler))
        return;
    if (t->begun)
        _longjmp(t->at, 1);
    t->begun = true;
    getcontext(&t->start);
    t->start.uc_stack.ss_sp = t->stack;
    t->start.uc_stack.ss_size = sizeof t->stack;
    makecontext(&t->start, task_main, 0);
    setcontext(&t->start);
}

// Runs the tasks to their end, or to a harm.
static void execute(unsigned preemptions)
{
    unsigned last = n_tasks;

    while (!harm) {
        unsigned can[TASKS_MAX], n = 0;
        const bool goes_on = may_run(last);
        if (goes_on)
            can[n++] = last;
        for (unsigned i = 0; i < n_tasks && (!goes_on || preemptions); i++)
            if (i != last && may_run(i))
                can[n++] = i;
        if (!n)
            break;
        const unsigned next = can[choose(n)];
        preemptions -= goes_on && next != last;
        last = next;
        task_continue(next);
    }
    for (unsigned i = 0; i < n_tasks && !harm; i++)
        if (!task[i].done)
            harm = "a task waits forever";
}

// Prepares the next execution. Returns false if there is none.
static bool choose_next(void)
{
    while (n_choices && choice[n_choices - 1].taken + 1 == choice[n_choices - 1].of)
        n_choices--;
    if (!n_choices)
        return false;
    choice[n_choices - 1].taken++;
    n_fixed = n_choices;
    return true;
}

// begin() adds the tasks; end() looks at what they have done. Returns the number of executions;
// `harm` tells what went wrong in the last one.
static uint64_t explore(void (*begin)(void), void (*end)(void), unsigned preemptions)
{
    uint64_t n = 0;

    n_fixed = 0;
    do {
        n_choices = n_tasks = 0;
        harm = NULL;
        begin();
        execute(preemptions);
        if (!harm)
            end();
        n++;
    } while (!harm && choose_next());
    return n;
}

// --- a heap that knows what is free ---

#define CHUNKS_MAX 32

static struct chunk {
    size_t bytes;
    bool live;
    _Alignas(64) uint8_t b[1024];
} heap[CHUNKS_MAX];
static unsigned n_heap;

static void *heap_take(size_t bytes)
{
    struct chunk *c = &heap[n_heap++];

    if (n_heap == CHUNKS_MAX || bytes > sizeof c->b) {
        printf("steps: no memory\n");
        exit(2);
    }
    c->bytes = bytes;
    c->live = true;
    memset(c->b, 0, bytes);
    return c->b;
}

static void heap_give(void *p)
{
    struct chunk *c = p ? (struct chunk *)((char *)p - offsetof(struct chunk, b)) : NULL;

    if (!c)
        return;
    if (!c->live)
        stop("memory is freed twice");
    c->live = false;
    memset(c->b, 0xdb, c->bytes);
}

// Something in memory of the heap, or elsewhere, is about to be used.
static void heap_use(const void *p)
{
    size_t at = (size_t)((const char *)p - (const char *)heap);

    if (at < sizeof heap && !heap[at / sizeof *heap].live)
        stop("memory is used after it was freed");
}

static unsigned heap_live(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_heap; i++)
        n += heap[i].live;
    return n;
}

#endif
