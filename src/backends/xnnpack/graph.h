// An XNNPACK graph as plain structures. The compiler half builds and writes it, and the runtime
// half reads and runs it. It knows the file format and XNNPACK's rules, but none of our operators.
//
// A payload is a header "XH00", a FlatBuffer "XN01" (schema/xnnpack.fbs) and, in old files, bytes
// of constants. Values are tensors, dense and row-major as XNNPACK sees them, so 4-D activations of
// convolutions are N, H, W, C. Nodes read and write values by index, in an order in which every
// value is made before it is read. Weights are mostly named data of the program.
// Prefix: sc_xnn_ (XNNPACK's own graph, for both halves).
#ifndef SC_XNNPACK_GRAPH_H
#define SC_XNNPACK_GRAPH_H

#include "base/cord.h"

#define SC_XNN_BACKEND "XnnpackBackend"  // the backend's id in files

enum {
    SC_XNN_RANK_MAX = 6,
    SC_XNN_INPUTS_MAX = 5,
    SC_XNN_OUTPUTS_MAX = 2,
    SC_XNN_NUMBERS_MAX = 15,
    SC_XNN_EXTERNALS_MAX = 4096,
    SC_XNN_DATA_ALIGN = 16,  // alignment of named data
};
#define SC_XNN_NONE UINT32_MAX  // no value: a missing operand, or an internal value's external id

// Releases of the runtime with different limits, in order.
typedef enum sc_xnn_runtime {
#define RUNTIME(id, name) SC_XNN_RUNTIME_##id,
#include "backends/xnnpack/nodes.def"
    SC_XNN_RUNTIME_COUNT,
    SC_XNN_RUNTIME_LATEST = SC_XNN_RUNTIME_COUNT - 1
} sc_xnn_runtime;

typedef enum sc_xnn_kind {
    SC_XNN_KIND_NONE,
#define NODE(id, ...) SC_XNN_##id,
#include "backends/xnnpack/nodes.def"
    SC_XNN_KIND_COUNT
} sc_xnn_kind;

typedef enum sc_xnn_datatype {
    SC_XNN_DATATYPE_INVALID,
#define DATATYPE(id, ...) SC_XNN_##id,
#include "backends/xnnpack/nodes.def"
    SC_XNN_DATATYPE_COUNT
} sc_xnn_datatype;

// The numbers are those of the file's union.
typedef enum sc_xnn_quant_kind {
    SC_XNN_QUANT_NONE,
    SC_XNN_PER_CHANNEL,
    SC_XNN_PER_TENSOR,
    SC_XNN_PER_TOKEN,  // chosen at run time: activations that become 8 bits on the way
    SC_XNN_PER_GROUP,  // blocks of 4-bit weights along a row, scales in bf16
} sc_xnn_quant_kind;

typedef struct sc_xnn_quant {
    uint8_t kind;            // sc_xnn_quant_kind
    float scale;             // per tensor
    int32_t zero_point;      // per tensor
    uint32_t channel_dim;    // per channel, per group
    uint32_t group_size;     // per group
    uint32_t nonbatch_dims;  // per token
    uint32_t scales;         // per channel (f32), per group (bf16): index among constants
    uint32_t scale_count;
    const float *inline_scales;  // in old files: per channel, if `scales` is 0
} sc_xnn_quant;

// Sizes as XNNPACK sees them. Rank 0 does not occur: such tensors are [1].
typedef struct sc_xnn_shape {
    uint32_t rank;
    uint32_t dims[SC_XNN_RANK_MAX];
} sc_xnn_shape;

enum { SC_XNN_EXTERNAL_INPUT = 1, SC_XNN_EXTERNAL_OUTPUT = 2 };  // flags of values

typedef struct sc_xnn_value {
    uint8_t datatype;  // sc_xnn_datatype
    uint32_t flags;
    sc_xnn_shape shape;  // upper bounds where sizes are dynamic
    sc_xnn_quant quant;
    uint32_t constant;     // index among constants, 0 for none
    uint32_t external_id;  // place among the arguments of a call, or SC_XNN_NONE
} sc_xnn_value;

enum {  // flags of nodes
    SC_XNN_TRANSPOSE_WEIGHTS = 1,
    SC_XNN_ALIGN_CORNERS = 8,
    SC_XNN_KEEP_DIMS = 0x40,
};

// A convolution's parameters; pooling has those up to dilation, argmax pooling those up to kernel.
typedef struct sc_xnn_window {
    uint32_t padding_top, padding_right, padding_bottom, padding_left;
    uint32_t kernel_height, kernel_width;
    uint32_t stride_height, stride_width;
    uint32_t dilation_height, dilation_width;
    uint32_t group_input_channels, group_output_channels, groups;
    uint32_t adjustment_height, adjustment_width;
} sc_xnn_window;

typedef struct sc_xnn_list {
    const uint32_t *items;  // NULL: absent
    uint32_t count;
} sc_xnn_list;

typedef struct sc_xnn_node {
    uint8_t kind;  // sc_xnn_kind
    // Index among values or SC_XNN_NONE. Weighted nodes: input, filter, bias.
    uint32_t inputs[SC_XNN_INPUTS_MAX];
    uint32_t outputs[SC_XNN_OUTPUTS_MAX];
    uint32_t flags;
    union {
        uint32_t numbers[SC_XNN_NUMBERS_MAX];
        sc_xnn_window window;
        struct {
            uint32_t new_height, new_width;
        };
        uint32_t axis;
    };
    float value;  // the padding value, negative slope, or alpha
    sc_xnn_list
        lists[2];  // perm; new shape (0: the rest); offsets and sizes; paddings pre and post
    bool has_range;
    float low, high;  // if it has one: bounds of the output
    uint32_t debug_handle;
} sc_xnn_node;

// Constant bytes. Either named: then `bytes` is set while compiling. Or part of the payload: then
// they are in `data`.
typedef struct sc_xnn_constant {
    sc_str key;  // among named data; NULL data if the payload contains the bytes
    uint64_t size;
    const sc_cord *bytes;    // the bytes that the compiler stores under that name; NULL when read
    SC_VEC(sc_str) weights;  // names of the weights that the compiler made the bytes of
    const uint8_t *data;  // bytes in the payload, or those that a runtime has found under the name
} sc_xnn_constant;

typedef struct sc_xnn_graph {
    sc_arena *arena;
    uint32_t external_count;  // arguments of a call: inputs, then outputs
    SC_VEC(sc_xnn_value) values;
    SC_VEC(sc_xnn_node) nodes;
    SC_VEC(sc_xnn_constant) constants;  // entry 0 means no constant
} sc_xnn_graph;

// --- Facts of the tables -------------------------------------------------------------------------

// A slot of a kind's table in the file.
typedef enum sc_xnn_field {
    SC_XNN_FIELDS_END,
    SC_XNN_FIELD_INPUT,
    SC_XNN_FIELD_OUTPUT,
    SC_XNN_FIELD_FLAGS,
    SC_XNN_FIELD_NUMBER,
    SC_XNN_FIELD_VALUE,
    SC_XNN_FIELD_COUNT,
    SC_XNN_FIELD_LIST
} sc_xnn_field;

typedef enum sc_xnn_mixing { SC_XNN_MIX, SC_XNN_ALL, SC_XNN_ALIKE } sc_xnn_mixing;

// A combination of datatypes that a kind accepts. It has one entry for all operands, or one for
// each if it is a mix.
typedef struct sc_xnn_types {
    uint8_t of[4];   // sc_xnn_datatype
    uint8_t mixing;  // sc_xnn_mixing
} sc_xnn_types;

typedef struct sc_xnn_kind_row {
    const char *name;           // "Add"
    const uint8_t *fields;      // sc_xnn_field, up to SC_XNN_FIELDS_END
    const sc_xnn_types *types;  // up to SC_XNN_DATATYPE_INVALID
    uint8_t inputs, required, outputs;
    uint8_t since;  // sc_xnn_runtime
} sc_xnn_kind_row;

typedef struct sc_xnn_datatype_row {
    const char *name;  // "fp32"
    uint8_t bits;      // of an element
    uint8_t dtype;     // sc_dtype with the same bytes; SC_DTYPE_NONE if there is none
    uint8_t since;     // sc_xnn_runtime
} sc_xnn_datatype_row;

extern const sc_xnn_kind_row sc_xnn_kinds[SC_XNN_KIND_COUNT];
extern const char *const sc_xnn_runtimes[SC_XNN_RUNTIME_COUNT];  // "1.0"
extern const sc_xnn_datatype_row sc_xnn_datatypes[SC_XNN_DATATYPE_COUNT];

// The datatype of plain tensors with this sc_dtype; invalid if XNNPACK has none.
sc_xnn_datatype sc_xnn_datatype_of(unsigned dtype);
// Bytes of a dense tensor; rows of 4-bit weights, along the last dimension, end on whole bytes.
// False if the number does not fit.
bool sc_xnn_bytes(unsigned datatype, const sc_xnn_shape *shape, uint64_t *bytes);
// The element count; false if it does not fit into 63 bits.
bool sc_xnn_numel(const sc_xnn_shape *shape, uint64_t *numel);
bool sc_xnn_shape_is(const sc_xnn_shape *a, const sc_xnn_shape *b);

// --- Events --------------------------------------------------------------------------------------

// "DepthwiseConv2d #07": the name of a node for profilers, in a graph with `count` nodes. All have
// the same number of digits, so that no id is part of another.
#define SC_XNN_EVENT_ID_BYTES 64
sc_str sc_xnn_event_id(const sc_xnn_node *node, uint32_t index, uint32_t count,
                       char text[SC_XNN_EVENT_ID_BYTES]);

// --- Building ------------------------------------------------------------------------------------

// An empty graph, but for entry 0 of the constants. It lives on `arena`.
sc_xnn_graph *sc_xnn_graph_new(sc_arena *arena);
// Adds an internal value without quantization, which the caller may change. Returns the index for
// nodes.
uint32_t sc_xnn_add_value(sc_xnn_graph *graph, sc_xnn_datatype datatype, const sc_xnn_shape *shape);
// Adds a named constant. Borrows key and cord. The same key again gives the same entry.
uint32_t sc_xnn_add_constant(sc_xnn_graph *graph, sc_str key, const sc_cord *bytes);
// Adds a node without operands and with zero parameters; it is valid until the next one is added.
sc_xnn_node *sc_xnn_add_node(sc_xnn_graph *graph, sc_xnn_kind kind);

// --- Writing, reading, checking ------------------------------------------------------------------

// Writes the payload to an empty cord, onto which all bytes are copied. Named constants are only
// named: the caller adds their bytes to the program's named data. SC_ERR_LIMIT if the payload gets
// too large.
sc_status sc_xnn_write(sc_ctx *ctx, const sc_xnn_graph *graph, sc_cord *out);

// Reads any bytes to a graph on `arena`, which borrows `data`. Afterwards every index, list and
// size is in range, and no value is made twice or read before it is made. Bytes of the payload that
// constants refer to exist, as many as values need. XNNPACK's own rules are left to sc_xnn_check.
// Named constants have no data yet. SC_ERR_CORRUPT, SC_ERR_LIMIT, or SC_ERR_DELEGATE for features
// of a later release.
sc_status sc_xnn_read(sc_ctx *ctx, sc_arena *arena, const uint8_t *data, uint64_t size,
                      sc_xnn_graph **out);

// Checks XNNPACK's own rules for this runtime: those for defining a graph, and those of shapes, for
// which declared sizes count as actual ones. SC_ERR_DELEGATE names node, values and rule.
sc_status sc_xnn_check(sc_ctx *ctx, const sc_xnn_graph *graph, sc_xnn_runtime runtime);

// Can 8 bits of scales `a` and `b` be added to 8 bits of the scale `out`? Outside these ratios
// XNNPACK refuses, or loses digits.
bool sc_xnn_sum_fits(float a, float b, float out);
// The upper bound of the product of the operands' scales, divided by the scale of its 8-bit result.
#define SC_XNN_REQUANTIZATION_END 256.0f

// Derives the sizes of all values from those of external inputs and constants, which are set; the
// graph has been checked. `shapes` has room for every value. SC_ERR_SHAPE names the node.
sc_status sc_xnn_infer(sc_ctx *ctx, const sc_xnn_graph *graph, sc_xnn_shape *shapes);

// Prints a line for each value that is not made by a node, and a line for each node.
void sc_xnn_print(sc_sb *out, const sc_xnn_graph *graph);

#endif
