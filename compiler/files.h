// SPDX-License-Identifier: BSD-3-Clause
// files.h - sources that are compiled into each program, embedded in kamuee-program
//
// The build (tools/embed) makes them from src/data/program/*.h and programs/object, so that the
// compiled text does not depend on files of the machine. Used by build.c.
#ifndef COMPILER_FILES_H
#define COMPILER_FILES_H

#include <stddef.h>

extern const unsigned char files_program_h[], files_object_h[], files_wasm_rt_h[],
    files_prelude_h[], files_object_c[];
extern const size_t files_program_h_size, files_object_h_size, files_wasm_rt_h_size,
    files_prelude_h_size, files_object_c_size;

#endif
