// Loops whose number of turns depends on data. Prefix: sc_f_, functions that add calls
// to a trace.
#ifndef SC_WORDS_LOOP_H
#define SC_WORDS_LOOP_H

#include "trace/trace.h"

// A body of a loop. `x` has the carried tensors, and then the fixed ones. As `turn` it returns the
// next carried tensors, a list. As `goes_on` it returns one bool: does another turn follow?
typedef sc_x (*sc_f_body_fn)(sc_trace *t, const sc_x *x, const void *user);

typedef struct sc_f_loop {
    const sc_x *carried, *fixed;  // those that turns change, and those that they only read
    uint32_t count, fixed_count;
    sc_f_body_fn goes_on, turn;
    const void *user;
} sc_f_loop;

// The carried tensors after the last turn: a list.
sc_x sc_f_while(sc_trace *t, const sc_f_loop *loop);

#endif
