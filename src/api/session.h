// What a session holds: one job's memory, programs and results. Private to src/api.
#ifndef SC_SESSION_H
#define SC_SESSION_H

#include "format/json.h"
#include "passes/pass.h"
#include "plan/place.h"
#include "rt/rt.h"
#include "sconce.h"

// One program of a compilation, never changed once it is here.
typedef struct sc_stage {
    const char *name;                // "source", "core", "edge", "executorch"
    sc_program *program;             // NULL once a later step has consumed it
    SC_VEC(sc_pass_timing) timings;  // of the passes that made it
    double ms;                       // all of it: passes, planning, emission
    double emit_ms;                  // the part of it that wrote the program
} sc_stage;

typedef struct sc_method_plan {
    uint32_t program;  // number of the stage it belongs to
    const sc_name *method;
    sc_place_report report;
} sc_method_plan;

typedef struct sc_output {
    uint32_t program;
    sc_str name;
    sc_cord cord;
} sc_output;

// An output rewritten row-major. The block is used again for as long as it is large enough.
typedef struct sc_dense {
    void *data;
    uint64_t capacity;
} sc_dense;

struct sc_session {
    uint32_t tag;  // SC_SESSION_TAG while open
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_arena diag_arena;  // diagnostics, until the host has read them
    sc_arena text_arena;  // the latest text result
    sc_str kept_text;
    SC_VEC(sc_stage) stages;
    SC_VEC(sc_method_plan) plans;
    SC_VEC(sc_output) outputs;
    sc_rt_program *running;
    sc_rt_method *selected;
    SC_VEC(sc_dense) dense;  // by output
};

// A fresh call: no method, pass or node yet.
static inline sc_ctx *sc_session_begin(sc_session *session) {
    session->ctx.where = (sc_where){.instruction = -1};
    return &session->ctx;
}
// A fresh builder for a text result; what the last one built is gone.
sc_sb sc_session_text(sc_session *session);
// The member "diagnostics" of an object: what was recorded and not forgotten.
void sc_session_put_diagnostics(sc_json_writer *w, const sc_session *session);
double sc_session_now_ms(const sc_session *session);
// Program `number`: SC_ERR_NOT_FOUND when there is none, SC_ERR_STATE when it was consumed or, with
// a name, is of another stage.
sc_status sc_session_stage(sc_session *session, uint32_t number, const char *name, sc_stage **out);

// --- Options (options.c) -------------------------------------------------------------------------

typedef enum sc_option_kind { SC_OPTION_BOOL, SC_OPTION_INT, SC_OPTION_STR } sc_option_kind;

// One row per option that a call understands; `target` is a bool, int64_t or sc_str.
typedef struct sc_option {
    const char *name;
    sc_option_kind kind;
    void *target;
} sc_option;

// Reads a JSON object (empty text: no options) into the targets. SC_ERR_OPTION for an unknown key,
// naming the known ones, or a value of the wrong kind.
sc_status sc_options_read(sc_ctx *ctx, sc_str json, const sc_option *options, uint32_t count);

#endif
