// SPDX-License-Identifier: BSD-3-Clause
// features.c - the table of features, from features.def
#include "mgmt/feature.h"

#define FEATURE(word) extern const struct feature word##_feature;
#include "mgmt/features.def"
#undef FEATURE

const struct feature *const features[FEATURE_N] = {
#define FEATURE(word) [FEATURE_##word] = &word##_feature,
#include "mgmt/features.def"
#undef FEATURE
};
