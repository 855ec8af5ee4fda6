// Rules of integer ops: sizes of tensors, and Python's arithmetic on them. Integers stay
// expressions, floats are only known to be floats.
#include <math.h>

#include "ops/rule.h"

static sc_status publish_int(sc_infer *in, sc_dim dim) {
    sc_infer_outs(in, 1)[0] = (sc_iout){.kind = SC_IOUT_INT, .dim = dim};
    return SC_OK;
}

static sc_status publish_bool(sc_infer *in, sc_dim dim) {
    sc_infer_outs(in, 1)[0] = (sc_iout){.kind = SC_IOUT_BOOL, .dim = dim};
    return SC_OK;
}

static sc_status publish_float(sc_infer *in) {
    sc_infer_outs(in, 1)[0] = (sc_iout){.kind = SC_IOUT_FLOAT};
    return SC_OK;
}

// A value that is known only at run time.
static sc_dim unknown(sc_infer *in, sc_range range) {
    return in->exprs ? sc_exprs_fresh(in->exprs, range) : sc_dim_int(0);
}

static const sc_range everything = {SC_DIM_NEG_INF, SC_DIM_INF}, zero_or_one = {0, 1};

// --- Sizes of tensors ----------------------------------------------------------------------------

sc_status sc_infer_sym_size(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    SC_TRY(sc_rule_wrapped(in, "dim", self->rank, &dim));
    return publish_int(in, self->rank ? self->sizes[dim] : sc_dim_int(1));
}

sc_status sc_infer_sym_stride(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    SC_TRY(sc_rule_wrapped(in, "dim", self->rank, &dim));
    return publish_int(in, self->rank ? self->strides[dim] : sc_dim_int(1));
}

sc_status sc_infer_sym_numel(sc_infer *in) {
    return publish_int(in, sc_spec_numel(in->exprs, sc_rule_tensor(in, 0)));
}

sc_status sc_infer_sym_storage_offset(sc_infer *in) {
    return publish_int(in, sc_rule_tensor(in, 0)->offset);
}

sc_status sc_infer_sym_is_contiguous(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    const sc_iarg *format = sc_rule_arg(in, "memory_format");
    uint32_t code = format->kind == SC_IARG_MEMORY_FORMAT ? format->code : 0;
    bool is = code == SC_MEMORY_FORMAT_CHANNELS_LAST ? sc_spec_is_channels_last(in->exprs, self)
              : code == SC_MEMORY_FORMAT_CHANNELS_LAST_3D
                  ? sc_spec_is_channels_last_3d(in->exprs, self)
                  : sc_spec_is_contiguous(in->exprs, self);
    return publish_bool(in, sc_dim_int(is));
}

// The one element of a tensor as a number.
sc_status sc_infer_local_scalar(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    if (sc_dim_known_equal(sc_spec_numel(in->exprs, self), sc_dim_int(1)) == SC_TRI_FALSE)
        return sc_rule_fail(in, SC_ERR_SHAPE,
                            "%s needs a tensor of one element, but the sizes are %s", in->op->name,
                            sc_rule_text(in, self));
    if (sc_dtype_is_float((sc_dtype)self->dtype)) return publish_float(in);
    return self->dtype == SC_DTYPE_BOOL ? publish_bool(in, unknown(in, zero_or_one))
                                        : publish_int(in, unknown(in, everything));
}

// --- Arithmetic ----------------------------------------------------------------------------------

static bool any_float(const sc_infer *in) {
    for (uint32_t i = 0; i < in->arg_count; i++)
        if (in->args[i].kind == SC_IARG_FLOAT) return true;
    return false;
}

static sc_status need_divisor(sc_infer *in, sc_dim b) {
    return sc_dim_is(b, 0) ? sc_rule_fail(in, SC_ERR_NUMERIC, "%s divides by zero", in->op->name)
                           : SC_OK;
}

// 2 to the power of a known, small shift count.
static sc_status power_of_two(sc_infer *in, sc_dim count, sc_dim *out) {
    if (count.expr || count.value < 0 || count.value > 62)
        return sc_rule_fail(in, SC_ERR_UNSUPPORTED, "%s by %s is not supported", in->op->name,
                            sc_rule_dim_text(in, count));
    *out = sc_dim_int((int64_t)1 << count.value);
    return SC_OK;
}

static sc_status arithmetic(sc_infer *in, sc_dim a, sc_dim b, sc_dim *out) {
    sc_exprs *e = in->exprs;
    sc_dim factor;
    switch ((sc_op_id)in->op->id) {
    case SC_OP_sym_add: *out = sc_dim_add(e, a, b); break;
    case SC_OP_sym_sub: *out = sc_dim_sub(e, a, b); break;
    case SC_OP_sym_mul: *out = sc_dim_mul(e, a, b); break;
    case SC_OP_sym_neg: *out = sc_dim_neg(e, a); break;
    case SC_OP_sym_pos: *out = a; break;
    case SC_OP_sym_sym_max: *out = sc_dim_max(e, a, b); break;
    case SC_OP_sym_sym_min: *out = sc_dim_min(e, a, b); break;
    case SC_OP_sym_floordiv:
    case SC_OP_executorch_prim_floordiv_int:
        SC_TRY(need_divisor(in, b));
        *out = sc_dim_floordiv(e, a, b);
        break;
    case SC_OP_sym_mod:
    case SC_OP_executorch_prim_mod_int:
        SC_TRY(need_divisor(in, b));
        *out = sc_dim_mod(e, a, b);
        break;
    case SC_OP_sym_pow:
        if (sc_rule_less(b, sc_dim_int(0), false))
            return sc_rule_fail(in, SC_ERR_UNSUPPORTED,
                                "%s with a negative exponent is not supported", in->op->name);
        *out = sc_dim_pow(e, a, b);
        break;
    case SC_OP_sym_lshift:
        SC_TRY(power_of_two(in, b, &factor));
        *out = sc_dim_mul(e, a, factor);
        break;
    case SC_OP_sym_rshift:
        SC_TRY(power_of_two(in, b, &factor));
        *out = sc_dim_floordiv(e, a, factor);
        break;
    default: return sc_rule_fail(in, SC_ERR_INTERNAL, "no arithmetic for %s", in->op->name);
    }
    return SC_OK;
}

sc_status sc_infer_sym_arith(sc_infer *in) {
    sc_dim zero = sc_dim_int(0), result;
    if (any_float(in)) return publish_float(in);
    sc_dim a = sc_rule_item_dim(&in->args[0]);
    sc_dim b = in->arg_count > 1 ? sc_rule_item_dim(&in->args[1]) : zero;
    SC_TRY(arithmetic(in, a, b, &result));
    return publish_int(in, result);
}

sc_status sc_infer_sym_floordiv_int(sc_infer *in) { return sc_infer_sym_arith(in); }

sc_status sc_infer_sym_mod_int(sc_infer *in) { return sc_infer_sym_arith(in); }

sc_status sc_infer_sym_float(sc_infer *in) { return publish_float(in); }

// Integers stay what they are; floats become an integer that is known only at run time.
sc_status sc_infer_sym_round(sc_infer *in) {
    if (any_float(in)) return publish_int(in, unknown(in, everything));
    return publish_int(in, sc_rule_item_dim(&in->args[0]));
}

// --- Truth ---------------------------------------------------------------------------------------

sc_status sc_infer_sym_compare(sc_infer *in) {
    sc_cmp cmp;
    switch ((sc_op_id)in->op->id) {
    case SC_OP_sym_eq: cmp = SC_CMP_EQ; break;
    case SC_OP_sym_ne: cmp = SC_CMP_NE; break;
    case SC_OP_sym_lt: cmp = SC_CMP_LT; break;
    case SC_OP_sym_le: cmp = SC_CMP_LE; break;
    case SC_OP_sym_gt: cmp = SC_CMP_GT; break;
    default: cmp = SC_CMP_GE; break;
    }
    if (any_float(in)) return publish_bool(in, unknown(in, zero_or_one));
    sc_dim a = sc_rule_item_dim(&in->args[0]), b = sc_rule_item_dim(&in->args[1]);
    return publish_bool(in, sc_dim_compare(in->exprs, cmp, a, b));
}

static bool is_truth(const sc_iarg *arg) {
    if (arg->kind == SC_IARG_BOOL) return true;
    sc_range range = sc_dim_range(arg->dim);
    return range.min >= 0 && range.max <= 1;
}

// and, or, xor on truth values; on integers of unknown bits the result is unknown.
sc_status sc_infer_sym_logic(sc_infer *in) {
    if (any_float(in))
        return sc_rule_fail(in, SC_ERR_DTYPE, "%s does not take floats", in->op->name);
    sc_dim a = sc_rule_item_dim(&in->args[0]), b = sc_rule_item_dim(&in->args[1]);
    if (!is_truth(&in->args[0]) || !is_truth(&in->args[1])) {
        int64_t bits = 0;
        if (a.expr || b.expr) return publish_int(in, unknown(in, everything));
        bits = in->op->id == SC_OP_sym_and_  ? a.value & b.value
               : in->op->id == SC_OP_sym_or_ ? a.value | b.value
                                             : a.value ^ b.value;
        return publish_int(in, sc_dim_int(bits));
    }
    if (in->op->id == SC_OP_sym_and_) return publish_bool(in, sc_dim_min(in->exprs, a, b));
    if (in->op->id == SC_OP_sym_or_) return publish_bool(in, sc_dim_max(in->exprs, a, b));
    return publish_bool(in, sc_dim_compare(in->exprs, SC_CMP_NE, a, b));
}

sc_status sc_infer_sym_not(sc_infer *in) {
    if (any_float(in))
        return sc_rule_fail(in, SC_ERR_DTYPE, "%s does not take a float", in->op->name);
    sc_dim zero = sc_dim_int(0);
    return publish_bool(in,
                        sc_dim_compare(in->exprs, SC_CMP_EQ, sc_rule_item_dim(&in->args[0]), zero));
}

sc_status sc_infer_sym_ite(sc_infer *in) {
    if (in->args[0].kind == SC_IARG_FLOAT)
        return sc_rule_fail(in, SC_ERR_DTYPE, "%s does not take a float", in->op->name);
    if (in->args[1].kind == SC_IARG_FLOAT || in->args[2].kind == SC_IARG_FLOAT)
        return publish_float(in);
    sc_dim cond = sc_rule_item_dim(&in->args[0]);
    sc_dim a = sc_rule_item_dim(&in->args[1]), b = sc_rule_item_dim(&in->args[2]);
    return publish_int(in, sc_dim_where(in->exprs, cond, a, b));
}
