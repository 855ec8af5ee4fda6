// Reports events to the program's listener, if there is one. Private to src/rt.
// Prefix: sc_rt_tell_ reports an event of the runtime.
#ifndef SC_RT_TELL_H
#define SC_RT_TELL_H

#include "rt/method.h"

// `in` is the instruction of an event of kind INSTRUCTION, NULL for all others.
void sc_rt_tell_begin(const sc_rt_method *m, sc_rt_event_kind kind, const sc_rt_instruction *in);
void sc_rt_tell_end(const sc_rt_method *m, sc_rt_event_kind kind, const sc_rt_instruction *in,
                    sc_status status);

// The handle through which a delegate reports its own work; it belongs to one call.
struct sc_rt_hearing {
    sc_rt_sink *sink;
    const sc_rt_method *method;
    const sc_rt_instruction *in;
};

#endif
