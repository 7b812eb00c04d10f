// SPDX-License-Identifier: BSD-3-Clause
// trial.c - gives explain's packet the attributes that a commit would give (table/trial.h)
//
// An entry of the interface table is filled with a copy of the real interface, whose id it keeps,
// and with the attributes of the trial: one entry for the input, one for the output. Runs on
// control's thread, for explain only: bursts have one packet.
#include "forwarder/checks.h"
#include "forwarder/stages.h"
#include "program/set.h"
#include "table/trial.h"
#include "forwarder/forbidden.h"

static const unsigned tried_flags =
    IFACE_ACL_IN | IFACE_ACL_OUT | IFACE_URPF4 | IFACE_URPF6 | IFACE_POLICE | IFACE_PROGRAM;

static uint16_t list_of(const struct trial_list *l, unsigned entry)
{
    if (!l->content)
        return l->id;
    rcu_publish(&acl_table[ACL_TRIAL + entry].content, l->content);
    return (uint16_t)(ACL_TRIAL + entry);
}

static uint8_t police_of(const struct trial_iface *t, uint16_t entry)
{
    uint8_t police = 0;

    for (enum policer_direction d = 0; d < POLICER_DIRECTIONS; d++)
        if (t->police[d] && !policer_try(entry, d, t->police[d]))
            police |= d == POLICER_IN ? IFACE_POLICE_IN : IFACE_POLICE_OUT;
    return police;
}

// Returns the entry with the attributes of interface `id`, or `id` if they are those in force.
static uint16_t lay(const struct forwarder *f, uint16_t id, unsigned way)
{
    const struct trial_iface *t = f->trial->iface ? &f->trial->iface[id] : NULL;
    const uint16_t entry = (uint16_t)(IFACE_TRIAL + way);
    struct iface *i = iface_get(entry);

    if (!t || !t->differs)
        return id;
    *i = *iface_get(id);
    i->kind = IFACE_NONE; // the entry is no interface for others
    i->vr = t->vr & (VR_MAX - 1);
    memcpy(i->policy.urpf, t->urpf, sizeof i->policy.urpf);
    i->acl_in = list_of(&t->list[0], 0);
    i->acl_out = list_of(&t->list[1], 1);
    i->police = (uint8_t)((i->police & IFACE_PCP_CLASS) | police_of(t, entry));
    iface_put_flags(
        i, tried_flags,
        (i->acl_in ? IFACE_ACL_IN : 0) | IFACE_ACL_OUT |
            (t->urpf[0] & URPF_MODE ? IFACE_URPF4 : 0) |
            (t->urpf[1] & URPF_MODE ? IFACE_URPF6 : 0) |
            (i->police & (IFACE_POLICE_IN | IFACE_PCP_CLASS) ? IFACE_POLICE : 0) |
            (program_set_of(t->vr, PROGRAM_ETHER) || program_set_of(t->vr, PROGRAM_INPUT)
                 ? IFACE_PROGRAM
                 : 0));
    return entry;
}

void trial_in(struct forwarder *f, struct burst *b)
{
    if (!b->n)
        return;
    b->iface[0] = lay(f, b->iface[0], 0);
    b->features = 0;
    burst_set_iface(b, 0, iface_get(b->iface[0]));
    b->features |= IFACE_ACL_OUT;
}

void trial_in_over(struct burst *b)
{
    if (b->n)
        b->iface[0] = iface_get(b->iface[0])->id;
}

uint16_t trial_out(struct forwarder *f, uint16_t id)
{
    return lay(f, id, 1);
}

void trial_checks_out(struct forwarder *f, struct burst *b)
{
    if (!checks_out_one(f, b, 0, nexthop_word_iface(b->word[0])))
        burst_remove(b, 1);
}

void trial_end(void)
{
    memset(iface_get(IFACE_TRIAL), 0, (IFACE_MAX - IFACE_TRIAL) * sizeof(struct iface));
    for (unsigned entry = 0; entry < 2; entry++)
        rcu_publish(&acl_table[ACL_TRIAL + entry].content, NULL);
}
