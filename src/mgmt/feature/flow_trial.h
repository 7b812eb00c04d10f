// SPDX-License-Identifier: BSD-3-Clause
// flow_trial.h - tries a commit on flows before it happens: which of them would fare otherwise?
//
//     input `flows` of an operation --flow_trial_ask--> trial --judge of a commit--> JSON, or
//     refusal
//
// Each flow becomes a packet, which passes the forwarder's stages (explain) twice: with the
// attributes in force, and with the attributes of the commit (table/trial.h). Control role.
#ifndef FEATURE_FLOW_TRIAL_H
#define FEATURE_FLOW_TRIAL_H

#include "base/vec.h"
#include "config/change.h"
#include "config/config.h"
#include "export/flow_sample.h"
#include "restconf/operation.h"
#include "table/trial.h"

struct flow_trial;

// *t: from the container `flows` of the input, NULL: there is none. False: the request has been
// refused.
bool flow_trial_ask(struct http *h, const struct lyd_node *op, struct flow_trial **t);
void flow_trial_free(struct flow_trial *t); // NULL is fine
// As struct commit's `judge`, with the trial. In a turn: pauses.
int flow_trial_judge(void *trial, const struct model *from, const struct model *to,
                     struct config_result *result, struct errors *e);

// --- flows.c -------------------------------------------------------------------------------------

// Writes the members of the grouping `flow` of kamuee.yang.
void flows_write(struct jwrite *j, const struct flow_total *t);

// --- flow_effect.c: effects of a change on interfaces --------------------------------------------

struct flow_effect_iface {
    bool goes, moves;                // is removed, or made anew; gets another virtual router
    const char *new_vr;              // it gets a virtual router without a table yet; NULL: no
    bool police[POLICER_DIRECTIONS]; // gets another policer
    const struct model_interface *to;
};

struct flow_effect {
    bool any; // the change affects some packets, as far as it is tried
    struct trial trial;
    struct trial_iface *tried;       // [IFACE_MAX], as in `trial`
    struct flow_effect_iface *iface; // [IFACE_MAX]
    struct {
        char name[ACL_NAME_SIZE];
        struct acl_content *content;
    } last;              // the list looked up last
    VEC(char *) missing; // parts of the change that are not tried
    struct change change;
};
void flow_effect_of(struct flow_effect *f, const struct model *from, const struct model *to);
void flow_effect_free(struct flow_effect *f);

#endif
