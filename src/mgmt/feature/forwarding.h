// SPDX-License-Identifier: BSD-3-Clause
// forwarding.h - what a configuration says of all interfaces at once; control role
#ifndef FEATURE_FORWARDING_H
#define FEATURE_FORWARDING_H

#include "config/model.h"
#include "feature/acl_binding.h"

// Of interfaces whose virtual router has none either.
const struct acl_binding *model_default_acls(const struct model *m);

#endif
