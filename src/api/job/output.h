// Files that a job has made for the host, and the memory that their bytes are on. Private to
// src/api. Prefix: sc_job_ adds a file to one job.
#ifndef SC_API_OUTPUT_H
#define SC_API_OUTPUT_H

#include "api/job/call_memory.h"
#include "base/cord.h"

// No number of a version (version.h).
enum { SC_NO_PROGRAM = UINT32_MAX };
enum { SC_OUTPUT_MEMORIES = 3 };  // of a record: its own, that of its inputs and of its outputs

typedef struct sc_output {
    uint32_t program;  // SC_NO_PROGRAM: the file belongs to a record or to a run
    sc_str name;
    sc_cord cord;
    bool is_free;  // has no owner: the next such file takes the number
    sc_call_memory *memories[SC_OUTPUT_MEMORIES];  // of its bytes; NULL: the job's own memory
} sc_output;

// Adds a file that belongs to no program; its number is the result.
uint32_t sc_job_add_output(sc_job *job, const sc_output *output);

#endif
