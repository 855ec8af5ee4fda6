// Quantization of an exported program before decomposition, as PT2E does it. A method is prepared:
// batch norms are folded into the weights before them, and places to observe are chosen. Programs
// that observe those places run on calibration data. With the observations the method becomes one
// of integers between quantize and dequantize nodes. Its nodes, its groups that share a scale, and
// the order and names of new constants are those of XNNPACKQuantizer; annotate.c lists the
// exceptions. Weights are sources of their own and never in memory as a whole.
// Prefix: sc_quant_ prepares, converts and reports on a quantization.
#ifndef SC_QUANT_H
#define SC_QUANT_H

#include "ir/ir.h"
#include "passes/evaluator.h"

typedef enum sc_quant_mode {
    SC_QUANT_STATIC,        // int8 activations by calibration, int8 weights
    SC_QUANT_DYNAMIC,       // activations get their scale when the program runs
    SC_QUANT_WEIGHT_ONLY,   // int8 or int4 weights of linear layers and embeddings
    SC_QUANT_DYNAMIC_INT4,  // int8 activations for each token, int4 weights: 8da4w
    SC_QUANT_HALF_WEIGHTS   // float16 weights that are widened when the program runs
} sc_quant_mode;

// The layers that a quantization of weights alone takes.
typedef enum sc_quant_layers { SC_QUANT_ALL, SC_QUANT_LINEAR, SC_QUANT_EMBEDDINGS } sc_quant_layers;

// Static and dynamic quantization take `per_channel` alone; the others take layers, bits and
// groups.
typedef struct sc_quant_config {
    sc_quant_mode mode;
    uint8_t layers;       // sc_quant_layers
    bool per_channel;     // a scale for each channel of a weight; else one for all channels
    uint8_t weight_bits;  // 4 or 8
    uint32_t group_size;  // adjacent weights that share a scale; 0: the whole row
    const sc_str *skip;   // names of nodes and operators, and paths of modules, with '*'; what lies
    uint32_t skip_count;  // below a module is skipped with it
} sc_quant_config;

// The plan for one method, on its context's arena. If there are several configurations, each takes
// nodes that those before it have left, as in PT2E's ComposableQuantizer. Static and dynamic ones
// come before those of weights alone, whatever their order in the list.
typedef struct sc_quant_plan sc_quant_plan;

// Changes the method. The program computes the same, except for rounding of folded weights.
// SC_ERR_ARGUMENT for an impossible configuration, SC_ERR_STATE for a program that is decomposed or
// quantized already.
sc_status sc_quant_prepare(sc_ctx *ctx, sc_method *method, const sc_quant_config *configs,
                           uint32_t count, sc_quant_plan **out);

// Puts every observed place into the prepared graph as a call of sconce::observer, for passes that
// look at them and change them. The number of an observer is that of its scale: places with one
// number share it.
sc_status sc_quant_show_observers(sc_ctx *ctx, sc_quant_plan *plan);
// Takes them out again. Observed from here on are the places where observers stood: readers of an
// observer read a quantized value, and readers of the value itself do not. `is_calibrated`: values
// have been seen, so that a number keeps the kind of place that it had. SC_ERR_ARGUMENT names an
// observer that cannot stand where it does.
sc_status sc_quant_hide_observers(sc_ctx *ctx, sc_quant_plan *plan, bool is_calibrated);

// The number of observers. If it is 0, no calibration run is needed.
uint32_t sc_quant_observer_count(const sc_quant_plan *plan);
// Floats of an observer's state. Its initial state is all zeros.
uint64_t sc_quant_state_floats(const sc_quant_plan *plan, uint32_t observer);
// A program of the method's inputs whose last outputs are the states, in order; inputs that are
// written in place come before them. Its observations are in its mutable buffers, which last from
// run to run.
sc_status sc_quant_observed(sc_ctx *ctx, const sc_quant_plan *plan, sc_program **out);
// If a NaN was observed: SC_ERR_NUMERIC, which names the node. No scale can be chosen then.
sc_status sc_quant_check_numbers(const sc_quant_plan *plan, const float *const *states);
// Chooses every scale and zero point. After a failure it may be called again. `states` has one
// state for each observer. SC_ERR_STATE, which names the node, if it observed no numbers;
// SC_ERR_NUMERIC if it observed a NaN.
sc_status sc_quant_choose_scales(sc_ctx *ctx, sc_quant_plan *plan, const float *const *states);
// The prepared method becomes the quantized one. `evaluator` computes constants that are not plain
// weights. Without an evaluator they are quantized whenever the program runs.
sc_status sc_quant_convert(sc_ctx *ctx, sc_quant_plan *plan, const sc_evaluator *evaluator);

// --- Facts for reports ---------------------------------------------------------------------------

#define SC_QUANT_NO UINT32_MAX

// Reasons of weight-only layers that another dtype of the whole model would remove.
#define SC_QUANT_OTHER_INPUT  "its input does not have the dtype of its weight"
#define SC_QUANT_OTHER_WEIGHT "its weight is not float32, float16 or bfloat16"
#define SC_QUANT_HALF_ALREADY "its weight is not float32"

typedef struct sc_quant_row {
    const sc_name *node;  // as the method was given; of a body, "true_graph_0/mul"
    const sc_op *op;
    const sc_name *origin;
    sc_str module_stack;  // verbatim
    bool is_quantized;
    bool is_skipped;  // it is not quantized because the user skipped it
    sc_str why_not;   // for people; empty for those that are quantized
    uint32_t weight;  // the range of its weight; SC_QUANT_NO: absent
} sc_quant_row;

// One fate for each node of the method, in order, those of bodies after all others. Bodies are not
// quantized, because their inputs, weights included, are operands there.
uint32_t sc_quant_row_count(const sc_quant_plan *plan);
const sc_quant_row *sc_quant_row_at(const sc_quant_plan *plan, uint32_t index);

// The layers of the method for people, by kind and dtype of their weights: "2 convolutions of
// float32, 1 linear layer of bfloat16". Empty if it has no layers.
sc_str sc_quant_layers_text(const sc_quant_plan *plan);

// Remarks for the user: patterns of `skip` that fit no node, layers in bodies.
uint32_t sc_quant_remark_count(const sc_quant_plan *plan);
sc_str sc_quant_remark_at(const sc_quant_plan *plan, uint32_t index);

// Tensors that share a scale, because they have the same numbers or because an operator only moves
// them.
typedef struct sc_quant_range {
    bool is_weight;
    bool is_dynamic;      // other facts are unknown
    uint8_t bits;         // of a number; 16: a half, which has no scale
    uint32_t axis;        // of a weight, where there is a scale for each channel
    uint32_t group_size;  // adjacent numbers that share a scale; 0: there are no groups
    uint32_t count;       // of scales
    float low, high;      // the observed range, over all channels
    const float *scales;
    int32_t zero_point;
    uint32_t place_count;                // tensors that are quantized by it
    uint64_t bytes_before, bytes_after;  // for a weight; after: its numbers as bits, and its scales
} sc_quant_range;

// Bytes of added constants that are no weights, or that lowering shrinks. They are numbers of nodes
// that became constants and stayed floats, integers of 4 bits, which are packed, and zero points
// that are all zeros, which are left out.
uint64_t sc_quant_loose_bytes(const sc_quant_plan *plan);

uint32_t sc_quant_range_count(const sc_quant_plan *plan);
// A range of the plan. Its place is known from the start. Scales and observations exist once scales
// have been chosen; those of weights alone once the method is converted.
const sc_quant_range *sc_quant_range_at(const sc_quant_plan *plan, uint32_t index);
// The name of the tensor at a place of a range.
const sc_name *sc_quant_place(const sc_quant_plan *plan, uint32_t range, uint32_t place);

#endif
