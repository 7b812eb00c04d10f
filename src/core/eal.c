// SPDX-License-Identifier: BSD-3-Clause
// eal.c - starts DPDK's environment
//
// DPDK's log lines go to our log. The first error of an operation is kept (eal_complaint): often it
// is the only explanation from a driver why a device could not be attached.
#define ALLOW_EXPERIMENTAL_API // rte_intr_*
#include "core/eal.h"

#include <errno.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_log.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "core/eal_args.h"

static struct eal_args args; // DPDK keeps pointers into it
static bool running, has_vfio;
static int dir_lock;
static FILE *log_stream;
static char complaint[256];
static bool complaint_is_error; // else a warning

// One write to DPDK's log: a line or a part of one. Lines of several threads may mix, which is
// harmless.
static ssize_t log_write(void *cookie, const char *buf, size_t n)
{
    size_t len = n;

    while (len && (buf[len - 1] == '\n' || buf[len - 1] == ' '))
        len--;
    if (!len)
        return (ssize_t)n;
    int level = rte_log_cur_msg_loglevel();
    bool is_error = level <= (int)RTE_LOG_ERR;
    if ((!complaint[0] && level <= (int)RTE_LOG_WARNING) || (is_error && !complaint_is_error)) {
        snprintf(complaint, sizeof complaint, "%.*s", (int)len, buf);
        complaint_is_error = is_error;
    }
    // Its errors are our warnings: the caller of the failed function knows how bad it is.
    log_at(is_error                       ? LOG_LEVEL_WARNING
           : level <= (int)RTE_LOG_NOTICE ? LOG_LEVEL_INFO
                                          : LOG_LEVEL_DEBUG,
           "dpdk: %.*s", (int)len, buf);
    return (ssize_t)n;
}

static void log_open(void)
{
    log_stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = log_write});
    if (!log_stream)
        return; // DPDK then writes to stderr
    setvbuf(log_stream, NULL, _IOLBF, 0);
    rte_openlog_stream(log_stream);
}

const char *eal_complaint(void)
{
    return complaint;
}

void eal_complaint_clear(void)
{
    complaint[0] = 0;
    complaint_is_error = false;
}

static const char *remedy_for(int error)
{
    switch (error) {
    case ENOMEM:
        return "not enough memory: set memory to less or free huge pages";
    case EACCES:
    case EPERM:
        return "no permission: start as root or with the capabilities of the systemd unit";
    case EALREADY:
        return "DPDK has already started in this process";
    default:
        return "see the log lines above";
    }
}

int eal_init(const struct eal_config *cfg, char *err, size_t err_size)
{
    struct eal_machine m;

    eal_machine_read(&m);
    m.log_level = log_get_level() >= LOG_LEVEL_DEBUG ? 7 : 5;
    int r = eal_args_choose(cfg, &m, &args, err, err_size);
    if (r)
        return r;
    log_open();
    eal_complaint_clear();
    has_vfio = !access("/sys/module/vfio", F_OK);
    if (rte_eal_init(args.argc, args.argv) < 0) {
        r = rte_errno ? rte_errno : EINVAL;
        snprintf(err, err_size, "DPDK did not start: %s (%s)", remedy_for(r),
                 complaint[0] ? complaint : rte_strerror(r));
        return -r;
    }
    running = true;
    dir_lock = eal_dir_take(rte_eal_get_runtime_dir());
    if (args.huge)
        log_notice("eal: memory: pages=huge mib=%u", args.memory_mib);
    else
        log_notice("eal: memory: pages=ordinary mib=%u why=%s free-huge-mib=%u", args.memory_mib,
                   cfg->no_huge ? "configured" : "too-few-huge-pages", m.huge_free_mib);
    return 0;
}

static void park_thread(void *parked)
{
    sem_post(parked);
    for (;;)
        pause();
}

// Parks DPDK's interrupt thread in a callback until the process ends: DPDK does not stop it, and it
// may still use the handles of closed ports while rte_eal_cleanup unmaps them. An alarm's callback
// would not do: the cleanup waits for those.
static void interrupts_stop(void)
{
    static sem_t parked; // belongs to the thread until the end
    struct timespec until;
    int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC); // readable, so that the callback runs at once
    struct rte_intr_handle *h = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);

    sem_init(&parked, 0, 0);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    bool waits = fd >= 0 && h && !rte_intr_fd_set(h, fd) &&
                 !rte_intr_type_set(h, RTE_INTR_HANDLE_EXT) &&
                 !rte_intr_callback_register(h, park_thread, &parked);
    rte_intr_instance_free(h); // DPDK has a copy
    if (!waits)
        return;
    TEMP_FAILURE_RETRY(sem_clockwait(&parked, CLOCK_MONOTONIC, &until));
}

void eal_leave(void)
{
    if (running)
        eal_dir_drop(rte_eal_get_runtime_dir(), dir_lock);
}

void eal_fini(void)
{
    char dir[256];

    if (running) {
        snprintf(dir, sizeof dir, "%s", rte_eal_get_runtime_dir());
        interrupts_stop();
        rte_eal_cleanup();
        eal_dir_drop(dir, dir_lock);
    }
    running = false;
    if (log_stream) {
        rte_openlog_stream(NULL);
        fclose(log_stream);
        log_stream = NULL;
    }
}

bool eal_has_hugepages(void)
{
    return args.huge;
}

unsigned eal_memory_mib(void)
{
    return args.memory_mib;
}

bool eal_has_vfio(void)
{
    return has_vfio;
}
