// SPDX-License-Identifier: BSD-3-Clause
// config_fixture.h - for tests of the configuration: the control thread with the schema and fakes
#ifndef MGMT_CONFIG_FIXTURE_H
#define MGMT_CONFIG_FIXTURE_H

// For a group of tests; a program of tests without a main() has them.
int schema_set_up(void **state);
int schema_tear_down(void **state);

#endif
