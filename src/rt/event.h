// Reports to a listener while a program loads and runs: for profiles, for looking at every value on
// its way, for dumps in ExecuTorch's own format.
//
// An event begins and ends: loading a method, a run, and inside of a run its instructions, one
// after the other. Events follow the file: loading merges instructions, computes some ahead and
// makes others superfluous, but in a run without jumps each instruction of the file is an origin of
// exactly one event, and with jumps once for each time that it is reached. Events carry no times:
// the listener has a clock, and `end` comes before outputs are shown.
//
// Inside of an instruction that calls a delegate, the delegate may tell of what it does itself, one
// event after the other, by the ids that its other half has mapped to debug handles.
//
// The sink stays the caller's and must outlive its listening. It is called by the thread that loads
// or runs, and may neither use the program nor keep what it is given: events and values are good
// until it returns, origins and names until the program is closed. A listener that fails remembers
// so itself; the run goes on.
// Prefix: sc_rt_, the runtime.
#ifndef SC_RT_EVENT_H
#define SC_RT_EVENT_H

#include "rt/rt.h"

// The kind of work that an instruction does when it runs.
typedef enum sc_rt_kind {
    SC_RT_KERNEL,
    SC_RT_PRIM,
    SC_RT_JUMP_FALSE,
    SC_RT_MOVE,
    SC_RT_FREE,
    SC_RT_DELEGATE,  // a call of what a backend has compiled
    // Calls of kernels, once loading has rewritten them:
    SC_RT_COPY,  // another has computed the result, whose bytes only have to be copied
    SC_RT_SKIP   // nothing: computed at load, another name for an operand, or without elements
} sc_rt_kind;

// An instruction of the file. `index` counts within its chain: ExecuTorch's instruction id, by
// which its maps of debug handles go.
typedef struct sc_rt_origin {
    uint32_t chain, index;
    sc_str op_name;  // as the file spells it; empty for jumps, moves and frees
} sc_rt_origin;

typedef enum sc_rt_event_kind {
    SC_RT_EVENT_LOAD,  // of a method that was not loaded yet
    SC_RT_EVENT_RUN,
    SC_RT_EVENT_INSTRUCTION,
    SC_RT_EVENT_DELEGATE  // something that a delegate does while it is called
} sc_rt_event_kind;

typedef struct sc_rt_event {
    sc_rt_event_kind kind;
    sc_str method;
    // For an instruction, and for the one that calls the delegate:
    sc_rt_kind work;
    const sc_rt_origin *origins;  // what it stands for, in the order of the file; one at least
    uint32_t origin_count;
    // For a delegate: ExecuTorch's delegate debug id, which is a text or a number.
    sc_str delegate_id;  // without data where the backend counts: `delegate_number`
    int64_t delegate_number;
} sc_rt_event;

typedef struct sc_rt_sink sc_rt_sink;
struct sc_rt_sink {
    void (*begin)(sc_rt_sink *sink, const sc_rt_event *event);
    // Every event that has begun ends, with what came of it.
    void (*end)(sc_rt_sink *sink, const sc_rt_event *event, sc_status status);
    // After the end of an instruction, each value that its last origin has written, lists as such;
    // no value when rewriting left it nowhere. For a delegate's call, all of its arguments. After
    // the end of a run, each of its outputs. After the end of what a delegate does, what that has
    // computed, as the delegate has it: sizes and order of dims are the backend's own. Only of what
    // ended well. NULL: nobody looks.
    void (*output)(sc_rt_sink *sink, const sc_rt_event *event, const sc_evalue *value);
    void *user;
};

// Sets the listener from the next load or run on: one for all methods, NULL for nobody, as at
// first.
void sc_rt_program_listen(sc_rt_program *program, sc_rt_sink *sink);

#endif
