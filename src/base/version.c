// SPDX-License-Identifier: BSD-3-Clause
// version.c - see version.h
#include "base/version.h"

const char kamuee_version[] = KAMUEE_VERSION;
