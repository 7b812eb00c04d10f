// SPDX-License-Identifier: BSD-3-Clause
// mgmt.c - start, reload and stop of management, called by main/
//
//     mgmt_load   reads and checks schema and file; changes nothing, DPDK does not run yet
//     mgmt_start  applies the checked configuration, then opens the socket
//     mgmt_reload applies the file again, as one transaction
#include "server/mgmt.h"

#include <errno.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/candidate.h"
#include "config/change.h"
#include "config/config.h"
#include "config/config_confirm.h"
#include "config/config_edit.h"
#include "config/feature_config.h"
#include "config/revision.h"
#include "core/aside.h"
#include "core/thread.h"
#include "feature/acl.h"
#include "feature/drain.h"
#include "http/api.h"
#include "http/http.h"
#include "http/http_listen.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/restconf.h"
#include "saved/saved_state.h"
#include "server/running.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

#define READ_BYTE_NS 1000 // approximate time for reading and checking a configuration of many rules

static struct lyd_node *loaded; // between mgmt_load and mgmt_start
static struct model *loaded_model;
static struct text source;      // its source file

// As many errors as fit, in whole lines.
static void say_errors(struct errors *e, const char *file, char *err, size_t err_size)
{
    struct text t = {0};

    errors_text(e, file, &t);
    if (t.n >= err_size && err_size > 8) {
        size_t n = err_size - 8;

        while (n && t.s[n] != '\n')
            n--;
        if (n)
            memcpy(t.s + n, "\n…", sizeof "\n…");
    }
    snprintf(err, err_size, "%s", text_str(&t));
    text_free(&t);
    errors_free(e);
}

// If the last commit is at fault, also tells how to start without it.
static void say_start_errors(struct errors *e, char *err, size_t err_size)
{
    if (strcmp(text_str(&source), config_file()))
        errors_add(e, 0,
                   "this is the last commit; to start with %s instead, change that file or use "
                   "--from-file",
                   config_file());
    say_errors(e, text_str(&source), err, err_size);
}

static void note_start(const struct model *m, struct mgmt_start *start)
{
    const struct model_system *s = model_system(m);

    start->memory_mib = s->memory_mib;
    start->no_huge = s->no_huge;
    start->log_level = s->log_level;
}

static uint64_t digest_of(const struct lyd_node *tree)
{
    struct text t = {0};

    config_print(tree, &t);
    uint64_t digest = hash_bytes(text_str(&t), t.n, 1) | 1;
    text_free(&t);
    return digest;
}

// Is `loaded` the running configuration, apart from retired settings, which the digest of a former
// version includes?
static bool is_running(const struct mgmt_files *files)
{
    uint64_t digest = digest_of(loaded);
    struct lyd_node *tree = NULL;
    struct errors e = {0};
    struct text t = {0};

    if (digest != files->digest && running_lines(files->run_dir, &t)) {
        config_read_kept(&tree, text_str(&t), NULL, &e);
        digest = !e.n && digest_of(tree) == digest ? files->digest : 0;
    }
    lyd_free_all(tree);
    errors_free(&e);
    text_free(&t);
    return digest == files->digest;
}

int mgmt_load(const struct mgmt_files *files, struct mgmt_start *start, char *err, size_t err_size)
{
    struct errors e = {0};
    int r;

    thread_must_be(ROLE_CONTROL);
    r = yang_load(err, err_size);
    if (r)
        return r;
    config_init(files->config, files->state_dir);
    text_clear(&source);
    struct progress w;
    struct stat file = {0};
    stat(config_file(), &file);
    progress_begin(&w, (uint64_t)file.st_size * READ_BYTE_NS, "config: reading: file=%s bytes=%lld",
               LOG_VALUE(config_file()), (long long)file.st_size);
    r = config_read_start(files->may_be_missing, files->file_only, &loaded, &e, &source);
    if (!r) {
        loaded_model = config_model_of(&loaded, &e);
        note_start(loaded_model, start);
        r = e.n ? -EINVAL : 0;
    }
    if (!r && files->digest && !is_running(files)) {
        errors_add(&e, 0,
                   "the running configuration is another one than this, with which the new kamueed "
                   "would start: take it over (kamuee reload: systemctl reload kamueed), or save "
                   "the running one (kamuee save)");
        r = -EINVAL;
    }
    progress_end(&w, "config: read: file=%s", LOG_VALUE(text_str(&source)));
    if (r)
        say_start_errors(&e, err, err_size);
    return r;
}

static void begin_values(const struct feature_config *f, const char *part)
{
    char err[256] = "";

    for (const struct feature_value *v = f->values; v && v->size; v++)
        if (v->begins && v->step.run(NULL, NULL, part + v->at, err, sizeof err))
            log_warning("mgmt: not set at the start: why=%s", LOG_VALUE(err));
}

// Passes the empty configuration to the features, since a change passes only differences from it.
static void begin_features(void)
{
    for (unsigned i = 0; i < FEATURE_N; i++)
        if (features[i]->config)
            begin_values(features[i]->config, config_model()->part[i]);
}

static void serve(struct event_base *loop)
{
    http_serve(VIA_API, restconf_answer);
    http_ask_role(restconf_needs);
    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->start)
            features[f]->start(loop);
}

int mgmt_start(struct event_base *loop, const char *run_dir, char *err, size_t err_size)
{
    struct errors e = {0};
    int r;

    thread_must_be(ROLE_CONTROL);
    r = http_init(loop, run_dir); // the configuration may open the proxy's socket
    r = r ? r : aside_start(loop);
    if (r) {
        snprintf(err, err_size, "no memory or thread for the RESTCONF server: %s", strerror(-r));
        return r;
    }
    serve(loop);
    begin_features();
    enum log_level level = log_get_level(); // set by main, perhaps from its command line
    confirm_init(loop);
    r = config_start(loaded, loaded_model, &e);
    loaded = NULL;
    loaded_model = NULL;
    log_set_level(level);
    if (r) {
        say_start_errors(&e, err, err_size);
        return r;
    }
    saved_state_restore(revision_dir());
    r = restconf_start(err, err_size);
    if (r)
        return r;
    if (!model_ports(config_model())->port.n)
        log_notice("mgmt: no ports are configured, so nothing is forwarded; for example: kamuee "
                   "set port p0 kernel-interface eth1");
    return 0;
}

static void read_files(void)
{
    struct errors e = {0};
    struct text t = {0};

    if (acl_reload("", "", &e)) {
        errors_text(&e, NULL, &t);
        log_error(
            "config: files of access lists and address sets not reloaded, keeping the old ones: %s",
            LOG_VALUE(text_str(&t)));
    }
    text_free(&t);
    errors_free(&e);
}

int mgmt_reload(char *err, size_t err_size)
{
    struct config_result result = {0};
    struct errors e = {0};
    struct lyd_node *candidate = NULL;
    int r;

    thread_must_be(ROLE_CONTROL);
    r = config_edited(NULL, &(struct config_edit){.file = true}, &candidate, &e);
    if (!r)
        r = config_commit(candidate, &(struct commit){.by = config_file(), .comment = "reload"},
                          &result, &e);
    for (unsigned i = 0; i < result.notes.n; i++)
        log_notice("config: %s", result.notes.item[i].sentence);
    config_result_free(&result);
    if (r)
        say_errors(&e, config_file(), err, err_size);
    else
        r = api_renew(err, err_size);
    if (!r)
        read_files();
    return r;
}

uint32_t mgmt_drain(void (*done)(void))
{
    return drain_begin(done);
}

void mgmt_save(void)
{
    saved_state_write(revision_dir());
}

// --- an upgrade ----------------------------------------------------------------------------------

uint64_t mgmt_digest(void)
{
    return digest_of(config_running());
}

uint64_t mgmt_version(void)
{
    return config_version();
}

bool mgmt_commit_waits(void)
{
    return confirm_waiting();
}

int mgmt_save_text(struct text *t)
{
    return saved_state_text(t);
}

const char *mgmt_take_text(const struct text *t)
{
    return saved_state_take(t);
}

void mgmt_give_listeners(void (*fn)(int fd))
{
    http_give(fn);
}

void mgmt_offer_listener(int fd)
{
    http_offer(fd);
}

void mgmt_hold_listeners(bool on)
{
    http_hold(on);
}

static void (*end_instead)(const char *sentence);

static void say_and_end(const struct errors *e)
{
    struct text t = {0};

    errors_text(e, text_str(&source), &t);
    end_instead(text_str(&t));
    text_free(&t);
}

void mgmt_instead_of_undo(void (*fn)(const char *sentence))
{
    end_instead = fn;
    change_instead_of_undo(fn ? say_and_end : NULL);
}

void mgmt_stop(void)
{
    thread_must_be(ROLE_CONTROL);
    aside_stop();
    restconf_stop();
    for (unsigned f = FEATURE_N; f--;)
        if (features[f]->stop)
            features[f]->stop();
    api_fini();
    http_fini();
    lyd_free_all(loaded);
    model_free(loaded_model);
    loaded = NULL;
    loaded_model = NULL;
    text_free(&source);
    candidates_end();
    config_fini();
    yang_unload();
}
