// Re-tracing a graph: the vocabulary in which decompositions are written. A traced call either runs
// the operator's expansion, or records one node whose shape inference gives the next call its
// sizes and strides; so a composite's graph is exactly the calls its body makes, in their order.
//
// Prefixes: sc_trace_ makes and completes calls and nodes; sc_x_ builds and reads their arguments,
// which are cells.
//
// Errors are sticky. The first failure is kept in `status`; every later call returns a harmless
// tensor and records no node, so expansions read like formulas and need no checks.
//
// The files stand on each other in this order: args.c (cells), record.c (nodes and symbols),
// call.c, origin.c, reconcile.c and alias.c; words/ (the calls that expansions share); the wings
// pytorch/, official/, complex/ and functorch/, which do not know each other; text.c, autocast.c,
// expand.c (the table of expansions), dispatch.c (the way of a call), decompose.c (whole methods).
// Calls go back up through the pointer `dispatch` of the trace.
#ifndef SC_TRACE_H
#define SC_TRACE_H

#include "ir/ir.h"

typedef struct sc_trace sc_trace;
typedef struct sc_traced sc_traced;

typedef enum sc_x_kind {
    SC_X_NONE,
    SC_X_TENSOR,
    SC_X_INT,  // an expression over symbols; a node computes it only where one is needed
    SC_X_FLOAT,
    SC_X_BOOL,
    SC_X_STR,
    SC_X_DTYPE,
    SC_X_LAYOUT,
    SC_X_FORMAT,
    SC_X_DEVICE,
    SC_X_LIST,
    SC_X_GRAPH,
    SC_X_PART,
    SC_X_VALUE  // a number that only the running program knows
} sc_x_kind;

// An argument or a result: a cell that never changes, so that expansions pass addresses around.
// NULL ends the arguments of a call and stands for one that is not given.
typedef struct sc_x_data {
    uint8_t kind;    // sc_x_kind
    uint8_t code;    // DTYPE: sc_dtype, FORMAT: sc_memory_format
    uint32_t count;  // LIST
    union {
        sc_traced *tensor;
        sc_dim dim;  // INT
        double f;
        bool b;
        sc_str str;  // STR, DEVICE
        const struct sc_x_data *const *items;
        sc_value *value;
        sc_graph *graph;  // of the source: traced when the node is recorded
        const sc_part *part;
    };
} sc_x_data;
typedef const sc_x_data *sc_x;

// --- Aliases (alias.c) --------------------------------------------------------------------------

// How a view comes from its base: the path of view calls, innermost last.
typedef struct sc_view {
    const struct sc_view *parent;  // NULL: applies to the base itself
    const sc_op *op;
    const sc_x *args;  // args[0] is whatever the view is taken of
    uint32_t arg_count;
    uint32_t index;  // which result of a multi-output view
    uint32_t depth;
} sc_view;

typedef struct sc_update {
    sc_value *value;
    const sc_view *view;  // of the tensor that was written
} sc_update;

// State that aliases share. Writes are queued and applied to `base` when somebody reads.
typedef struct sc_alias {
    sc_value *base;
    uint32_t generation;  // writes so far
    SC_VEC(sc_update) pending;
} sc_alias;

// One tensor of the source program: the value that holds it now, and what it aliases. Inside an
// expansion below functionalization there is no `storage`: everything is a plain value.
struct sc_traced {
    sc_value *value;
    sc_alias *storage;
    const sc_view *view;
    uint32_t generation;  // of the storage when `value` was derived
};

// --- The trace ----------------------------------------------------------------------------------

// torch.autocast around a region: which dtype it casts to, NONE outside one.
typedef struct sc_autocast {
    uint8_t dtype;
    bool enabled;
} sc_autocast;

// Functions above the trace that are called from below.
typedef sc_x (*sc_dispatch_fn)(sc_trace *t, const sc_op *op, sc_x *args);
typedef struct sc_trace_hooks {
    // Answers a call whose arguments are complete: expands, functionalizes or records it.
    sc_dispatch_fn dispatch;
    // Traces the body of a higher-order operator into a graph of its own.
    sc_graph *(*body)(sc_trace *t, const sc_graph *body);
} sc_trace_hooks;

struct sc_trace {
    sc_ctx *ctx;
    sc_arena *arena;  // of cells and lists: what a plain call made there is gone after it
    sc_graph *graph;  // being built
    sc_node *before;  // new nodes go before this one; NULL: to the end
    sc_exprs *exprs;
    sc_meta meta;  // of the source node under way; goes to every node recorded
    const sc_node *source;
    sc_status status;
    uint32_t depth;         // nesting of expansions
    uint32_t plain;         // > 0: below functionalization, views and writes are ordinary calls
    uint64_t recorded;      // nodes so far; the last one's mark
    uint64_t begun;         // how many they were when the source node came under way
    bool strides_differ;    // an expansion gave other strides than PyTorch recorded; see attention
    bool has_pairs;         // of the source node: complex numbers became pairs (complex/)
    uint32_t pairs_depth;   // of the rules of complex/ under way
    uint32_t jvps;          // that are open: what has rows in functorch/jvp.def stays whole
    bool unchecked;         // of the source node: some release records its results wrongly
    uint32_t noted;         // kinds of differences from the file that were reported (reconcile.c)
    void *client;           // of the caller that began the trace, for its hooks
    const sc_trace *outer;  // knows the sizes of more tensors; NULL: absent
    sc_imap symbols;        // expression -> value that holds it
    sc_imap providers;      // expression -> index into `sizes`
    SC_VEC(struct {
        sc_value *value;
        int64_t dim;
    })
    sizes;  // tensors that have such a size
    sc_autocast autocast;
    sc_x_data ints[64];  // -1, 0, 1, ...: most of what calls are made with
    sc_traced poison;
    sc_x_data poisoned;  // holds `poison`
    sc_trace_hooks hooks;
};

// A trace into `graph`, which knows no sizes yet.
void sc_trace_begin(sc_trace *t, sc_ctx *ctx, sc_arena *arena, sc_graph *graph,
                    const sc_trace_hooks *hooks);
// `graph` is empty but for its inputs, which are registered as sources of sizes.
void sc_trace_init(sc_trace *t, sc_ctx *ctx, sc_arena *arena, sc_graph *graph,
                   const sc_trace_hooks *hooks);

// Fails the trace (unless it has failed already) and returns the harmless tensor.
sc_x sc_trace_fail(sc_trace *t, sc_status code, const char *hint, const char *format, ...)
    SC_PRINTF(4, 5);

// A call as the source program makes it: args in schema order, missing ones take their defaults.
// Several results, and lists of tensors, come back as one LIST.
sc_x sc_trace_call(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count);
// The same from an expansion; `args` ends with NULL.
sc_x sc_trace_op(sc_trace *t, sc_op_id id, const sc_x *args);
// CALL(t, mul_Tensor, x, y). Results that are used in two places, or of two calls in one, go
// through a local: C orders initialisers as it likes.
#define CALL(t, id, ...) sc_trace_op(t, SC_OP_##id, (const sc_x[]){__VA_ARGS__, NULL})

// Records one node, whatever the table says about expanding it.
sc_x sc_trace_record(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count);

// An argument of a node as a cell; `find` says what the values in it are.
typedef sc_x (*sc_trace_find_fn)(sc_trace *t, sc_value *value);
sc_x sc_trace_cell(sc_trace *t, const sc_arg *arg, sc_trace_find_fn find);
// A value of the graph that is being built: a plain tensor, or the number that it holds.
sc_x sc_trace_plain(sc_trace *t, sc_value *value);
// A tensor without aliases.
sc_x sc_trace_fresh(sc_trace *t, sc_value *value);
// The number a source or recorded value stands for.
sc_x sc_trace_number(sc_trace *t, sc_value *value);
sc_arg sc_trace_arg(sc_trace *t, sc_x x);  // as an argument of a node; lists live on the arena
// Says that `value`'s sizes can be read off it, and that `value` (INT) holds `dim`.
void sc_trace_note_sizes(sc_trace *t, sc_value *value);
void sc_trace_note_symbol(sc_trace *t, sc_dim dim, sc_value *value);

// Origins of sizes that were read before the first node of the source (origin.c): the source node
// under way reads this one, if no other has yet. A size that no source node reads gets the node
// that needs it first, once the graph is done.
void sc_trace_claim_size(sc_trace *t, sc_dim dim);
void sc_trace_adopt(sc_graph *graph);

// Compares a result of the source node with its record (reconcile.c), and takes over the recorded
// metadata that counts.
sc_status sc_trace_reconcile(sc_trace *t, const sc_value *recorded, sc_x x);

// `x`, just recorded, whose first size only the data tells, is as long as the source node's (first)
// result is in that dim: an expansion that knows it says so before the result is compared.
void sc_trace_take_size(sc_trace *t, sc_x x, uint32_t dim);
// Bounds the exporter's symbol by the largest size that inference allows, also if the exporter made
// the symbol first.
void sc_trace_bound(const sc_node *source, sc_dim recorded, sc_dim invented);

// Functionalization (alias.c): brings the tensor up to date with all writes to what it aliases.
void sc_trace_sync(sc_trace *t, sc_traced *tensor);
// Makes `value` what `target`, and everything that aliases it, holds from now on.
void sc_trace_assign(sc_trace *t, sc_x target, sc_x value);
sc_x sc_trace_functional(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t count);

// Casts the arguments of an operator that autocast lists, and turns autocast off: the caller turns
// it on again after the call. False when the operator takes what comes.
bool sc_trace_autocast(sc_trace *t, const sc_op *op, sc_x *args, uint32_t count);

// --- Symbolic integers: the node appears where the expansion computes, as in PyTorch ------------

sc_dim sc_trace_add(sc_trace *t, sc_dim a, sc_dim b);
sc_dim sc_trace_sub(sc_trace *t, sc_dim a, sc_dim b);
sc_dim sc_trace_mul(sc_trace *t, sc_dim a, sc_dim b);
sc_dim sc_trace_floordiv(sc_trace *t, sc_dim a, sc_dim b);
sc_dim sc_trace_mod(sc_trace *t, sc_dim a, sc_dim b);
// Product from left to right; 1 for an empty list.
sc_dim sc_trace_product(sc_trace *t, const sc_dim *dims, uint32_t count);

// --- Building arguments -------------------------------------------------------------------------

extern const sc_x_data sc_x_none, sc_x_strided, sc_x_cpu, sc_x_true, sc_x_false;
#define X_NONE    (&sc_x_none)
#define X_STRIDED (&sc_x_strided)
#define X_CPU     (&sc_x_cpu)
#define X_TRUE    (&sc_x_true)
#define X_FALSE   (&sc_x_false)
static inline sc_x sc_x_bool(bool b) { return b ? X_TRUE : X_FALSE; }

// A cell on the trace's arena.
sc_x sc_x_new(sc_trace *t, sc_x_data data);
sc_x sc_x_int(sc_trace *t, int64_t i);
sc_x sc_x_dim(sc_trace *t, sc_dim d);
sc_x sc_x_float(sc_trace *t, double f);
sc_x sc_x_str(sc_trace *t, const char *s);
sc_x sc_x_dtype(sc_trace *t, sc_dtype d);
sc_x sc_x_format(sc_trace *t, sc_memory_format f);
sc_x sc_x_list(sc_trace *t, const sc_x *items, uint32_t count);
// The same without copying `items`, which must live as long as the trace.
sc_x sc_x_list_of(sc_trace *t, const sc_x *items, uint32_t count);
sc_x sc_x_dims(sc_trace *t, const sc_dim *dims, uint32_t count);
sc_x sc_x_ints(sc_trace *t, const int64_t *values, uint32_t count);
#define X_LIST(t, ...) \
    sc_x_list(t, (const sc_x[]){__VA_ARGS__}, (uint32_t)SC_COUNT_OF(((const sc_x[]){__VA_ARGS__})))
#define X_INTS(t, ...)                           \
    sc_x_ints(t, (const int64_t[]){__VA_ARGS__}, \
              (uint32_t)SC_COUNT_OF(((const int64_t[]){__VA_ARGS__})))

// --- Reading arguments: total functions, harmless on what a failed trace returns ----------------

static inline bool sc_x_is_none(sc_x x) { return x->kind == SC_X_NONE; }
static inline bool sc_x_is_tensor(sc_x x) { return x->kind == SC_X_TENSOR; }
static inline bool sc_x_is_complex(sc_x x) {
    return x->kind == SC_X_TENSOR && sc_dtype_is_complex((sc_dtype)x->tensor->value->spec.dtype);
}
static inline bool sc_x_truth(sc_x x) { return x->kind == SC_X_BOOL && x->b; }
const sc_spec *sc_x_spec(sc_x x);
static inline uint32_t sc_x_rank(sc_x x) { return sc_x_spec(x)->rank; }
static inline sc_dtype sc_x_dtype_of(sc_x x) { return (sc_dtype)sc_x_spec(x)->dtype; }
// Negative dims count from the end; 1 when out of range.
sc_dim sc_x_size(sc_x x, int64_t dim);
// The size to which two sizes broadcast.
static inline sc_dim sc_x_broadcast(sc_dim a, sc_dim b) { return sc_dim_is(a, 1) ? b : a; }
// A dtype that is given, or `otherwise`.
static inline sc_dtype sc_x_dtype_or(sc_x x, sc_dtype otherwise) {
    return x->kind == SC_X_DTYPE ? (sc_dtype)x->code : otherwise;
}
// A concrete integer, or `otherwise`.
int64_t sc_x_number(sc_x x, int64_t otherwise);
// The same for integers that are computed with: the trace fails beyond 31 bits.
int64_t sc_x_small(sc_trace *t, sc_x x, int64_t otherwise);
// The known number; `otherwise` for an argument that is not a number, or one that only the running
// program knows.
double sc_x_real(sc_x x, double otherwise);
// The number that is given, `otherwise` for None; fails the trace if only the running program knows
// the number.
double sc_x_known(sc_trace *t, sc_x x, double otherwise);
// The number of a concrete INT, FLOAT or BOOL.
bool sc_x_is_number(sc_x x);
bool sc_x_equals(sc_x x, double number);  // a known number, which is this one
// dim in [0, rank); 0 and a failed trace when out of range. A scalar counts as rank 1.
uint32_t sc_x_wrap(sc_trace *t, sc_x dim, uint32_t rank);
sc_x sc_x_at(sc_trace *t, sc_x list, uint32_t index);
// A concrete list of small integers into `out`; how many there are (at most `max`, else the trace
// fails).
uint32_t sc_x_int_list(sc_trace *t, sc_x list, int64_t *out, uint32_t max);
// The same of sizes, which may be open.
uint32_t sc_x_dim_list(sc_trace *t, sc_x list, sc_dim *out, uint32_t max);
// The tensor's sizes as a list, [from, to).
sc_x sc_x_sizes(sc_trace *t, sc_x x, uint32_t from, uint32_t to);
// A size that expansions must loop over or compute with: concrete and small.
int64_t sc_x_static_size(sc_trace *t, sc_x x, int64_t dim);
bool sc_x_is_float(sc_x x);  // floating point tensor
bool sc_x_is_contiguous(sc_trace *t, sc_x x);
sc_dim sc_x_numel(sc_trace *t, sc_x x);

#endif
