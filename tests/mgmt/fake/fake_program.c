// SPDX-License-Identifier: BSD-3-Clause
// fake_program.c - programs that are only recorded, for unit tests of mgmt
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "program_manager/program_manager.h"
#include "fake/fake_call.h"
#include "fake/fake_managers.h"

static VEC(struct program_config) programs;
static const struct program_declared declared = {
    .n_counters = 1, .n_reasons = 1, .counter = {"seen"}, .reason = {"unwanted"}};

static struct program_config *find(const char *name)
{
    vec_foreach (&programs, p)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

void fake_program_reset(void)
{
    programs.n = 0;
}

int program_manager_add(const struct program_config *c, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "add-program", c->name);

    bug_on(find(c->name));
    if (!r)
        *vec_push(&programs) = *c;
    return r;
}

int program_manager_change(const struct program_config *c, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "change-program", c->name);

    bug_on(!find(c->name));
    if (!r)
        *find(c->name) = *c;
    return r;
}

void program_manager_del(const char *name)
{
    char err[8];

    fake_called(err, sizeof err, "del-program", name);
    bug_on(!find(name));
    *find(name) = programs.item[--programs.n];
}

int program_manager_replace(const char *name, char *err, size_t err_size)
{
    int r = find(name) ? fake_called(err, err_size, "replace-program", name) : -ENOENT;

    if (!find(name))
        snprintf(err, err_size, "there is no program %s", name);
    return r;
}

int program_manager_check(const struct program_config *c, char *err, size_t err_size)
{
    return fake_called(err, err_size, "check-program", c->name);
}

int program_trust_set(const struct program_signers *s, char *err, size_t err_size)
{
    return fake_called(err, err_size, "set-program-signer", s->n ? s->signer[0].key : "none");
}

bool program_manager_at(unsigned i, struct program_status *s)
{
    if (i >= programs.n)
        return false;
    *s = (struct program_status){.config = &programs.item[i],
                                 .declared = &declared,
                                 .source_hash = "ab12",
                                 .signer = "build",
                                 .instructions = 40,
                                 .count = {.packets = 7,
                                           .timed_packets = 2,
                                           .timed_cycles = 30,
                                           .verdict = {[KAMUEE_CONTINUE] = 6, [KAMUEE_DROP] = 1},
                                           .reason = {1},
                                           .counter = {7}},
                                 .loads = 1};
    return true;
}

bool program_manager_find(const char *name, struct program_status *s)
{
    for (unsigned i = 0; program_manager_at(i, s); i++)
        if (!strcmp(s->config->name, name))
            return true;
    return false;
}
