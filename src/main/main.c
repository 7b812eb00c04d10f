// SPDX-License-Identifier: BSD-3-Clause
// main.c - kamueed: the router's data plane
// The main thread becomes `control`: it reads the configuration, starts the modules (modules.c) and
// runs the event loop until a signal. A failed start prints one line with the remedy and ends with
// an exit code (modules.h).
#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "core/child.h"
#include "core/crash.h"
#include "core/mem.h"
#include "core/starter.h"
#include "core/thread.h"
#include "main/modules.h"
#include "main/keep.h"
#include "server/mgmt.h"
#include "table/counter.h"
#include "thread/thread_manager.h"

#define DRAIN_NS (200 * NS_PER_MS)
#define LEDGER_TRIES 20

static int print_failure(int code, const char *err)
{
    fprintf(stderr, "kamueed: %s\n", err);
    upgrade_take_fail(code, err);
    return code;
}

void send_waiting_packets(void)
{
    uint64_t until_ns = clock_now_ns() + DRAIN_NS;
    struct ledger l;

    for (ledger_read(&l, LEDGER_TRIES); l.held && clock_now_ns() < until_ns;) {
        usleep(200);
        ledger_read(&l, LEDGER_TRIES);
    }
}

// Called when the former kamueed has ended.
static void take_over(void)
{
    instance_write_pid();
    service_ready();
}

// Starts the modules, runs the loop until it ends, and stops them.
static int run_modules(const struct options *o, const struct mgmt_start *cfg, bool second,
                       char *err, size_t err_size)
{
    uint64_t since = clock_now_ns();
    struct event_base *loop = event_base_new();
    struct start_inputs start = {
        .loop = loop,
        .run_dir = o->run_dir,
        .no_huge = o->no_huge || cfg->no_huge,
        .memory_mib = o->memory_mib ? o->memory_mib : cfg->memory_mib,
        .second = second,
    };
    int r = loop ? child_init(loop) : -ENOMEM;

    r = r ? r : service_start(loop);
    if (!r && upgrade_takes())
        upgrade_take_prepare(loop, take_over);
    if (r)
        snprintf(err, err_size, "no memory for the event loop");
    else
        r = modules_start(&start, err, err_size);
    if (!r && (r = system_calls_restrict(getenv("KAMUEE_NETNS"), err, err_size))) {
        upgrade_take_fail(EXIT_START, err);
        modules_stop();
    }
    if (!r) {
        log_notice("main: ready: version=%s ms=%u", kamuee_version,
                   (unsigned)((clock_now_ns() - since) / NS_PER_MS));
        crash_ready();
        upgrade_give_init(loop, second);
        if (!upgrade_takes())
            service_ready();
        event_base_loop(loop, EVLOOP_NO_EXIT_ON_EMPTY);
        upgrade_take_fail(EXIT_START, "it was told to stop");
        upgrade_give_fini();
        service_stopping();
        since = clock_now_ns();
        thread_manager_stop_receiving();
        send_waiting_packets();
        mgmt_save(); // all counters are final
        modules_stop();
        log_notice("main: stopped: ms=%u", (unsigned)((clock_now_ns() - since) / NS_PER_MS));
    }
    service_stop();
    child_fini();
    if (loop)
        event_base_free(loop);
    return r;
}

// A router with its own run directory is not the host's router, so it has its own state too.
static const char *state_dir(const struct options *o)
{
    static struct text own;
    const char *given = getenv("STATE_DIRECTORY");

    if (o->state_dir)
        return o->state_dir;
    if (given && *given)
        return given;
    if (!strcmp(o->run_dir, RUN_DIR))
        return "/var/lib/kamuee";
    text_clear(&own);
    text_printf(&own, "%s/state", o->run_dir);
    return own.s;
}

static void allow_directory(enum file_use use, const char *dir, const char *below, mode_t make)
{
    struct text t = {0};

    text_printf(&t, "%s%s", dir, below);
    if (make)
        mkdir(t.s, make); // it may exist, or its parent may be read-only
    if (file_allow(use, t.s))
        log_warning("main: directory ignored, its path is not absolute: dir=%s", LOG_VALUE(t.s));
    text_free(&t);
}

// Allows the directories of files that the configuration may name
// (docs/features/security-files.md).
static void allow_files(const struct options *o)
{
    const char *slash = strrchr(o->config_path, '/');
    struct text beside = {0};

    text_printf(&beside, "%.*s", slash ? (int)(slash - o->config_path) : 0, o->config_path);
    if (slash > o->config_path && *o->config_path == '/')
        allow_directory(FILE_READ, beside.s, "", 0);
    text_free(&beside);
    allow_directory(FILE_READ, "/etc/kamuee", "", 0);
    allow_directory(FILE_READ, state_dir(o), "", 0);
    for (unsigned i = 0; o->file_dir[i]; i++)
        allow_directory(FILE_READ, o->file_dir[i], "", 0);
    allow_directory(FILE_DEVICE, o->run_dir, "/sockets", o->check ? 0 : 0755);
    allow_directory(FILE_DEVICE, state_dir(o), "/pcap", o->check ? 0 : 0750);
    for (unsigned i = 0; o->device_dir[i]; i++)
        allow_directory(FILE_DEVICE, o->device_dir[i], "", 0);
}

int main(int argc, char **argv)
{
    struct options o;
    struct mgmt_start cfg = {.log_level = LOG_LEVEL_INFO};
    char err[4096] = ""; // room for all errors of a configuration
    struct upgrade_given given = {0};
    int code;

    umask(umask(077) | 022); // no other user may write our files
    if (!options_parse(argc, argv, &o, &code))
        return code;
    if (o.upgrade && upgrade_take_begin(&given, err, sizeof err))
        return print_failure(EXIT_USAGE, err);
    if (o.memory_nodes)
        mem_nodes_set(o.memory_nodes);
    journal_start();
    service_report_work();
    if (!o.check)
        crash_start(&(struct crash_setup){.dir = state_dir(&o),
                                          .version = kamuee_version,
                                          .stage = stage_name,
                                          .n_stages = STAGE_N});
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    if (o.log_level >= 0)
        log_set_level((enum log_level)o.log_level);
    allow_files(&o);
    struct mgmt_files files = {.config = o.config_path,
                               .may_be_missing = !o.config_given,
                               .state_dir = o.check ? NULL : state_dir(&o),
                               .file_only = o.check || o.from_file,
                               .digest = given.digest,
                               .run_dir = o.run_dir};
    if (mgmt_load(&files, &cfg, err, sizeof err))
        return print_failure(EXIT_CONFIG, err);
    if (o.check) {
        printf("%s: the configuration is valid\n", o.config_path);
        return EXIT_OK;
    }
    if (o.log_level < 0)
        log_set_level((enum log_level)cfg.log_level);
    if (instance_check_machine(err, sizeof err))
        return print_failure(EXIT_MACHINE, err);
    int r = 0;
    if (o.upgrade)
        instance_take_lock(o.run_dir, given.lock);
    else
        r = instance_lock(o.run_dir, err, sizeof err);
    if (r)
        return print_failure(r == -EBUSY ? EXIT_RUNNING : EXIT_MACHINE, err);
    starter_know(argv);
    if ((r = starter_begin()))
        log_error("main: kamuee-starter not started, so no programs can run: error=%s",
                  LOG_VALUE(strerror(-r)));
    if (o.upgrade)
        keep_start_later(o.run_dir);
    else
        keep_start(o.run_dir);
    evthread_use_pthreads();
    if (run_modules(&o, &cfg, o.upgrade && !given.second, err, sizeof err))
        code = print_failure(EXIT_START, err);
    keep_end(code || service_restarts()); // a failed start loses nothing
    starter_end();
    instance_unlock();
    libevent_global_shutdown();
    return code;
}
