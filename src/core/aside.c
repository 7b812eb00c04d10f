// SPDX-License-Identifier: BSD-3-Clause
// aside.c - see aside.h
//
// Each lane has a worker thread and one stack, on which its turns run one after the other. aside()
// gives the worker a job and switches from the turn's stack back to the loop. The worker's eventfd
// tells the loop that the job is done, and the loop switches to the turn's stack again. Only the
// job queue and `done` are shared with the worker, under `lock`.
#include "core/aside.h"

#include <errno.h>
#include <event2/event.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"
#include "core/thread.h"

#if defined __has_feature // clang's counterpart of gcc's macro
#if __has_feature(address_sanitizer) && !defined __SANITIZE_ADDRESS__
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined __SANITIZE_THREAD__
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define STACK_BYTES (8u << 20) // as for the main thread; untouched pages take no memory
#define GUARD_BYTES 65536      // below the stack: an overflow is a fault, nothing worse

struct job {
    struct job *next;
    void (*work)(void *arg);
    void *arg;
    bool awaited; // the turn waits for it
};

struct stack { // in the sanitizers' terms
    const void *bottom;
    size_t size;
    void *fake, *fiber;
};

struct waiting {
    struct fair_item item; // must be first
    struct turn turn;
};

struct lane {
    struct fair_queue waiting;
    struct turn now;
    bool busy;         // a turn has begun and has not ended
    bool waits;        // in aside_wait()
    uint64_t since_ns; // start of the current slice: the loop is blocked
    uint64_t begun_ns; // start of the turn
    ucontext_t turn, outside; // outside: the context that resumed it
    struct stack turn_stack, outside_stack;
    char *memory;
    struct event *event; // of `fd`
    int fd;              // readable: the lane has something to do

    pthread_t worker;
    pthread_mutex_t lock;
    pthread_cond_t more, finished;
    struct job *job, **last;
    bool done; // the turn can continue
    bool ends;
};

static struct lane lanes[ASIDE_LANES];
static bool started;
static _Thread_local struct lane *current; // lane of the running turn

// --- stacks ---

// Tells the sanitizers of each switch; empty without them.
static void stack_leaving(struct stack *from, const struct stack *to)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from->fake, to->bottom, to->size);
#endif
#ifdef __SANITIZE_THREAD__
    from->fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
}

// `from`: receives the location of the stack just left; may be NULL.
static void stack_arrived(const struct stack *at, struct stack *from)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(at->fake, from ? &from->bottom : NULL,
                                    from ? &from->size : NULL);
#endif
}

static void stand_still(struct lane *l)
{
    stack_leaving(&l->turn_stack, &l->outside_stack);
    bug_on(swapcontext(&l->turn, &l->outside));
    stack_arrived(&l->turn_stack, &l->outside_stack);
}

static void run_turns(void)
{
    struct lane *l = current;

    stack_arrived(&l->turn_stack, &l->outside_stack);
    for (;;) {
        l->now.run(l->now.ctx);
        fair_used(&l->waiting, l->now.of, clock_now_ns() - l->begun_ns);
        l->busy = false;
        stand_still(l);
    }
}

static void switch_to_turn(struct lane *l)
{
    struct lane *before = current; // a turn of another lane may start one here

    current = l;
    l->since_ns = clock_now_ns();
    stack_leaving(&l->outside_stack, &l->turn_stack);
    bug_on(swapcontext(&l->outside, &l->turn));
    stack_arrived(&l->outside_stack, NULL);
    current = before;
}

static int make_stack(struct lane *l)
{
    l->memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (l->memory == MAP_FAILED || mprotect(l->memory, GUARD_BYTES, PROT_NONE) ||
        getcontext(&l->turn))
        return -errno;
    l->turn.uc_stack.ss_sp = l->memory + GUARD_BYTES;
    l->turn.uc_stack.ss_size = STACK_BYTES;
    makecontext(&l->turn, run_turns, 0);
    l->turn_stack = (struct stack){.bottom = l->memory + GUARD_BYTES, .size = STACK_BYTES};
#ifdef __SANITIZE_ADDRESS__
    // A suspended turn's memory is not leaked.
    __lsan_register_root_region(l->memory + GUARD_BYTES, STACK_BYTES);
#endif
#ifdef __SANITIZE_THREAD__
    l->turn_stack.fiber = __tsan_create_fiber(0);
#endif
    return 0;
}

static void free_stack(struct lane *l)
{
#ifdef __SANITIZE_THREAD__
    if (l->turn_stack.fiber)
        __tsan_destroy_fiber(l->turn_stack.fiber);
#endif
    if (!l->memory || l->memory == MAP_FAILED)
        return;
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(l->memory + GUARD_BYTES, STACK_BYTES);
    __lsan_unregister_root_region(l->memory + GUARD_BYTES, STACK_BYTES);
#endif
    munmap(l->memory, GUARD_BYTES + STACK_BYTES);
}

// --- the worker ---

// The caller holds the lock.
static void tell_done(struct lane *l)
{
    l->done = true;
    pthread_cond_signal(&l->finished);
    eventfd_write(l->fd, 1);
}

static void *worker_main(void *arg)
{
    struct lane *l = arg;
    struct job *j;

    pthread_setname_np(pthread_self(), l == &lanes[ASIDE_READ] ? "aside-read" : "aside-change");
    pthread_mutex_lock(&l->lock);
    while ((j = l->job) || !l->ends) {
        if (!j) {
            pthread_cond_wait(&l->more, &l->lock);
            continue;
        }
        l->job = j->next;
        if (!l->job)
            l->last = &l->job;
        pthread_mutex_unlock(&l->lock);
        j->work(j->arg);
        if (!j->awaited)
            malloc_trim(0); // else the pages of a freed tree stay with the process
        pthread_mutex_lock(&l->lock);
        if (j->awaited)
            tell_done(l);
        free(j);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void give_job(struct lane *l, void (*fn)(void *arg), void *arg, bool awaited)
{
    struct job *j = malloc(sizeof *j);
    cpu_set_t mine;

    bug_on(!j);
    *j = (struct job){.work = fn, .arg = arg, .awaited = awaited};
    if (!pthread_getaffinity_np(pthread_self(), sizeof mine,
                                &mine)) // never on a forwarder's core
        pthread_setaffinity_np(l->worker, sizeof mine, &mine);
    pthread_mutex_lock(&l->lock);
    *l->last = j;
    l->last = &j->next;
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
}

void aside(void (*fn)(void *arg), void *arg)
{
    struct lane *l = current;

    if (!l || !started) {
        fn(arg);
        return;
    }
    give_job(l, fn, arg, true);
    stand_still(l);
}

void aside_later(void (*fn)(void *arg), void *arg)
{
    if (started) // the other lane's worker: the next work of this turn need not wait for it
        give_job(&lanes[current == &lanes[ASIDE_READ] ? ASIDE_CHANGE : ASIDE_READ], fn, arg, false);
    else
        fn(arg);
}

void aside_pause(void)
{
    struct lane *l = current;

    if (!l || !started || clock_now_ns() - l->since_ns < ASIDE_SLICE_NS)
        return;
    pthread_mutex_lock(&l->lock);
    tell_done(l);
    pthread_mutex_unlock(&l->lock);
    stand_still(l);
}

bool aside_wait(struct aside_wait *w)
{
    struct lane *l = current;

    bug_on(!l);
    w->lane = l;
    l->waits = true;
    while (!w->over && started)
        stand_still(l);
    l->waits = false;
    w->lane = NULL;
    return w->over;
}

void aside_go_on(struct aside_wait *w)
{
    struct lane *l = w->lane;

    w->over = true;
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    tell_done(l);
    pthread_mutex_unlock(&l->lock);
}

// --- turns ---

static void wake_lane(struct lane *l)
{
    if (!l->busy && l->waiting.n)
        eventfd_write(l->fd, 1);
}

static void begin_turn(struct lane *l, const struct turn *t)
{
    l->now = *t;
    l->busy = true;
    l->begun_ns = clock_now_ns();
    switch_to_turn(l);
    wake_lane(l);
}

static struct turn next_turn(struct lane *l)
{
    struct waiting *w = (struct waiting *)fair_take(&l->waiting, NULL);
    struct turn t = w->turn;

    free(w);
    return t;
}

static bool take_done(struct lane *l)
{
    pthread_mutex_lock(&l->lock);
    bool done = l->done;
    l->done = false;
    pthread_mutex_unlock(&l->lock);
    return done;
}

static void on_lane_event(evutil_socket_t fd, short what, void *arg)
{
    struct lane *l = arg;
    eventfd_t n;

    eventfd_read(l->fd, &n);
    if (l->busy) {
        if (take_done(l))
            switch_to_turn(l);
        wake_lane(l);
    } else if (l->waiting.n) { // one turn, then other events of the loop
        struct turn t = next_turn(l);

        begin_turn(l, &t);
    }
}

void aside_turn(enum aside_lane lane, const struct turn *t)
{
    struct lane *l = &lanes[lane];
    struct waiting *w;

    thread_must_be(ROLE_CONTROL);
    if (!started) {
        t->run(t->ctx);
        return;
    }
    if (!l->busy && !l->waiting.n) {
        begin_turn(l, t);
        return;
    }
    w = malloc(sizeof *w);
    bug_on(!w);
    w->turn = *t;
    fair_put(&l->waiting, &w->item, t->of);
}

bool aside_is_turn(void)
{
    return current;
}

bool aside_stopped(void)
{
    return current && !started;
}

bool aside_busy(enum aside_lane lane)
{
    return lanes[lane].busy && !lanes[lane].waits;
}

// --- start and stop ---

static int start_lane(struct lane *l, struct event_base *loop)
{
    *l = (struct lane){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .last = &l->job};
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    pthread_cond_init(&l->finished, NULL);
    if (l->fd < 0)
        return -errno;
    l->event = event_new(loop, l->fd, EV_READ | EV_PERSIST, on_lane_event, l);
    if (!l->event || event_add(l->event, NULL))
        return -ENOMEM;
    int r = make_stack(l);
    return r ? r : -pthread_create(&l->worker, NULL, worker_main, l);
}

static void free_lane(struct lane *l)
{
    if (l->event)
        event_free(l->event);
    if (l->fd >= 0)
        close(l->fd);
    free_stack(l);
    pthread_cond_destroy(&l->finished);
    pthread_cond_destroy(&l->more);
    pthread_mutex_destroy(&l->lock);
}

static void end_worker(struct lane *l)
{
    pthread_mutex_lock(&l->lock);
    l->ends = true;
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->worker, NULL);
}

int aside_start(struct event_base *loop)
{
    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < ASIDE_LANES; i++) {
        int r = start_lane(&lanes[i], loop);

        if (!r)
            continue;
        free_lane(&lanes[i]);
        while (i--) {
            end_worker(&lanes[i]);
            free_lane(&lanes[i]);
        }
        return r;
    }
    started = true;
    return 0;
}

static void end_turn(struct lane *l)
{
    if (!l->busy)
        return;
    pthread_mutex_lock(&l->lock);
    while (!l->done && !l->waits)
        pthread_cond_wait(&l->finished, &l->lock);
    pthread_mutex_unlock(&l->lock);
    switch_to_turn(l);
}

void aside_stop(void)
{
    thread_must_be(ROLE_CONTROL);
    if (!started)
        return;
    started = false;
    for (unsigned i = 0; i < ASIDE_LANES; i++)
        end_turn(&lanes[i]);
    for (unsigned i = 0; i < ASIDE_LANES; i++) {
        while (lanes[i].waiting.n) {
            struct turn t = next_turn(&lanes[i]);

            t.drop(t.ctx);
        }
        end_worker(&lanes[i]);
        free_lane(&lanes[i]);
    }
}
