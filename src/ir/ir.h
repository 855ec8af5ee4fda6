// The compiler's only mutable structure: programs of methods, methods of graphs, graphs of nodes in
// topological order. All of it is on the job's arena, and no part is freed alone.
//
// An argument that names a value is its own link in that value's use list, so use lists cannot
// rot as long as arguments change only through sc_arg_set_*, sc_replace_uses and sc_node_erase.
// Prefixes: sc_program_, sc_method_, sc_graph_, sc_node_, sc_value_ and sc_arg_, one for each
// level; sc_copier_ copies nodes, sc_where_ says what messages are about.
#ifndef SC_IR_H
#define SC_IR_H

#include "base/map.h"
#include "base/source.h"
#include "ops/infer.h"

typedef struct sc_program sc_program;
typedef struct sc_method sc_method;
typedef struct sc_graph sc_graph;
typedef struct sc_node sc_node;
typedef struct sc_value sc_value;
typedef struct sc_arg sc_arg;
typedef struct sc_part sc_part;

typedef enum sc_value_type {
    SC_VALUE_TENSOR,
    SC_VALUE_INT,  // symbolic integer; `dim` when known as an expression
    SC_VALUE_FLOAT,
    SC_VALUE_BOOL,   // `dim` is 0/1 valued when known
    SC_VALUE_NONE,   // an empty output slot
    SC_VALUE_OPAQUE  // tokens, script objects: passed on, never computed with
} sc_value_type;

struct sc_value {
    const sc_name *name;
    sc_value_type type;
    bool has_dim;  // INT, BOOL: `dim` is valid
    sc_spec spec;  // TENSOR
    sc_dim dim;
    sc_graph *graph;
    sc_node *node;   // NULL for graph inputs
    uint32_t index;  // among the node's outs or the graph's inputs
    uint32_t use_count;
    sc_arg *first_use;  // order of attachment
    sc_arg *last_use;
    uint32_t mark;  // scratch number for the pass that runs
};

typedef enum sc_arg_kind {
    SC_ARG_NONE,
    SC_ARG_VALUE,
    SC_ARG_INT,
    SC_ARG_FLOAT,
    SC_ARG_BOOL,
    SC_ARG_STR,
    SC_ARG_DTYPE,
    SC_ARG_LAYOUT,
    SC_ARG_MEMORY_FORMAT,
    SC_ARG_DEVICE,
    SC_ARG_LIST,
    SC_ARG_GRAPH,
    SC_ARG_PART  // the part of a delegate call (part.h)
} sc_arg_kind;

// Most of a graph's memory is arguments: 24 bytes each on wasm.
struct sc_arg {
    union {
        struct {
            sc_value *value;
            sc_arg *prev_use;
        };
        int64_t i;
        double f;
        bool b;
        sc_str str;     // STR, DEVICE ("cpu")
        sc_arg *items;  // LIST
        sc_graph *graph;
        const sc_part *part;
    };
    union {
        sc_arg *next_use;  // VALUE
        uint32_t count;    // LIST
    };
    sc_node *user;  // set when attached to a node
    uint8_t kind;   // sc_arg_kind
    uint8_t code;   // DTYPE: sc_dtype, MEMORY_FORMAT: sc_memory_format, LAYOUT: 0 strided
};

// The origin of a node; copied to every node that a rewrite makes of it.
typedef struct sc_meta {
    sc_str stack_trace;     // the user's Python traceback, verbatim
    sc_str module_stack;    // nn_module_stack, verbatim
    sc_str source_stack;    // source_fn_stack, verbatim; of strict exports, and not in texts
    const sc_name *origin;  // the node of the source file (sc_graph_origin), which determines the
                            // handle
    uint32_t debug_handle;
} sc_meta;

struct sc_node {
    const sc_op *op;
    const sc_name *name;
    sc_graph *graph;
    sc_node *prev, *next;
    sc_arg *args;  // op->schema order, defaults filled in
    uint32_t arg_count;
    sc_value **outs;     // a Tensor[] return is flattened into one value per element
    sc_value *only_out;  // the array behind `outs` if there is one result
    uint32_t out_count;
    sc_meta meta;
    sc_str *arg_names;   // foreign ops only: names as in the file, "" for positional
    const sc_name *tag;  // delegation tag, NULL when none
    bool is_kept;        // stays whole although its operator has an expansion
    bool is_final;       // made for the official runtime, which runs this call without change
    uint32_t mark;       // scratch number for the pass that runs
};

struct sc_graph {
    sc_ctx *ctx;
    sc_method *method;
    sc_graph *parent;       // NULL for a method's top graph
    const sc_name *name;    // of a subgraph; NULL for the top graph
    sc_node *first, *last;  // the return pseudo-node below is not among them
    uint32_t node_count;
    SC_VEC(sc_value *) inputs;
    sc_node *ret;     // pseudo-node without op: its args are the graph's outputs
    bool has_bodies;  // a node of it was given a body
    sc_imap names;    // taken value and node names -> next suffix
    sc_pool nodes, values;
};

// --- Signature -----------------------------------------------------------------------------------

typedef enum sc_input_kind {
    SC_INPUT_USER,
    SC_INPUT_PARAMETER,
    SC_INPUT_BUFFER,
    SC_INPUT_CONSTANT_TENSOR,
    SC_INPUT_CUSTOM_OBJ,
    SC_INPUT_TOKEN,
    SC_INPUT_CONSTANT  // a Python value frozen at export: `constant_value`
} sc_input_kind;

typedef enum sc_output_kind {
    SC_OUTPUT_USER,
    SC_OUTPUT_BUFFER_MUTATION,
    SC_OUTPUT_PARAMETER_MUTATION,
    SC_OUTPUT_INPUT_MUTATION,
    SC_OUTPUT_LOSS,
    SC_OUTPUT_GRADIENT,        // of a parameter, which the method trains
    SC_OUTPUT_INPUT_GRADIENT,  // of a user input
    SC_OUTPUT_TOKEN,
    SC_OUTPUT_TRAINED  // a parameter with a gradient, for the optimizer; made by the pass training
} sc_output_kind;

// True if an input represents an sc_constant.
static inline bool sc_input_has_constant(sc_input_kind kind) {
    return kind == SC_INPUT_PARAMETER || kind == SC_INPUT_BUFFER ||
           kind == SC_INPUT_CONSTANT_TENSOR;
}

// The relation of an output to an input that it replaces.
static inline bool sc_output_is_mutation(sc_output_kind kind) {
    return kind == SC_OUTPUT_BUFFER_MUTATION || kind == SC_OUTPUT_PARAMETER_MUTATION ||
           kind == SC_OUTPUT_INPUT_MUTATION;
}

// A tensor with stored bytes: parameter, buffer or lifted constant. Bytes are dense in the dim
// order of `spec`'s strides once import is done.
typedef struct sc_constant {
    sc_str name;   // fully qualified name
    sc_spec spec;  // static
    sc_extent data;
    bool persistent;
    bool lifted_scalar;  // made from a Python number, never externalised
} sc_constant;

typedef struct sc_input_sig {
    sc_input_kind kind;
    sc_str target;          // fully qualified name of parameters, buffers, constants
    sc_constant *constant;  // their bytes
    bool persistent;        // buffers
    bool is_trained;        // parameters: an optimizer writes them between runs (pass training)
    sc_arg constant_value;  // SC_INPUT_CONSTANT
} sc_input_sig;

typedef struct sc_output_sig {
    sc_output_kind kind;
    sc_str target;  // name of the buffer, parameter or user input that is written or derived for
} sc_output_sig;

// Facts that hold for a method between passes (passes.def says which pass makes and breaks each).
typedef enum sc_fact {
    SC_FACT_SPECS = 1 << 0,       // every value's spec agrees with inference
    SC_FACT_CORE = 1 << 1,        // functional, and no operator with an expansion is left
    SC_FACT_EDGE = 1 << 2,        // edge dialect: copies for views, dim orders for memory formats
    SC_FACT_WRITTEN = 1 << 3,     // mutations are written back by copy_ nodes
    SC_FACT_NO_DEAD = 1 << 4,     // no node without use or effect
    SC_FACT_HANDLES = 1 << 5,     // debug handles are assigned
    SC_FACT_EXECUTABLE = 1 << 6,  // every op has an out form or is a runtime primitive
    // Chosen by options, for all passes that come after:
    SC_FACT_FORMATS = 1 << 7,  // memory formats do not become dim orders
    SC_FACT_MIXED = 1 << 8     // operands of mixed dtype are not cast
} sc_fact;

struct sc_method {
    const sc_name *name;
    sc_program *program;
    sc_exprs *exprs;
    sc_graph *graph;
    uint32_t facts;                 // sc_fact; a new method has SPECS
    uint64_t peak_before;           // bytes needed at once before it was expanded; 0: about as many
                                    // as now
    SC_VEC(sc_input_sig) inputs;    // parallel to graph->inputs
    SC_VEC(sc_output_sig) outputs;  // parallel to graph->ret->args
    sc_str in_spec, out_spec;       // pytree specs as JSON text, verbatim
    sc_str arg_names;               // names of the arguments in the tree of the inputs, a JSON list
    bool decomposed;                // the file names the verifier ATEN
    sc_str torch_version;
    sc_extent examples;  // torch.save of the example inputs (args, kwargs); empty without them
    int64_t schema_major, schema_minor;
};

// The result of a constant method: a leaf, or a list or dict of results, as PyTorch nests them.
typedef enum sc_answer_kind {
    SC_ANSWER_PLAIN,   // `plain`: a number, bool, string or dtype
    SC_ANSWER_TENSOR,  // `tensor`
    SC_ANSWER_LIST,    // `items`
    SC_ANSWER_DICT     // `items`, by `keys`, in the order of insertion
} sc_answer_kind;

typedef struct sc_answer sc_answer;
struct sc_answer {
    sc_answer_kind kind;
    sc_arg plain;
    const sc_constant *tensor;  // row-major
    sc_answer *items;
    const sc_str *keys;
    uint32_t count;
};

// A method that returns a constant: get_max_seq_len = 256.
typedef struct sc_constant_method {
    const sc_name *name;
    sc_answer value;
} sc_constant_method;

struct sc_program {
    sc_ctx *ctx;
    SC_VEC(sc_method *) methods;  // in the order given
    SC_VEC(sc_constant_method) constant_methods;
    bool is_split;  // its methods were one, and share state whatever the options say
};

// --- Building (graph.c, build.c) -----------------------------------------------------------------

sc_program *sc_program_new(sc_ctx *ctx);
// Adds a method with an empty top graph and its own symbols. SC_ERR_ARGUMENT on a duplicate name.
sc_status sc_program_add_method(sc_program *program, sc_str name, sc_method **out);
sc_method *sc_program_method(const sc_program *program, sc_str name);  // NULL if absent

sc_graph *sc_graph_new(sc_method *method, sc_graph *parent, sc_str name);
// Names are made unique within the graph by a suffix when taken.
sc_value *sc_graph_add_input(sc_graph *graph, sc_str name, sc_value_type type);
const sc_name *sc_graph_unique_name(sc_graph *graph, sc_str wanted);
// The same for a name that is interned already, without a search.
const sc_name *sc_graph_take_name(sc_graph *graph, const sc_name *wanted);
bool sc_graph_has_name(const sc_graph *graph, sc_str name);
// Replaces all outputs; `args` is copied.
void sc_graph_set_outputs(sc_graph *graph, const sc_arg *args, uint32_t count);

// Adds a node with copies of `args` (attached), and `out_count` fresh outs of type NONE whose type,
// spec and name the caller sets. The node is not in the graph's order yet. `name_hint` NULL derives
// one from the op.
sc_node *sc_node_new(sc_graph *graph, const sc_op *op, const sc_arg *args, uint32_t arg_count,
                     uint32_t out_count, const char *name_hint);
sc_node *sc_node_new_as(sc_graph *graph, const sc_op *op, const sc_arg *args, uint32_t arg_count,
                        uint32_t out_count, const sc_name *wanted);
void sc_graph_append(sc_graph *graph, sc_node *node);
void sc_graph_insert_before(sc_node *position, sc_node *node);
// Puts all nodes of the graph into another order, which must still be topological.
void sc_graph_reorder(sc_graph *graph, sc_node *const *order, uint32_t count);
// Detaches args and removes the node; its outs must be unused.
void sc_node_erase(sc_node *node);

// Adds a node in the usual way: checks args against the schema, fills in missing trailing defaults,
// runs shape inference, names results, appends (or inserts before `position` when not NULL) and
// copies `meta`. `out` may be NULL.
sc_status sc_build(sc_graph *graph, sc_node *position, const sc_op *op, const sc_arg *args,
                   uint32_t arg_count, const sc_meta *meta, sc_node **out);
// Names the results of a node with several results after it: split_0, split_1.
void sc_node_name_results(sc_node *node);
// Re-runs inference on a node and stores the result in its outs.
sc_status sc_node_infer(sc_node *node);
// May this argument be passed for that parameter? Numbers are allowed for tensors (a later pass
// makes them rank-0 constants), one integer for an int[N], and an integer for a float.
bool sc_arg_fits(const sc_param *param, const sc_arg *arg);
sc_arg sc_arg_default(sc_arena *arena, const sc_param *param);  // None if there is no default
// Are they the same constant or value, or lists of such? Graphs and parts are equal only to
// themselves.
bool sc_arg_equal(const sc_arg *a, const sc_arg *b);
// Completes the given leading arguments to all of the op's parameters: checks kinds, fills in
// defaults, spreads an integer for an int[N], converts an integer for a float. `out` has
// param_count items.
sc_status sc_args_complete(sc_ctx *ctx, sc_arena *arena, const sc_op *op, const sc_arg *args,
                           uint32_t arg_count, sc_arg **out);
// The infer view of a node's arguments, on `arena`.
sc_status sc_node_infer_args(sc_arena *arena, const sc_node *node, sc_iarg **out);

void sc_arg_set(sc_arg *slot, sc_arg value);  // the slot belongs to a node; use lists stay correct
void sc_replace_uses(sc_value *old_value, sc_value *new_value);
bool sc_value_is_returned(const sc_value *value);  // by its own graph

static inline sc_arg sc_arg_none(void) { return (sc_arg){.kind = SC_ARG_NONE}; }
static inline sc_arg sc_arg_value(sc_value *v) {
    return (sc_arg){.kind = SC_ARG_VALUE, .value = v};
}
static inline sc_arg sc_arg_int(int64_t i) { return (sc_arg){.kind = SC_ARG_INT, .i = i}; }
static inline sc_arg sc_arg_float(double f) { return (sc_arg){.kind = SC_ARG_FLOAT, .f = f}; }
static inline sc_arg sc_arg_bool(bool b) { return (sc_arg){.kind = SC_ARG_BOOL, .b = b}; }
static inline sc_arg sc_arg_str(sc_str s) { return (sc_arg){.kind = SC_ARG_STR, .str = s}; }
static inline sc_arg sc_arg_dtype(sc_dtype d) {
    return (sc_arg){.kind = SC_ARG_DTYPE, .code = (uint8_t)d};
}
static inline sc_arg sc_arg_format(sc_memory_format f) {
    return (sc_arg){.kind = SC_ARG_MEMORY_FORMAT, .code = (uint8_t)f};
}
static inline sc_arg sc_arg_list(sc_arg *items, uint32_t count) {
    return (sc_arg){.kind = SC_ARG_LIST, .items = items, .count = count};
}
static inline sc_arg sc_arg_graph(sc_graph *g) {
    return (sc_arg){.kind = SC_ARG_GRAPH, .graph = g};
}
static inline sc_arg sc_arg_part(const sc_part *p) {
    return (sc_arg){.kind = SC_ARG_PART, .part = p};
}
sc_arg sc_arg_ints(sc_arena *arena, const int64_t *values, uint32_t count);

// Position of a parameter in op->schema, or -1.
int32_t sc_op_param_index(const sc_op *op, const char *name);
// The node's argument for that parameter; the op must have it.
sc_arg *sc_node_arg(const sc_node *node, const char *param);

// Calls `visit` for every argument of a node that is a value, list items included. Stops on false.
bool sc_node_visit_values(const sc_node *node, bool (*visit)(void *user, sc_arg *arg), void *user);

// The bytes of a constant, row-major. Weights may be stored in another order.
sc_extent sc_constant_row_major(sc_arena *arena, const sc_constant *constant);

// --- Walking and small rewrites (walk.c) ---------------------------------------------------------

// Calls `visit` for the graph and then for every body inside it, outermost first.
typedef sc_status (*sc_graph_visitor)(sc_ctx *ctx, sc_graph *graph, void *user);
sc_status sc_graphs_visit(sc_ctx *ctx, sc_graph *graph, sc_graph_visitor visit, void *user);

// The path of a body, after those around it: "true_graph_0/body_1". Empty for a method's own graph.
// Bodies of one graph have different names.
sc_str sc_graph_path(sc_arena *arena, const sc_graph *graph);
// The origin of nodes made from a node of this graph. It is the node's name, in a body after the
// body's path and a '/', because names are unique within one graph only.
const sc_name *sc_graph_origin(const sc_graph *graph, sc_str name);
const sc_name *sc_node_origin(const sc_node *node);  // as it was set, or else its own name
// A debug handle that no node of the method has, neither in bodies nor in parts.
uint32_t sc_method_free_handle(const sc_method *method);

// Does anything read one of its results?
static inline bool sc_node_is_used(const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->use_count > 0) return true;
    return false;
}
// Does the node write, check, or do something unknown? Then it stays even if its results are not
// used.
bool sc_node_has_effect(const sc_node *node);

// Redirects all uses of a one-result node and erases it.
void sc_node_replace(sc_node *node, sc_value *value);

// Does the node only permute its first argument? `order`, with room for SC_RANK_MAX, gets the
// source's dim for each dim of the result.
bool sc_node_permutation(const sc_node *node, uint32_t *order);

// Sets ctx->where from a node (method, node, op, stack trace), leaving `pass` alone.
void sc_where_set_node(sc_ctx *ctx, const sc_node *node);
// The same, but with the name of the node of the user's program that the node was made from.
void sc_where_set_origin(sc_ctx *ctx, const sc_node *node);
void sc_where_set_method(sc_ctx *ctx, const sc_method *method);

// --- Text (print.c, parse.c), copies, checks (clone.c, verify.c) ---------------------------------

// The textual IR. Printing what was parsed gives the same bytes. Constants appear by name, spec and
// extent, not by content.
typedef struct sc_print_options {
    bool meta;       // stack traces, module paths, origins, debug handles and tags
    bool signature;  // the method header with its input and output kinds
} sc_print_options;
void sc_program_print(sc_sb *sb, const sc_program *program, sc_print_options options);
void sc_graph_print(sc_sb *sb, const sc_graph *graph, sc_print_options options);
sc_status sc_program_parse(sc_ctx *ctx, sc_str text, sc_program **out);

// The same structure up to names of nodes and values? If not, `why` says in words where they
// differ.
bool sc_graph_isomorphic(const sc_graph *a, const sc_graph *b, sc_sb *why);

// Copies a graph into another method or parent. Parts are shared if the symbols are the same.
sc_status sc_graph_clone(const sc_graph *graph, sc_method *method, sc_graph *parent,
                         sc_graph **out);
// Copies nodes one by one to the end of a graph over the same symbols, on the context's scratch.
typedef struct sc_copier sc_copier;
sc_copier *sc_copier_new(sc_graph *target);
// `to` replaces `from` in all nodes that are copied from here on.
void sc_copier_bind(sc_copier *copier, const sc_value *from, sc_value *to);
// Copies a node. Its operands must have been bound or copied before.
sc_status sc_copier_add(sc_copier *copier, const sc_node *node);
sc_value *sc_copier_value(sc_copier *copier, const sc_value *from);  // NULL: neither of the two
// The method over the symbols of `exprs`. Symbols that `exprs` has already keep their facts there;
// the others get the method's. It replaces `method`, and shares its signature.
sc_status sc_method_clone(const sc_method *method, sc_exprs *exprs, sc_method **out);
// Adds a copy of a method with these symbols under another name. Constants are shared.
sc_status sc_program_clone_method(sc_program *program, const sc_method *method, sc_str name,
                                  sc_exprs *exprs, sc_method **out);
// Copies graphs and signatures; symbols, parts and the bytes of constants are shared.
sc_status sc_program_clone(const sc_program *program, sc_program **out);
// Checks invariants: unique names, order, use lists, arity and kinds against schemas, agreement
// with the signature, and of calls with their parts.
sc_status sc_verify(sc_ctx *ctx, const sc_program *program);
sc_status sc_verify_graph(sc_ctx *ctx, const sc_graph *graph);

#endif
