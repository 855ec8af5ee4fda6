// The operands of an instruction: a walk over every value that it takes and gives, whatever kind of
// instruction it is. The one place that knows; all that asks who reads or writes what asks here.
//
//   for (sc_rt_operands o = sc_rt_operands_of(m, in, SC_RT_WRITES); sc_rt_operands_next(&o);)
//       if (o.tensor) ...
// Prefix: sc_rt_, the runtime.
#ifndef SC_RT_OPERANDS_H
#define SC_RT_OPERANDS_H

#include "rt/method.h"

typedef enum sc_rt_access {
    SC_RT_TAKES = 1,     // is handed in: its sizes matter, if nothing else does
    SC_RT_READS = 2,     // what it holds matters
    SC_RT_WRITES = 4,    // what it holds changes
    SC_RT_REPOINTS = 8,  // its record shows other memory afterwards, or none
    SC_RT_ANY_ACCESS = 15
} sc_rt_access;

typedef struct sc_rt_operands {
    sc_evalue *value;       // the current one; lists of values are walked item by item
    sc_tensor *tensor;      // its tensor, NULL when it is something else
    uint32_t access;        // sc_rt_access bits
    const sc_evalue *list;  // whose item it is, or NULL
    // The rest is the walk's own.
    uint32_t wanted;
    uint32_t item, arg;
    uint32_t param;               // of the schema: the next that the call keeps
    const sc_rt_method *m;        // NULL: `call` alone
    const sc_rt_instruction *in;  // NULL: `call` alone
    const sc_kernel_call *call;   // NULL: an instruction that is not a call
} sc_rt_operands;

// Walks the operands of which at least one `wanted` bit is true, in the order of the arguments. An
// argument that is given twice comes twice.
sc_rt_operands sc_rt_operands_of(const sc_rt_method *m, const sc_rt_instruction *in,
                                 uint32_t wanted);
// The operands of an operator's call, whatever has become of the instruction that holds it.
sc_rt_operands sc_rt_operands_of_call(const sc_kernel_call *call, uint32_t wanted);
bool sc_rt_operands_next(sc_rt_operands *o);

// How many leading arguments a call of an operator takes; its results follow.
uint32_t sc_rt_kept_inputs(const sc_op *op);

#endif
