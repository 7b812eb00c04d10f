// SPDX-License-Identifier: BSD-3-Clause
// complete_source.h - live names for completion (extension k:complete); control role
#ifndef CONFIG_COMPLETE_SOURCE_H
#define CONFIG_COMPLETE_SOURCE_H

// Calls fn for each name of the source "port", "interface", "vr", "netns", "core", "netdev" or
// "kernel-interface".
void complete_source(const char *source, void (*fn)(void *ctx, const char *word, const char *help),
                     void *ctx);

#endif
