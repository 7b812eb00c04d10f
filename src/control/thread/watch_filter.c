// SPDX-License-Identifier: BSD-3-Clause
// watch_filter.c - compiles filter expressions on a thread of their own
//
// libpcap may ask a name server, so a detached thread compiles the text and posts the job back;
// control turns it into DPDK's program and calls `done`. If kamueed stops meanwhile, the thread
// frees the job itself. A program that cannot be compiled to machine code is interpreted.
#define ALLOW_EXPERIMENTAL_API // rte_bpf_convert
#include "thread/watch_manager.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <pthread.h>
#include <rte_bpf.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/mailbox.h"
#include "core/thread.h"

#define FRAME_BYTES_MAX 65535
#define RETRY_US 10000

struct filter_job {
    char text[WATCH_FILTER_MAX + 1];
    struct bpf_program program;
    bool compiled;
    char why[PCAP_ERRBUF_SIZE + 64];
    void (*done)(void *ctx, struct watch_filter *f, const char *why);
    void *ctx;
};

// Converts the compiled program to DPDK's. NULL with job->why.
static struct watch_filter *load_filter(struct filter_job *job)
{
    struct watch_filter *f = calloc(1, sizeof *f);
    struct rte_bpf_prm *prm = rte_bpf_convert(&job->program);
    struct rte_bpf_jit jit = {0};

    bug_on(!f);
    f->bpf = prm ? rte_bpf_load(prm) : NULL;
    if (!f->bpf) {
        snprintf(job->why, sizeof job->why, "it cannot be used here: %s", rte_strerror(rte_errno));
        rte_free(prm);
        free(f);
        return NULL;
    }
    rte_free(prm);
    if (!rte_bpf_get_jit(f->bpf, &jit))
        f->code = jit.func;
    return f;
}

static void finish_job(void *arg)
{
    struct filter_job *job = arg;
    struct watch_filter *f = job->compiled ? load_filter(job) : NULL;

    if (job->compiled)
        pcap_freecode(&job->program);
    job->done(job->ctx, f, job->why);
    free(job);
}

static void *compile_filter(void *arg)
{
    struct filter_job *job = arg;
    pcap_t *p = pcap_open_dead(DLT_EN10MB, FRAME_BYTES_MAX);

    if (p && !pcap_compile(p, &job->program, job->text, 1, PCAP_NETMASK_UNKNOWN))
        job->compiled = true;
    else
        snprintf(job->why, sizeof job->why, "%s", p ? pcap_geterr(p) : "no memory");
    if (p)
        pcap_close(p);
    int r;
    while ((r = mailbox_post(ROLE_CONTROL, finish_job, job)) == -EAGAIN)
        usleep(RETRY_US);
    if (r) { // kamueed is stopping
        if (job->compiled)
            pcap_freecode(&job->program);
        free(job);
    }
    return NULL;
}

int watch_filter_compile(const char *text,
                         void (*done)(void *ctx, struct watch_filter *f, const char *why),
                         void *ctx)
{
    pthread_attr_t detached;
    pthread_t thread;

    thread_must_be(ROLE_CONTROL);
    if (strlen(text) > WATCH_FILTER_MAX)
        return -E2BIG;
    struct filter_job *job = calloc(1, sizeof *job);
    if (!job)
        return -ENOMEM;
    strcpy(job->text, text);
    job->done = done;
    job->ctx = ctx;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int r = -pthread_create(&thread, &detached, compile_filter, job);
    pthread_attr_destroy(&detached);
    if (r)
        free(job);
    return r;
}

void watch_filter_free(struct watch_filter *f)
{
    if (!f)
        return;
    rte_bpf_destroy(f->bpf);
    free(f);
}
