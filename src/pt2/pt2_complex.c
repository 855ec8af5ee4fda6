// Complex numbers among the arguments of a call. Nothing in the IR is one: they become tensors of
// rank 0, of the complex dtype that the call's tensors promote to, so that they promote nothing
// that the number would not have.
#include "pt2/pt2.h"

enum { COMPLEX_NUMBER = 1 };  // the code of a list of two floats that stand for one

static bool is_number(const sc_json *json, double *out) { return json && sc_json_f64(json, out); }

sc_status sc_pt2_read_complex(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    double re, im;
    if (json->kind != SC_JSON_OBJECT || !is_number(sc_json_get(json, "real"), &re) ||
        !is_number(sc_json_get(json, "imag"), &im))
        return sc_fail(scope->imp->ctx, SC_ERR_FORMAT, NULL, "malformed complex number");
    sc_arg *parts = sc_new_array(scope->imp->ctx->scratch, sc_arg, 2);
    parts[0] = sc_arg_float(re);
    parts[1] = sc_arg_float(im);
    *out = sc_arg_list(parts, 2);
    out->code = COMPLEX_NUMBER;
    return SC_OK;
}

bool sc_pt2_is_complex(const sc_arg *arg) {
    return arg->kind == SC_ARG_LIST && arg->code == COMPLEX_NUMBER;
}

// Of the tensors beside it; SC_DTYPE_NONE without any.
static sc_dtype common_dtype(const sc_arg *args, uint32_t count) {
    sc_dtype common = SC_DTYPE_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind != SC_ARG_VALUE || args[i].value->type != SC_VALUE_TENSOR) continue;
        const sc_dtype dtype = (sc_dtype)args[i].value->spec.dtype;
        if (dtype == SC_DTYPE_BOOL && common != SC_DTYPE_NONE) continue;
        sc_dtype both = common == SC_DTYPE_NONE ? dtype : sc_dtype_promote(common, dtype);
        if (both != SC_DTYPE_NONE) common = both;
    }
    return common;
}

static sc_status scalar(sc_pt2_scope *scope, double number, sc_dtype dtype, const sc_meta *meta,
                        sc_arg *out) {
    sc_arg args[2] = {sc_arg_float(number), sc_arg_dtype(dtype)};
    sc_node *node;
    SC_TRY(sc_build(scope->graph, NULL, sc_op_get(SC_OP_scalar_tensor), args, 2, meta, &node));
    *out = sc_arg_value(node->outs[0]);
    return SC_OK;
}

sc_status sc_pt2_place_complex(sc_pt2_scope *scope, const sc_meta *meta, sc_arg *args,
                               uint32_t count) {
    const sc_dtype common = common_dtype(args, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!sc_pt2_is_complex(&args[i])) continue;
        if (common == SC_DTYPE_NONE)
            return sc_fail(scope->imp->ctx, SC_ERR_UNSUPPORTED,
                           "Make it of two real tensors with torch.complex().",
                           "a complex number beside no tensor is not supported");
        const sc_dtype part = sc_dtype_to_real(sc_dtype_to_complex(common));
        sc_arg parts[2];
        sc_node *node;
        SC_TRY(scalar(scope, args[i].items[0].f, part, meta, &parts[0]));
        SC_TRY(scalar(scope, args[i].items[1].f, part, meta, &parts[1]));
        SC_TRY(sc_build(scope->graph, NULL, sc_op_get(SC_OP_complex), parts, 2, meta, &node));
        args[i] = sc_arg_value(node->outs[0]);
    }
    return SC_OK;
}
