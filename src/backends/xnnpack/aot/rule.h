// How operators are checked and made. Private to src/backends/xnnpack/aot.
//
// An operator has a row in configs.def, which names its family, and a family two functions: `check`
// says whether a node can be delegated, `make` adds it to an XNNPACK graph. Both ask the same
// functions about a node (the source of its weight, the nodes fused behind it, the quantization of
// its operands), so a claimed node can always be made.
// Prefix: sc_xa_ (XNNPACK, ahead of time).
#ifndef SC_XNNPACK_RULE_H
#define SC_XNNPACK_RULE_H

#include "backend/backend.h"
#include "backends/xnnpack/graph.h"

typedef struct sc_xa sc_xa;
typedef struct sc_xa_maker sc_xa_maker;
typedef struct sc_xa_row sc_xa_row;

// A graph under examination.
struct sc_xa {
    sc_ctx *ctx;
    const sc_graph *graph;
    sc_xnn_runtime runtime;
    bool is_heard;          // reasons are recorded
    bool is_early;          // views are not copies yet: the layout of values is unknown
    uint32_t *groups;       // by node->mark, the mark of another node of the group; NULL: no groups
    sc_str reason, hint;    // of the last refusal, if is_heard
    const sc_value *asked;  // readers of this value must quantize it on the way; NULL: there is no
                            // such value
    sc_imap *looked_at;     // scales and zero points that XNNPACK accepts; NULL: not recorded
};

// The order of an activation's dims. Channels-last values are always 4-D: a value with fewer dims
// (N, C and maybe L) gets sizes of 1.
typedef enum sc_xa_layout { SC_XA_PLAIN, SC_XA_CHANNELS_LAST, SC_XA_LAYOUTS } sc_xa_layout;

// Demands of a row on the tensors that its node reads and returns.
typedef enum sc_xa_tensors {
    SC_XA_REALS,  // all float32, or all float16
    SC_XA_CASTS,  // each float32 or float16
    SC_XA_OWN,    // its family checks them itself
} sc_xa_tensors;

typedef struct sc_xa_family {
    bool (*check)(sc_xa *x, const sc_node *node);
    sc_status (*make)(sc_xa_maker *m, const sc_node *node);
    uint8_t tensors;  // sc_xa_tensors
    // The layouts in which it can compute 4-D values: both if `follows`, else only `layout`.
    bool follows;
    uint8_t layout;
} sc_xa_family;

struct sc_xa_row {
    uint8_t kind;  // sc_xnn_kind
    bool is_kept;  // a composite that is delegated whole
    const sc_xa_family *family;
};

// NULL: XNNPACK has no such operator.
const sc_xa_row *sc_xa_row_of(const sc_node *node);
bool sc_xa_is(const sc_node *node, const sc_xa_family *family);

#define FAMILY(name) extern const sc_xa_family sc_xa_##name;
FAMILY(unary)
FAMILY(binary)
FAMILY(scalar)
FAMILY(clamp)
FAMILY(slope)
FAMILY(prelu)
FAMILY(power)
FAMILY(gelu)
FAMILY(softmax)
FAMILY(copy)
FAMILY(reshape)
FAMILY(permute)
FAMILY(slice)
FAMILY(cat)
FAMILY(pad)
FAMILY(pool)
FAMILY(mean)
FAMILY(amax)
FAMILY(resize)
FAMILY(nearest)
FAMILY(gemm)
FAMILY(bmm)
FAMILY(conv)
FAMILY(norm)
FAMILY(quantize)
FAMILY(dequantize)
FAMILY(choose)
#undef FAMILY

// --- Looking (look.c) ----------------------------------------------------------------------------

// Records the reason, and returns false.
bool sc_xa_refuse(sc_xa *x, const char *hint, const char *format, ...) SC_PRINTF(3, 4);
// Puts the nodes into one group.
void sc_xa_join(sc_xa *x, const sc_node *a, const sc_node *b);
// Gives all nodes of one group the same mark, which is that of one of them.
uint32_t sc_xa_group_of(const sc_xa *x, uint32_t mark);

// Does the target runtime keep constants that are not packed weights? Refuses otherwise.
bool sc_xa_holds_operands(sc_xa *x);

const sc_arg *sc_xa_arg(const sc_node *node, const char *param);       // None if it is absent
const sc_value *sc_xa_tensor(const sc_node *node, const char *param);  // NULL if it is None
bool sc_xa_number(const sc_node *node, const char *param, double *out);
int64_t sc_xa_int(const sc_node *node, const char *param);  // 0 unless it is an integer
bool sc_xa_flag(const sc_node *node, const char *param);
// Known integers; returns the count, or -1. A list of one is repeated `spread` times if that is not
// 0.
int32_t sc_xa_ints(const sc_node *node, const char *param, int64_t *out, uint32_t max,
                   uint32_t spread);
int64_t sc_xa_dim(int64_t dim, uint32_t rank);  // as Python counts it
// The only node that reads it, or NULL. The graph's return counts as a reader that is no node.
const sc_node *sc_xa_only_user(const sc_value *value);
// Is it a graph input with constant bytes, which are never written?
bool sc_xa_is_constant(const sc_value *value);
bool sc_xa_is_static(const sc_value *value);
// Is it a whole constant table of few bits, permuted or not, which a node widens when the program
// runs? Kernels multiply with such integers as they are.
bool sc_xa_is_widened(const sc_value *value);
uint32_t sc_xa_dynamic_dims(const sc_value *value);
// The largest size of a dim, which is known to fit.
uint32_t sc_xa_size(const sc_value *value, uint32_t dim);
bool sc_xa_shape_equal(const sc_value *a, const sc_value *b);
// The runtime that the options name.
sc_xnn_runtime sc_xa_runtime(const sc_options *options);
// The type of the integers that a node makes or reads; SC_DTYPE_NONE if the node does not say.
uint8_t sc_xa_integers_of(const sc_node *node);
bool sc_xa_has_blocks(const sc_node *node);

// --- Judging (judge.c) ---------------------------------------------------------------------------

// Can the node be delegated? If so, joins groups.
bool sc_xa_judge(sc_xa *x, const sc_node *node);

// --- Constants (constant.c) ----------------------------------------------------------------------

// The relation of integers to reals, as a quantize or dequantize node states it.
typedef struct sc_xa_params {
    uint8_t kind;   // sc_xnn_quant_kind
    uint8_t dtype;  // range of the integers
    int64_t low, high;
    float scale;                     // per tensor
    int32_t zero_point;              // per tensor
    const sc_value *scales, *zeros;  // per channel and per group; zeros may be NULL
    uint32_t axis;
    int64_t group;  // items of a row that share a scale
} sc_xa_params;

// A constant as some nodes show it: permuted, and maybe dequantized.
typedef struct sc_xa_constant {
    const sc_value *input;
    const sc_constant *constant;
    const sc_node *dequantize;  // NULL: it is a float
    const sc_value *integers;   // the input of dequantize
    sc_xa_params params;        // of the axes as shown
    uint32_t rank;
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];  // as shown; strides in items of the bytes
} sc_xa_constant;

// False if the value is computed at run time.
bool sc_xa_constant_of(const sc_value *value, sc_xa_constant *out);
// Is it an operand of the branch or loop that contains it, directly or through nodes that show it?
// It may be a parameter, which the body cannot know.
bool sc_xa_is_passed(const sc_value *value);
// Puts the node into one group with the nodes that show the constant.
void sc_xa_join_constant(sc_xa *x, const sc_node *node, const sc_value *value);
// An element of this dtype; NaN if the dtype has no real numbers.
double sc_xa_number_at(const uint8_t *at, uint8_t dtype);
// The element count; false above 32 bits.
bool sc_xa_numel(const sc_xa_constant *constant, uint64_t *total);
// Its bytes as the nodes show it, row-major.
sc_extent sc_xa_extent_of(sc_ctx *ctx, const sc_xa_constant *constant);
// Can its numbers be read at once? They must be real and at most 2^20.
bool sc_xa_has_numbers(const sc_xa_constant *constant);
// Reads these numbers, on scratch.
sc_status sc_xa_read_numbers(sc_ctx *ctx, const sc_xa_constant *constant, double **out,
                             uint32_t *count);
// Reads the parameters of a quantize or dequantize node, if they are known numbers; false
// otherwise.
bool sc_xa_params_of(const sc_node *node, sc_xa_params *out);
// Are all scales positive and normal, and all zero points 0? Unless there are groups, they must be
// few enough to read at once. Refuses otherwise.
bool sc_xa_symmetric(sc_xa *x, const sc_xa_params *params);
// Do the products of scales, which scale the integers of a bias, stay normal? Refuses otherwise.
bool sc_xa_quantizes_bias(sc_xa *x, const sc_xa_params *weight, const sc_xa_params *input);
bool sc_xa_is_four_bits(const sc_xa_params *params);
// Can sums of products be requantized to 8 bits? `weight` must have passed sc_xa_symmetric.
bool sc_xa_requantizes(sc_xa *x, const sc_xa_params *weight, const sc_xa_params *input,
                       const sc_xa_params *output);

// --- Quantization (quantize.c) -------------------------------------------------------------------

// Does it use all 8 bits, and one scale that XNNPACK accepts?
bool sc_xa_is_plain(const sc_xa_params *params);
// Is the value the result of a dequantize node whose 8-bit integers XNNPACK computes with? If so,
// gives the node and the parameters.
bool sc_xa_dequantized(const sc_value *value, const sc_node **node, sc_xa_params *params);
// The same for parameters that are computed at run time, for the whole tensor or for its rows.
// `choose` is the node that computes them, `source` the value that is quantized. All readers of the
// result are products and convolutions that XNNPACK takes in this form, because no other node could
// read it.
typedef struct sc_xa_dynamic {
    const sc_node *dequantize, *quantize, *choose;
    const sc_value *source;
} sc_xa_dynamic;
// Does a quantization or dequantization have a scale that each run chooses?
bool sc_xa_has_chosen_scale(const sc_node *node);
bool sc_xa_dynamically_dequantized(sc_xa *x, const sc_value *value, sc_xa_dynamic *out);
// Do all nodes that make or read these integers agree on the parameters?
bool sc_xa_integers_agree(const sc_value *integers, const sc_xa_params *params);

// The bounds of a clamp, whatever its operator; false for other nodes, and if the range is empty.
bool sc_xa_range_of(const sc_node *node, float *low, float *high);
// The nodes after a node that are computed together with it.
typedef struct sc_xa_tail {
    const sc_node *activation;  // NULL: absent
    float low, high;
    const sc_node *quantize;  // NULL: the result is not quantized
    sc_xa_params params;
    const sc_value *out;  // the result of the last of them
} sc_xa_tail;
void sc_xa_tail_of(const sc_value *value, bool fuses, sc_xa_tail *out);
// Can the node be computed with 8-bit integers? All tensors that it reads must be dequantized, and
// its only user must be a quantize node. Joins them if so. SC_XA_FUSES: the tail is fused.
// SC_XA_ALIKE: all operands have the same parameters.
enum { SC_XA_FUSES = 1, SC_XA_ALIKE = 2 };
bool sc_xa_is_quantized(sc_xa *x, const sc_node *node, uint32_t how, sc_xa_tail *tail);

// --- Padding (move.c) ----------------------------------------------------------------------------

// Zeros around an image, in a node with one reader.
typedef struct sc_xa_pad_sides {
    const sc_node *node;
    uint32_t left, right, top, bottom;
} sc_xa_pad_sides;
bool sc_xa_pad_of(const sc_value *value, sc_xa_pad_sides *out);
// Can the node take over the padding before it?
bool sc_xa_takes_padding(const sc_node *node);

// --- Batch norm (conv.c) -------------------------------------------------------------------------

// The batch norm behind a convolution or linear layer that can be folded into its weights; NULL:
// absent.
const sc_node *sc_xa_norm_behind(const sc_value *value);

// --- Values and nodes (value.c) ------------------------------------------------------------------

// Kinds of readers of a value that is quantized on the way. XNNPACK turns the value into the form
// that suits one reader. A reader that takes another form then reads it wrongly, without an error,
// so only readers of one kind share it.
typedef enum sc_xa_reader {
    SC_XA_READER_BYTES,    // rows, for weights of 8 bits
    SC_XA_READER_NIBBLES,  // of 4 bits
    SC_XA_READER_GROUPS,   // of 4 bits in groups
    SC_XA_READER_PIXELS,   // channels-last, for convolutions that are products of matrices
    SC_XA_READER_WINDOWS,
    SC_XA_READER_TRANSPOSED,
    SC_XA_READERS
} sc_xa_reader;

// XNNPACK's values for one of our values.
typedef struct sc_xa_slot {
    uint32_t ids[SC_XA_LAYOUTS];      // SC_XNN_NONE: not made in this layout yet
    uint32_t dynamic[SC_XA_READERS];  // quantized on the way
} sc_xa_slot;

struct sc_xa_maker {
    sc_xa x;
    sc_part *part;
    sc_xnn_graph *graph;
    sc_imap slots;        // value -> sc_xa_slot
    sc_imap layouts;      // node that may choose -> sc_xa_layout
    sc_imap absorbed;     // nodes that were merged into others -> those
    sc_imap weights;      // constant -> the last XNNPACK value made of it
    sc_str weight;        // name of the constant that XNNPACK constants are being made of
    const sc_node *node;  // the node that is being made, or whose result is needed
    // The node for which each XNNPACK node was made; NULL for copies of inputs.
    SC_VEC(const sc_node *) makers;
};

// Lists the events that the part reports (events.c), once the remaining nodes are known.
void sc_xa_add_events(sc_xa_maker *m);

sc_xa_layout sc_xa_layout_of(const sc_xa_maker *m, const sc_node *node);
sc_xa_slot *sc_xa_slot_of(sc_xa_maker *m, const sc_value *value);
// The layout in which it can exist: values without channels have only one.
sc_xa_layout sc_xa_usable(const sc_value *value, sc_xa_layout layout);
// Defines the result of the node: a new XNNPACK value for one of our values.
uint32_t sc_xa_define(sc_xa_maker *m, const sc_value *value, sc_xa_layout layout);
// Sets the quantization of a value of integers to that of the nodes that make or read it. If there
// is none, the check of the payload refuses it.
void sc_xa_set_integers(sc_xa_maker *m, const sc_value *value, uint32_t id);
// An intermediate value, which corresponds to none of ours, of the datatype of `like`.
uint32_t sc_xa_between(sc_xa_maker *m, uint32_t like, const sc_xnn_shape *shape);
// Makes `value` the same as `other`, in all layouts in which that exists.
void sc_xa_alias(sc_xa_maker *m, const sc_value *value, const sc_value *other);
// Makes `value` this XNNPACK value, in a layout. Fails if it must be another one, see make.c.
sc_status sc_xa_stand_for(sc_xa_maker *m, const sc_value *value, sc_xa_layout layout, uint32_t id);
void sc_xa_absorb(sc_xa_maker *m, const sc_node *node);
void sc_xa_absorb_tail(sc_xa_maker *m, const sc_xa_tail *tail);
sc_xnn_node *sc_xa_add(sc_xa_maker *m, sc_xnn_kind kind, uint32_t input, uint32_t output);
void sc_xa_set_range(sc_xnn_node *node, const sc_xa_tail *tail);
sc_xnn_list sc_xa_list(sc_xa_maker *m, const uint32_t *items, uint32_t count);
sc_status sc_xa_add_reshape(sc_xa_maker *m, uint32_t input, uint32_t output, const bool *dynamic);
void sc_xa_shape(const sc_value *value, sc_xa_layout layout, sc_xnn_shape *out);
// The dims of it that are dynamic; parallel to sc_xa_shape.
void sc_xa_dynamic_of(const sc_value *value, sc_xa_layout layout, bool *out);
// The place of one of our dims.
uint32_t sc_xa_place(uint32_t rank, sc_xa_layout layout, uint32_t dim);
bool sc_xa_is_there(sc_xa_maker *m, const sc_value *value, sc_xa_layout layout);
// Does moving the channels move no element?
bool sc_xa_is_trivial(const sc_value *value);
// The layout in which a value enters or leaves the part.
sc_xa_layout sc_xa_outer_layout(const sc_xa_maker *m, const sc_value *value);

// --- Bytes of weights (stream.c) -----------------------------------------------------------------

// Items of another dtype as float32, each multiplied by the factor of its channel. Factors are
// borrowed.
typedef struct sc_xa_conversion {
    uint8_t from;  // int8, float16, bfloat16 or float32
    uint64_t items;
    uint64_t inner, channels;  // item i belongs to channel i / inner % channels
    const double *factors;     // by channel; NULL: 1
} sc_xa_conversion;
sc_extent sc_xa_to_floats(sc_arena *arena, sc_extent base, const sc_xa_conversion *how);
// Numbers of another dtype as bfloat16.
sc_extent sc_xa_to_halves(sc_arena *arena, sc_extent base, uint8_t from, uint64_t items);
// Rows of int8 from -8 to 7, two in a byte, each with 8 added, the first one in the low bits.
sc_extent sc_xa_nibbles(sc_arena *arena, sc_extent base, uint64_t rows, uint64_t columns);

// --- Weights (weight.c) --------------------------------------------------------------------------

// A vector of floats in memory, which is borrowed.
sc_status sc_xa_add_floats(sc_xa_maker *m, const float *values, const sc_xnn_shape *shape,
                           uint32_t *id);
// The same in float16, from numbers that are copied.
sc_status sc_xa_add_halves(sc_xa_maker *m, const float *values, const sc_xnn_shape *shape,
                           uint32_t *id);
// A constant as a static value, which is reordered, multiplied and packed while it is read.
typedef struct sc_xa_weight {
    const sc_xa_constant *constant;
    uint32_t rank;  // of the items that are read
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    uint64_t inner, channels;  // item i belongs to channel i / inner % channels
    const double *factors;     // by channel, or NULL
    bool keeps_dtype;          // else it becomes float32
    bool by_channel;           // one scale for all becomes one for each channel
    sc_xnn_shape shape;        // as XNNPACK sees it
    uint32_t channel_dim;      // its dim of channels, for scales
} sc_xa_weight;
sc_status sc_xa_add_weight(sc_xa_maker *m, const sc_xa_weight *weight, uint32_t *id);
// The generic operand: a constant without changes, in a layout, with leading sizes of 1 up to
// `rank`.
sc_status sc_xa_add_operand(sc_xa_maker *m, const sc_xa_constant *constant, uint32_t rank,
                            sc_xa_layout layout, uint32_t *id);
// Numbers by channel: float32, or the integers of static quantization.
sc_status sc_xa_add_bias(sc_xa_maker *m, const double *values, uint32_t count,
                         const sc_xa_params *weight, const sc_xa_params *input, uint32_t *id);
// Adds the bias of a product. `bias` may be NULL; if there is a batch norm behind the product,
// `norm`, it is folded in. SC_XNN_NONE without both. `factors` are those of the norm by channel, on
// scratch, and stay unchanged without a norm (conv.c).
sc_status sc_xa_add_bias_of(sc_xa_maker *m, const sc_value *bias, const sc_node *norm,
                            const sc_xa_params *weight, const sc_xa_params *input, double **factors,
                            uint32_t *id);

// --- Making (make.c) -----------------------------------------------------------------------------

// Compiles a part to a payload and its data; see sc_backend.
sc_status sc_xa_preprocess(const sc_backend *backend, sc_ctx *ctx, const sc_backend_env *env,
                           sc_part *part);

// The value in a layout, made or converted if necessary.
sc_status sc_xa_want(sc_xa_maker *m, const sc_value *value, sc_xa_layout layout, uint32_t *id);
// The same for an operand that is broadcast to `rank` dims.
sc_status sc_xa_want_operand(sc_xa_maker *m, const sc_value *value, uint32_t rank,
                             sc_xa_layout layout, uint32_t *id);
// The floats of the value as 8 bits, quantized at run time: by row, or in channels-last by image.
sc_status sc_xa_want_dynamic(sc_xa_maker *m, const sc_value *value, sc_xa_reader reader,
                             uint32_t *id);
// The value with its elements in row-major order, whatever its dims.
sc_status sc_xa_want_flat(sc_xa_maker *m, const sc_value *value, uint32_t *id);

#endif
