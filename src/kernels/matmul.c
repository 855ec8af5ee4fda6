// mm, bmm, addmm, linear: from arguments to strided matrices. Half precision multiplies f32 copies.
#include "compute/matmul.h"

#include "kernels/convert.h"
#include "kernels/product.h"

// --- Operands ------------------------------------------------------------------------------------

// mm and bmm are called with (a, b, out), addmm with (self, a, b, beta, alpha, out), and linear
// with (a, b transposed, self, out).
enum { PLAIN_ARGS = 3, ADDMM_BETA = 3, ADDMM_ALPHA = 4, LINEAR = 1 };

// The tensors of a product; `self` may be NULL.
typedef struct operands {
    const sc_tensor *a, *b, *self, *out;
    uint32_t b_arg, self_arg;
    bool is_linear;
} operands;

static operands operands_of(const sc_kernel_call *call) {
    const bool adds = call->arg_count > PLAIN_ARGS;
    if (call->kernel && call->kernel->param == LINEAR)
        return (operands){.a = sc_call_tensor(call, 0),
                          .b = sc_call_tensor(call, 1),
                          .self = sc_call_tensor(call, 2),
                          .out = sc_call_out(call),
                          .b_arg = 1,
                          .self_arg = 2,
                          .is_linear = true};
    return (operands){.a = sc_call_tensor(call, adds),
                      .b = sc_call_tensor(call, adds + 1u),
                      .self = adds ? sc_call_tensor(call, 0) : NULL,
                      .out = sc_call_out(call),
                      .b_arg = adds + 1u};
}

static bool dtypes_agree(const operands *o) {
    const unsigned dtype = o->out->dtype;
    return o->a->dtype == dtype && o->b->dtype == dtype && (!o->self || o->self->dtype == dtype);
}

// All dimensions of the input but the last are rows. A weight of one dimension has one column.
static bool set_linear(sc_matmul *mm, const operands *o) {
    const sc_tensor *a = o->a, *b = o->b, *c = o->out;
    if (a->rank == 0 || b->rank == 0 || b->rank > 2 || !sc_tensor_is_contiguous(a) ||
        !sc_tensor_is_contiguous(c))
        return false;
    mm->k = a->sizes[a->rank - 1u], mm->n = b->rank == 2 ? b->sizes[0] : 1;
    mm->m = 1;
    for (uint32_t d = 0; d + 1 < a->rank; d++)
        if (!sc_mul_i64(mm->m, a->sizes[d], &mm->m)) return false;
    mm->a.row = mm->k, mm->a.column = 1;
    mm->b.row = b->strides[b->rank - 1u], mm->b.column = b->rank == 2 ? b->strides[0] : 0;
    mm->c_row = mm->n, mm->c_column = 1;
    return b->sizes[b->rank - 1u] == mm->k && c->numel == mm->m * mm->n;
}

// Rows and columns of the three matrices, which are the last two dimensions of their tensors, after
// that of the batch.
static bool set_matrices(sc_matmul *mm, const operands *o) {
    const sc_tensor *a = o->a, *b = o->b, *c = o->out;
    if (o->is_linear) return set_linear(mm, o);
    if (a->rank < 2 || a->rank > 3 || b->rank != a->rank || c->rank != a->rank) return false;
    const uint32_t row = a->rank - 2u, column = a->rank - 1u;
    if (row) {
        mm->batch = a->sizes[0];
        mm->a.batch = a->strides[0], mm->b.batch = b->strides[0], mm->c_batch = c->strides[0];
        if (b->sizes[0] != mm->batch || c->sizes[0] != mm->batch) return false;
    }
    mm->m = a->sizes[row], mm->k = a->sizes[column], mm->n = b->sizes[column];
    mm->a.row = a->strides[row], mm->a.column = a->strides[column];
    mm->b.row = b->strides[row], mm->b.column = b->strides[column];
    mm->c_row = c->strides[row], mm->c_column = c->strides[column];
    return b->sizes[row] == mm->k && c->sizes[row] == mm->m && c->sizes[column] == mm->n;
}

// `self` broadcasts to the result: a missing or single dimension is read with step 0.
static bool set_addend(sc_matmul *mm, const sc_tensor *self) {
    const int64_t wanted[2] = {mm->m, mm->n};
    int64_t *steps[2] = {&mm->addend.row, &mm->addend.column};
    if (self->rank > 2) return false;
    for (uint32_t d = 0; d < self->rank; d++) {
        uint32_t axis = d + 2 - self->rank;
        if (self->sizes[d] != 1 && self->sizes[d] != wanted[axis]) return false;
        *steps[axis] = self->sizes[d] == 1 ? 0 : self->strides[d];
    }
    mm->addend.data = self->data;
    return true;
}

// Describes the product; false if the operands are not compatible.
static bool describe(const sc_kernel_call *call, const operands *o, sc_matmul *mm) {
    *mm = (sc_matmul){.record = sc_product_record(call, SC_RECORD_MATMUL, o->out->dtype),
                      .batch = 1,
                      .alpha = 1,
                      .beta = 1,
                      .alpha_int = 1,
                      .beta_int = 1,
                      .a.data = o->a->data,
                      .b.data = o->b->data,
                      .c = o->out->data};
    if (!set_matrices(mm, o)) return false;
    if (!o->self) return true;
    if (!set_addend(mm, o->self)) return false;
    if (o->is_linear) return true;
    mm->beta = sc_call_number(call, ADDMM_BETA), mm->beta_int = sc_call_integer(call, ADDMM_BETA);
    mm->alpha = sc_call_number(call, ADDMM_ALPHA);
    mm->alpha_int = sc_call_integer(call, ADDMM_ALPHA);
    if (mm->beta == 0) mm->addend.data = NULL;  // even its NaNs have no effect
    return true;
}

// --- Half precision: f32 copies ------------------------------------------------------------------

static uint64_t copies_bytes(const operands *o) {
    if (!sc_dtype_is_half((sc_dtype)o->out->dtype)) return 0;
    return sc_product_float_bytes(o->a) + sc_product_float_bytes(o->b) +
           sc_product_float_bytes(o->self) + sc_product_float_bytes(o->out);
}

static void run_halves(const sc_kernel_call *call, const operands *o, const sc_variant *variant,
                       sc_matmul *mm) {
    uint8_t *scratch = call->scratch;
    mm->a.data = sc_product_floats(o->a, &scratch);
    mm->b.data = sc_product_floats(o->b, &scratch);
    if (mm->addend.data) mm->addend.data = sc_product_floats(o->self, &scratch);
    mm->c = scratch;
    sc_product_run(call, variant, &mm->record, scratch + sc_product_float_bytes(o->out));
    sc_storer(SC_CLASS_F32, o->out->dtype)(o->out->data, 1, mm->c, o->out->numel);
}

// --- The kernels ---------------------------------------------------------------------------------

static sc_status run_product(const sc_kernel_call *call) {
    sc_matmul mm;
    const operands o = operands_of(call);
    if (!describe(call, &o, &mm))
        return sc_call_fail(call, SC_ERR_SHAPE, "the matrices do not fit together");
    if (!dtypes_agree(&o)) return sc_call_no_kernel(call);
    if (o.out->numel == 0) return SC_OK;
    const uint64_t copies = copies_bytes(&o);
    if (copies > call->scratch_bytes) return sc_call_starved(call);
    const sc_variant *variant = sc_product_variant(call, &mm.record, call->scratch_bytes - copies);
    if (!variant) return sc_call_no_kernel(call);
    if (copies)
        run_halves(call, &o, variant, &mm);
    else
        sc_product_run(call, variant, &mm.record, call->scratch);
    return SC_OK;
}

static uint64_t product_scratch(const sc_kernel_call *call) {
    sc_matmul mm;
    const operands o = operands_of(call);
    // The largest sizes need not be compatible, even if those of a run are.
    if (!describe(call, &o, &mm)) return copies_bytes(&o);
    const sc_variant *variant = sc_product_variant(call, &mm.record, UINT64_MAX);
    return copies_bytes(&o) + (variant ? sc_variant_scratch_bytes(variant, &mm.record) : 0);
}

// Strides depend on sizes only where dimensions are permuted.
static bool is_row_major(const sc_tensor *t) {
    for (uint32_t d = 0; d < t->rank; d++)
        if (t->dim_order[d] != d) return false;
    return true;
}

static bool product_packs(const sc_kernel_call *call, sc_packing *packing) {
    sc_matmul mm;
    const operands o = operands_of(call);
    if (!dtypes_agree(&o) || !describe(call, &o, &mm) || o.b->dtype != mm.record.weight)
        return false;
    // An addend whose data does not exist yet must not be treated as absent.
    const bool adds = o.self && mm.beta != 0;
    if (!sc_product_packs(&mm.record, o.b_arg, adds ? o.self_arg : o.b_arg, packing)) return false;
    packing->always_fits =
        (o.a->rank == 2 || o.is_linear) && is_row_major(o.a) && is_row_major(o.out);
    return true;
}

static void pack_product(const sc_kernel_call *call, const sc_packing *packing) {
    sc_matmul mm;
    const operands o = operands_of(call);
    if (describe(call, &o, &mm)) sc_product_pack(&mm.record, packing);
}

SC_KERNEL(mm, .run = run_product, .scratch = product_scratch, .packs = product_packs,
          .pack = pack_product);
SC_KERNEL(bmm, .run = run_product, .scratch = product_scratch, .packs = product_packs,
          .pack = pack_product);
SC_KERNEL(linear, .run = run_product, .param = LINEAR, .scratch = product_scratch,
          .packs = product_packs, .pack = pack_product);
SC_KERNEL(addmm, .run = run_product, .scratch = product_scratch, .packs = product_packs,
          .pack = pack_product);
