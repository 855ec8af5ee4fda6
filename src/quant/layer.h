// Private to src/quant. A layer whose weight alone is quantized: which ones there are is said by
// weight_only.c, what becomes of them by weight_nodes.c.
// Prefix: sc_quant_layer_.
#ifndef SC_QUANT_LAYER_H
#define SC_QUANT_LAYER_H

#include "quant/plan.h"

typedef struct quant_layer {
    sc_quant_plan *plan;
    sc_node *node;
    quant_role role;
    sc_value *x, *weight;  // of an embedding x are the indices
    const sc_constant *constant;
    int64_t sizes[SC_RANK_MAX];  // of the weight
    uint64_t elements;
    int64_t group;  // neighbours that share a scale
    sc_meta meta;
    sc_value **parts;  // that its weight has become, by quant_part; NULL: not yet
} quant_layer;

static inline bool sc_quant_is_half_mode(const sc_quant_plan *plan) {
    return plan->config->mode == SC_QUANT_HALF_WEIGHTS;
}

static inline uint32_t sc_quant_weight_bits(const sc_quant_plan *plan) {
    return plan->config->mode == SC_QUANT_DYNAMIC_INT4 ? 4 : plan->config->weight_bits;
}

// The bytes of the weight, row by row.
sc_weight sc_quant_layer_weight(const quant_layer *layer);
// Puts what the layer becomes in its place. `scales` has one for each group, none for halves.
sc_status sc_quant_convert_layer(const quant_layer *layer, const float *scales);

#endif
