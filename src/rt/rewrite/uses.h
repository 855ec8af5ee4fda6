// The uses of values by a method's instructions, as rewrites (optimize.h) need to know it before
// they change anything. Private to src/rt.
// Prefix: sc_rt_, the runtime.
#ifndef SC_RT_USES_H
#define SC_RT_USES_H

#include "rt/operands.h"

// The uses of one tensor value; positions are indexes into method->code, the ends of the stretch
// for what lies in one that jumps repeat or leave out. That counts as several times.
typedef struct sc_rt_use {
    uint32_t writes, first_write, last_write;
    uint32_t reads, first_read, last_read;  // by instructions; views of it count for last_read
    bool is_output;
    bool reads_old;  // is read before it is written
    // Has to stay where it is: another value shows more than its memory, or its memory at a time
    // when it may have become another's, or as a run makes it.
    bool is_pinned;
    uint32_t first_view, next_view;  // values that show the same memory: index + 1, 0 ends
} sc_rt_use;

// From the first to the last of instructions.
typedef struct sc_rt_stretch {
    uint32_t first, last;
} sc_rt_stretch;

typedef struct sc_rt_optimizer {
    sc_ctx *ctx;
    sc_rt_method *m;
    sc_rt_use *uses;  // by value
    // By instruction: what jumps repeat or leave out together with it. NULL: there are no jumps.
    sc_rt_stretch *stretches;
    bool is_stale;  // instructions have changed since `uses` was found
} sc_rt_optimizer;

// Fills in who uses what, and which values show the memory of which; false: too many to look at.
bool sc_rt_find_uses(sc_rt_optimizer *o);
// The current uses of a value, without the views of it.
void sc_rt_count_uses(sc_rt_optimizer *o);

// Does the instruction run exactly once, whatever the data?
bool sc_rt_runs_once(const sc_rt_optimizer *o, uint32_t at);

// The use record of a value when it is an ordinary computed tensor (one writer; not state, input or
// constant), else NULL.
sc_rt_use *sc_rt_plain_use(sc_rt_optimizer *o, const sc_evalue *value);
// Memory that lives as long as the method, 64-byte aligned.
sc_status sc_rt_keep_memory(sc_rt_optimizer *o, uint64_t bytes, uint8_t **out);
// Lets a value, and with it the values that show its memory, live at another address.
void sc_rt_move_value(sc_rt_optimizer *o, const sc_evalue *value, void *data, bool is_constant);
// Does an instruction access a tensor that shares bytes with this memory, in one of these ways?
bool sc_rt_touches(const sc_rt_optimizer *o, uint32_t at, uint32_t access, const void *data,
                   uint64_t bytes);
// Does no instruction in (from, to] write into this memory? False when that is too long to check.
bool sc_rt_is_quiet(const sc_rt_optimizer *o, const void *data, uint64_t bytes, uint32_t from,
                    uint32_t to);
bool sc_rt_overlaps(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes);

#endif
