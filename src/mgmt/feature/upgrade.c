// SPDX-License-Identifier: BSD-3-Clause
// upgrade.c - the operation and the state of an upgrade (upgrade.h)
//
// An upgrade itself is in main/, above this folder: main registers the function that begins one,
// and writes upgrade_state as it advances.
#include "feature/upgrade.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/thread.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/operation.h"
#include "restconf/state.h"

struct upgrade_state upgrade_state;
static int (*begin_upgrade)(const char *binary, char *err, size_t err_size);

void upgrade_by(int (*begin)(const char *binary, char *err, size_t err_size))
{
    thread_must_be(ROLE_CONTROL);
    begin_upgrade = begin;
}

bool upgrade_runs(void)
{
    const char *phase = upgrade_state.phase;

    return phase && strcmp(phase, "done") && strcmp(phase, "failed");
}

static void run_upgrade(struct http *h, const struct lyd_node *op)
{
    char err[1024] = "this version of kamueed does not support upgrades";
    int r = begin_upgrade ? begin_upgrade(operation_input(op, "binary"), err, sizeof err) : -1;

    if (r) {
        http_refuse(h, 409, "resource-denied", "%s", err);
        return;
    }
    log_notice("upgrade: begun: by=%s binary=%s", LOG_VALUE(http_peer(h)),
               LOG_VALUE(upgrade_state.binary));
    http_reply(h, 204, NULL, NULL);
}

static void write_port(struct jwrite *j, const struct upgrade_port_state *p)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", p->name);
    if (p->blocked_known)
        jwrite_int(j, "blocked", (int64_t)((p->blocked_ns + NS_PER_US - 1) / NS_PER_US));
    jwrite_int(j, "discarded", (int64_t)p->discarded);
    jwrite_end(j, '}');
}

static void write_upgrade(struct jwrite *j)
{
    const struct upgrade_state *u = &upgrade_state;

    jwrite_string(j, "phase", u->phase ? u->phase : "none");
    if (!u->phase)
        return;
    jwrite_time(j, "time", u->time_ns);
    jwrite_string_any(j, "why", u->why);
    jwrite_string(j, "binary", u->binary);
    jwrite_string_any(j, "from", u->from);
    jwrite_string_any(j, "to", u->to);
    jwrite_int(j, "took", (int64_t)(u->took_ns / NS_PER_MS));
    jwrite_int(j, "audited", (int64_t)u->audited);
    jwrite_int(j, "lookups", (int64_t)u->lookups);
    jwrite_begin(j, "port", '[');
    for (unsigned i = 0; i < u->n_ports; i++)
        write_port(j, &u->port[i]);
    jwrite_end(j, ']');
}

const struct feature upgrade_feature = {
    "upgrade",
    .state = (const struct feature_state[]){{"upgrade", .object = write_upgrade}, {0}},
    .operations = (const struct feature_operation[]){{"upgrade", .run = run_upgrade}, {0}},
};
