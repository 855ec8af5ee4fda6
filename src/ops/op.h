// The operator table: one row per operator, from which every layer reads its own column.
// Prefixes: SC_OP_<id> is a row, sc_op_ a fact about one, sc_ops_ the table, sc_pytorch_ PyTorch's
// own list.
//
// Rows live in ops_*.def. The whole row has three lines:
//   OP(id, "schema in PyTorch's notation", "out overload" | NULL,
//      INFER(rule) | BY_EXPANSION,  KEEP | EXPAND("text") | EXPAND_FN(function),
//      KERNEL(fn, "takes") | POINTWISE(row, "takes") | PRIM(fn) | NO_KERNEL,  TRAITS)
// Operators that are always expanded have shorter ones, ALIAS, COMPOSITE and EXPANDED, and so have
// three families that repeat most columns: UNARY, VIEW and SYM (ops.def).
// - id: overload joined to the name with '_' (add_Tensor; relu for the default overload); other
//   namespaces than aten come first (dim_order_ops__clone_dim_order).
// - out overload: "out" means that <name>.out is what a .pte calls; NULL when a .pte never holds
//   the op (it is expanded, or becomes its *_copy twin). A name with "::" in it is the whole name
//   ("aten::copy_", "executorch_prim::add.Scalar").
// - INFER(rule): sc_infer_<rule>; BY_EXPANSION: the result of the expansion says it.
// - EXPAND..: read by trace/expand.c only. EXPAND_WHEN(function) is for calls of which
//   sc_expands_<function> holds, where kernels take only the others, which are kept.
// - KERNEL and POINTWISE: read by kernels/kernel_table.c, PRIM by rt/run/prim.c. The operator only
//   knows whether there is one, and which dtypes it takes, in the words of ops/takes.c.
// FAMILY, defined above each section of rows, is what the rows below it are to somebody who looks
// at a graph. Complex numbers go through what its family lets through (trace/complex), parts that
// only move elements are not delegated (backend/partition.c), and multiplications are counted of
// two families (backend/work.c). In-place twins (relu_, add_.Tensor) need no rows: they derive from
// the functional row.
#ifndef SC_OP_H
#define SC_OP_H

#include "core/spec.h"
#include "ops/trait.h"

typedef enum sc_op_family {
    SC_FAMILY_OTHER,  // sizes, control flow, checks; operators that the table lacks
    SC_FAMILY_MATRIX,
    SC_FAMILY_CONV,  // whatever slides windows over an image: pooling and resizing too
    SC_FAMILY_REDUCE,
    SC_FAMILY_POINTWISE,
    SC_FAMILY_SHAPE,
    SC_FAMILY_INDEX,
    SC_FAMILY_CREATE
} sc_op_family;

typedef enum sc_param_type {
    SC_PARAM_TENSOR,
    SC_PARAM_INT,
    SC_PARAM_FLOAT,
    SC_PARAM_BOOL,
    SC_PARAM_SCALAR,
    SC_PARAM_STR,
    SC_PARAM_DTYPE,
    SC_PARAM_LAYOUT,
    SC_PARAM_DEVICE,
    SC_PARAM_MEMORY_FORMAT,
    SC_PARAM_GENERATOR,
    SC_PARAM_GRAPH,
    SC_PARAM_PART
} sc_param_type;

typedef enum sc_default_kind {
    SC_DEFAULT_REQUIRED,
    SC_DEFAULT_NONE,
    SC_DEFAULT_INT,
    SC_DEFAULT_FLOAT,
    SC_DEFAULT_BOOL,
    SC_DEFAULT_STR,
    SC_DEFAULT_INTS,
    SC_DEFAULT_MEMORY_FORMAT
} sc_default_kind;

typedef struct sc_param {
    sc_str name;
    sc_param_type type;
    bool is_list;           // Tensor[], int[2], ...
    bool is_optional;       // the parameter may be None
    bool item_is_optional;  // Tensor?[]
    bool is_symbolic;       // SymInt: may be computed at run time
    bool keyword_only;      // after the '*'
    bool is_written;        // (a!) alias mark
    bool is_aliased;        // (a) alias mark without '!'
    bool is_lost;           // the out variant does not take it
    int32_t list_size;      // int[2]: a single int stands for this many; 0 = any
    sc_default_kind default_kind;
    int64_t default_int;  // 0/1 for bools; a sc_dtype for dtype parameters
    double default_float;
    sc_str default_str;
    int64_t default_ints[4];  // SC_DEFAULT_INTS: the whole list, `int[2] p=1` being [1, 1]
    uint32_t default_ints_count;
} sc_param;

typedef struct sc_return {
    sc_param_type type;
    bool is_list;
    bool is_optional;  // or its items are
    bool is_marked;    // has an alias mark
} sc_return;

typedef struct sc_schema {
    sc_str name;  // "aten::add.Tensor"; no overload when it is the default one
    sc_param *params;
    uint32_t param_count;
    sc_return *returns;
    uint32_t return_count;
} sc_schema;

// Parses PyTorch's operator notation; also the extension points that our rows use (graphs and
// parts as parameters). Bounded, never recursive.
sc_status sc_schema_parse(sc_ctx *ctx, sc_arena *arena, sc_str text, sc_schema *out);

struct sc_infer;
typedef sc_status (*sc_infer_fn)(struct sc_infer *infer);

typedef struct sc_op {
    uint16_t id;     // SC_OP_*; SC_OP_FOREIGN for ops that are not in the table
    uint8_t family;  // SC_FAMILY_*
    sc_op_traits traits;
    const char *name;                // "aten::add.Tensor", "aten::relu", "sym::add"
    const char *out_name;            // "aten::add.out", NULL if a .pte never holds it
    sc_infer_fn infer;               // NULL: by expansion
    const struct sc_takes *takes;    // dtypes of its kernel (ops/takes.h), NULL if it has none
    const sc_schema *schema;         // there wherever an operator can be had from
    const struct sc_op *functional;  // SC_MUTATES: what computes the value it writes, or NULL
    const struct sc_op *writer;      // a row that runs and writes this one's value, or NULL
    const struct sc_op *copy;        // SC_VIEW: its *_copy form, with the same parameters, or NULL
    const struct sc_op *view;        // the other way round: what the *_copy form is a copy of
    const struct sc_kernel *kernel;  // SC_OWN: what the host registered; NULL: no kernel
} sc_op;

typedef enum sc_op_id {
    SC_OP_FOREIGN = 0,
#define OP(id, ...) SC_OP_##id,
#include "ops/ops.def"
#undef OP
    SC_OP_COUNT
} sc_op_id;

// An operator whose call cannot be represented: `what` says why, `hint` what to do about it. It is
// reported with everything else that cannot be lowered.
typedef struct sc_refused_op {
    sc_op op;
    const char *what, *hint;
} sc_refused_op;

// The row whose call a .pte has for this one: the copy of a view, or what writes a value in place
// if nothing else computes it.
static inline const sc_op *sc_op_called(const sc_op *op) {
    if (op->copy) return op->copy;
    return op->writer && !op->out_name ? op->writer : op;
}

static inline bool sc_op_has(const sc_op *op, sc_op_traits traits) {
    return (op->traits & traits) != 0;
}

// Does the schema let a result share memory with an operand, as that of reshape does?
bool sc_op_may_return_alias(const sc_op *op);

// The table, made on first use in memory that lives as long as the process. Each row is parsed when
// sc_op_get or a sc_op_find hands it out first, and then never changes; in-place twins come into
// being when they are asked for, at most one a row. That is why the table belongs to one thread.
// Call before using any op; later calls have no effect.
sc_status sc_ops_init(void);
// The table's memory, for what is made once of other constant tables.
sc_arena *sc_ops_arena(void);
// Lets all lookups by name find an operator that has no row. False if one of its names is taken.
// It must live as long as the table.
bool sc_ops_adopt(sc_op *op);
// NULL for a row that this build leaves out (ops/kept.h).
const sc_op *sc_op_get(sc_op_id id);
// Has this build all operators?
bool sc_ops_are_whole(void);
// By functional name with overload ("aten::add.Tensor"; a trailing ".default" is accepted and
// ignored), in-place twins included. NULL when unknown.
const sc_op *sc_op_find(sc_str name);
// The same, also for a name as Python writes it: aten.silu.default.
const sc_op *sc_op_find_python(sc_str name);
// The operators of PyTorch that torch.export can leave in a program, by name, whether or not the
// table has them (pytorch.def), and the release that they are of.
uint32_t sc_pytorch_count(void);
const char *sc_pytorch_name(uint32_t index);
const char *sc_pytorch_version(void);
// Is it one of them? Copies of views (view_copy) and operators of other libraries are not.
bool sc_op_is_pytorch(const sc_op *op);
// Advice for an operator that cannot be lowered (foreign.def); NULL when there is none.
const char *sc_op_advice(const sc_op *op);
// The same for any name, such as that of a .pte.
const char *sc_op_advice_for(const char *name);
// The form that takes tensors in the places of this one's numbers, or NULL. Works for operators
// that the table lacks, too.
const sc_op *sc_op_tensor_form(const sc_op *op);
// Does it only compute a result, without effects? False for operators that nobody knows.
bool sc_op_is_pure(const sc_op *op);
// A hint for an operator that the table lacks.
const char *sc_op_foreign_hint(const sc_op *op);
// Is it one operator under its name up to the dot: mul.Tensor and mul.Scalar?
bool sc_op_are_overloads(const sc_op *a, const sc_op *b);
// By the name and overload in a .pte: "aten::add", "out".
const sc_op *sc_op_find_out(sc_str name, sc_str overload);

// Are its results truth values, by its shape rule?
bool sc_op_gives_truth(const sc_op *op);

// Does the out variant take this functional parameter?
static inline bool sc_op_out_keeps(const sc_op *op, uint32_t param_index) {
    return !op->schema->params[param_index].is_lost;
}
// How many operands it writes (SC_MUTATES). Its last results are these operands as they are then.
uint32_t sc_op_written_count(const sc_op *op);
// How many out arguments the .pte form has: one for each result that is not a written operand, a
// Tensor[] being one list.
uint32_t sc_op_out_count(const sc_op *op);

#endif
