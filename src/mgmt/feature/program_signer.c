// SPDX-License-Identifier: BSD-3-Clause
// program_signer.c - signers whose packet programs kamueed loads, and their public keys
//
// Signers take effect before any program of the same change is loaded. A change of signers first
// checks each program of the new configuration, so that it can be refused before anything has
// changed.
#include <string.h>

#include "config/feature_config.h"
#include "config/leaf.h"
#include "feature/program.h"
#include "mgmt/feature.h"
#include "program_manager/program_load.h"

struct model_signers {
    struct program_signers signers; // sorted by name
};

static const struct program_signers *signers_of(const struct model *m)
{
    return &((const struct model_signers *)m->part[FEATURE_program_signer])->signers;
}

static void read_signer(struct model *m, const struct lyd_node *entry)
{
    struct program_signers *s = &((struct model_signers *)m->part[FEATURE_program_signer])->signers;
    const struct lyd_node *first = lyd_child(entry);

    leaf_copy(s->signer[s->n].name, sizeof s->signer->name, first, "name", "");
    leaf_copy(s->signer[s->n++].key, sizeof s->signer->key, first, "key", "");
}

static void read_signers(struct model *m, const struct lyd_node *tree, const struct model *known,
                         struct errors *e)
{
    model_read_list(m, tree, NULL, "program-signer", read_signer);
}

static int run_signers(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return program_trust_set(to, err, n);
}

static const struct step_kind signers_kind = {"program-signer", run_signers};

// There is nothing to undo.
static int run_check(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return to ? program_manager_check(to, err, n) : 0;
}

static const struct step_kind check_kind = {"signature of program", run_check};

static void plan_signers(struct change *c)
{
    const struct program_signers *from = signers_of(c->from), *to = signers_of(c->to);

    if (!memcmp(from, to, sizeof *to)) // padding is zero
        return;
    step_add(c, &signers_kind, "", from, to, 0);
    vec_foreach (&programs_of(c->to)->program, p)
        step_add(c, &check_kind, p->config.name, NULL, &p->config, p->line);
}

static const struct feature_config program_signer_config = {
    .part_size = sizeof(struct model_signers),
    .read = read_signers,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_signers}, {0}},
};

const struct feature program_signer_feature = {
    "program_signer",
    .config = &program_signer_config,
};
