// SPDX-License-Identifier: BSD-3-Clause
// files.h - sources that go into each program, as bytes of kamuee-program itself
//
// Made by the build (tools/embed) of src/data/program/*.h and programs/object, so that what
// is compiled does not depend on what lies on the machine. Used by build.c.
#ifndef PROGRAM_BUILD_FILES_H
#define PROGRAM_BUILD_FILES_H

#include <stddef.h>

extern const unsigned char files_program_h[], files_object_h[], files_wasm_rt_h[],
    files_prelude_h[], files_object_c[];
extern const size_t files_program_h_size, files_object_h_size, files_wasm_rt_h_size,
    files_prelude_h_size, files_object_c_size;

#endif
