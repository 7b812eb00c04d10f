// SPDX-License-Identifier: BSD-3-Clause
// version.c - see version.h; the values are meson.build's
#include "base/version.h"

const char kamuee_version[] = KAMUEE_VERSION;
const char kamuee_commit[] = KAMUEE_COMMIT;
const char kamuee_build[] = KAMUEE_BUILD;
const char kamuee_libyang[] = KAMUEE_LIBYANG;
