// SPDX-License-Identifier: BSD-3-Clause
// log_recent.h - the last lines of the log, for the crash note (core/crash.h)
#ifndef BASE_LOG_RECENT_H
#define BASE_LOG_RECENT_H

#define LOG_RECENT 24
#define LOG_RECENT_BYTES 256 // a longer line is cut

// The i-th recent line, oldest first; "" if there are fewer. Any thread, also in a signal handler.
// While threads log, it may mix parts of two lines.
const char *log_recent(unsigned i);

#endif
