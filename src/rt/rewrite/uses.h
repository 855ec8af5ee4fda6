// The uses of values by a method's instructions, which rewrites (optimize.h) need before they
// change anything. Private to src/rt.
// Prefix: sc_rt_ (runtime) counts or changes the uses of values here.
#ifndef SC_RT_USES_H
#define SC_RT_USES_H

#include "rt/operands.h"

// The uses of one tensor value. Positions are indexes into method->code. For instructions that
// jumps repeat or skip, they are the ends of that stretch, and count as several uses.
typedef struct sc_rt_use {
    uint32_t writes, first_write, last_write;
    uint32_t reads, first_read, last_read;  // by instructions; uses of its views count for
                                            // last_read
    bool is_output;
    bool reads_old;  // is read before it is written
    // Must stay where it is, because another value shows more than its memory, shows it when it may
    // belong to another value, or is a view that a run makes.
    bool is_pinned;
    uint32_t first_view, next_view;  // values that show the same memory: index + 1, 0 ends
} sc_rt_use;

// The stretch from the first to the last instruction, both included.
typedef struct sc_rt_stretch {
    uint32_t first, last;
} sc_rt_stretch;

typedef struct sc_rt_optimizer {
    sc_ctx *ctx;
    sc_rt_method *m;
    sc_rt_use *uses;  // by value
    // By instruction: what jumps repeat or leave out together with it. NULL: there are no jumps.
    sc_rt_stretch *stretches;
    bool is_stale;  // instructions have changed since `uses` was computed
} sc_rt_optimizer;

// Fills in the uses of all values, and which values share memory. False if there are too many to
// examine.
bool sc_rt_find_uses(sc_rt_optimizer *o);
// The current uses of a value, without those of its views.
void sc_rt_count_uses(sc_rt_optimizer *o);

// Does the instruction run exactly once, whatever the data?
bool sc_rt_runs_once(const sc_rt_optimizer *o, uint32_t at);

// The use record of an ordinary computed tensor (one writer; not state, input or constant), else
// NULL.
sc_rt_use *sc_rt_plain_use(sc_rt_optimizer *o, const sc_evalue *value);
// Memory that lives as long as the method, 64-byte aligned.
sc_status sc_rt_keep_memory(sc_rt_optimizer *o, uint64_t bytes, uint8_t **out);
// Moves a value, and with it the values that show its memory, to another address.
void sc_rt_move_value(sc_rt_optimizer *o, const sc_evalue *value, void *data, bool is_constant);
// Does an instruction access a tensor that shares bytes with this memory, in one of these ways?
bool sc_rt_touches(const sc_rt_optimizer *o, uint32_t at, uint32_t access, const void *data,
                   uint64_t bytes);
// Is this memory unwritten by the instructions in (from, to]? False if that takes too long to
// check.
bool sc_rt_is_quiet(const sc_rt_optimizer *o, const void *data, uint64_t bytes, uint32_t from,
                    uint32_t to);
bool sc_rt_overlaps(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes);

#endif
