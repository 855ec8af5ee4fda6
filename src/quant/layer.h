// Layers whose weight alone is quantized. weight_only.c chooses them, and weight_nodes.c rewrites
// them. Private to src/quant.
// Prefix: sc_quant_layer_ looks at one layer.
#ifndef SC_QUANT_LAYER_H
#define SC_QUANT_LAYER_H

#include "quant/plan.h"

typedef struct quant_layer {
    sc_quant_plan *plan;
    sc_node *node;
    quant_role role;
    sc_value *x, *weight;  // for an embedding: the indices
    const sc_constant *constant;
    int64_t sizes[SC_RANK_MAX];  // of the weight
    uint64_t elements;
    int64_t group;  // neighbours that share a scale
    sc_meta meta;
    sc_value **parts;  // the parts of its weight, by quant_part; NULL: not made yet
} quant_layer;

static inline bool sc_quant_is_half_mode(const sc_quant_plan *plan) {
    return plan->config->mode == SC_QUANT_HALF_WEIGHTS;
}

static inline uint32_t sc_quant_weight_bits(const sc_quant_plan *plan) {
    return plan->config->mode == SC_QUANT_DYNAMIC_INT4 ? 4 : plan->config->weight_bits;
}

// The bytes of the weight, row by row.
sc_weight sc_quant_layer_weight(const quant_layer *layer);
// Replaces the layer by its quantized nodes. `scales` has one for each group, and is empty for
// halves.
sc_status sc_quant_convert_layer(const quant_layer *layer, const float *scales);

#endif
