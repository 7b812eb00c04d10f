// SPDX-License-Identifier: BSD-3-Clause
// fake_config.h - random configurations, for unit tests of mgmt
#ifndef CONFIG_FAKE_FAKE_CONFIG_H
#define CONFIG_FAKE_FAKE_CONFIG_H

#include "base/text.h"

// Makes `t` a valid configuration of a few ports, vports, virtual routers and threads, by rand().
void fake_config(struct text *t);

#endif
