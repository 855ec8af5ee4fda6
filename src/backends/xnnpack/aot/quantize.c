// Quantize and dequantize nodes: their parameters, who is between them, and what becomes of those
// that stand alone.
#include <math.h>

#include "backends/xnnpack/aot/rule.h"

static const sc_xa_params eight_bits = {.dtype = SC_DTYPE_I8, .low = -128, .high = 127};

// --- Parameters ----------------------------------------------------------------------------------

// One number, given or constant.
static bool one_number(const sc_node *node, const char *param, double *out) {
    const sc_value *value = sc_xa_tensor(node, param);
    sc_xa_constant c;
    double *numbers;
    uint32_t count = 0;
    if (!value) return sc_xa_number(node, param, out);
    sc_ctx *ctx = node->graph->ctx;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    const bool found = sc_xa_constant_of(value, &c) && !c.dequantize &&
                       sc_xa_read_numbers(ctx, &c, &numbers, &count) == SC_OK && count == 1;
    if (found) *out = numbers[0];
    sc_arena_rewind(ctx->scratch, mark);
    return found;
}

static bool per_tensor(const sc_node *node, sc_xa_params *out) {
    double scale = 0, zero = 0;
    const bool known = one_number(node, "scale", &scale) && one_number(node, "zero_point", &zero);
    if (!known || !(fabs(zero) <= INT32_MAX) || zero != floor(zero)) return false;
    out->kind = SC_XNN_PER_TENSOR;
    out->scale = (float)scale;
    out->zero_point = (int32_t)zero;
    return true;
}

static bool per_channel(const sc_node *node, sc_xa_params *out) {
    const uint32_t rank = node->args[0].value->spec.rank;
    const bool has_groups = sc_op_param_index(node->op, "group_size") >= 0;
    const bool has_axis = sc_op_param_index(node->op, "axis") >= 0;
    out->scales = sc_xa_tensor(node, "scales");
    out->zeros = sc_xa_tensor(node, "zero_points");
    out->kind = has_groups ? SC_XNN_PER_GROUP : SC_XNN_PER_CHANNEL;
    out->group = has_groups ? sc_xa_int(node, "group_size") : 0;
    const int64_t axis = has_axis ? sc_xa_dim(sc_xa_int(node, "axis"), rank) : 0;
    if (axis < 0 || axis >= rank || !out->scales || has_axis == has_groups) return false;
    out->axis = (uint32_t)axis;
    return !has_groups || (rank == 2 && out->group > 0);
}

bool sc_xa_params_of(const sc_node *node, sc_xa_params *out) {
    const sc_arg *dtype = sc_node_arg(node, "dtype");
    double low, high;
    *out = (sc_xa_params){0};
    if (dtype->kind != SC_ARG_DTYPE || !sc_xa_number(node, "quant_min", &low) ||
        !sc_xa_number(node, "quant_max", &high) || node->args[0].kind != SC_ARG_VALUE)
        return false;
    out->dtype = dtype->code;
    out->low = (int64_t)low;
    out->high = (int64_t)high;
    return sc_op_param_index(node->op, "scale") >= 0 ? per_tensor(node, out)
                                                     : per_channel(node, out);
}

bool sc_xa_params_equal(const sc_xa_params *a, const sc_xa_params *b) {
    return a->kind == SC_XNN_PER_TENSOR && b->kind == SC_XNN_PER_TENSOR && a->dtype == b->dtype &&
           a->low == b->low && a->high == b->high && a->scale == b->scale &&
           a->zero_point == b->zero_point;
}

// Whole 8 bits, a scale that XNNPACK takes.
static bool is_plain(const sc_xa_params *p) {
    return p->kind == SC_XNN_PER_TENSOR && p->dtype == eight_bits.dtype &&
           p->low == eight_bits.low && p->high == eight_bits.high && p->zero_point >= p->low &&
           p->zero_point <= p->high && p->scale > 0 && isnormal(p->scale);
}

bool sc_xa_integers_agree(const sc_value *integers, const sc_xa_params *params) {
    sc_xa_params other;
    if (integers->node && sc_xa_is(integers->node, &sc_xa_quantize) &&
        !(sc_xa_params_of(integers->node, &other) && sc_xa_params_equal(&other, params)))
        return false;
    for (const sc_arg *use = integers->first_use; use; use = use->next_use)
        if (use->user->op && sc_xa_is(use->user, &sc_xa_dequantize) &&
            !(sc_xa_params_of(use->user, &other) && sc_xa_params_equal(&other, params)))
            return false;
    return true;
}

bool sc_xa_dequantized(const sc_value *value, const sc_node **node, sc_xa_params *params) {
    if (!value->node || !sc_xa_is(value->node, &sc_xa_dequantize)) return false;
    *node = value->node;
    return value->spec.dtype == SC_DTYPE_F32 && sc_xa_params_of(value->node, params) &&
           is_plain(params) && sc_xa_integers_agree(value->node->args[0].value, params);
}

// --- Parameters of run time ----------------------------------------------------------------------

static bool is_chosen(const sc_node *node, const sc_node **choose) {
    const char *const names[2][2] = {{"scale", "zero_point"}, {"scales", "zero_points"}};
    const bool many = sc_op_param_index(node->op, "scale") < 0;
    const sc_value *scale = sc_xa_tensor(node, names[many][0]);
    const sc_value *zero = sc_xa_tensor(node, names[many][1]);
    if (!scale || !zero || !scale->node || scale->node != zero->node) return false;
    *choose = scale->node;
    return sc_xa_is(*choose, &sc_xa_choose) && scale->index == 0 && zero->index == 1;
}

static bool is_range(const sc_node *node) {
    const sc_arg *dtype = sc_node_arg(node, "dtype");
    double low = -128, high = 127;
    sc_xa_number(node, "quant_min", &low);
    sc_xa_number(node, "quant_max", &high);
    return dtype->kind == SC_ARG_DTYPE && dtype->code == SC_DTYPE_I8 && low == -128 && high == 127;
}

// Nobody else reads what is not there when XNNPACK does all at once.
static bool is_private(const sc_xa_dynamic *d) {
    for (uint32_t i = 0; i < 2; i++)
        for (const sc_arg *use = d->choose->outs[i]->first_use; use; use = use->next_use)
            if (!use->user->op ||
                (!sc_xa_is(use->user, &sc_xa_quantize) && !sc_xa_is(use->user, &sc_xa_dequantize)))
                return false;
    for (const sc_arg *use = d->quantize->outs[0]->first_use; use; use = use->next_use)
        if (!use->user->op || !sc_xa_is(use->user, &sc_xa_dequantize)) return false;
    for (const sc_arg *use = d->dequantize->outs[0]->first_use; use; use = use->next_use)
        if (!use->user->op ||
            (!sc_xa_is(use->user, &sc_xa_gemm) && !sc_xa_is(use->user, &sc_xa_conv)))
            return false;
    return true;
}

bool sc_xa_dynamically_dequantized(const sc_value *value, sc_xa_dynamic *d) {
    const sc_node *other = NULL;
    d->dequantize = value->node;
    if (!value->node || !sc_xa_is(value->node, &sc_xa_dequantize) ||
        !is_chosen(value->node, &d->choose))
        return false;
    d->quantize = d->dequantize->args[0].value->node;
    if (!d->quantize || !sc_xa_is(d->quantize, &sc_xa_quantize) || !is_chosen(d->quantize, &other))
        return false;
    d->source = d->quantize->args[0].value;
    return other == d->choose && d->choose->args[0].value == d->source && is_range(d->choose) &&
           is_range(d->quantize) && is_range(d->dequantize) &&
           d->source->spec.dtype == SC_DTYPE_F32 && value->spec.dtype == SC_DTYPE_F32 &&
           is_private(d);
}

// --- What follows --------------------------------------------------------------------------------

bool sc_xa_range_of(const sc_node *node, float *low, float *high) {
    double from = -INFINITY, to = INFINITY;
    if (!sc_xa_is(node, &sc_xa_clamp)) return false;
    if (sc_op_param_index(node->op, "min_val") >= 0) {
        sc_xa_number(node, "min_val", &from);
        sc_xa_number(node, "max_val", &to);
    } else if (sc_op_param_index(node->op, "min") >= 0) {
        sc_xa_number(node, "min", &from);
        sc_xa_number(node, "max", &to);
    } else {
        from = 0;
    }
    *low = (float)from;
    *high = (float)to;
    return *low <= *high;
}

void sc_xa_tail_of(const sc_value *value, bool fuses, sc_xa_tail *out) {
    const sc_node *user = sc_xa_only_user(value);
    *out = (sc_xa_tail){.low = -INFINITY, .high = INFINITY, .out = value};
    if (fuses && user && sc_xa_range_of(user, &out->low, &out->high)) {
        out->activation = user;
        out->out = user->outs[0];
        user = sc_xa_only_user(out->out);
    }
    if (user && sc_xa_is(user, &sc_xa_quantize) && user->args[0].value == out->out &&
        sc_xa_params_of(user, &out->params) && is_plain(&out->params) &&
        out->out->spec.dtype == SC_DTYPE_F32 && sc_xa_integers_agree(user->outs[0], &out->params))
        out->quantize = user;
}

typedef struct reading {
    sc_xa *x;
    const sc_node *node;
    const sc_xa_params *alike;  // NULL: any parameters
    uint32_t count;
    bool joins, is_fine;
} reading;

// Runtimes before 1.4 free what a delegate holds besides packed weights.
static bool is_held(const reading *r, const sc_node *dequantize) {
    return r->x->runtime >= SC_XNN_RUNTIME_1_4 || !sc_xa_is_constant(dequantize->args[0].value);
}

static bool look_at_input(void *user, sc_arg *arg) {
    reading *r = user;
    const sc_node *dequantize;
    sc_xa_params params;
    r->is_fine = sc_xa_dequantized(arg->value, &dequantize, &params) && is_held(r, dequantize) &&
                 (!r->alike || sc_xa_params_equal(r->alike, &params));
    if (r->is_fine && r->joins) sc_xa_join(r->x, r->node, dequantize);
    r->count++;
    return r->is_fine;
}

bool sc_xa_is_quantized(sc_xa *x, const sc_node *node, uint32_t how, sc_xa_tail *tail) {
    reading r = {.x = x, .node = node, .is_fine = true};
    sc_xa_tail_of(node->outs[0], how & SC_XA_FUSES, tail);
    if (how & SC_XA_ALIKE) r.alike = &tail->params;
    if (!tail->quantize) return false;
    sc_node_visit_values(node, look_at_input, &r);
    if (!r.is_fine || r.count == 0) return false;
    r.joins = x->groups != NULL;
    if (!r.joins) return true;
    sc_node_visit_values(node, look_at_input, &r);
    if (tail->activation) sc_xa_join(x, node, tail->activation);
    sc_xa_join(x, node, tail->quantize);
    return true;
}

// --- Alone ---------------------------------------------------------------------------------------

static bool check_quantize(sc_xa *x, const sc_node *node) {
    sc_xa_params params;
    if (node->args[0].value->spec.dtype != SC_DTYPE_F32)
        return sc_xa_refuse(x, NULL, "what it quantizes is not float32");
    if (!sc_xa_params_of(node, &params))
        return sc_xa_refuse(x, "Quantize dynamically what a linear layer or convolution reads.",
                            "its scale or zero point is computed at run time, and nothing that "
                            "XNNPACK computes with 8 bits reads it");
    if (!is_plain(&params))
        return sc_xa_refuse(x, "Quantize to int8 with the range -128 to 127.",
                            "XNNPACK quantizes tensors to int8 in -128 to 127, with one normal "
                            "positive scale");
    if (!sc_xa_integers_agree(node->outs[0], &params))
        return sc_xa_refuse(x, NULL, "its result is dequantized with other parameters");
    return true;
}

static bool check_dequantize(sc_xa *x, const sc_node *node) {
    sc_xa_params params;
    const sc_node *self;
    if (sc_xa_is_constant(node->args[0].value))
        return sc_xa_refuse(x, NULL, "nothing that XNNPACK takes reads this weight");
    if (!sc_xa_dequantized(node->outs[0], &self, &params))
        return sc_xa_refuse(x, "Quantize to int8 with the range -128 to 127.",
                            "XNNPACK dequantizes int8 tensors in -128 to 127, with one normal "
                            "positive scale that is known");
    return true;
}

static bool check_choose(sc_xa *x, const sc_node *node) {
    (void)node;
    return sc_xa_refuse(x, NULL, "nothing that XNNPACK computes with 8 bits reads it");
}

// Made when somebody wants what they give, see make.c.
static sc_status make_later(sc_xa_maker *m, const sc_node *node) {
    (void)m;
    (void)node;
    return SC_OK;
}

static sc_status make_quantize(sc_xa_maker *m, const sc_node *node) {
    sc_xa_params params;
    uint32_t input;
    if (!sc_xa_params_of(node, &params)) return SC_OK;  // of run time: for whoever reads it
    const sc_xa_layout layout = sc_xa_layout_of(m, node);
    SC_TRY(sc_xa_want(m, node->args[0].value, layout, &input));
    sc_xa_add(m, SC_XNN_CONVERT, input, sc_xa_define(m, node->outs[0], layout));
    return SC_OK;
}

const sc_xa_family sc_xa_quantize = {check_quantize, make_quantize, SC_XA_OWN, true, 0};
const sc_xa_family sc_xa_dequantize = {check_dequantize, make_later, SC_XA_OWN, true, 0};
const sc_xa_family sc_xa_choose = {check_choose, make_later, SC_XA_OWN, true, 0};
