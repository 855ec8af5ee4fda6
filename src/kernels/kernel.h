// A kernel's view of its call. Kernels get resized outputs and compute, and do no more: no shape
// code, no allocation beyond the scratch they declared, a status instead of a crash. They know no
// graphs and no file format. Prefixes: sc_call_ reads the arguments of a call, sc_kernel_ is about
// a kernel.
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
    uint64_t capacity_bytes;  // bytes behind `data` that this tensor may use
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

// A constant operand in the order that suits a kernel: made once, when a method is loaded, and
// handed to every run of the call.
typedef struct sc_packing {
    uint32_t arg;     // the operand
    uint32_t bias;    // an operand that goes into it; `arg` again if there is none
    const void *how;  // the kernel's own; the same for what is packed in the same way
    uint64_t bytes;
    void *data;  // 64-byte aligned
} sc_packing;

typedef struct sc_kernel_call {
    sc_ctx *ctx;
    const sc_op *op;
    const struct sc_kernel *kernel;  // the one that runs; NULL if there is no kernel
    sc_evalue *const *args;          // the out schema's order: kept inputs, then outs
    uint32_t arg_count;
    void *scratch;  // 64-byte aligned, at least what the kernel asked for
    uint64_t scratch_bytes;
    const sc_finish *finish;   // what loading folded into the end of this call, or NULL
    const sc_packing *packed;  // or NULL
    uint64_t seed;             // for random kernels: differs by instruction and by run
} sc_kernel_call;

typedef sc_status (*sc_kernel_fn)(const sc_kernel_call *call);
// Upper bound of scratch for these (maximal) shapes.
typedef uint64_t (*sc_kernel_scratch_fn)(const sc_kernel_call *call);

// The effect of the order of dims in memory on a kernel's time. Whatever it says, results are right
// for any order; images are what has channels and pixels.
typedef enum sc_kernel_layout {
    SC_LAYOUT_FIXED,  // nothing is known
    SC_LAYOUT_ONE,    // as fast with all images channels-last as row-major; slow where they differ
    SC_LAYOUT_TAKES,  // the first operand may be either, results stay as they are; see `gain`
    SC_LAYOUT_EITHER  // so may the result, where they differ at the cost of a copy; see `gain`
} sc_kernel_layout;

typedef struct sc_kernel {
    sc_kernel_fn run;
    int param;  // tells apart the kernels that share `run`, which reads call->kernel->param
    sc_kernel_scratch_fn scratch;  // NULL: absent
    // Would the call, with this operand as it is in every run, rather have it packed? Sets all but
    // `data`. The operand must be a constant; the answer may depend only on its sizes and on
    // numbers.
    bool (*packs)(const sc_kernel_call *call, sc_packing *packing);
    void (*pack)(const sc_kernel_call *call, const sc_packing *packing);  // every byte of it
    sc_kernel_layout layout;  // of element-wise kernels always SC_LAYOUT_ONE
    // Saving of the call if images are channels-last, in times of moving an element. NULL: no
    // saving.
    double (*gain)(const sc_kernel_call *call);
} sc_kernel;

// Defines the record that KERNEL(name) in the operator table refers to:
// SC_KERNEL(mm, .run = run_mm, .scratch = mm_scratch);
#define SC_KERNEL(name, ...)            \
    extern const sc_kernel sc_k_##name; \
    const sc_kernel sc_k_##name = {__VA_ARGS__}

// NULL when the build has no kernel for it.
const sc_kernel *sc_kernel_get(sc_op_id id);

// As that of grouped_mm, of groups that may end anywhere: the group of a row is how many of them
// end before it or at it. Loading puts it in the place of what comes to that.
extern const sc_kernel sc_k_grouped_runs;
// Fourier transforms of complex numbers that are pairs of real ones, in a last dim of 2, row-major;
// and of real numbers into such. Otherwise as those of fft_c2c and fft_r2c.
extern const sc_kernel sc_k_fft_c2c_pairs;
extern const sc_kernel sc_k_fft_r2c_pairs;
// As that of scatter_src, of elements in their order: the largest, or smallest, that goes to a
// place stays there, and NaN if there is one.
extern const sc_kernel sc_k_scatter_largest;
extern const sc_kernel sc_k_scatter_smallest;
// As that of scatter_src: the product of all that goes to a place, alone or times what is there.
extern const sc_kernel sc_k_scatter_products;
extern const sc_kernel sc_k_scatter_multiplied;
// As those of copysign and signbit, which read the sign of NaN, too: it is positive here.
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
// A dimension argument wrapped into [0, rank); 0 for rank 0. Shape rules have checked its range.
uint32_t sc_call_dim(const sc_kernel_call *c, uint32_t i, uint32_t rank);
uint32_t sc_wrap_dim(int64_t dim, uint32_t rank);
// The failure of a call: the operator's name, what is said, the types and sizes of operands and
// results. The only way a kernel fails, with or without a hint of its own.
sc_status sc_call_fail(const sc_kernel_call *c, sc_status code, const char *format, ...)
    SC_PRINTF(3, 4);
sc_status sc_call_fail_hint(const sc_kernel_call *c, sc_status code, const char *hint,
                            const char *format, ...) SC_PRINTF(4, 5);
// The failure of a kernel that cannot compute on its operands. The operator table says which dtypes
// it takes, and by that the runtime has refused the call already, with better words.
sc_status sc_call_no_kernel(const sc_kernel_call *c);
// "f32[2] does not broadcast to f32[3, 4]", where `what` is the words in the middle.
sc_status sc_pair_fail(sc_ctx *ctx, const sc_tensor *a, const char *what, const sc_tensor *b);
// The call got less scratch than it asked for when the method was loaded.
sc_status sc_call_starved(const sc_kernel_call *c);
// One element as a number and back, for what is not worth a block; `offset` is in elements.
double sc_tensor_real(const sc_tensor *t, int64_t offset);
int64_t sc_tensor_integer(const sc_tensor *t, int64_t offset);
void sc_tensor_put_real(const sc_tensor *t, int64_t offset, double value);
void sc_tensor_put_integer(const sc_tensor *t, int64_t offset, int64_t value);
// For results whose size only the values decide: sets the sizes of `out` (and strides, numel)
// within its capacity, SC_ERR_SHAPE beyond it.
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
