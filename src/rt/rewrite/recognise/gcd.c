// Common divisors of integers as trace/official/divisors.c writes them out: the two numbers are
// divided by each other in turn.
#include "rt/rewrite/recognise/recognise.h"

// All numbers are of one dtype.
static bool is_alike(const sc_tensor *out, const sc_evalue *value) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->dtype == out->dtype &&
           !value->tensor->is_dynamic;
}

static bool is_step(sc_rt_search *s, const sc_tensor *out, sc_evalue *value, sc_step step,
                    sc_evalue **operands) {
    return is_alike(out, value) && sc_rt_is_step(s, value, step, (sc_dtype)out->dtype, operands);
}

// Goes two steps back: y is the remainder of the earlier y by x, and x is the remainder of the
// earlier x by the earlier y.
static bool step_back(sc_rt_search *s, const sc_tensor *out, sc_step step, sc_evalue **x,
                      sc_evalue **y) {
    sc_evalue *last[2], *first[2];
    if (!is_step(s, out, *y, step, last) || last[1] != *x || !is_step(s, out, *x, step, first) ||
        first[1] != last[0])
        return false;
    *x = first[0];
    *y = last[0];
    return true;
}

static sc_evalue *negated(sc_rt_search *s, const sc_tensor *out, const sc_evalue *value) {
    const sc_kernel_call *neg = is_alike(out, value) ? sc_rt_made_by(s, value, SC_OP_neg) : NULL;
    return neg && is_alike(out, neg->args[0]) ? neg->args[0] : NULL;
}

// One term of the sum: the remaining size, and the operand whose sign it takes.
typedef struct part {
    sc_evalue *of, *size;
} part;

static bool read_part(sc_rt_search *s, const sc_tensor *out, sc_evalue *value, part *p) {
    const int64_t lowest = out->dtype == SC_DTYPE_I64 ? INT64_MIN : INT32_MIN;
    sc_evalue *operands[3];  // operand, lower bound, size
    if (!is_step(s, out, value, SC_STEP_signed_rest, operands)) return false;
    const sc_evalue *least = operands[1];
    *p = (part){.of = operands[0], .size = operands[2]};
    return least->tag == SC_EVALUE_INT && least->i == lowest && sc_rt_is_fixed(s, least) &&
           is_alike(out, p->size);
}

// The first step divides opposites of the operands' sizes. `x` and `y` are the terms of the sum.
static bool begins_gcd(sc_rt_search *s, const sc_tensor *out, const part *x, const part *y,
                       sc_rt_found *found) {
    sc_evalue *left = negated(s, out, x->size), *right = negated(s, out, y->size), *a, *b;
    if (!left || !right || !step_back(s, out, SC_STEP_rest_of_opposites, &left, &right) ||
        !is_step(s, out, left, SC_STEP_opposite_size, &a) ||
        !is_step(s, out, right, SC_STEP_opposite_size, &b) || a != x->of || b != y->of ||
        !is_alike(out, a) || !is_alike(out, b))
        return false;
    *found = (sc_rt_found){
        .op = SC_OP_gcd, .kernel = sc_kernel_get(SC_OP_gcd), .args = {a, b}, .arg_count = 2};
    return true;
}

// Repeats the step as often as numbers of that dtype may need.
bool sc_rt_is_gcd(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    const sc_tensor *out = root->args[3]->tensor;
    const int rounds = out->dtype == SC_DTYPE_I64 ? 46 : 24;
    part x, y;
    if (out->dtype != SC_DTYPE_I64 && out->dtype != SC_DTYPE_I32) return false;
    if (!sc_rt_is_number(s, root->args[2], 1) || !read_part(s, out, root->args[0], &x) ||
        !read_part(s, out, root->args[1], &y))
        return false;
    for (int i = 0; i < rounds; i++)
        if (!step_back(s, out, SC_STEP_rest_of_sizes, &x.size, &y.size)) return false;
    return begins_gcd(s, out, &x, &y, found);
}
