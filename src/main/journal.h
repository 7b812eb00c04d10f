// SPDX-License-Identifier: BSD-3-Clause
// journal.h - log lines as fields of the systemd journal, when stderr leads there
#ifndef MAIN_JOURNAL_H
#define MAIN_JOURNAL_H

void journal_start(void); // before other threads; nothing when stderr is not the journal's

#endif
