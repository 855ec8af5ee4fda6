// Signs, shifts and powers of two, as trace/official/pointwise.c and bits.c make them of a few
// calls each: one row says them all. They go element by element, on operands of one dtype that are
// spread over each other as those of the one call are.
#include "rt/rewrite/recognise/recognise.h"

#include <math.h>

enum { STEPS_MAX = 7, ARGS_MAX = 3, OPERANDS_MAX = 2 };

// What an argument of a step is: an operand of the whole, what another step gives, a number, or a
// tensor that is nothing but this number.
typedef enum what {
    NOTHING,
    X,
    Y,
    STEP_1,
    STEP_2,
    STEP_3,
    STEP_4,
    STEP_5,
    STEP_6,
    ZERO,
    ONE,
    TWO,
    LAST_BIT,  // the most that can be shifted by
    ZEROS,
    ONES,
    MINUS_ONES,
    LAST_BITS
} what;

// Steps that test give truth values, others what the operands are.
typedef struct step {
    sc_op_id op;
    bool is_test;
    uint8_t args[ARGS_MAX];  // what
} step;

typedef enum numbers { FLOATS, SIGNED, UNSIGNED, WHOLE } numbers;

static const struct form {
    sc_op_id op;
    const sc_kernel *kernel;  // NULL: the operator's
    numbers of;
    step steps[STEPS_MAX];  // the first one is the root
} forms[] = {
    {SC_OP_exp2, NULL, FLOATS, {{SC_OP_pow_Scalar, false, {TWO, X}}}},
    {SC_OP_copysign_Tensor,
     &sc_k_pw_copysign_number,
     FLOATS,
     {{SC_OP_where_self, false, {STEP_1, STEP_4, STEP_5}},
      {SC_OP_lt_Scalar, true, {STEP_2, ZERO}},
      {SC_OP_minimum, false, {Y, STEP_3}},
      {SC_OP_reciprocal, false, {Y}},
      {SC_OP_neg, false, {STEP_5}},
      {SC_OP_abs, false, {STEP_6}},
      {SC_OP_add_Scalar, false, {X, ZERO, ONE}}}},
    {SC_OP_signbit,
     &sc_k_pw_signbit_number,
     FLOATS,
     {{SC_OP_lt_Scalar, true, {STEP_1, ZERO}},
      {SC_OP_minimum, false, {X, STEP_2}},
      {SC_OP_reciprocal, false, {X}}}},
    {SC_OP_sign,  // which has none of NaN here
     NULL,
     FLOATS,
     {{SC_OP_where_self, false, {STEP_1, ONES, STEP_2}},
      {SC_OP_gt_Scalar, true, {X, ZERO}},
      {SC_OP_where_self, false, {STEP_3, MINUS_ONES, ZEROS}},
      {SC_OP_lt_Scalar, true, {X, ZERO}}}},
    {SC_OP___lshift___Tensor,
     NULL,
     WHOLE,
     {{SC_OP_where_self, false, {STEP_1, STEP_2, ZEROS}},
      {SC_OP_eq_Tensor, true, {STEP_3, Y}},
      {SC_OP_bitwise_left_shift_Tensor, false, {X, STEP_3}},
      {SC_OP_clamp, false, {Y, ZERO, LAST_BIT}}}},
    {SC_OP___rshift___Tensor,
     NULL,
     UNSIGNED,
     {{SC_OP_where_self, false, {STEP_1, STEP_2, ZEROS}},
      {SC_OP_eq_Tensor, true, {STEP_3, Y}},
      {SC_OP_bitwise_right_shift_Tensor, false, {X, STEP_3}},
      {SC_OP_clamp, false, {Y, ZERO, LAST_BIT}}}},
    {SC_OP___rshift___Tensor,
     NULL,
     SIGNED,
     {{SC_OP_bitwise_right_shift_Tensor, false, {X, STEP_1}},
      {SC_OP_where_self, false, {STEP_2, STEP_3, LAST_BITS}},
      {SC_OP_eq_Tensor, true, {STEP_3, Y}},
      {SC_OP_clamp, false, {Y, ZERO, LAST_BIT}}}},
};

typedef struct match {
    sc_rt_search *s;
    const struct form *form;
    sc_dtype dtype;  // of the operands
    sc_evalue *operands[OPERANDS_MAX];
} match;

static bool has_dtype(const sc_evalue *value, sc_dtype dtype) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->dtype == dtype;
}

static bool is_of(numbers of, sc_dtype dtype) {
    const bool is_whole = sc_dtype_is_integral(dtype, false);
    switch (of) {
    case FLOATS: return sc_dtype_is_float(dtype);
    case SIGNED: return is_whole && dtype != SC_DTYPE_U8;
    case UNSIGNED: return dtype == SC_DTYPE_U8;
    default: return is_whole;
    }
}

static double number_of(const match *m, what of) {
    switch (of) {
    case LAST_BIT:
    case LAST_BITS: return 8.0 * sc_dtype_bytes(m->dtype) - 1;
    case ONE:
    case ONES: return 1;
    case MINUS_ONES: return -1;
    case TWO: return 2;
    default: return 0;
    }
}

// -0.0 is another one than 0.
static bool is_number(const match *m, const sc_evalue *value, double number) {
    return sc_rt_is_number(m->s, value, number) &&
           !(value->tag == SC_EVALUE_DOUBLE && signbit(value->d));
}

// Nothing but that number.
static bool is_filled(const match *m, const sc_evalue *value, double number) {
    if (!has_dtype(value, m->dtype) || !value->tensor->is_constant || value->tensor->numel != 1)
        return false;
    const double held = sc_tensor_real(value->tensor, 0);
    return held == number && signbit(held) == signbit(number);
}

static bool is_operand(match *m, sc_evalue *value, uint32_t index) {
    if (!m->operands[index] && has_dtype(value, m->dtype)) m->operands[index] = value;
    return m->operands[index] == value;
}

static bool are_args(match *m, const sc_kernel_call *call, const step *of);

static bool is_step(match *m, const sc_evalue *value, const step *of) {
    if (!has_dtype(value, of->is_test ? SC_DTYPE_BOOL : m->dtype)) return false;
    const sc_kernel_call *call = sc_rt_made_by(m->s, value, of->op);
    return call && are_args(m, call, of);
}

static bool is_arg(match *m, sc_evalue *value, what of) {
    switch (of) {
    case NOTHING: return true;
    case X:
    case Y: return is_operand(m, value, of - X);
    case ZERO:
    case ONE:
    case TWO:
    case LAST_BIT: return is_number(m, value, number_of(m, of));
    case ZEROS:
    case ONES:
    case MINUS_ONES:
    case LAST_BITS: return is_filled(m, value, number_of(m, of));
    default: return is_step(m, value, &m->form->steps[of - STEP_1 + 1]);
    }
}

// As deep as the rows of the table are.
static bool are_args(match *m, const sc_kernel_call *call, const step *of) {
    for (uint32_t i = 0; i < ARGS_MAX && of->args[i]; i++)
        if (!is_arg(m, call->args[i], of->args[i])) return false;
    return true;
}

// The operands of the root of tests, of others its result, say what there is in all of them.
static bool matches(match *m, const sc_kernel_call *root) {
    const step *first = &m->form->steps[0];
    const sc_evalue *out = root->args[root->arg_count - 1];
    const sc_evalue *like = first->is_test ? root->args[0] : out;
    if (first->op != root->op->id || like->tag != SC_EVALUE_TENSOR ||
        (first->is_test && !has_dtype(out, SC_DTYPE_BOOL)))
        return false;
    m->dtype = (sc_dtype)like->tensor->dtype;
    m->s->parts.count = 0;
    return is_of(m->form->of, m->dtype) && are_args(m, root, first);
}

bool sc_rt_is_pointwise(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    for (size_t i = 0; i < SC_COUNT_OF(forms); i++) {
        match m = {.s = s, .form = &forms[i]};
        if (!matches(&m, root)) continue;
        const sc_kernel *own = sc_kernel_get(forms[i].op);
        *found = (sc_rt_found){.op = forms[i].op,
                               .kernel = forms[i].kernel ? forms[i].kernel : own,
                               .args = {m.operands[0], m.operands[1]},
                               .arg_count = m.operands[1] ? 2 : 1};
        return true;
    }
    return false;
}
