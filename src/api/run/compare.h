// Comparing values with what they should be. Private to src/api. Prefix: sc_compare_.
#ifndef SC_API_COMPARE_H
#define SC_API_COMPARE_H

#include "ir/ir.h"
#include "rt/rt.h"

// How far a value is from what it should be.
typedef struct sc_closeness {
    double difference;  // largest of all elements; infinity where only one of two is a number
    double largest;     // magnitude of what it should be
    double tolerance;   // of the precision, and of the quantization if there is one
    bool is_close;
    bool is_other;  // not of one kind, dtype and shape, or another text: `difference` is infinity
} sc_closeness;

// How quantization bears on a value.
typedef struct sc_quantization_steps {
    uint32_t times;  // that it was quantized, one after the other
    double step;     // the scale of the last one; 0: not a constant
} sc_quantization_steps;

// Finds the steps of the last `count` results of a graph, a method's own or a part's, in the
// context's arena (quantization_steps.c).
sc_quantization_steps *sc_output_quantization(sc_ctx *ctx, const sc_graph *graph, uint32_t count);

// Quantized values may be some steps further apart. SC_ERR_DTYPE and SC_ERR_UNSUPPORTED for what
// cannot be compared, SC_ERR_MEMORY (compare.c).
sc_status sc_compare_values(sc_ctx *ctx, const sc_evalue *right, const sc_evalue *found,
                            sc_quantization_steps quantum, sc_closeness *out);

#endif
