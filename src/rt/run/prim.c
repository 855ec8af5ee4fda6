// The primitives: arithmetic on sizes, sizes themselves, and numbers out of tensors. Two work on
// tensors as objects: views, and slices that a loop writes. Results overwrite the value record,
// kind included.
#include "rt/run/prim.h"

#include <math.h>

#include "kernels/convert.h"
#include "rt/run/tensor.h"

static sc_status wrong_kind(const sc_kernel_call *c) {
    return sc_fail(c->ctx, SC_ERR_CORRUPT, NULL, "%s got a value of a kind that it does not take",
                   c->op->out_name);
}

// --- Numbers -------------------------------------------------------------------------------------

static bool is_number(const sc_evalue *v) {
    return v->tag == SC_EVALUE_INT || v->tag == SC_EVALUE_DOUBLE;
}
static double as_double(const sc_evalue *v) {
    return v->tag == SC_EVALUE_INT ? (double)v->i : v->d;
}

static sc_status give_int(const sc_kernel_call *c, int64_t i) {
    sc_evalue *out = c->args[c->arg_count - 1];
    out->tag = SC_EVALUE_INT;
    out->i = i;
    return SC_OK;
}
static sc_status give_double(const sc_kernel_call *c, double d) {
    sc_evalue *out = c->args[c->arg_count - 1];
    out->tag = SC_EVALUE_DOUBLE;
    out->d = d;
    return SC_OK;
}
static sc_status give_bool(const sc_kernel_call *c, bool b) {
    sc_evalue *out = c->args[c->arg_count - 1];
    out->tag = SC_EVALUE_BOOL;
    out->b = b;
    return SC_OK;
}

static sc_status zero_division(const sc_kernel_call *c) {
    return sc_fail(c->ctx, SC_ERR_NUMERIC, NULL, "%s divides by zero", c->op->out_name);
}

typedef enum operation { ADD, SUB, MUL } operation;

// Integers wrap.
static sc_status arithmetic(const sc_kernel_call *c, operation what) {
    const sc_evalue *a = c->args[0], *b = c->args[1];
    if (!is_number(a) || !is_number(b)) return wrong_kind(c);
    if (a->tag == SC_EVALUE_INT && b->tag == SC_EVALUE_INT) {
        uint64_t x = (uint64_t)a->i, y = (uint64_t)b->i;
        return give_int(c, (int64_t)(what == ADD ? x + y : what == SUB ? x - y : x * y));
    }
    double x = as_double(a), y = as_double(b);
    return give_double(c, what == ADD ? x + y : what == SUB ? x - y : x * y);
}
static sc_status prim_add(const sc_kernel_call *c) { return arithmetic(c, ADD); }
static sc_status prim_sub(const sc_kernel_call *c) { return arithmetic(c, SUB); }
static sc_status prim_mul(const sc_kernel_call *c) { return arithmetic(c, MUL); }

enum { LESS = 1, EQUAL = 2, GREATER = 4 };  // no relation is true of a NaN

// Is the relation of the two numbers one of `wanted`?
static sc_status compare(const sc_kernel_call *c, unsigned wanted) {
    const sc_evalue *a = c->args[0], *b = c->args[1];
    bool bools = a->tag == SC_EVALUE_BOOL && b->tag == SC_EVALUE_BOOL;
    bool ints = a->tag == SC_EVALUE_INT && b->tag == SC_EVALUE_INT;
    if (!bools && (!is_number(a) || !is_number(b))) return wrong_kind(c);
    unsigned found = 0;
    if (bools || ints) {
        int64_t x = bools ? a->b : a->i, y = bools ? b->b : b->i;
        found = x < y ? LESS : x == y ? EQUAL : GREATER;
    } else {
        double x = as_double(a), y = as_double(b);
        found = x < y ? LESS : x == y ? EQUAL : x > y ? GREATER : 0;
    }
    return give_bool(c, (found & wanted) != 0);
}
static sc_status prim_eq(const sc_kernel_call *c) { return compare(c, EQUAL); }
static sc_status prim_lt(const sc_kernel_call *c) { return compare(c, LESS); }
static sc_status prim_le(const sc_kernel_call *c) { return compare(c, LESS | EQUAL); }
static sc_status prim_gt(const sc_kernel_call *c) { return compare(c, GREATER); }
static sc_status prim_ge(const sc_kernel_call *c) { return compare(c, GREATER | EQUAL); }

static sc_status prim_floordiv(const sc_kernel_call *c) {
    const sc_evalue *a = c->args[0], *b = c->args[1];
    if (!is_number(a) || !is_number(b)) return wrong_kind(c);
    if (a->tag != SC_EVALUE_INT || b->tag != SC_EVALUE_INT)
        return give_double(c, floor(as_double(a) / as_double(b)));
    if (b->i == 0) return zero_division(c);
    if (b->i == -1) return give_int(c, (int64_t)(0 - (uint64_t)a->i));
    int64_t quotient = a->i / b->i;
    if (a->i % b->i != 0 && (a->i < 0) != (b->i < 0)) quotient--;
    return give_int(c, quotient);
}

static sc_status prim_truediv(const sc_kernel_call *c) {
    const sc_evalue *a = c->args[0], *b = c->args[1];
    if (!is_number(a) || !is_number(b)) return wrong_kind(c);
    return give_double(c, as_double(a) / as_double(b));
}

// C's truncating division and remainder, as in the official runtime.
static sc_status prim_floordiv_int(const sc_kernel_call *c) {
    const sc_evalue *a = c->args[0], *b = c->args[1];
    if (a->tag != SC_EVALUE_INT || b->tag != SC_EVALUE_INT) return wrong_kind(c);
    if (b->i == 0) return zero_division(c);
    return give_int(c, b->i == -1 ? (int64_t)(0 - (uint64_t)a->i) : a->i / b->i);
}
static sc_status prim_mod(const sc_kernel_call *c) {
    const sc_evalue *a = c->args[0], *b = c->args[1];
    if (a->tag != SC_EVALUE_INT || b->tag != SC_EVALUE_INT) return wrong_kind(c);
    if (b->i == 0) return zero_division(c);
    return give_int(c, b->i == -1 ? 0 : a->i % b->i);
}

static sc_status prim_neg(const sc_kernel_call *c) {
    const sc_evalue *a = c->args[0];
    if (!is_number(a)) return wrong_kind(c);
    if (a->tag == SC_EVALUE_INT) return give_int(c, (int64_t)(0 - (uint64_t)a->i));
    return give_double(c, -a->d);
}

static sc_status rounded(const sc_kernel_call *c, double (*function)(double)) {
    const sc_evalue *a = c->args[0];
    if (a->tag == SC_EVALUE_INT) return give_int(c, a->i);
    if (a->tag != SC_EVALUE_DOUBLE) return wrong_kind(c);
    return give_int(c, sc_f64_to_i64(function(a->d)));
}
static sc_status prim_ceil(const sc_kernel_call *c) { return rounded(c, ceil); }
static sc_status prim_trunc(const sc_kernel_call *c) { return rounded(c, trunc); }
static sc_status prim_round(const sc_kernel_call *c) { return rounded(c, nearbyint); }

static sc_status prim_sym_int(const sc_kernel_call *c) {
    if (c->args[0]->tag == SC_EVALUE_BOOL) return give_int(c, c->args[0]->b);
    return prim_trunc(c);
}
static sc_status prim_sym_float(const sc_kernel_call *c) {
    if (!is_number(c->args[0])) return wrong_kind(c);
    return give_double(c, as_double(c->args[0]));
}
static sc_status prim_sym_not(const sc_kernel_call *c) {
    if (c->args[0]->tag != SC_EVALUE_BOOL) return wrong_kind(c);
    return give_bool(c, !c->args[0]->b);
}
static sc_status prim_sym_ite(const sc_kernel_call *c) {
    if (c->args[0]->tag != SC_EVALUE_BOOL) return wrong_kind(c);
    const sc_evalue *pick = c->args[0]->b ? c->args[1] : c->args[2];
    if (!is_number(pick) && pick->tag != SC_EVALUE_BOOL) return wrong_kind(c);
    *c->args[3] = *pick;
    return SC_OK;
}

static sc_status extreme(const sc_kernel_call *c, bool want_max) {
    const sc_evalue *a = c->args[0], *b = c->args[1];
    if (!is_number(a) || !is_number(b)) return wrong_kind(c);
    if (a->tag == SC_EVALUE_INT && b->tag == SC_EVALUE_INT)
        return give_int(c, want_max ? sc_max_i64(a->i, b->i) : sc_min_i64(a->i, b->i));
    double x = as_double(a), y = as_double(b);
    return give_double(c, (want_max ? y > x : y < x) ? y : x);  // as Python compares with a NaN
}
static sc_status prim_max(const sc_kernel_call *c) { return extreme(c, true); }
static sc_status prim_min(const sc_kernel_call *c) { return extreme(c, false); }

// --- Tensors -------------------------------------------------------------------------------------

static sc_status prim_sym_size(const sc_kernel_call *c) {
    const sc_evalue *self = c->args[0], *dim = c->args[1];
    if (self->tag != SC_EVALUE_TENSOR || dim->tag != SC_EVALUE_INT) return wrong_kind(c);
    int64_t rank = self->tensor->rank, at = dim->i < 0 ? dim->i + rank : dim->i;
    if (at < 0 || at >= rank)
        return sc_fail(c->ctx, SC_ERR_ARGUMENT, NULL,
                       "dimension %lld does not exist in a tensor of rank %lld", (long long)dim->i,
                       (long long)rank);
    return give_int(c, self->tensor->sizes[at]);
}

static sc_status prim_sym_numel(const sc_kernel_call *c) {
    if (c->args[0]->tag != SC_EVALUE_TENSOR) return wrong_kind(c);
    return give_int(c, c->args[0]->tensor->numel);
}

static sc_status prim_local_scalar(const sc_kernel_call *c) {
    const sc_evalue *self = c->args[0];
    if (self->tag != SC_EVALUE_TENSOR) return wrong_kind(c);
    const sc_tensor *t = self->tensor;
    if (t->numel != 1)
        return sc_fail(c->ctx, SC_ERR_SHAPE, NULL,
                       "item() takes a tensor of one element, not of %lld", (long long)t->numel);
    double d;
    int64_t i;
    switch (sc_class_of(t->dtype)) {
    case SC_CLASS_F32:
    case SC_CLASS_F64:
        sc_loader(SC_CLASS_F64, t->dtype)(&d, t->data, 1, 1);
        return give_double(c, d);
    case SC_CLASS_COUNT:
        return sc_fail(c->ctx, SC_ERR_DTYPE, NULL, "item() does not take a tensor of %s",
                       sc_dtype_name((sc_dtype)t->dtype));
    default:
        sc_loader(SC_CLASS_I64, t->dtype)(&i, t->data, 1, 1);
        return t->dtype == SC_DTYPE_BOOL ? give_bool(c, i != 0) : give_int(c, i);
    }
}

// et_view(self, size, out): out becomes self's memory in another shape.
static sc_status prim_et_view(const sc_kernel_call *c) {
    const sc_evalue *list = c->args[1];
    if (c->args[0]->tag != SC_EVALUE_TENSOR || list->tag != SC_EVALUE_INT_LIST ||
        c->args[2]->tag != SC_EVALUE_TENSOR)
        return wrong_kind(c);
    const sc_tensor *self = c->args[0]->tensor;
    sc_tensor *out = c->args[2]->tensor;
    int64_t sizes[SC_RANK_MAX], known = 1, free_dim = -1;
    if (list->count > SC_RANK_MAX || self->dtype != out->dtype) return wrong_kind(c);
    for (uint32_t d = 0; d < list->count; d++) {
        sizes[d] = list->ints[d]->i;
        if (sizes[d] == -1 && free_dim < 0)
            free_dim = d;
        else if (sizes[d] < 0 || !sc_mul_i64(known, sizes[d], &known))
            return sc_fail(c->ctx, SC_ERR_SHAPE, NULL, "a view has a negative or huge size");
    }
    if (free_dim >= 0) sizes[free_dim] = known ? self->numel / known : 0;
    if (free_dim >= 0 ? known * sizes[free_dim] != self->numel : known != self->numel)
        return sc_fail(c->ctx, SC_ERR_SHAPE, NULL,
                       "a view of %lld elements cannot show a tensor of %lld", (long long)known,
                       (long long)self->numel);
    if (!self->data)
        return sc_fail(c->ctx, SC_ERR_STATE, "Lower the model again from its .pt2.",
                       "a view shows a tensor that has no memory");
    out->capacity_bytes = sc_max_u64(out->capacity_bytes, sc_rt_tensor_bytes(self));
    SC_TRY(sc_rt_tensor_resize(c->ctx, out, sizes, list->count));
    out->data = self->data;
    out->capacity_bytes = sc_rt_tensor_bytes(self);
    out->is_constant = self->is_constant;
    return SC_OK;
}

// et_copy_index(to, from, index): `to` grows to index + 1 along its first dimension, and `from` is
// copied there.
static sc_status prim_copy_index(const sc_kernel_call *c) {
    if (c->args[0]->tag != SC_EVALUE_TENSOR || c->args[1]->tag != SC_EVALUE_TENSOR ||
        c->args[2]->tag != SC_EVALUE_INT)
        return wrong_kind(c);
    sc_tensor *to = c->args[0]->tensor;
    const sc_tensor *from = c->args[1]->tensor;
    const int64_t index = c->args[2]->i;
    int64_t sizes[SC_RANK_MAX];
    if (to->rank != from->rank + 1 || to->dtype != from->dtype || index < 0 || index == INT64_MAX ||
        !to->data || !from->data || to->is_constant || !sc_tensor_is_contiguous(from))
        return wrong_kind(c);
    sizes[0] = index + 1;
    memcpy(sizes + 1, from->sizes, from->rank * sizeof *sizes);
    SC_TRY(sc_rt_tensor_resize(c->ctx, to, sizes, to->rank));
    if (!sc_tensor_is_contiguous(to)) return wrong_kind(c);
    size_t bytes = (size_t)sc_rt_tensor_bytes(from);
    if (bytes) memmove((uint8_t *)to->data + (size_t)index * bytes, from->data, bytes);
    return SC_OK;
}

// --- The PRIM column -----------------------------------------------------------------------------

#define KERNEL(...)    NULL
#define POINTWISE(...) NULL
#define NO_KERNEL      NULL
#define PRIM(name)     prim_##name
static const sc_prim_fn prims[SC_OP_COUNT] = {
#define OP(id, schema, out, infer, expand, kernel, ...) [SC_OP_##id] = kernel,
#include "ops/ops.def"
#undef OP
};

sc_prim_fn sc_rt_prim(const sc_op *op) { return prims[op->id]; }
