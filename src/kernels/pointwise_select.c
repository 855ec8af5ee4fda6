// Element-wise ops whose row depends on an argument: a rounding mode, an approximation, an
// exponent, or a dtype that means something else.
// In wasm: -Os
#include <math.h>

#include "kernels/pointwise.h"

// Is the quotient rounded first? For halves PyTorch rounds the quotient to the dtype before it
// takes the whole part, unless the divisor is a single number.
static bool rounds_quotient(const sc_kernel_call *call) {
    const sc_tensor *divisor = sc_call_tensor(call, 1);
    return sc_dtype_is_half((sc_dtype)sc_call_out(call)->dtype) && divisor && divisor->numel != 1;
}

static sc_status run_trunc_of_rounded(const sc_kernel_call *call, const char *arguments) {
    sc_evalue *out = call->args[call->arg_count - 1];
    sc_evalue *const args[] = {out, out};
    sc_kernel_call second = *call;
    SC_TRY(sc_pointwise_run(call, &sc_pw_div, arguments));
    second.args = args;
    second.arg_count = SC_COUNT_OF(args);
    return sc_pointwise_run(&second, &sc_pw_trunc, "t");
}

static sc_status run_div_mode(const sc_kernel_call *call, const char *arguments) {
    const sc_evalue *mode = call->args[2];
    if (mode->tag == SC_EVALUE_NONE) return sc_pointwise_run(call, &sc_pw_div, arguments);
    if (mode->tag == SC_EVALUE_STRING && sc_str_is(mode->str, "trunc") && rounds_quotient(call))
        return run_trunc_of_rounded(call, arguments);
    if (mode->tag == SC_EVALUE_STRING && sc_str_is(mode->str, "trunc"))
        return sc_pointwise_run(call, &sc_pw_div_trunc, arguments);
    if (mode->tag == SC_EVALUE_STRING && sc_str_is(mode->str, "floor"))
        return sc_pointwise_run(call, &sc_pw_div_floor, arguments);
    return sc_call_fail_hint(call, SC_ERR_ARGUMENT, "Use rounding_mode None, 'trunc' or 'floor'.",
                             "does not know this rounding mode");
}

static sc_status run_div_tensor_mode(const sc_kernel_call *call) {
    return run_div_mode(call, "tt");
}

static sc_status run_div_scalar_mode(const sc_kernel_call *call) {
    return run_div_mode(call, "ts");
}

// The most negative number is its own magnitude in every width. Narrow integers compute with 32
// bits, where it would differ, so they have rows of their own.
static sc_status run_gcd(const sc_kernel_call *call) {
    const sc_dtype dtype = (sc_dtype)sc_call_out(call)->dtype;
    const sc_pw_row *row = dtype == SC_DTYPE_I8    ? &sc_pw_gcd_of_8
                           : dtype == SC_DTYPE_I16 ? &sc_pw_gcd_of_16
                                                   : &sc_pw_gcd;
    return sc_pointwise_run(call, row, "tt");
}

static sc_status run_gelu(const sc_kernel_call *call) {
    const sc_evalue *approximate = call->args[1];
    if (approximate->tag == SC_EVALUE_STRING && sc_str_is(approximate->str, "none"))
        return sc_pointwise_run(call, &sc_pw_gelu, "t");
    if (approximate->tag == SC_EVALUE_STRING && sc_str_is(approximate->str, "tanh"))
        return sc_pointwise_run(call, &sc_pw_gelu_tanh, "t");
    return sc_call_fail_hint(call, SC_ERR_ARGUMENT, "Use approximate='none' or 'tanh'.",
                             "does not know this approximation");
}

// The exponents that PyTorch computes without pow; for float16 it computes roots with pow.
static sc_status run_pow_scalar(const sc_kernel_call *call) {
    static const struct {
        double exponent;
        const sc_pw_row *row;
        bool float_only;
    } special[] = {
        {2.0, &sc_pw_square, false},     {3.0, &sc_pw_cube, false},
        {0.5, &sc_pw_sqrt, true},        {-0.5, &sc_pw_rsqrt, true},
        {-1.0, &sc_pw_reciprocal, true}, {-2.0, &sc_pw_inverse_square, true},
    };
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    bool floats = self && sc_dtype_is_float((sc_dtype)self->dtype);
    bool plain = self && (floats || call->args[1]->tag == SC_EVALUE_INT) &&
                 self->dtype != SC_DTYPE_BOOL && out->dtype == self->dtype;
    double exponent = sc_call_number(call, 1);
    if (plain && self->dtype == SC_DTYPE_F16 && fabs(exponent) == 0.5) plain = false;
    for (uint32_t i = 0; plain && i < SC_COUNT_OF(special); i++) {
        if (exponent == special[i].exponent && (floats || !special[i].float_only))
            return sc_pointwise_run(call, special[i].row, "t");
    }
    bool whole = self && sc_dtype_is_integral((sc_dtype)self->dtype, true) &&
                 call->args[1]->tag != SC_EVALUE_DOUBLE;
    if (whole && exponent < 0)
        return sc_call_fail_hint(call, SC_ERR_ARGUMENT, "Use a float base.",
                                 "integers have no negative integer powers");
    return sc_pointwise_run(call, &sc_pw_pow, "ts");
}

static sc_status run_bitwise_not(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    bool is_bool = self && self->dtype == SC_DTYPE_BOOL;
    return sc_pointwise_run(call, is_bool ? &sc_pw_logical_not : &sc_pw_bitwise_not, "t");
}

SC_KERNEL(div_mode, .run = run_div_tensor_mode);
SC_KERNEL(div_scalar_mode, .run = run_div_scalar_mode);
SC_KERNEL(gcd, .run = run_gcd);
SC_KERNEL(gelu, .run = run_gelu);
SC_KERNEL(pow_scalar, .run = run_pow_scalar);
SC_KERNEL(bitwise_not, .run = run_bitwise_not);
