// Compares values with expected ones. Private to src/api.
// Prefix: sc_compare_ judges one value against the expected one.
#ifndef SC_API_COMPARE_H
#define SC_API_COMPARE_H

#include "ir/ir.h"
#include "rt/rt.h"

// The difference of a value from the expected one.
typedef struct sc_closeness {
    double difference;  // the largest of all elements; infinity if only one of two is a number
    double largest;     // magnitude of the expected value
    double tolerance;   // the limit that follows from the precision, and from quantization if there
                        // is one
    bool is_close;
    bool is_other;  // different kinds, dtypes, shapes or texts: `difference` is infinity
} sc_closeness;

// The influence of quantization on a value.
typedef struct sc_quantization_steps {
    uint32_t times;  // how often it was quantized, one after the other
    double step;     // the last scale; 0: not a constant
} sc_quantization_steps;

// Finds the steps of the last `count` results of a graph (a method's or a part's), in the context's
// arena (quantization_steps.c).
sc_quantization_steps *sc_output_quantization(sc_ctx *ctx, const sc_graph *graph, uint32_t count);

// Compares values. Quantized values may be some steps further apart. SC_ERR_DTYPE and
// SC_ERR_UNSUPPORTED for values that cannot be compared, SC_ERR_MEMORY (compare.c).
sc_status sc_compare_values(sc_ctx *ctx, const sc_evalue *right, const sc_evalue *found,
                            sc_quantization_steps quantum, sc_closeness *out);

#endif
