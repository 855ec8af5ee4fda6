// The layout of packed files, which save.c writes and packed_file.c reads. Private to src/rt/load.
//
// A header of 64 bytes, all numbers little-endian: "SCPACKED", u32 format, u32 zero, u64 bytes of
// the directory, u64 bytes of the whole file, u64 sum of the directory. Then follows the directory
// (schema/packed.fbs). Its offsets count from its end, rounded up to 64.
#ifndef SC_RT_LOAD_PACKED_FILE_H
#define SC_RT_LOAD_PACKED_FILE_H

#include "format/magic.h"
#include "packed_fbs.h"
#include "rt/rt.h"

enum { SC_RT_PACKED_FORMAT = 1, SC_RT_PACKED_HEAD = 64, SC_RT_PACKED_ALIGN = 64 };

// The version of Sconce and the layout of its packed weights.
sc_str sc_rt_packed_version(void);
sc_str sc_rt_packed_layout(void);

#endif
