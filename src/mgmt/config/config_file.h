// SPDX-License-Identifier: BSD-3-Clause
// config_file.h - the configuration file: lines of 'set', for people and for the first start;
// control role
#ifndef CONFIG_CONFIG_FILE_H
#define CONFIG_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errors.h"

struct lyd_node;

void config_file_init(const char *path);
void config_file_fini(void);
const char *config_file(void);
uint64_t config_file_digest(void); // of the current content; 0: it cannot be read

// Reads the file as a tree, without checking it. A missing file is empty when `may_be_missing`.
// Retired settings are ignored, with a warning unless `silent`. 0, or -errno with errors.
int config_read_file(bool may_be_missing, bool silent, struct lyd_node **candidate,
                     struct errors *e);
// Writes the tree to the file, completely or not at all. 0 or -errno with a sentence.
int config_save(const struct lyd_node *tree, char *err, size_t err_size);

#endif
