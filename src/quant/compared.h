// A quantized method and its float method: both in one program, node by node, so that how far each
// result is from the float one is known after a run, and no value is kept longer than that. Prefix:
// sc_compared_.
#ifndef SC_QUANT_COMPARED_H
#define SC_QUANT_COMPARED_H

#include "ir/ir.h"
#include "observe/error.h"

// A result of a node that both methods have, or of the method.
typedef struct sc_compared_row {
    const sc_name *node;            // NULL: of the method
    uint32_t index;                 // among the method's user outputs
    double error[SC_ERROR_VALUES];  // for whoever runs the program to fill in
} sc_compared_row;

typedef struct sc_compared {
    sc_compared_row *rows;
    uint32_t count;
} sc_compared;

// A program of the methods' inputs whose user outputs are the errors of the rows, in order: float64
// tensors of SC_ERROR_VALUES, kept in mutable buffers from run to run. Both methods are of one
// program's symbols, and take the same user inputs.
sc_status sc_quant_compared(sc_ctx *ctx, const sc_method *prepared, const sc_method *quantized,
                            sc_program **out, sc_compared *rows);

#endif
