// Weights, which are never in memory as a whole: their ranges, and converted weights as sources. A
// source computes its bytes from those of the file as it is read. All tensors are dense and
// row-major; extents are little-endian, as everywhere.
// Prefixes: sc_weight_ is one weight, sc_slices_ its parts with a scale each.
#ifndef SC_QUANT_WEIGHTS_H
#define SC_QUANT_WEIGHTS_H

#include "base/source.h"
#include "core/dtype.h"

// The slice of each element: element i belongs to slice i / run % count. `run` > 0, `count` > 0.
typedef struct sc_slices {
    uint64_t run;
    uint64_t count;
} sc_slices;

// One slice for all elements; one for each index of an axis; or one for `size` adjacent elements,
// if it divides the last axis.
sc_slices sc_slices_whole(uint64_t elements);
sc_slices sc_slices_axis(uint32_t rank, const int64_t *sizes, uint32_t axis);
sc_slices sc_slices_groups(uint64_t elements, uint64_t size);

// A weight, and its factors, which apply before anything else: w * factor in float32, rounded to
// its dtype, as PyTorch folds a batch norm.
typedef struct sc_weight {
    sc_extent data;  // elements * sc_dtype_bytes(dtype) bytes
    sc_dtype dtype;  // float32, float16 or bfloat16
    uint64_t elements;
    const float *factors;  // one for each slice of `factored`, or NULL; must live as long as
                           // sources
    sc_slices factored;
} sc_weight;

// The range of each slice, read once, in blocks. Fails with SC_ERR_ARGUMENT on infinities and NaN.
// A slice without elements has [0, 0].
sc_status sc_weight_ranges(sc_ctx *ctx, const sc_weight *weight, sc_slices slices, float *lows,
                           float *highs);

// Parameters that make integers of a weight, without a zero point: clamp(round(w * (1 / scale))).
typedef struct sc_weight_grid {
    sc_slices slices;
    const float *scales;  // one for each slice, finite and > 0; lives as long as the source
    int8_t quant_min, quant_max;
    // Scales have the weight's dtype and every step is rounded to it, as in torchao; PT2E computes
    // in float32. For float32 there is no difference.
    bool in_own_dtype;
} sc_weight_grid;

// One int8 for each element.
sc_extent sc_weight_quantized(sc_arena *arena, const sc_weight *weight, const sc_weight_grid *grid);
// The weight after its factors, in one of those three dtypes: rounded to nearest, to infinity
// beyond its range. The weight's own extent if no number changes.
sc_extent sc_weight_converted(sc_arena *arena, const sc_weight *weight, sc_dtype dtype);

#endif
