// SPDX-License-Identifier: BSD-3-Clause
// machine.h - whether this machine has what a configuration names: cores, devices, namespaces,
// memory; control role
#ifndef CONFIG_MACHINE_H
#define CONFIG_MACHINE_H

#include "base/errors.h"
#include "model/model.h"

// Adds to `e` what `to` asks for that is not there. Only what `from` does not ask for already is
// looked at: what has gone away since need not hinder other changes. What the machine does not tell
// is not refused.
void machine_check(const struct model *from, const struct model *to, struct errors *e);
// Adds to `notes` what else a change does to the machine, and what is worth knowing of it.
void machine_notes(const struct model *from, const struct model *to, struct errors *notes);

// Where /sys, /proc and /run are looked for: "" on a machine; NULL: nowhere, everything is there.
void machine_set_root(const char *root);

#endif
