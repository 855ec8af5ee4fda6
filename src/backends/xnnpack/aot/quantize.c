// Nodes between quantize and dequantize nodes, computed with integers.
#include <math.h>

#include "backends/xnnpack/aot/rule.h"

static const sc_xa_params eight_bits = {.dtype = SC_DTYPE_I8, .low = -128, .high = 127};

static bool params_equal(const sc_xa_params *a, const sc_xa_params *b) {
    return a->kind == SC_XNN_PER_TENSOR && b->kind == SC_XNN_PER_TENSOR && a->dtype == b->dtype &&
           a->low == b->low && a->high == b->high && a->scale == b->scale &&
           a->zero_point == b->zero_point;
}

// All 8 bits, and a scale that XNNPACK accepts.
bool sc_xa_is_plain(const sc_xa_params *p) {
    return p->kind == SC_XNN_PER_TENSOR && p->dtype == eight_bits.dtype &&
           p->low == eight_bits.low && p->high == eight_bits.high && p->zero_point >= p->low &&
           p->zero_point <= p->high && p->scale > 0 && isnormal(p->scale);
}

bool sc_xa_integers_agree(const sc_value *integers, const sc_xa_params *params) {
    sc_xa_params other;
    if (integers->node && sc_xa_is(integers->node, &sc_xa_quantize) &&
        !(sc_xa_params_of(integers->node, &other) && params_equal(&other, params)))
        return false;
    for (const sc_arg *use = integers->first_use; use; use = use->next_use)
        if (use->user->op && sc_xa_is(use->user, &sc_xa_dequantize) &&
            !(sc_xa_params_of(use->user, &other) && params_equal(&other, params)))
            return false;
    return true;
}

bool sc_xa_dequantized(const sc_value *value, const sc_node **node, sc_xa_params *params) {
    if (!value->node || !sc_xa_is(value->node, &sc_xa_dequantize)) return false;
    *node = value->node;
    return value->spec.dtype == SC_DTYPE_F32 && sc_xa_params_of(value->node, params) &&
           sc_xa_is_plain(params) && sc_xa_integers_agree(value->node->args[0].value, params);
}

// --- Parameters of run time ----------------------------------------------------------------------

static bool is_chosen(const sc_node *node, const sc_node **choose) {
    const char *const names[2][2] = {{"scale", "zero_point"}, {"scales", "zero_points"}};
    const bool many = sc_op_param_index(node->op, "scale") < 0;
    const sc_value *scale = sc_xa_tensor(node, names[many][0]);
    const sc_value *zero = sc_xa_tensor(node, names[many][1]);
    if (!scale || !zero || !scale->node || scale->node != zero->node) return false;
    *choose = scale->node;
    if (node->args[0].kind != SC_ARG_VALUE || (*choose)->arg_count == 0 ||
        (*choose)->args[0].kind != SC_ARG_VALUE)
        return false;
    return sc_xa_is(*choose, &sc_xa_choose) && scale->index == 0 && zero->index == 1;
}

bool sc_xa_has_chosen_scale(const sc_node *node) {
    const sc_node *choose;
    return is_chosen(node, &choose);
}

// All 8 bits, and by row if it is by block, because XNNPACK always goes by row. Its own range is
// asymmetric and lies within a symmetric one, so its steps are not larger.
static bool is_range(const sc_node *node) {
    const sc_spec *in = &node->args[0].value->spec;
    double low = eight_bits.low, high = eight_bits.high;
    int64_t block[SC_RANK_MAX];
    sc_xa_number(node, "quant_min", &low);
    sc_xa_number(node, "quant_max", &high);
    if (sc_xa_integers_of(node) != SC_DTYPE_I8 || low != -128 || high != 127) return false;
    if (!sc_xa_has_blocks(node)) return true;
    if (sc_xa_ints(node, "block_size", block, SC_RANK_MAX, 0) != in->rank) return false;
    for (uint32_t d = 0; d + 1 < in->rank; d++)
        if (block[d] != 1) return false;
    return in->rank > 0 && sc_dim_is(in->sizes[in->rank - 1], block[in->rank - 1]);
}

// Does the node, a taken product or convolution, quantize its input on the way?
static bool asks_for(sc_xa *x, const sc_arg *use, const sc_value *value) {
    const sc_node *user = use->user;
    sc_xa quiet = {.ctx = x->ctx,
                   .graph = x->graph,
                   .runtime = x->runtime,
                   .asked = value,
                   .looked_at = x->looked_at};
    if (!user->op || (!sc_xa_is(user, &sc_xa_gemm) && !sc_xa_is(user, &sc_xa_conv))) return false;
    return sc_xa_judge(&quiet, user);
}

// Several readers rarely share it, and each of them examines all.
enum { READERS_MAX = 64 };

// When XNNPACK does all steps at once, no other node may read the results in between.
static bool is_private_result(sc_xa *x, const sc_xa_dynamic *d, const sc_node *dequantize) {
    const sc_node *choose = NULL;
    const sc_value *value = dequantize->outs[0];
    if (!is_chosen(dequantize, &choose) || choose != d->choose || value->use_count > READERS_MAX)
        return false;
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (!asks_for(x, use, value)) return false;
    return true;
}

static bool is_private(sc_xa *x, const sc_xa_dynamic *d) {
    const sc_value *integers = d->quantize->outs[0];
    for (uint32_t i = 0; i < 2; i++)
        for (const sc_arg *use = d->choose->outs[i]->first_use; use; use = use->next_use)
            if (use->user != d->quantize &&
                (!sc_xa_is(use->user, &sc_xa_dequantize) || use->user->args[0].value != integers))
                return false;
    for (const sc_arg *use = integers->first_use; use; use = use->next_use)
        if (!sc_xa_is(use->user, &sc_xa_dequantize) || use->user->args[0].value != integers ||
            !is_private_result(x, d, use->user))
            return false;
    return true;
}

bool sc_xa_dynamically_dequantized(sc_xa *x, const sc_value *value, sc_xa_dynamic *d) {
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
           (x->asked || is_private(x, d));
}

// --- Quantized readers ---------------------------------------------------------------------------

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
        sc_xa_params_of(user, &out->params) && sc_xa_is_plain(&out->params) &&
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

// Runtimes before 1.4 free all operands of a delegate except packed weights.
static bool is_held(const reading *r, const sc_node *dequantize) {
    return r->x->runtime >= SC_XNN_RUNTIME_1_4 || !sc_xa_is_constant(dequantize->args[0].value);
}

// A number without dimensions must not leave a part. It would if it had other readers.
static bool stays_inside(const sc_value *value) {
    return value->spec.rank > 0 || value->use_count == 1;
}

static bool look_at_input(void *user, sc_arg *arg) {
    reading *r = user;
    const sc_node *dequantize;
    sc_xa_params params;
    r->is_fine = sc_xa_dequantized(arg->value, &dequantize, &params) && is_held(r, dequantize) &&
                 stays_inside(arg->value) && (!r->alike || params_equal(r->alike, &params));
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
