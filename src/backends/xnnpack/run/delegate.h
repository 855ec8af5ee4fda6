// Declarations that the executor's files share: a delegate's values, steps and weights. Private to
// src/backends/xnnpack/run.
//
// A delegate is started once: rules are checked, constants found and packed, sizes derived from the
// largest ones, values placed in one workspace. A call points the values that are arguments at
// their memory and runs the steps. Only if sizes of inputs change are sizes derived and values
// placed again.
// Prefix: sc_xnn_, the XNNPACK backend.
#ifndef SC_XNNPACK_DELEGATE_H
#define SC_XNNPACK_DELEGATE_H

#include "backends/xnnpack/graph.h"
#include "compute/bytes.h"
#include "compute/conv.h"
#include "compute/matmul.h"
#include "compute/pool.h"
#include "kernels/pointwise.h"
#include "rt/backend.h"

typedef struct sc_xnn_delegate sc_xnn_delegate;
typedef struct sc_xnn_step sc_xnn_step;
typedef struct sc_xnn_fusion sc_xnn_fusion;

// How a kind of node is executed.
typedef struct sc_xnn_runner {
    // Runs once, when the delegate starts: refuses nodes that it cannot execute, and packs weights.
    // Optional.
    sc_status (*load)(sc_xnn_delegate *d, sc_xnn_step *s);
    // Runs when sizes are known, but addresses are not: describes the work of `run`, and its
    // scratch. Optional.
    sc_status (*prepare)(sc_xnn_delegate *d, sc_xnn_step *s);
    sc_status (*run)(sc_xnn_delegate *d, sc_xnn_step *s);
    // The result may overwrite an operand of the same sizes.
    bool overwrites;
    // The result is the operand with other sizes.
    bool renames;
} sc_xnn_runner;

// A value while the delegate lives. `tensor` is row-major as XNNPACK sees it.
typedef struct sc_xnn_operand {
    sc_tensor tensor;
    int64_t sizes[SC_XNN_RANK_MAX], strides[SC_XNN_RANK_MAX];
    uint8_t dim_order[SC_XNN_RANK_MAX];
    const sc_xnn_value *value;
    uint32_t users;  // steps that read it
    // The place of the value: in the memory of value `root`, which is a constant, an argument, or
    // `bytes` of the workspace from `offset` on.
    uint32_t root;
    uint32_t last;  // for a root: the last step that needs the memory
    bool is_placed;
    // The image lies in planes, although XNNPACK sees its channels last. Only one step reads it.
    bool is_planar;
    bool is_position;  // positions of a maximum: 32-bit integers, whatever the datatype says
    uint64_t offset, bytes;
    // qdint8: the number of rows with a zero point and a scale each, which follow the elements.
    int64_t rows;
} sc_xnn_operand;

// Weights in another order, shared by all delegates of the program.
typedef struct sc_xnn_packing {
    struct sc_xnn_packing *next;
    const void *how;
    void *data;  // 64-byte aligned
    uint64_t bytes, hash;
    uint64_t place;  // in the packed file that it was read from; 0: it was packed here
    uint32_t users;
} sc_xnn_packing;

// The state that the delegates of a program share.
typedef struct sc_xnn_shared {
    sc_xnn_packing *packings;
    uint8_t *workspace;  // of the delegate that runs
    uint64_t workspace_bytes;
} sc_xnn_shared;

struct sc_xnn_step {
    const sc_xnn_runner *runner;
    const sc_xnn_node *node;
    uint32_t index;
    sc_xnn_operand *in[SC_XNN_INPUTS_MAX], *out[SC_XNN_OUTPUTS_MAX];  // NULL: missing
    uint64_t scratch_bytes;
    union {
        sc_record record;
        sc_conv conv;
        sc_matmul matmul;
        sc_pooling pool;
        sc_bytes_binary bytes;
        uint8_t lookup[256];  // results for each of 256 operands
    };
    const sc_variant *packed_for, *variant;
    sc_xnn_packing *packing;
    bool is_saved;              // packed files have the packing instead of the weights
    const sc_rt_saved *saved;   // the packing in such a file, or NULL
    const void *weight, *bias;  // in the order of the record, if they are not packed
    bool is_computed;           // the weights are a result
    bool leads;                 // without a listener, the next step runs together with this one
    sc_xnn_fusion *fusion;      // of a product: steps that may run with it, or NULL
    bool is_fused;              // unless values are watched, a product does the work of this step
    int32_t in_zero;            // zero point of a product's input, if it is one for all
};

struct sc_xnn_delegate {
    sc_ctx *ctx;  // of the current call
    sc_arena arena;
    sc_str method;
    uint8_t *payload;
    sc_xnn_graph *graph;
    sc_xnn_shape *shapes;  // by value
    sc_xnn_operand *operands;
    uint32_t *arguments;  // value by external id, or SC_XNN_NONE
    uint32_t input_count;
    sc_xnn_step *steps;
    uint8_t *constant_uses;  // by constant: a step reads its bytes in every run
    uint32_t *finds;         // by constant: how often its bytes were found
    uint8_t *is_packed;      // by constant: a packing that packed files keep has it
    uint8_t *is_needed;      // by constant: something other than packing reads its bytes
    void **owned;            // blocks of sc_try_alloc
    uint32_t owned_count, owned_capacity;
    struct sc_xnn_gap *gaps;  // of the workspace, while values are placed
    uint64_t placed_bytes, scratch_bytes;
    uint8_t *workspace;
    uint8_t *scratch;
    sc_rt_named named;
    const sc_rt_packed_file *packed;  // has packings of products, or is NULL
    sc_rt_saved_key key;
    sc_xnn_shared *shared;
    bool is_watched;  // the call has a listener for values
    bool *images;     // by value: channels are last; NULL until a listener looks at values
};

// NULL if no runner executes the kind.
const sc_xnn_runner *sc_xnn_runner_of(unsigned kind);
extern const sc_xnn_runner sc_xnn_run_product, sc_xnn_run_matmul, sc_xnn_run_elements,
    sc_xnn_run_convert, sc_xnn_run_pool, sc_xnn_run_argmax_pool, sc_xnn_run_softmax,
    sc_xnn_run_resize, sc_xnn_run_transpose, sc_xnn_run_rename, sc_xnn_run_slice, sc_xnn_run_pad,
    sc_xnn_run_concatenate;

// Fails for a step: names method, node and kind, and adds `what`.
sc_status sc_xnn_step_fail(const sc_xnn_delegate *d, const sc_xnn_step *s, sc_status code,
                           const char *what);
sc_status sc_xnn_not_executed(const sc_xnn_delegate *d, const sc_xnn_step *s);

sc_status sc_xnn_bad_argument(const sc_xnn_delegate *d, uint32_t argument, const char *what);
sc_status sc_xnn_no_memory(sc_ctx *ctx);

// Reads and checks the payload, makes steps of it and packs its weights (start.c).
sc_status sc_xnn_start(sc_xnn_delegate *d, const sc_rt_start *start);
// Runs one call, with checked operands; `state` is the delegate (call.c).
sc_status sc_xnn_call(sc_ctx *ctx, void *state, const sc_rt_delegate_call *call);
// Sets the sizes of a value.
void sc_xnn_set_sizes(sc_xnn_operand *operand, const sc_xnn_shape *shape);
// Derives the sizes of all values from those of the inputs, plans the steps, and places values
// (sizes.c).
sc_status sc_xnn_derive(sc_xnn_delegate *d);

// Runs the steps, when every value has its memory; `hearing` is NULL without a listener.
sc_status sc_xnn_run_steps(sc_xnn_delegate *d, const sc_rt_hearing *hearing);

// A value in the form that the program around the delegate has. It shows the same memory, and is
// valid until the next step. The caller must point the tensor's lists at the lists that follow it.
typedef struct sc_xnn_shown {
    sc_tensor tensor;
    int64_t sizes[SC_XNN_RANK_MAX], strides[SC_XNN_RANK_MAX];
    uint8_t dim_order[SC_XNN_RANK_MAX];
} sc_xnn_shown;
sc_xnn_shown sc_xnn_show(sc_xnn_delegate *d, uint32_t value);

static inline sc_conv_call sc_xnn_conv_call(const sc_xnn_step *s) {
    return (sc_conv_call){s->variant, &s->record, s->packing ? s->packing->data : NULL};
}
// Runs a step that leads, and the next one (products.c).
void sc_xnn_run_pair(sc_xnn_delegate *d, sc_xnn_step *s);

// --- Memory --------------------------------------------------------------------------------------

// A block that lives as long as the delegate; SC_ERR_MEMORY names its purpose.
sc_status sc_xnn_own(sc_xnn_delegate *d, uint64_t bytes, void **out);
// Frees the newest block.
void sc_xnn_disown(sc_xnn_delegate *d);
// Finds a constant's bytes, and releases them unless a step reads them in every run.
sc_status sc_xnn_find(sc_xnn_delegate *d, uint32_t constant);
void sc_xnn_forget(sc_xnn_delegate *d, uint32_t constant);
// The bytes of a constant that has been found.
const uint8_t *sc_xnn_constant_data(const sc_xnn_delegate *d, const sc_xnn_operand *operand);
// Packs the step's weights in the order of `variant`, once for all delegates of the program.
sc_status sc_xnn_pack(sc_xnn_delegate *d, sc_xnn_step *s, const sc_variant *variant);
// Releases one use of a packing, or of a constant's bytes.
void sc_xnn_unpack(sc_xnn_shared *shared, sc_xnn_packing *packing);
void sc_xnn_release(const sc_xnn_delegate *d, sc_xnn_constant *constant);

// Gives all values their place in the workspace or in another value.
sc_status sc_xnn_place(sc_xnn_delegate *d);
// Points the values in the workspace, and those that are arguments, at their memory.
void sc_xnn_point(sc_xnn_delegate *d);

// --- Operands ------------------------------------------------------------------------------------

static inline bool sc_xnn_is(const sc_xnn_operand *operand, sc_xnn_datatype datatype) {
    return operand->value->datatype == datatype;
}
static inline bool sc_xnn_is_half(const sc_xnn_operand *operand) {
    return sc_xnn_is(operand, SC_XNN_FP16) || sc_xnn_is(operand, SC_XNN_BF16);
}
static inline bool sc_xnn_is_byte(const sc_xnn_operand *operand) {
    return sc_xnn_is(operand, SC_XNN_QINT8) || sc_xnn_is(operand, SC_XNN_QUINT8);
}
static inline sc_grid sc_xnn_grid(const sc_xnn_operand *operand) {
    return (sc_grid){operand->value->quant.scale, operand->value->quant.zero_point,
                     sc_xnn_is(operand, SC_XNN_QUINT8)};
}
// Bytes of a copy in f32, 64-byte aligned.
static inline uint64_t sc_xnn_float_bytes(const sc_xnn_operand *operand) {
    return sc_align_up((uint64_t)operand->tensor.numel * sizeof(float), 64);
}
// Zero points and scales of a qdint8 value, one each for every row.
static inline int32_t *sc_xnn_zeros(const sc_xnn_operand *operand) {
    uint64_t at = sc_align_up((uint64_t)operand->tensor.numel, 64);
    return (int32_t *)(void *)((uint8_t *)operand->tensor.data + at);
}
static inline float *sc_xnn_scales(const sc_xnn_operand *operand) {
    return (float *)(void *)(sc_xnn_zeros(operand) + operand->rows);
}
// The byte that a number becomes outside Convert: rounded after its zero point is added.
uint8_t sc_xnn_byte_of(const sc_grid *grid, float number);
// The operand as f32: in place, or for halves a copy at `*scratch`, which moves on.
const void *sc_xnn_floats(const sc_xnn_operand *operand, uint8_t **scratch);
// Describes c[m, n] = a[m, k] b, all rows dense; `b` describes the layout of its rows and columns.
sc_matmul sc_xnn_matmul_of(sc_record record, int64_t m, int64_t n, int64_t k, sc_matrix b);
// The range of quantized results for the node's bounds in floats: XNNPACK clamps to it.
void sc_xnn_byte_range(const sc_xnn_step *s, const sc_xnn_operand *out, int *low, int *high);

#endif
