// mm, bmm, addmm: from arguments to strided matrices. Half precision multiplies f32 copies.
#include "compute/matmul.h"

#include "kernels/convert.h"
#include "kernels/kernel.h"

// --- half precision: f32 copies ------------------------------------------------------------------

// The tensors of a product; `self` may be NULL.
typedef struct operands {
    const sc_tensor *a, *b, *self, *out;
} operands;

static uint64_t float_bytes(const sc_tensor *t) {
    return t ? sc_align_up((uint64_t)t->numel * sizeof(float), 64) : 0;
}

static uint64_t copies_bytes(const operands *o) {
    if (!sc_dtype_is_half((sc_dtype)o->out->dtype)) return 0;
    return float_bytes(o->a) + float_bytes(o->b) + float_bytes(o->self) + float_bytes(o->out);
}

// A dense tensor keeps its layout, so that the matrix steps stay valid.
static const float *as_floats(const sc_tensor *t, uint8_t **scratch) {
    float *copy = (float *)(void *)*scratch;
    sc_loader(SC_CLASS_F32, t->dtype)(copy, t->data, 1, t->numel);
    *scratch += float_bytes(t);
    return copy;
}

// --- common to the operators ---------------------------------------------------------------------

static sc_status run_halves(const operands *o, const sc_variant *variant, sc_matmul *mm,
                            uint8_t *scratch) {
    mm->a.data = as_floats(o->a, &scratch);
    mm->b.data = as_floats(o->b, &scratch);
    if (mm->addend.data) mm->addend.data = as_floats(o->self, &scratch);
    mm->c = scratch;
    sc_variant_run(variant, &mm->record, NULL, scratch + float_bytes(o->out));
    sc_storer(SC_CLASS_F32, o->out->dtype)(o->out->data, 1, mm->c, o->out->numel);
    return SC_OK;
}

static sc_status run(const sc_kernel_call *call, const operands *o, sc_matmul *mm) {
    const unsigned dtype = o->out->dtype;
    if (o->a->dtype != dtype || o->b->dtype != dtype || (o->self && o->self->dtype != dtype))
        return sc_call_fail(call, SC_ERR_DTYPE, "operands and result differ in dtype");
    if (o->out->numel == 0) return SC_OK;
    const uint64_t copies = copies_bytes(o);
    if (copies > call->scratch_bytes) return sc_call_starved(call);
    if (call->finish) mm->record.finish = *call->finish;
    const sc_variant *variant = sc_variant_pick(&mm->record, NULL, call->scratch_bytes - copies);
    if (!variant)
        return sc_call_fail(call, SC_ERR_DTYPE, "there is no kernel for %s",
                            sc_dtype_name((sc_dtype)dtype));
    if (copies) return run_halves(o, variant, mm, call->scratch);
    sc_variant_run(variant, &mm->record, NULL, call->scratch);
    return SC_OK;
}

static uint64_t scratch(const operands *o, const sc_matmul *mm) {
    const sc_variant *variant = sc_variant_pick(&mm->record, NULL, UINT64_MAX);
    return copies_bytes(o) + (variant ? sc_variant_scratch_bytes(variant, &mm->record) : 0);
}

static sc_matmul matmul_of(const operands *o) {
    const bool half = sc_dtype_is_half((sc_dtype)o->out->dtype);
    const uint8_t dtype = half ? SC_DTYPE_F32 : o->out->dtype;
    return (sc_matmul){.record = {.kind = SC_RECORD_MATMUL,
                                  .in = dtype,
                                  .weight = dtype,
                                  .bias = dtype,
                                  .out = dtype},
                       .batch = 1,
                       .alpha = 1,
                       .beta = 1,
                       .alpha_int = 1,
                       .beta_int = 1,
                       .a.data = o->a->data,
                       .b.data = o->b->data,
                       .c = o->out->data,
                       .addend.data = o->self ? o->self->data : NULL};
}

// Rows and columns of the three matrices, which are the last two dimensions of their tensors.
static bool set_matrices(sc_matmul *mm, const operands *o, uint32_t first) {
    const sc_tensor *a = o->a, *b = o->b, *c = o->out;
    mm->m = a->sizes[first], mm->k = a->sizes[first + 1], mm->n = b->sizes[first + 1];
    mm->a.row = a->strides[first], mm->a.column = a->strides[first + 1];
    mm->b.row = b->strides[first], mm->b.column = b->strides[first + 1];
    mm->c_row = c->strides[first], mm->c_column = c->strides[first + 1];
    return b->sizes[first] == mm->k && c->sizes[first] == mm->m && c->sizes[first + 1] == mm->n;
}

// --- mm, bmm -------------------------------------------------------------------------------------

// Finds a call's operands and what is to be multiplied; false when they do not fit together.
typedef bool (*describe_fn)(const sc_kernel_call *call, operands *o, sc_matmul *mm);

static sc_status multiply(const sc_kernel_call *call, describe_fn describe) {
    sc_matmul mm;
    operands o;
    if (!describe(call, &o, &mm))
        return sc_call_fail(call, SC_ERR_SHAPE, "the matrices do not fit together");
    return run(call, &o, &mm);
}

static uint64_t scratch_of(const sc_kernel_call *call, describe_fn describe) {
    sc_matmul mm;
    operands o;
    // The largest sizes need not fit together where those of a run do.
    return describe(call, &o, &mm) ? scratch(&o, &mm) : copies_bytes(&o);
}

static operands two_operands(const sc_kernel_call *call) {
    return (operands){sc_call_tensor(call, 0), sc_call_tensor(call, 1), NULL,
                      sc_call_tensor(call, 2)};
}

static bool set_mm(const operands *o, sc_matmul *mm) {
    *mm = matmul_of(o);
    return o->a->rank == 2 && o->b->rank == 2 && o->out->rank == 2 && set_matrices(mm, o, 0);
}

static bool describe_mm(const sc_kernel_call *call, operands *o, sc_matmul *mm) {
    *o = two_operands(call);
    return set_mm(o, mm);
}

static sc_status run_mm(const sc_kernel_call *call) { return multiply(call, describe_mm); }

static uint64_t mm_scratch(const sc_kernel_call *call) { return scratch_of(call, describe_mm); }

SC_KERNEL(mm, .run = run_mm, .scratch = mm_scratch);

static bool describe_bmm(const sc_kernel_call *call, operands *o, sc_matmul *mm) {
    *o = two_operands(call);
    *mm = matmul_of(o);
    if (o->a->rank != 3 || o->b->rank != 3 || o->out->rank != 3 || !set_matrices(mm, o, 1))
        return false;
    mm->batch = o->a->sizes[0];
    mm->a.batch = o->a->strides[0], mm->b.batch = o->b->strides[0];
    mm->c_batch = o->out->strides[0];
    return o->b->sizes[0] == mm->batch && o->out->sizes[0] == mm->batch;
}

static sc_status run_bmm(const sc_kernel_call *call) { return multiply(call, describe_bmm); }

static uint64_t bmm_scratch(const sc_kernel_call *call) { return scratch_of(call, describe_bmm); }

SC_KERNEL(bmm, .run = run_bmm, .scratch = bmm_scratch);

// --- addmm(self, mat1, mat2, *, beta, alpha, out) ------------------------------------------------

// `self` broadcasts to the result: a missing or single dimension is read with step 0.
static bool broadcast_self(const operands *o, sc_matmul *mm) {
    const sc_tensor *s = o->self;
    const int64_t wanted[2] = {mm->m, mm->n};
    int64_t *steps[2] = {&mm->addend.row, &mm->addend.column};
    if (s->rank > 2) return false;
    for (uint32_t d = 0; d < s->rank; d++) {
        uint32_t axis = d + 2 - s->rank;
        if (s->sizes[d] != 1 && s->sizes[d] != wanted[axis]) return false;
        *steps[axis] = s->sizes[d] == 1 ? 0 : s->strides[d];
    }
    return true;
}

static bool describe_addmm(const sc_kernel_call *call, operands *o, sc_matmul *mm) {
    *o = (operands){sc_call_tensor(call, 1), sc_call_tensor(call, 2), sc_call_tensor(call, 0),
                    sc_call_tensor(call, 5)};
    if (!set_mm(o, mm) || !broadcast_self(o, mm)) return false;
    mm->beta = sc_call_number(call, 3), mm->beta_int = sc_call_integer(call, 3);
    mm->alpha = sc_call_number(call, 4), mm->alpha_int = sc_call_integer(call, 4);
    if (mm->beta == 0) mm->addend.data = NULL;  // not even NaNs of it count
    return true;
}

static sc_status run_addmm(const sc_kernel_call *call) { return multiply(call, describe_addmm); }

static uint64_t addmm_scratch(const sc_kernel_call *call) {
    return scratch_of(call, describe_addmm);
}

SC_KERNEL(addmm, .run = run_addmm, .scratch = addmm_scratch);
