// The versions of a program that a job compiles, and the plans of their memory. Private to src/api.
// Prefix: sc_job_ finds or adds a version of one job.
#ifndef SC_API_VERSION_H
#define SC_API_VERSION_H

#include "api/job/call_memory.h"
#include "backend/lower.h"
#include "emit/emit.h"
#include "format/json.h"
#include "passes/pass.h"
#include "plan/place.h"
#include "sconce.h"

// One version of the program that is being compiled. It never changes once it is stored.
typedef struct sc_version {
    sc_dialect dialect;
    uint32_t from;                  // number of the version that it was made from, or its own
    uint32_t source;                // number of the source program that it was lowered from
    sc_program *program;            // NULL once a later step has consumed it
    sc_pass_timings timings;        // time of the passes that made it
    double ms;                      // time of all of it: passes, planning, emission
    double emit_ms;                 // time of the part that wrote the program
    sc_delegation delegation;       // for programs that were lowered to backends
    sc_bounds sizes;                // maxima that decomposition was given
    sc_shape_eval planned_sizes;    // executorch: the sizes that memory was planned for
    bool shares_state;              // executorch: methods share buffers of equal name
    bool is_transformed;            // passes that the caller listed have run on it
    bool is_recorded;               // a record names it, so no step may consume it
    const sc_emit_result *emitted;  // executorch: the program that was written
    SC_VEC(sc_diag) diags;          // warnings and notes of the step that made it
    sc_call_memory *memory;         // of the steps that made it; NULL: the job's own memory
    uint32_t users;                 // its manager, and the versions that were made from it
} sc_version;

// Methods that return constants, in the order given.
typedef SC_VEC(sc_constant_method) sc_constant_methods;

typedef struct sc_method_plan {
    uint32_t program;  // number of the version it belongs to
    const sc_name *method;
    sc_place_report report;
} sc_method_plan;

// Program `number`: SC_ERR_NOT_FOUND if there is none, SC_ERR_STATE if it was consumed.
sc_status sc_job_version(sc_job *job, uint32_t number, sc_version **out);
// Makes `program` the next version, whose number is the result. `begin_ms` is the time at which
// work on it began.
uint32_t sc_job_add_version(sc_job *job, sc_dialect dialect, sc_program *program, double begin_ms);
// Ends one use of version `number`. The last one frees its memory, unless a record names it; then
// it is as if it was consumed.
void sc_job_drop_version(sc_job *job, uint32_t number);
// Gives the version the diagnostics that belong to no version yet. They stay when the host has read
// those of a failed call.
void sc_job_take_diags(sc_job *job, sc_version *version);
// Writes the member "diagnostics" of an object: those of the version.
void sc_version_put_diagnostics(sc_json_writer *w, const sc_job *job, const sc_version *version);

#endif
