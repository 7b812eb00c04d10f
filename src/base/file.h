// SPDX-License-Identifier: BSD-3-Clause
// file.h - whole files: read, and written so that a crash leaves the old one or the new one
//
// Writing has two halves, so that what may fail for lack of room (file_prepare) happens before anything else does, and
// what makes it count is one rename (file_keep). Control role.
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/text.h"

#define FILE_MAX (64u << 20) // bytes

int file_read(const char *path, struct text *t); // appends; 0, -EFBIG, or another -errno

// Writes PATH.new, with mode and owner of PATH or 0640, and syncs it. 0 or -errno; then nothing is left behind.
int file_prepare(const char *path, const struct text *t);
int file_keep(const char *path);  // PATH.new becomes PATH. 0 or -errno; then PATH.new is gone
void file_drop(const char *path); // PATH.new goes
void file_sync_directory(const char *path); // of the file: renames reach the disk; a failure costs only durability

#endif
