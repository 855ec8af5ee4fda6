// Shared by the files of the module's surface. Each exported function unpacks its arguments, calls
// the core and hands the result back. wasm_<name> is <name> in JavaScript; wasm/abigen.mjs turns
// the heads of the functions in exports*.c and the comments above them into TypeScript. Job
// pointers come from outside and are checked; other pointers lie in memory that the host got from
// memory_alloc.
//
// Types: void, bool, int32_t, uint32_t, double, pointers. Anything 64-bit travels as a double
// (exact to 2^53), because JS numbers are doubles; text is a pointer and a length in bytes.
// Functions that return int32_t return a status (0 is success; report says the rest). Text results
// wait in the job: text_data, text_size.
#ifndef EXPORTS_H
#define EXPORTS_H

#include "sconce.h"

// Nobody in C calls these, so nothing but their definition declares them.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#define EXPORT(name) __attribute__((export_name(#name)))

// Panics go to the host straight from base.c; the other imports are called from here.
#define IMPORT(result, name, parameters)                                 \
    __attribute__((import_module("sconce"), import_name(#name), unused)) \
    result host_##name parameters;
#include "imports.def"
#undef IMPORT

// The largest of the whole numbers that doubles count without gaps.
#define EXACT_MAX (UINT64_C(1) << 53)

static inline sc_str text_of(const char *data, uint32_t bytes) { return (sc_str){data, bytes}; }

// The text result that waits for text_data and text_size.
static inline int32_t keep_text(sc_job *job, sc_status status, sc_str text) {
    sc_job_keep_text(job, status == SC_OK ? text : (sc_str){NULL, 0});
    return (int32_t)status;
}

static inline void check(const sc_job *job) { SC_ASSERT(sc_job_is_open(job)); }

#endif
