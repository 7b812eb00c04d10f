// SPDX-License-Identifier: BSD-3-Clause
// forwarding.h - settings of all interfaces; control role
#ifndef FEATURE_FORWARDING_H
#define FEATURE_FORWARDING_H

#include "config/model.h"
#include "feature/acl_binding.h"

// Access lists of interfaces whose virtual router has no lists either.
const struct acl_binding *model_default_acls(const struct model *m);

#endif
