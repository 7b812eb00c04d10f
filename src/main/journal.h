// SPDX-License-Identifier: BSD-3-Clause
// journal.h - sends log lines with their fields to the systemd journal, if stderr is connected to
// it
#ifndef MAIN_JOURNAL_H
#define MAIN_JOURNAL_H

void journal_start(void); // before other threads start

#endif
