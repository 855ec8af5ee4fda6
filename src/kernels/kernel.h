// A kernel's view of its call. Kernels get resized outputs and only compute. They contain no shape
// code, allocate no memory beyond the scratch that they declared, and return a status instead of
// crashing. They know no graphs and no file format.
// Prefixes: sc_call_ reads the arguments of a call, sc_kernel_ is about a kernel, sc_tensor_ is a
// tensor at run time.
#ifndef SC_KERNEL_H
#define SC_KERNEL_H

#include "compute/finish.h"
#include "ops/op.h"

// A tensor at run time. Strides are derived from sizes and dim order; views share `data`.
typedef struct sc_tensor {
    void *data;               // NULL until bound
    int64_t *sizes;           // current
    int64_t *strides;         // in elements, in step with sizes
    uint8_t *dim_order;       // outermost first
    uint64_t capacity_bytes;  // bytes from `data` on that this tensor may use
    int64_t numel;            // product of sizes
    uint8_t dtype;            // sc_dtype
    uint8_t rank;
    bool is_dynamic;   // may be resized, up to the bound
    bool is_constant;  // bytes belong to the program: never written, may be packed once
} sc_tensor;

typedef enum sc_evalue_tag {
    SC_EVALUE_NONE,
    SC_EVALUE_INT,
    SC_EVALUE_DOUBLE,
    SC_EVALUE_BOOL,
    SC_EVALUE_STRING,
    SC_EVALUE_TENSOR,
    SC_EVALUE_INT_LIST,
    SC_EVALUE_DOUBLE_LIST,
    SC_EVALUE_BOOL_LIST,
    SC_EVALUE_TENSOR_LIST,
    SC_EVALUE_OPTIONAL_TENSOR_LIST
} sc_evalue_tag;

typedef struct sc_evalue {
    uint8_t tag;     // sc_evalue_tag
    uint32_t count;  // lists
    union {
        int64_t i;
        double d;
        bool b;
        sc_str str;
        sc_tensor *tensor;
        struct sc_evalue *const *ints;  // INT_LIST: boxed, so computed sizes are seen
        const double *doubles;
        const uint8_t *bools;
        struct sc_evalue *const
            *tensors;  // TENSOR_LIST, OPTIONAL_TENSOR_LIST (a NULL item is absent)
    };
} sc_evalue;

// A constant operand in the order that suits a kernel. It is made once, when a method is loaded,
// and passed to every run of the call.
typedef struct sc_packing {
    uint32_t arg;      // the operand
    uint32_t bias;     // another operand that is packed into it; `arg` again if there is none
    const void *how;   // the kernel's own tag: equal for operands that are packed in the same way
    const char *name;  // of that way, the same in every run of a build
    uint64_t bytes;
    void *data;        // 64-byte aligned
    bool always_fits;  // the call runs on it whatever sizes its other operands have
    bool is_needed;    // without it the call is so slow that no limit of memory applies
    bool is_only;      // the operand and the bias themselves are not in memory
} sc_packing;

typedef struct sc_kernel_call {
    sc_ctx *ctx;
    const sc_op *op;
    const struct sc_kernel *kernel;  // the kernel that runs; NULL if there is no kernel
    sc_evalue *const *args;          // the out schema's order: kept inputs, then outs
    uint32_t arg_count;
    void *scratch;  // 64-byte aligned, at least the size that the kernel declared
    uint64_t scratch_bytes;
    const sc_finish *finish;   // operations that loading folded into the end of this call, or NULL
    const sc_packing *packed;  // or NULL
    const void *form;          // what loading recognised, for a kernel that it chose; or NULL
    uint64_t seed;             // for random kernels: differs by instruction and by run
} sc_kernel_call;

typedef sc_status (*sc_kernel_fn)(const sc_kernel_call *call);
// Upper bound of scratch for these (maximal) shapes.
typedef uint64_t (*sc_kernel_scratch_fn)(const sc_kernel_call *call);

// The effect of the order of dims in memory on a kernel's time. Results are right for any order.
// Images are tensors with channels and pixels.
typedef enum sc_kernel_layout {
    SC_LAYOUT_FIXED,  // nothing is known
    SC_LAYOUT_ONE,    // as fast with all images channels-last as row-major; slow if they differ
    SC_LAYOUT_TAKES,  // the first operand may have either order, and results stay as they are; see
                      // `gain`
    SC_LAYOUT_EITHER  // so may the result; if they differ, it costs a copy; see `gain`
} sc_kernel_layout;

typedef struct sc_kernel {
    sc_kernel_fn run;
    int param;  // distinguishes kernels that share `run`, which reads call->kernel->param
    sc_kernel_scratch_fn scratch;  // NULL: absent
    // Would the call run faster if this operand, constant in every run, were packed? Sets all but
    // `data` and `is_only`. The operand must be a constant; the answer may depend only on its sizes
    // and on numbers.
    bool (*packs)(const sc_kernel_call *call, sc_packing *packing);
    void (*pack)(const sc_kernel_call *call, const sc_packing *packing);  // writes every byte of it
    sc_kernel_layout layout;  // always SC_LAYOUT_ONE for element-wise kernels
    // The time saved by channels-last images, in units of moving an element. NULL: no saving.
    double (*gain)(const sc_kernel_call *call);
    // Sets the sizes of the outs of an operator that has no shape rule (SC_OWN); NULL for others.
    sc_status (*sizes)(const sc_kernel_call *call, bool at_load);
} sc_kernel;

// Defines the record that KERNEL(name) in the operator table refers to:
// SC_KERNEL(mm, .run = run_mm, .scratch = mm_scratch);
#define SC_KERNEL(name, ...)            \
    extern const sc_kernel sc_k_##name; \
    const sc_kernel sc_k_##name = {__VA_ARGS__}

// NULL if the build has no kernel for it.
const sc_kernel *sc_kernel_get(sc_op_id id);
// The same; the kernel of an operator without a row is what the host registered.
static inline const sc_kernel *sc_kernel_of(const sc_op *op) {
    return sc_op_has(op, SC_OWN) ? op->kernel : sc_kernel_get((sc_op_id)op->id);
}

// The kernel of grouped_mm for groups that may end anywhere: the group of a row is the number of
// groups that end before it or at it. Loading replaces expansions by it.
extern const sc_kernel sc_k_grouped_runs;
// Fourier transforms of complex numbers stored as pairs of real ones, in a last dim of 2,
// row-major, and of real numbers into such pairs. Otherwise they are those of fft_c2c and fft_r2c.
extern const sc_kernel sc_k_fft_c2c_pairs;
extern const sc_kernel sc_k_fft_r2c_pairs;
// The kernel of scatter_src, but the largest, or smallest, of the elements for one place stays
// there, and NaN if there is one.
extern const sc_kernel sc_k_scatter_largest;
extern const sc_kernel sc_k_scatter_smallest;
// The kernel of scatter_src, but each place gets the product of all elements for it, with or
// without its old content.
extern const sc_kernel sc_k_scatter_products;
extern const sc_kernel sc_k_scatter_multiplied;
// The kernels of copysign and signbit, but they read the sign of NaN as positive.
extern const sc_kernel sc_k_pw_copysign_number;
extern const sc_kernel sc_k_pw_signbit_number;

// --- Reading arguments (arguments have been checked against the schema by the runtime) -----------

static inline sc_tensor *sc_call_tensor(const sc_kernel_call *c, uint32_t i) {
    return c->args[i]->tag == SC_EVALUE_TENSOR ? c->args[i]->tensor : NULL;
}
static inline bool sc_call_is_none(const sc_kernel_call *c, uint32_t i) {
    return c->args[i]->tag == SC_EVALUE_NONE;
}
// Int, bool or double argument as a double / as an integer (doubles truncate).
double sc_call_number(const sc_kernel_call *c, uint32_t i);
int64_t sc_call_integer(const sc_kernel_call *c, uint32_t i);
// Fills `out` from an int list; returns its count (at most `max`). A one-item list is repeated to
// `expand` items when expand > 0.
uint32_t sc_call_ints(const sc_kernel_call *c, uint32_t i, int64_t *out, uint32_t max,
                      uint32_t expand);
// A number argument as one element of the dtype, for 16 bytes at `element`.
void sc_call_element(const sc_kernel_call *c, uint32_t i, unsigned dtype, void *element);
// A dimension argument, wrapped into [0, rank); 0 for rank 0. Shape rules have checked its range.
uint32_t sc_call_dim(const sc_kernel_call *c, uint32_t i, uint32_t rank);
uint32_t sc_wrap_dim(int64_t dim, uint32_t rank);
// Fails a call: with the operator's name, the message, and the types and sizes of operands and
// results. Kernels fail only in this way, with or without a hint of their own.
sc_status sc_call_fail(const sc_kernel_call *c, sc_status code, const char *format, ...)
    SC_PRINTF(3, 4);
sc_status sc_call_fail_hint(const sc_kernel_call *c, sc_status code, const char *hint,
                            const char *format, ...) SC_PRINTF(4, 5);
// Fails a kernel that cannot compute on its operands. The runtime has refused such a call before,
// with a better message, because the operator table states the dtypes that a kernel takes.
sc_status sc_call_no_kernel(const sc_kernel_call *c);
// Fails with "f32[2] does not broadcast to f32[3, 4]", where `what` is the words in the middle.
sc_status sc_pair_fail(sc_ctx *ctx, const sc_tensor *a, const char *what, const sc_tensor *b);
// Fails a call that got less scratch than its kernel requested when the method was loaded.
sc_status sc_call_starved(const sc_kernel_call *c);
// Converts one element to a number and back, for code that needs no block; `offset` is in elements.
double sc_tensor_real(const sc_tensor *t, int64_t offset);
int64_t sc_tensor_integer(const sc_tensor *t, int64_t offset);
void sc_tensor_put_real(const sc_tensor *t, int64_t offset, double value);
void sc_tensor_put_integer(const sc_tensor *t, int64_t offset, int64_t value);
// For results whose size depends on values: sets the sizes of `out` (and strides, numel) within its
// capacity, SC_ERR_SHAPE beyond it.
sc_status sc_call_resize(const sc_kernel_call *c, sc_tensor *out, const int64_t *sizes);
// The last argument: the out of every operator with a single one.
static inline sc_tensor *sc_call_out(const sc_kernel_call *c) {
    return sc_call_tensor(c, c->arg_count - 1);
}

static inline bool sc_tensor_is_contiguous(const sc_tensor *t) {
    int64_t expected = 1;
    if (t->numel == 0) return true;
    for (uint32_t d = t->rank; d-- > 0;) {
        if (t->sizes[d] != 1 && t->strides[d] != expected) return false;
        expected *= t->sizes[d];
    }
    return true;
}

#endif
