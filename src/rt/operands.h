// The operands of an instruction: a walk over every value that it reads and writes, whatever its
// kind. All code that needs readers or writers of values uses this walk.
//
//   for (sc_rt_operands o = sc_rt_operands_of(m, in, SC_RT_WRITES); sc_rt_operands_next(&o);)
//       if (o.tensor) ...
// Prefix: sc_rt_operands_ walks over the operands of one instruction.
#ifndef SC_RT_OPERANDS_H
#define SC_RT_OPERANDS_H

#include "rt/method.h"

typedef enum sc_rt_access {
    SC_RT_TAKES = 1,     // is an argument: at least its sizes matter
    SC_RT_READS = 2,     // its content matters
    SC_RT_WRITES = 4,    // its content changes
    SC_RT_REPOINTS = 8,  // its record shows other memory afterwards, or no memory
    SC_RT_ANY_ACCESS = 15
} sc_rt_access;

typedef struct sc_rt_operands {
    sc_evalue *value;       // the current one; lists of values are walked item by item
    sc_tensor *tensor;      // its tensor; NULL for other kinds
    uint32_t access;        // sc_rt_access bits
    const sc_evalue *list;  // the list that it is an item of, or NULL
    // The rest is the walk's own.
    uint32_t wanted;
    uint32_t item, arg;
    uint32_t param;               // of the schema: the next parameter that the call keeps
    const sc_rt_method *m;        // NULL: `call` alone
    const sc_rt_instruction *in;  // NULL: `call` alone
    const sc_kernel_call *call;   // NULL: an instruction that is not a call
} sc_rt_operands;

// Walks the operands that have at least one `wanted` bit, in the order of the arguments. An
// argument that is given twice comes twice.
sc_rt_operands sc_rt_operands_of(const sc_rt_method *m, const sc_rt_instruction *in,
                                 uint32_t wanted);
// The operands of an operator's call, even if its instruction has been rewritten.
sc_rt_operands sc_rt_operands_of_call(const sc_kernel_call *call, uint32_t wanted);
bool sc_rt_operands_next(sc_rt_operands *o);

// The number of leading arguments that are inputs of an operator's call; its results follow.
uint32_t sc_rt_kept_inputs(const sc_op *op);

#endif
