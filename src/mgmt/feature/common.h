// SPDX-License-Identifier: BSD-3-Clause
// common.h - the engines that every feature uses: configuration, state, metrics, operations
//
// A feature includes it before the managers and tables of its word.
#ifndef FEATURE_COMMON_H
#define FEATURE_COMMON_H

#include <errno.h>
#include <inttypes.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "config/config_running.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

#endif
