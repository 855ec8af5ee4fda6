// The parts of a complex tensor: found where it was put together, else taken off it once.
#include "ir/match.h"
#include "trace/complex/complex.h"

// An earlier call of this operator on the value, with that integer as its third argument. A trace
// that inserts calls before others finds no call, because the order of nodes is not the order of
// calls there.
static sc_value *made_before(const sc_trace *t, const sc_value *value, sc_op_id id, int64_t index) {
    if (t->before) return NULL;
    for (const sc_arg *use = value->first_use; use; use = use->next_use) {
        const sc_node *node = use->user;
        if (!node->op || node->op->id != id || use != &node->args[0]) continue;
        if (node->graph != value->graph) continue;
        if (index < 0 ||
            (node->args[2].kind == SC_ARG_INT && node->args[2].i == index &&
             node->args[1].kind == SC_ARG_INT && node->args[1].i == value->spec.rank - 1))
            return node->outs[0];
    }
    return NULL;
}

sc_x sc_complex_pair(sc_trace *t, sc_x x) {
    sc_value *value = x->tensor->value;
    sc_value *known = sc_match_made_of(value, SC_OP_view_as_complex);
    if (!known) known = made_before(t, value, SC_OP_view_as_real, -1);
    if (known) return sc_trace_plain(t, known);
    const sc_op *op = sc_op_get(SC_OP_view_as_real);
    return sc_trace_record(t, op, &x, 1);
}

static sc_value *part_of(sc_x x, uint32_t index) {
    const sc_value *pair = sc_match_made_of(x->tensor->value, SC_OP_view_as_complex);
    sc_value *known = pair ? sc_match_stacked(pair, -1, index) : NULL;
    return known && known->spec.dtype == pair->spec.dtype ? known : NULL;
}

bool sc_complex_is_whole(sc_x x) { return !part_of(x, 0) || !part_of(x, 1); }

static sc_x part(sc_trace *t, sc_x x, uint32_t index) {
    sc_value *known = part_of(x, index);
    if (known) return sc_trace_plain(t, known);
    sc_x pair = sc_complex_pair(t, x);
    if (t->status != SC_OK) return pair;
    known = made_before(t, pair->tensor->value, SC_OP_select_int, index);
    return known ? sc_trace_plain(t, known) : sc_f_select(t, pair, sc_x_rank(pair) - 1, index);
}

sc_complex sc_complex_of(sc_trace *t, sc_x x) {
    if (!sc_x_is_complex(x)) return (sc_complex){x, sc_x_float(t, 0)};
    sc_x re = part(t, x, 0);
    return (sc_complex){re, part(t, x, 1)};
}

static sc_x in_dtype(sc_trace *t, sc_x x, sc_dtype dtype) {
    return x->kind == SC_X_TENSOR ? sc_f_to(t, x, dtype) : x;
}

sc_complex sc_complex_operand(sc_trace *t, sc_x x, sc_dtype part) {
    const sc_dtype dtype = sc_f_opmath(part);
    sc_complex z = sc_complex_of(t, x);
    z.re = in_dtype(t, z.re, dtype);
    z.im = in_dtype(t, z.im, dtype);
    return z;
}

// --- Putting together ----------------------------------------------------------------------------

static sc_x as_tensor(sc_trace *t, sc_x x, sc_dtype part) {
    return x->kind == SC_X_TENSOR ? sc_f_to(t, x, part) : sc_f_scalar(t, x, part);
}

// The sizes to which both broadcast.
static sc_x common_sizes(sc_trace *t, sc_x x, sc_x y) {
    sc_dim sizes[SC_RANK_MAX];
    const uint32_t a = sc_x_rank(x), b = sc_x_rank(y), rank = a > b ? a : b;
    for (uint32_t i = 0; i < rank; i++) {
        sc_dim p = i + a >= rank ? sc_x_size(x, (int64_t)(i + a - rank)) : sc_dim_int(1);
        sc_dim q = i + b >= rank ? sc_x_size(y, (int64_t)(i + b - rank)) : sc_dim_int(1);
        sizes[i] = sc_x_broadcast(p, q);
    }
    return sc_x_dims(t, sizes, rank);
}

static bool has_sizes(sc_x x, sc_x sizes) {
    if (sc_x_rank(x) != sizes->count) return false;
    for (uint32_t i = 0; i < sizes->count; i++)
        if (!sc_dim_equal(sc_x_size(x, i), sizes->items[i]->dim)) return false;
    return true;
}

static sc_x in_sizes(sc_trace *t, sc_x x, sc_x sizes) {
    return has_sizes(x, sizes) ? x : CALL(t, expand, x, sizes);
}

sc_x sc_complex_make(sc_trace *t, sc_complex z, sc_dtype part) {
    sc_x re = as_tensor(t, z.re, part);
    sc_x im = as_tensor(t, z.im, part);
    if (t->status != SC_OK) return &t->poisoned;
    sc_x sizes = common_sizes(t, re, im);
    sc_x parts[2] = {in_sizes(t, re, sizes), NULL};
    parts[1] = in_sizes(t, im, sizes);
    for (uint32_t i = 0; i < 2; i++) parts[i] = sc_f_unsqueeze(t, parts[i], sizes->count);
    return CALL(t, view_as_complex, sc_f_cat(t, parts, 2, sizes->count));
}

// --- Calls ---------------------------------------------------------------------------------------

static void add(sc_promotion *p, sc_x x) {
    if (x->kind == SC_X_TENSOR)
        sc_promotion_add_tensor(p, sc_x_dtype_of(x), sc_x_rank(x) > 0);
    else
        sc_promotion_add_number(p, x->kind == SC_X_FLOAT  ? SC_CATEGORY_FLOAT
                                   : x->kind == SC_X_BOOL ? SC_CATEGORY_BOOL
                                                          : SC_CATEGORY_INT);
}

sc_dtype sc_complex_common(sc_x x, sc_x y) {
    sc_promotion p = {0};
    add(&p, x);
    add(&p, y);
    return sc_dtype_to_real(sc_dtype_to_complex(sc_promotion_result(&p)));
}

static sc_x part_arg(sc_trace *t, sc_x x, uint32_t index) {
    if (sc_x_is_complex(x)) return part(t, x, index);
    if (x->kind == SC_X_DTYPE) return sc_x_dtype(t, sc_dtype_to_real((sc_dtype)x->code));
    if (x->kind != SC_X_LIST) return x;
    sc_x *items = sc_new_array(t->arena, sc_x, x->count + 1);
    for (uint32_t i = 0; i < x->count; i++) items[i] = part_arg(t, x->items[i], index);
    return sc_x_list_of(t, items, x->count);
}

static sc_x call_part(sc_trace *t, const sc_op *op, const sc_x *args, uint32_t index) {
    const uint32_t count = op->schema->param_count;
    sc_x *own = sc_new_array(t->arena, sc_x, count + 1);
    for (uint32_t i = 0; i < count; i++) own[i] = part_arg(t, args[i], index);
    if (sc_op_has(op, SC_RESHAPES)) own[0] = sc_f_viewable(t, own[0], own[1]);
    return sc_trace_call(t, op, own, count);
}

sc_x sc_complex_by_parts(sc_trace *t, const sc_op *op, const sc_x *args) {
    sc_x re = call_part(t, op, args, 0);
    sc_x im = call_part(t, op, args, 1);
    if (t->status != SC_OK) return &t->poisoned;
    if (re->kind == SC_X_TENSOR) return sc_complex_make(t, (sc_complex){re, im}, sc_x_dtype_of(re));
    sc_x *items = sc_new_array(t->arena, sc_x, re->count + 1);
    for (uint32_t i = 0; i < re->count; i++)
        items[i] = sc_complex_make(t, (sc_complex){re->items[i], im->items[i]},
                                   sc_x_dtype_of(re->items[i]));
    return sc_x_list_of(t, items, re->count);
}

static const struct {
    uint32_t op;
    const char *hint;
} refused[] = {
#define REFUSES(op, hint) {SC_OP_##op, hint},
#include "trace/complex/refused.def"
#undef REFUSES
};

static const char *advice_for(const sc_op *op) {
    for (size_t i = 0; i < SC_COUNT_OF(refused); i++)
        if (refused[i].op == op->id) return refused[i].hint;
    return NULL;
}

bool sc_complex_has_advice(const sc_op *op) { return advice_for(op) != NULL; }

sc_x sc_complex_refuse(sc_trace *t, const sc_op *op) {
    const char *advice = advice_for(op);
    const char *hint =
        advice ? advice
               : "Write its formula out in real numbers, or compute it outside of the model: "
                 "x.real and x.imag give the parts, and torch.complex() joins two, but only "
                 "what is linear is the same of each part.";
    return sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP, hint, "%s is not supported for complex numbers",
                         op->name);
}
