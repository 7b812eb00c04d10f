// SPDX-License-Identifier: BSD-3-Clause
// file.h - file access: allowed directories, reading, and crash-safe writing
//
// A configuration names files, and kamueed may run as root. So it reads them only below the
// directories given at start (kamueed --file-dir). --device-dir is the same for device sockets and
// captures, which are written.
//
// A write has two steps: file_prepare, which can fail for lack of space, and file_keep, one rename
// that puts it into effect; a crash leaves the old or the new file. Control role.
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/stat.h>

#include "base/text.h"

#define FILE_MAX (64u << 20) // bytes

enum file_use {
    FILE_READ,   // lists, sets, tokens, certificates
    FILE_DEVICE, // sockets and captures of devices: created and written
    FILE_USES,
};

// Allows a directory and everything below it. Call before other threads start. With no directory,
// everything is allowed (tests). -EINVAL: the path does not begin with '/', or there are too many.
int file_allow(enum file_use use, const char *dir);
void file_allow_none(void);
bool file_allowed(enum file_use use, const char *path);     // the path as written
bool file_allowed_new(enum file_use use, const char *path); // it need not exist; no symlink
const char *file_places(enum file_use use, char *buf, size_t n); // a list for error messages

// Opens a regular file of at most `max` bytes for reading. Returns the descriptor, -EISDIR, -EFBIG,
// -EINVAL if it is another type of file, or another -errno. _named: for a path from the
// configuration; -EXDEV if it is outside the allowed directories.
int file_open(const char *path, uint64_t max, struct stat *st);
int file_open_named(const char *path, uint64_t max, struct stat *st);
void file_why(int e, char *why, size_t n); // "cannot be read: …", with the remedy

int file_read(const char *path, struct text *t); // appends; 0, -EFBIG, or another -errno
int file_write(int fd, const void *bytes, size_t n); // all of them; 0 or -errno

// Writes PATH.new, with mode and owner of PATH or 0640, and syncs it. 0 or -errno; on failure
// PATH.new is removed.
int file_prepare(const char *path, const struct text *t);
int file_keep(const char *path);  // renames PATH.new to PATH, or removes it. 0 or -errno
void file_drop(const char *path); // removes PATH.new
// Syncs the file's directory, so that renames reach the disk; a failure costs only durability.
void file_sync_directory(const char *path);

#endif
