// SPDX-License-Identifier: BSD-3-Clause
// system.h - settings of the process as a whole; control role
#ifndef FEATURE_SYSTEM_H
#define FEATURE_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "config/model.h"

struct model_system {
    unsigned memory_mib; // 0 = chosen from the host's memory
    bool no_huge;
    int log_level;           // enum log_level
    uint32_t receive_buffer; // of netlink, bytes
};
const struct model_system *model_system(const struct model *m);

#endif
