// SPDX-License-Identifier: BSD-3-Clause
// mailbox.c - calls from role to role, in every order of the steps of src/core/mailbox.c
//
// The owner of a box for two calls runs one call per wake-up and closes the box at any time, or at
// the end. Control calls it and waits for at most two slices; another manager posts two calls.
// Locks, the semaphore, the event descriptor and the heap are those of steps.h.
//
// Asked at the end of each order: an accepted call has run exactly once, a refused one never, a
// sender's calls in their order; a call that was waited for has run before the caller goes on; its
// argument belongs to the caller again, or is dropped once, after the call; no memory is left, or
// used after it was freed; nobody waits forever, so no wake-up is lost.
#include "steps.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "core/mailbox.h"

#undef MAILBOX_CALLS
#define MAILBOX_CALLS 2

static unsigned locked, box_fd_count;
static int semaphore_value;

static bool is_unlocked(const void *of)
{
    return !locked;
}

static int lock_take(pthread_mutex_t *m)
{
    step_until(is_unlocked, NULL);
    locked = 1;
    return 0;
}

static int lock_give(pthread_mutex_t *m)
{
    locked = 0;
    return 0;
}

static int fd_write(int fd, eventfd_t n)
{
    if (fd != 7)
        stop("a closed descriptor is written to");
    box_fd_count += (unsigned)n;
    return 0;
}

static int fd_read(int fd, eventfd_t *n)
{
    step();
    *n = box_fd_count;
    box_fd_count = 0;
    return 0;
}

static int semaphore_post(sem_t *s)
{
    step();
    heap_use(s);
    semaphore_value++;
    return 0;
}

static bool is_posted(const void *of)
{
    return semaphore_value > 0;
}

static int semaphore_wait(sem_t *s)
{
    step_until(is_posted, NULL);
    heap_use(s);
    semaphore_value--;
    return 0;
}

// The time is over wherever this step comes before the post.
static int semaphore_wait_slice(sem_t *s)
{
    step();
    heap_use(s);
    if (!semaphore_value) {
        errno = ETIMEDOUT;
        return -1;
    }
    semaphore_value--;
    return 0;
}

static bool exchange(_Atomic bool *p, bool to)
{
    step();
    heap_use(p);
    bool was = *(bool *)p;
    *(bool *)p = to;
    return was;
}

#define pthread_mutex_lock lock_take
#define pthread_mutex_unlock lock_give
#define eventfd(n, flags) 7
#define eventfd_write fd_write
#define eventfd_read fd_read
#define event_new(...) ((struct event *)heap)
#define event_add(...) 0
#define event_free(...) ((void)0)
#define close(fd) ((void)(box_fd_count = 0))
#define sem_init(...) ((void)(semaphore_value = 0))
#define sem_destroy(s) heap_use(s)
#define sem_post semaphore_post
#define sem_wait semaphore_wait
#define sem_clockwait(s, clock, until) semaphore_wait_slice(s)
#define clock_gettime(clock, t) ((void)(*(t) = (struct timespec){0}))
#define nanosleep(...) step()
#undef atomic_exchange
#define atomic_exchange exchange
#define calloc(n, size) heap_take((n) * (size))
#define free heap_give

#include "core/mailbox.c"

// --- the scenario ---

static enum thread_role roles[TASKS_MAX];
static unsigned n_senders;              // not done yet
static unsigned ran[3], dropped, order; // calls 0 and 1 of the manager, 2 of control
static int posted[2], called;
static bool called_ran;

enum thread_role thread_role(void)
{
    return roles[current];
}

void log_line(struct log_site *site, enum log_level level, const char *fmt, ...)
{
}

void log_bug(const char *file, int line, const char *cond)
{
    stop(cond);
    abort();
}

static void run_call(void *arg)
{
    unsigned k = (unsigned)(uintptr_t)arg;

    ran[k]++;
    if (k < 2 && ran[k] != 1)
        stop("a call runs twice");
    if (k == 0 && ran[1])
        stop("calls of one sender change their order");
}

static void run_waited(void *arg)
{
    heap_use(arg);
    if (dropped)
        stop("a call runs after its argument was dropped");
    ran[2]++;
}

static void drop_arg(void *arg)
{
    heap_use(arg);
    if (!ran[2])
        stop("an argument is dropped before its call");
    dropped++;
    heap_give(arg);
}

static void control(void)
{
    void *arg = heap_take(8);

    called = mailbox_call(ROLE_RIB_MANAGER, run_waited, arg, drop_arg, 2);
    called_ran = ran[2] == 1;
    if (called != -ETIMEDOUT)
        heap_give(arg);
    n_senders--;
}

static void manager(void)
{
    for (unsigned k = 0; k < 2; k++)
        posted[k] = mailbox_post(ROLE_RIB_MANAGER, run_call, (void *)(uintptr_t)k);
    n_senders--;
}

static bool has_work(const void *of)
{
    return box_fd_count || !n_senders;
}

static void owner(void)
{
    const unsigned wakes = choose(4); // then it closes, whatever comes

    mailbox_open(NULL);
    for (unsigned i = 0; i < 8; i++) {
        step_until(has_work, NULL);
        if (!box_fd_count || i == wakes)
            break;
        on_calls(7, 0, &boxes[ROLE_RIB_MANAGER]);
    }
    if (!n_senders && !box_fd_count && boxes[ROLE_RIB_MANAGER].n)
        stop("the owner sleeps with calls in its box");
    mailbox_close();
}

static void begin(void)
{
    n_heap = locked = box_fd_count = dropped = 0;
    n_senders = 2;
    memset(ran, 0, sizeof ran);
    roles[0] = ROLE_RIB_MANAGER;
    roles[1] = ROLE_CONTROL;
    roles[2] = ROLE_TAP_MANAGER;
    boxes[ROLE_RIB_MANAGER] = (struct box){.fd = -1};
    task_add("owner", owner);
    task_add("control", control);
    task_add("manager", manager);
}

static void end(void)
{
    for (unsigned k = 0; k < 2; k++)
        if (ran[k] != !posted[k])
            harm = "a posted call has not run, or a refused one has";
    if (called == 0 && (!called_ran || dropped))
        harm = "a call has not run before its caller goes on";
    if (called == -ETIMEDOUT && (ran[2] != 1 || dropped != 1))
        harm = "a late call has not run, or kept its argument";
    if (called != 0 && called != -ETIMEDOUT && (ran[2] || dropped))
        harm = "a refused call has run";
    if (!harm && heap_live())
        harm = "memory is left";
}

int main(void)
{
    const uint64_t n = explore(begin, end, PREEMPTIONS);

    printf("%llu orders\n", (unsigned long long)n);
    if (harm)
        printf("mailbox: %s\n", harm);
    return !!harm;
}
