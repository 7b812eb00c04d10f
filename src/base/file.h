// SPDX-License-Identifier: BSD-3-Clause
// file.h - files: where they may lie; reading, and writing so that a crash leaves the old or the
// new
//
// A configuration names files, and kamueed is root: so it reads only below directories that are
// stated at the start (kamueed --file-dir); --device-dir is the same for sockets and captures of
// devices, which are written.
//
// Writing has two halves: file_prepare, which may fail for lack of room, and file_keep, one rename
// that makes it count. Control role.
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/stat.h>

#include "base/text.h"

#define FILE_MAX (64u << 20) // bytes

enum file_use {
    FILE_READ,   // lists, sets, tokens, certificates
    FILE_DEVICE, // sockets and captures of devices: made and written
    FILE_USES,
};

// A directory, with what lies below it. Before other threads start. Where none is stated everything
// is allowed (tests).
// -EINVAL: it does not begin with '/', or they are too many.
int file_allow(enum file_use use, const char *dir);
void file_allow_none(void);
bool file_allowed(enum file_use use, const char *path);     // as it is written
bool file_allowed_new(enum file_use use, const char *path); // it may not be there yet; no link
const char *file_places(enum file_use use, char *buf, size_t n); // the directories, for an error

// Opens a regular file of at most so many bytes for reading, and nothing else. The descriptor, or
// -EINVAL: something else, -EISDIR, -EFBIG or another -errno. _named: that the configuration names;
// -EXDEV: not below a stated directory.
int file_open(const char *path, uint64_t max, struct stat *st);
int file_open_named(const char *path, uint64_t max, struct stat *st);
void file_why(int e, char *why, size_t n); // "cannot be read: …", with the remedy

int file_read(const char *path, struct text *t); // appends; 0, -EFBIG, or another -errno

// Writes PATH.new, with mode and owner of PATH or 0640, and syncs it. 0 or -errno; then nothing is
// left behind.
int file_prepare(const char *path, const struct text *t);
int file_keep(const char *path);  // PATH.new becomes PATH. 0 or -errno; then PATH.new is gone
void file_drop(const char *path); // PATH.new goes
// Of the file: renames reach the disk; a failure costs only durability.
void file_sync_directory(const char *path);

#endif
