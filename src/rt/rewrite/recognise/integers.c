// Remainders and quotients of integers, as trace/official/pointwise.c makes them of quotients that
// are rounded down, and of what is left over: x - x // y * y. Common divisors, as divisors.c there
// makes them of many of these.
#include "rt/rewrite/recognise/recognise.h"

// x - x // by * y: `by` is y, or y kept off 0.
typedef struct division {
    sc_evalue *x, *y;
    const sc_evalue *by, *times, *rest;
} division;

// All numbers are of one dtype.
static bool is_alike(const sc_tensor *out, const sc_evalue *value) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->dtype == out->dtype &&
           !value->tensor->is_dynamic;
}

// (self, other, alpha): the other one as it is.
static bool takes(const sc_rt_search *s, const sc_kernel_call *call, const sc_tensor *out) {
    return call && is_alike(out, call->args[0]) && is_alike(out, call->args[1]) &&
           sc_rt_is_number(s, call->args[2], 1);
}

static bool read_rest(sc_rt_search *s, const sc_kernel_call *sub, const sc_tensor *out,
                      division *d) {
    if (!takes(s, sub, out)) return false;
    const sc_kernel_call *mul = sc_rt_made_by(s, sub->args[1], SC_OP_mul_Tensor);
    const sc_kernel_call *div = mul ? sc_rt_made_by(s, mul->args[0], SC_OP_div_Tensor_mode) : NULL;
    if (!div || !is_alike(out, mul->args[0]) || div->args[0] != sub->args[0] ||
        !is_alike(out, div->args[1]) || div->args[2]->tag != SC_EVALUE_STRING ||
        !sc_str_is(div->args[2]->str, "floor"))
        return false;
    d->x = div->args[0];
    d->y = mul->args[1];
    d->by = div->args[1];
    d->times = mul->args[0];
    return true;
}

static bool is_rest(sc_rt_search *s, const sc_kernel_call *sub, const sc_tensor *out, division *d) {
    return read_rest(s, sub, out, d) && d->by == d->y;
}

static bool is_against_zero(sc_rt_search *s, const sc_evalue *value, sc_op_id op,
                            const sc_evalue *x) {
    const sc_kernel_call *call = sc_rt_made_by(s, value, op);
    return call && call->args[0] == x && sc_rt_is_number(s, call->args[1], 0);
}

// Is something left over, and of another sign than x?
static bool is_turned(sc_rt_search *s, const sc_evalue *value, const division *d) {
    const sc_kernel_call *both = sc_rt_made_by(s, value, SC_OP_logical_and);
    const sc_kernel_call *other = both ? sc_rt_made_by(s, both->args[0], SC_OP_logical_xor) : NULL;
    return other && is_against_zero(s, other->args[0], SC_OP_lt_Scalar, d->x) &&
           is_against_zero(s, other->args[1], SC_OP_lt_Scalar, d->rest) &&
           is_against_zero(s, both->args[1], SC_OP_ne_Scalar, d->rest);
}

// What is left over where that has the sign of x, from what has the sign of y.
static bool is_fmod(sc_rt_search *s, const sc_kernel_call *where, division *d) {
    const sc_tensor *out = where->args[3]->tensor;
    const sc_kernel_call *turned = sc_rt_made_by(s, where->args[1], SC_OP_sub_Tensor);
    if (!takes(s, turned, out) || turned->args[0] != where->args[2]) return false;
    d->rest = where->args[2];
    return is_alike(out, d->rest) &&
           is_rest(s, sc_rt_made_by(s, d->rest, SC_OP_sub_Tensor), out, d) &&
           turned->args[1] == d->y && is_turned(s, where->args[0], d);
}

// The quotient towards zero, from the one that is rounded down.
static bool is_quotient(sc_rt_search *s, const sc_kernel_call *where, division *d) {
    const sc_tensor *out = where->args[3]->tensor;
    const sc_kernel_call *more = sc_rt_made_by(s, where->args[1], SC_OP_add_Scalar);
    const sc_kernel_call *both = sc_rt_made_by(s, where->args[0], SC_OP_logical_and);
    const sc_kernel_call *ne = both ? sc_rt_made_by(s, both->args[1], SC_OP_ne_Scalar) : NULL;
    if (!more || !ne || more->args[0] != where->args[2] || !is_alike(out, where->args[1]) ||
        !sc_rt_is_number(s, more->args[1], 1) || !sc_rt_is_number(s, more->args[2], 1))
        return false;
    d->rest = ne->args[0];
    return is_alike(out, d->rest) &&
           is_rest(s, sc_rt_made_by(s, d->rest, SC_OP_sub_Tensor), out, d) &&
           d->times == where->args[2] && is_turned(s, where->args[0], d);
}

static void found_of(sc_rt_found *found, sc_op_id op, const division *d, const sc_evalue *ends_in) {
    *found = (sc_rt_found){.op = op,
                           .kernel = sc_kernel_get(op),
                           .args = {d->x, d->y},
                           .arg_count = 2,
                           .ends_in = ends_in};
}

bool sc_rt_is_division(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    static const sc_evalue towards_zero = {.tag = SC_EVALUE_STRING, .str = {"trunc", 5}};
    division d;
    if (is_fmod(s, root, &d)) {
        found_of(found, SC_OP_fmod_Tensor, &d, NULL);
        return true;
    }
    s->parts.count = 0;
    if (!is_quotient(s, root, &d)) return false;
    found_of(found, SC_OP_div_Tensor_mode, &d, &towards_zero);
    return true;
}

// Where nobody else wants the quotient, which would be computed again.
bool sc_rt_is_remainder(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    division d;
    if (!is_rest(s, root, root->args[3]->tensor, &d)) return false;
    const sc_rt_use *use = &s->o->uses[sc_rt_value_index(s->o->m, d.times)];
    if (use->reads != 1 || use->is_output) return false;
    found_of(found, SC_OP_remainder_Tensor, &d, NULL);
    return true;
}

// --- Common divisors -----------------------------------------------------------------------------

static bool is_clamp(sc_rt_search *s, const sc_kernel_call *call, const sc_evalue *y,
                     bool of_sizes) {
    const int at = of_sizes ? 1 : 2;
    return call && call->args[0] == y && sc_rt_is_number(s, call->args[at], of_sizes ? 1 : -2) &&
           call->args[3 - at]->tag == SC_EVALUE_NONE;
}

// What y left over of x, which was divided by max(y, 1), or of opposites by min(y, -2).
static bool read_step(sc_rt_search *s, const sc_tensor *out, const sc_evalue *value, bool of_sizes,
                      division *d) {
    return read_rest(s, sc_rt_made_by(s, value, SC_OP_sub_Tensor), out, d) &&
           is_clamp(s, sc_rt_made_by(s, d->by, SC_OP_clamp), d->y, of_sizes);
}

// Two steps back: y is what x left over of it, and x is what y before that left over.
static bool step_back(sc_rt_search *s, const sc_tensor *out, const sc_evalue **x,
                      const sc_evalue **y, bool of_sizes) {
    division last, first;
    if (!read_step(s, out, *y, of_sizes, &last) || last.y != *x ||
        !read_step(s, out, *x, of_sizes, &first) || first.y != last.x)
        return false;
    *x = first.x;
    *y = last.x;
    return true;
}

static const sc_evalue *negated(sc_rt_search *s, const sc_tensor *out, const sc_evalue *value) {
    const sc_kernel_call *neg = is_alike(out, value) ? sc_rt_made_by(s, value, SC_OP_neg) : NULL;
    return neg && is_alike(out, neg->args[0]) ? neg->args[0] : NULL;
}

static sc_evalue *opposite_of(sc_rt_search *s, const sc_tensor *out, const sc_evalue *value) {
    const sc_kernel_call *least =
        is_alike(out, value) ? sc_rt_made_by(s, value, SC_OP_minimum) : NULL;
    return least && is_alike(out, least->args[0]) &&
                   negated(s, out, least->args[1]) == least->args[0]
               ? least->args[0]
               : NULL;
}

// The sum's part, negated where `of` is the most negative number.
typedef struct part {
    const sc_evalue *of, *size;
} part;

static bool read_part(sc_rt_search *s, const sc_tensor *out, const sc_evalue *value, part *p) {
    const int64_t least = out->dtype == SC_DTYPE_I64 ? INT64_MIN : INT32_MIN;
    const sc_kernel_call *where = sc_rt_made_by(s, value, SC_OP_where_self);
    const sc_kernel_call *eq = where ? sc_rt_made_by(s, where->args[0], SC_OP_eq_Scalar) : NULL;
    if (!eq || eq->args[1]->tag != SC_EVALUE_INT || eq->args[1]->i != least ||
        !sc_rt_is_number(s, eq->args[1], (double)least) || !is_alike(out, where->args[2]) ||
        negated(s, out, where->args[1]) != where->args[2])
        return false;
    *p = (part){.of = eq->args[0], .size = where->args[2]};
    return true;
}

// The first step, of opposites, which `x` and `y` are the sizes of.
static bool begins_gcd(sc_rt_search *s, const sc_tensor *out, const part *x, const part *y,
                       sc_rt_found *found) {
    const sc_evalue *left = negated(s, out, x->size), *right = negated(s, out, y->size);
    if (!left || !right || !step_back(s, out, &left, &right, false)) return false;
    sc_evalue *a = opposite_of(s, out, left), *b = opposite_of(s, out, right);
    if (!a || !b || a != x->of || b != y->of) return false;
    *found = (sc_rt_found){
        .op = SC_OP_gcd, .kernel = sc_kernel_get(SC_OP_gcd), .args = {a, b}, .arg_count = 2};
    return true;
}

// Each of two is divided by the other in turn, as often as numbers of that dtype may need.
bool sc_rt_is_gcd(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    const sc_tensor *out = root->args[3]->tensor;
    const int rounds = out->dtype == SC_DTYPE_I64 ? 46 : 24;
    part x, y;
    if (out->dtype != SC_DTYPE_I64 && out->dtype != SC_DTYPE_I32) return false;
    if (!takes(s, root, out) || !read_part(s, out, root->args[0], &x) ||
        !read_part(s, out, root->args[1], &y))
        return false;
    for (int i = 0; i < rounds; i++)
        if (!step_back(s, out, &x.size, &y.size, true)) return false;
    return begins_gcd(s, out, &x, &y, found);
}
