// Reports to a listener while a program loads and runs. They serve profiles, inspection of values,
// and dumps in ExecuTorch's own format.
//
// Events are loading a method, a run, and the instructions inside a run, one after the other. They
// follow the file, although loading merges, precomputes and removes instructions. In a run without
// jumps, each instruction of the file is an origin of exactly one event. With jumps it is an origin
// once for each time that it is reached. Events carry no times: the listener has a clock. `end`
// comes before outputs are shown.
//
// Inside an instruction that calls a delegate, the delegate may report its own work, one event
// after the other. Its events have the ids that the backend's other half has mapped to debug
// handles.
//
// The sink stays the caller's and must outlive its listening. The thread that loads or runs calls
// it. It may not use the program. Events and values are valid until it returns, origins and names
// until the program is closed. A listener that fails remembers so itself; the run goes on.
// Prefix: sc_rt_ (runtime) reports to a listener, which is an sc_rt_sink.
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
    SC_RT_DELEGATE,  // a call of a part that a backend compiled
    // Calls of kernels, once loading has rewritten them:
    SC_RT_COPY,  // another instruction computed the result; this one copies its bytes
    SC_RT_SKIP   // no work: computed at load, another name for an operand, or without elements
} sc_rt_kind;

// An instruction of the file. `index` counts within its chain: it is ExecuTorch's instruction id,
// the key of its maps of debug handles.
typedef struct sc_rt_origin {
    uint32_t chain, index;
    sc_str op_name;  // as the file spells it; empty for jumps, moves and frees
} sc_rt_origin;

typedef enum sc_rt_event_kind {
    SC_RT_EVENT_LOAD,  // of a method that was not loaded yet
    SC_RT_EVENT_RUN,
    SC_RT_EVENT_INSTRUCTION,
    SC_RT_EVENT_DELEGATE  // work of a delegate during its call
} sc_rt_event_kind;
enum { SC_RT_EVENT_KINDS = SC_RT_EVENT_DELEGATE + 1 };

typedef struct sc_rt_event {
    sc_rt_event_kind kind;
    sc_str method;
    // For an instruction, and for the one that calls the delegate:
    sc_rt_kind work;
    const sc_rt_origin *origins;  // the instructions that it stands for, in the order of the file;
                                  // one at least
    uint32_t origin_count;
    // Threads that had a share in the work, the engine's own included. 0 when it begins.
    uint32_t threads;
    // For a delegate: ExecuTorch's delegate debug id, which is a text or a number.
    sc_str delegate_id;  // without data if the backend counts: `delegate_number`
    int64_t delegate_number;
} sc_rt_event;

typedef struct sc_rt_sink sc_rt_sink;
struct sc_rt_sink {
    void (*begin)(sc_rt_sink *sink, const sc_rt_event *event);
    // Every event that has begun ends, with its status.
    void (*end)(sc_rt_sink *sink, const sc_rt_event *event, sc_status status);
    // Shows values. After an instruction: each value that its last origin has written, lists as
    // such, unless rewriting left it nowhere. After a delegate's call: all of its arguments. After
    // a run: each of its outputs. After a delegate's event: its results, whose sizes and order of
    // dims are the backend's own. Only events that ended well show values. NULL: the listener does
    // not look at values.
    void (*output)(sc_rt_sink *sink, const sc_rt_event *event, const sc_evalue *value);
    void *user;
};

// Sets the listener for all methods from the next load or run on. NULL removes it; at first there
// is no listener.
void sc_rt_program_listen(sc_rt_program *program, sc_rt_sink *sink);

#endif
