// The survey of a method's planned memory. Private to src/rt.
// Prefix: sc_rt_ (runtime) surveys memory here; it changes no program.
#ifndef SC_MEMORY_USES_H
#define SC_MEMORY_USES_H

#include "rt/look/look.h"
#include "rt/method.h"

// Instructions, plus 1; 0: no instruction.
typedef struct sc_rt_planned_use {
    uint32_t first, last, read, written;
    bool is_input, is_output;
    bool is_guess;  // a delegate is the first to name it: a result or a view
} sc_rt_planned_use;

// A backward jump: values that exist before `start` and are used up to `end` are used again.
typedef struct sc_rt_loop {
    uint32_t start, end;
} sc_rt_loop;

typedef struct sc_rt_survey {
    sc_ctx *ctx;
    sc_arena *arena;
    sc_fb_table plan;
    sc_fb_vec values;
    sc_rt_planned_use *uses;  // by value of the file
    const sc_op **ops;        // by operator of the plan; NULL: unknown
    sc_str *op_names;
    uint32_t op_count;
    SC_VEC(sc_rt_loop) loops;  // inner ones before those around them
    sc_rt_memory_info *out;
} sc_rt_survey;

// Walks the instructions; fills `uses`, `loops` and the names of operators (memory_uses.c).
sc_status sc_rt_survey_uses(sc_rt_survey *survey);

#endif
