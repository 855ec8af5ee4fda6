// Fourier transforms as trace/official/fft.c writes them. It builds them from transforms of real
// numbers: the half spectra of the real and the imaginary parts are joined to the two halves of the
// result. Complex numbers stay pairs, which one call transforms in place.
#include "ops/kept.h"
#include "rt/rewrite/recognise/recognise.h"

// The result of a cat of two: half of a spectrum of n, and the part that is missing.
typedef struct spectrum {
    sc_evalue *const *items;
    const sc_tensor *out;
    uint32_t dim;
    int64_t n, half;
} spectrum;

static bool is_like(const spectrum *f, const sc_evalue *value) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->dtype == f->out->dtype &&
           value->tensor->rank == f->out->rank && !value->tensor->is_dynamic;
}

// (tensors, dim, out): tensors of pairs, the half spectrum first.
static bool may_be(const sc_rt_search *s, const sc_kernel_call *cat, spectrum *f) {
    if (cat->args[0]->tag != SC_EVALUE_TENSOR_LIST || cat->args[0]->count != 2 ||
        cat->args[1]->tag != SC_EVALUE_INT || cat->args[2]->tag != SC_EVALUE_TENSOR)
        return false;
    *f = (spectrum){.items = cat->args[0]->tensors, .out = cat->args[2]->tensor};
    const uint32_t rank = f->out->rank;
    if (rank < 2 || f->out->sizes[rank - 1] != 2 || f->out->is_dynamic ||
        !sc_dtype_is_float((sc_dtype)f->out->dtype) || sc_dtype_is_half((sc_dtype)f->out->dtype) ||
        !sc_rt_is_fixed(s, cat->args[1]))
        return false;
    f->dim = sc_wrap_dim(cat->args[1]->i, rank);
    if (f->dim + 1 >= rank) return false;
    f->n = f->out->sizes[f->dim];
    f->half = f->n / 2 + 1;
    return is_like(f, f->items[0]) && is_like(f, f->items[1]) && f->n > 2 &&
           f->items[0]->tensor->sizes[f->dim] == f->half && sc_tensor_is_contiguous(f->out);
}

// --- Parts ---------------------------------------------------------------------------------------

// Is it a list of that dim alone?
static bool is_dim(const sc_rt_search *s, const sc_evalue *list, uint32_t dim) {
    return list->tag == SC_EVALUE_INT_LIST && list->count == 1 &&
           sc_rt_is_number(s, list->ints[0], dim);
}

// The half spectrum whose elements, without the first and in reverse order, are the missing part.
static sc_evalue *mirrored(sc_rt_search *s, const spectrum *f) {
    const sc_kernel_call *flip = sc_rt_made_by(s, f->items[1], SC_OP_flip);
    if (!flip || !is_dim(s, flip->args[1], f->dim)) return NULL;
    sc_evalue *part = flip->args[0];
    const sc_kernel_call *slice = sc_rt_made_by(s, part, SC_OP_slice_copy_Tensor);
    sc_evalue *whole = slice ? slice->args[0] : sc_rt_base(s, part);
    return whole && is_like(f, whole) && whole->tensor->sizes[f->dim] == f->half &&
                   sc_rt_is_part(s, part, whole, f->dim, 1, f->n - f->half)
               ? whole
               : NULL;
}

static bool is_of_dtype(const spectrum *f, const sc_evalue *value) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->dtype == f->out->dtype;
}

static bool is_filled(sc_rt_search *s, const spectrum *f, const sc_evalue *value, double number) {
    const sc_kernel_call *full = sc_rt_made_by(s, value, SC_OP_full);
    return full && is_of_dtype(f, value) && sc_rt_is_number(s, full->args[1], number);
}

// 1 and -1: the factors that conjugate pairs.
static bool is_sign(sc_rt_search *s, const spectrum *f, const sc_evalue *value) {
    static const int64_t two = 2;
    if (!sc_rt_is_shaped(value, 1, &two) || !is_of_dtype(f, value)) return false;
    if (value->tensor->is_constant)
        return sc_tensor_is_contiguous(value->tensor) && sc_tensor_real(value->tensor, 0) == 1 &&
               sc_tensor_real(value->tensor, 1) == -1;
    const sc_kernel_call *add = sc_rt_made_by(s, value, SC_OP_add_Tensor);
    const sc_kernel_call *mul = add ? sc_rt_made_by(s, add->args[0], SC_OP_mul_Tensor) : NULL;
    const sc_kernel_call *places =
        mul ? sc_rt_made_by(s, mul->args[0], SC_OP_arange_start_step) : NULL;
    return places && is_of_dtype(f, add->args[0]) && is_of_dtype(f, mul->args[0]) &&
           sc_rt_is_shaped(mul->args[0], 1, &two) && sc_rt_is_number(s, places->args[0], 0) &&
           sc_rt_is_number(s, places->args[2], 1) && is_filled(s, f, mul->args[1], -2) &&
           is_filled(s, f, add->args[1], 1) && sc_rt_is_number(s, add->args[2], 1);
}

// x times the signs.
static const sc_evalue *conjugated(sc_rt_search *s, const spectrum *f, const sc_evalue *value) {
    const sc_kernel_call *mul = sc_rt_made_by(s, value, SC_OP_mul_Tensor);
    return mul && is_like(f, mul->args[0]) && is_sign(s, f, mul->args[1]) ? mul->args[0] : NULL;
}

// The half spectrum of real numbers whose pairs a value contains.
static const sc_kernel_call *half_spectrum(sc_rt_search *s, const spectrum *f,
                                           const sc_evalue *value) {
    const sc_kernel_call *view = sc_rt_made_by(s, value, SC_OP_view_as_real_copy);
    const sc_evalue *of = view ? view->args[0] : sc_rt_base(s, value);
    if (!of || of->tag != SC_EVALUE_TENSOR || of->tensor->numel * 2 != value->tensor->numel ||
        of->tensor->dtype != sc_dtype_to_complex((sc_dtype)f->out->dtype) ||
        !sc_rt_is_shaped(of, value->tensor->rank - 1u, value->tensor->sizes) ||
        (!view &&
         (of->tensor->data != value->tensor->data || !sc_tensor_is_contiguous(of->tensor) ||
          !sc_tensor_is_contiguous(value->tensor))))
        return NULL;
    const sc_kernel_call *r2c = sc_rt_made_by(s, of, SC_OP__fft_r2c);
    return r2c && is_dim(s, r2c->args[1], f->dim) && r2c->args[2]->tag == SC_EVALUE_INT &&
                   sc_rt_is_fixed(s, r2c->args[2]) && sc_rt_is_number(s, r2c->args[3], 1)
               ? r2c
               : NULL;
}

// --- Complex numbers -----------------------------------------------------------------------------

// The two spectra that F(x) + i F(y) consists of: those of the real and of the imaginary parts.
typedef struct halves {
    const sc_evalue *x, *rotated;  // i F(y) is the second one with its parts swapped
} halves;

// x - rotated * sign
static bool is_sum(sc_rt_search *s, const spectrum *f, const sc_evalue *value, halves *h) {
    const sc_kernel_call *sub = sc_rt_made_by(s, value, SC_OP_sub_Tensor);
    if (!sub || !is_like(f, value) || !is_like(f, sub->args[0]) || !is_like(f, sub->args[1]) ||
        !sc_rt_is_number(s, sub->args[2], 1))
        return false;
    h->x = sub->args[0];
    h->rotated = conjugated(s, f, sub->args[1]);
    return h->rotated != NULL;
}

// x * sign + rotated
static bool is_other_sum(sc_rt_search *s, const spectrum *f, const sc_evalue *value,
                         const halves *h) {
    const sc_kernel_call *add = sc_rt_made_by(s, value, SC_OP_add_Tensor);
    return add && is_like(f, value) && is_like(f, add->args[0]) && add->args[1] == h->rotated &&
           sc_rt_is_number(s, add->args[2], 1) && conjugated(s, f, add->args[0]) == h->x;
}

// The tensor in which the value is the neighbour of that index, on the dim before that of real and
// imaginary parts.
static const sc_evalue *selected(sc_rt_search *s, const spectrum *f, const sc_evalue *value,
                                 int64_t index) {
    const sc_kernel_call *select = sc_rt_made_by(s, value, SC_OP_select_copy_int);
    const uint32_t rank = f->out->rank;
    return select && select->args[0]->tag == SC_EVALUE_TENSOR &&
                   select->args[0]->tensor->rank == rank + 1 &&
                   select->args[0]->tensor->dtype == f->out->dtype &&
                   select->args[0]->tensor->sizes[rank - 1] == 2 &&
                   sc_rt_is_number(s, select->args[1], rank - 1) &&
                   sc_rt_is_number(s, select->args[2], (double)index)
               ? select->args[0]
               : NULL;
}

static const sc_kernel_call *transform_of_pairs(sc_rt_search *s, const spectrum *f,
                                                const halves *h) {
    const sc_kernel_call *flip = sc_rt_made_by(s, h->rotated, SC_OP_flip);
    if (!flip || !is_dim(s, flip->args[1], f->out->rank - 1u)) return NULL;
    const sc_evalue *both = selected(s, f, h->x, 0);
    return both && selected(s, f, flip->args[0], 1) == both ? half_spectrum(s, f, both) : NULL;
}

static bool is_complex(sc_rt_search *s, const spectrum *f, const sc_evalue *other,
                       sc_rt_found *found) {
    static const sc_evalue backward = {.tag = SC_EVALUE_BOOL, .b = false};
    halves h;
    const bool forward = is_sum(s, f, f->items[0], &h);
    if (!(forward ? is_other_sum(s, f, other, &h)
                  : is_sum(s, f, other, &h) && is_other_sum(s, f, f->items[0], &h)))
        return false;
    const sc_kernel_call *r2c = transform_of_pairs(s, f, &h);
    if (!r2c || !is_like(f, r2c->args[0]) || !sc_tensor_is_contiguous(r2c->args[0]->tensor) ||
        !sc_rt_is_shaped(r2c->args[0], f->out->rank, f->out->sizes))
        return false;
    // `forward` of the complex transform is at the place of `onesided` of the real one, which is
    // true, too.
    *found = (sc_rt_found){.op = SC_OP__fft_c2c,
                           .kernel = SC_KEPT(_fft_c2c, &sc_k_fft_c2c_pairs +) 0,
                           .args = {r2c->args[0], r2c->args[1], r2c->args[2], r2c->args[3]},
                           .arg_count = forward ? 4 : 3,
                           .ends_in = forward ? NULL : &backward,
                           .is_checked = true};
    return true;
}

// --- Real numbers --------------------------------------------------------------------------------

static bool is_real(sc_rt_search *s, const spectrum *f, const sc_evalue *other,
                    sc_rt_found *found) {
    static const sc_evalue whole = {.tag = SC_EVALUE_BOOL, .b = false};
    if (conjugated(s, f, other) != f->items[0]) return false;
    const sc_kernel_call *r2c = half_spectrum(s, f, f->items[0]);
    if (!r2c || r2c->args[0]->tag != SC_EVALUE_TENSOR ||
        r2c->args[0]->tensor->dtype != f->out->dtype ||
        !sc_rt_is_shaped(r2c->args[0], f->out->rank - 1u, f->out->sizes))
        return false;
    *found = (sc_rt_found){.op = SC_OP__fft_r2c,
                           .kernel = SC_KEPT(_fft_r2c, &sc_k_fft_r2c_pairs +) 0,
                           .args = {r2c->args[0], r2c->args[1], r2c->args[2]},
                           .arg_count = 3,
                           .ends_in = &whole,
                           .is_checked = true};
    return true;
}

bool sc_rt_is_fft(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    spectrum f;
    if (!may_be(s, root, &f)) return false;
    const sc_evalue *other = mirrored(s, &f);
    return other && (is_real(s, &f, other, found) || is_complex(s, &f, other, found));
}
