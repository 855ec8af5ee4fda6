// A quantized method and its float method in one program, node by node. After a run, the error of
// each result is known, and no value is kept longer than its comparison needs.
// Prefix: sc_compared_ is such a program, and one row of its results.
#ifndef SC_QUANT_COMPARED_H
#define SC_QUANT_COMPARED_H

#include "ir/ir.h"
#include "observe/error.h"

// A result of a node that both methods have, or of the method.
typedef struct sc_compared_row {
    const sc_name *node;         // NULL: a result of the method
    uint32_t index;              // its index among the method's user outputs
    const sc_name *layer;        // of scores: the linear layer that gives them; else NULL
    double error[SC_ERROR_ALL];  // filled in by the caller that runs the program
} sc_compared_row;

typedef struct sc_compared {
    sc_compared_row *rows;
    uint32_t count;
} sc_compared;

// A program of the methods' inputs. Its user outputs are the errors of the rows, in order: float64
// tensors of SC_ERROR_VALUES, for scores SC_ERROR_ALL, in mutable buffers that last from run to
// run. Both methods use the symbols of one program, and take the same user inputs.
sc_status sc_quant_compared(sc_ctx *ctx, const sc_method *prepared, const sc_method *quantized,
                            sc_program **out, sc_compared *rows);

#endif
