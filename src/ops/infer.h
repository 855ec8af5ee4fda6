// Shape inference. Prefix: sc_infer_<rule> is the shape rule of an operator.
// A rule sees its operands through one view. The compiler fills it from IR nodes, the runtime from
// values, so that the same function propagates `s0 + 1` and resizes tensors. Rules know no graphs,
// kernels or memory.
#ifndef SC_INFER_H
#define SC_INFER_H

#include "ops/op.h"

typedef enum sc_iarg_kind {
    SC_IARG_NONE,
    SC_IARG_TENSOR,
    SC_IARG_INT,
    SC_IARG_FLOAT,
    SC_IARG_BOOL,
    SC_IARG_STR,
    SC_IARG_DTYPE,
    SC_IARG_MEMORY_FORMAT,
    SC_IARG_LAYOUT,
    SC_IARG_DEVICE,
    SC_IARG_LIST,
    SC_IARG_GRAPH
} sc_iarg_kind;

typedef struct sc_iarg {
    sc_iarg_kind kind;
    uint32_t count;  // LIST
    union {
        const sc_spec *tensor;
        sc_dim dim;  // INT, possibly symbolic
        double f;
        bool b;
        sc_str str;
        uint32_t code;  // DTYPE: sc_dtype, MEMORY_FORMAT: sc_memory_format
        const struct sc_iarg *items;
    };
    const int64_t *data;  // INT tensors whose values are known (repeats, indices); else NULL
    const uint8_t *mask;  // the same of BOOL and U8 tensors
} sc_iarg;

typedef enum sc_iout_kind {
    SC_IOUT_NONE,
    SC_IOUT_TENSOR,
    SC_IOUT_INT,
    SC_IOUT_FLOAT,
    SC_IOUT_BOOL
} sc_iout_kind;

typedef struct sc_iout {
    sc_iout_kind kind;
    sc_spec spec;
    sc_dim dim;    // INT and BOOL (0/1) when symbolically known
    bool is_most;  // the data tells the first size, which is this at most: the kernel resizes it
} sc_iout;

typedef struct sc_infer {
    sc_ctx *ctx;
    sc_arena *arena;  // where specs go
    sc_exprs *exprs;  // NULL at run time, where every dim is concrete
    const sc_op *op;
    const sc_iarg *args;  // schema order, defaults filled in
    uint32_t arg_count;
    sc_iout *outs;       // set by the rule through sc_infer_outs
    uint32_t out_count;  // flattened: a Tensor[] return contributes one per element
    bool runtime;        // strides of the result do not matter
} sc_infer;

// Allocates the result array.
sc_iout *sc_infer_outs(sc_infer *in, uint32_t count);

// Runs op->infer after checking argument count and kinds against the schema, so that rules can
// trust the kinds. Fails with SC_ERR_UNSUPPORTED_OP when the op has no rule.
sc_status sc_infer_run(sc_infer *in);

// Does this runtime lack a kernel for the dtypes of the operands and of `outs`, which must be
// there? Then `what` says which it lacks, as a clause, and `hint` what to do about it. False for
// operators that have no kernel at all, and for calls that compute no elements.
bool sc_infer_lacks_kernel(const sc_infer *in, const char **what, const char **hint);

// The view of `base` that in->op makes a copy of: sizes, strides and offset. `base` stands for the
// first argument. in->op->view must be there.
sc_status sc_infer_view_of(sc_infer *in, const sc_spec *base);
// The order in which an op with SC_PERMUTES takes the dims of its first argument; `order` has room
// for SC_RANK_MAX.
sc_status sc_infer_order(sc_infer *in, uint32_t *order);

#endif
