// Formulas read forwards (ops/formula.h): the calls of a text are made in its order. Texts come
// from our own tables, so a mistake in one is a defect of ours.
#include "trace/text.h"

#include "trace/words/calls.h"

typedef struct reading {
    sc_trace *t;
    const sc_formula *formula;
    sc_x values[SC_FORMULA_NAMES];  // of parameters, and behind them of definitions
} reading;

typedef const sc_formula_node *node;

static sc_x read_node(reading *r, node n);

// --- Casts ---------------------------------------------------------------------------------------

static sc_dtype promote_params(const reading *r, bool to_real) {
    sc_promotion p = {0};
    for (uint32_t i = 0; i < r->formula->param_count; i++)
        if (r->values[i]->kind == SC_X_TENSOR)
            sc_promotion_add_tensor(&p, sc_x_dtype_of(r->values[i]), sc_x_rank(r->values[i]) > 0);
    sc_dtype dtype = sc_promotion_result(&p);
    if (to_real && dtype != SC_DTYPE_NONE && sc_dtype_is_integral(dtype, true))
        dtype = SC_DTYPE_F32;
    return dtype;
}

static sc_x read_promoted(reading *r, node n, bool to_real) {
    sc_x saved[SC_FORMULA_NAMES];
    const uint32_t count = r->formula->param_count;
    const sc_dtype dtype = promote_params(r, to_real);
    if (dtype == SC_DTYPE_NONE)
        return sc_trace_fail(r->t, SC_ERR_DTYPE, NULL, "the inputs' dtypes do not promote");
    memcpy(saved, r->values, count * sizeof *saved);
    for (uint32_t i = 0; i < count; i++)
        if (r->values[i]->kind == SC_X_TENSOR)
            r->values[i] = sc_f_to(r->t, r->values[i], sc_f_opmath(dtype));
    sc_x result = read_node(r, n);
    memcpy(r->values, saved, count * sizeof *saved);
    return sc_f_to(r->t, result, dtype);
}

// The dtype of the first result of the node that is expanded.
static sc_dtype result_dtype(const reading *r) {
    return (sc_dtype)r->t->source->outs[0]->spec.dtype;
}

// The dtype of a tensor, or the one that PyTorch gives a number.
static sc_dtype dtype_of(sc_x x) {
    if (x->kind == SC_X_FLOAT) return SC_DTYPE_F32;
    if (x->kind == SC_X_BOOL) return SC_DTYPE_BOOL;
    return sc_x_is_tensor(x) ? sc_x_dtype_of(x) : SC_DTYPE_I64;
}

static sc_x read_scalar(reading *r, node n, bool promotes) {
    sc_x value = read_node(r, n->items[0]), like = read_node(r, n->items[1]);
    const sc_dtype dtype =
        promotes ? sc_f_dtype_with(value, like) : sc_x_dtype_or(like, sc_x_dtype_of(like));
    return sc_f_scalar(r->t, value, dtype);
}

static sc_x read_tensor(reading *r, node n) {
    sc_x value = read_node(r, n->items[0]);
    return sc_x_is_tensor(value) ? value : sc_f_scalar(r->t, value, result_dtype(r));
}

static sc_x read_cast(reading *r, node n) {
    sc_x value = read_node(r, n->items[0]);
    return sc_x_is_tensor(value) ? sc_f_to(r->t, value, result_dtype(r)) : value;
}

static sc_x read_cast_wide(reading *r, node n) {
    const sc_dtype dtype = sc_f_opmath(result_dtype(r));
    sc_x value = read_node(r, n->items[0]);
    return sc_x_is_tensor(value) ? sc_f_to(r->t, value, dtype) : sc_f_scalar(r->t, value, dtype);
}

static sc_x read_constant(reading *r, node n) {
    sc_x value = read_node(r, n->items[0]), like = read_node(r, n->items[1]);
    return sc_f_full(r->t, sc_x_dims(r->t, NULL, 0), value, sc_x_dtype_of(like));
}

static sc_x read_like(reading *r, node n) {
    sc_x value = read_node(r, n->items[0]), like = read_node(r, n->items[1]);
    return sc_f_to_dtype_of(r->t, value, like);
}

static double read_known(reading *r, node n) { return sc_x_known(r->t, read_node(r, n), 0); }

static sc_x read_minus(reading *r, node n) {
    const double x = read_known(r, n->items[0]), y = read_known(r, n->items[1]);
    return sc_x_float(r->t, x - y);
}

static sc_x read_times(reading *r, node n) {
    const double x = read_known(r, n->items[0]), y = read_known(r, n->items[1]);
    return sc_x_float(r->t, x * y);
}

// --- Arguments and sizes -------------------------------------------------------------------------

static sc_x read_given(reading *r, node n) {
    sc_x given = read_node(r, n->items[0]);
    return sc_x_is_none(given) ? read_node(r, n->items[1]) : given;
}

static sc_x read_as_given(reading *r, node n) {
    sc_x value = read_node(r, n->items[0]);
    return sc_f_to_given(r->t, value, read_node(r, n->items[1]));
}

static sc_x read_to(reading *r, node n) {
    sc_x value = read_node(r, n->items[0]), dtype = read_node(r, n->items[1]);
    return sc_f_to(r->t, value, sc_x_dtype_or(dtype, sc_x_dtype_of(value)));
}

static sc_x read_part_dtype(reading *r, node n) {
    return sc_x_dtype(r->t, sc_dtype_to_real(sc_x_dtype_of(read_node(r, n->items[0]))));
}

static sc_x read_is_empty(reading *r, node n) {
    sc_x list = read_node(r, n->items[0]);
    return sc_x_bool(list->kind != SC_X_LIST || list->count == 0);
}

static sc_x read_size(reading *r, node n) {
    sc_x of = read_node(r, n->items[0]);
    const int64_t dim = (int64_t)sc_x_real(read_node(r, n->items[1]), 0);
    return sc_x_dim(r->t, sc_x_size(of, dim));
}

static sc_x read_reduced(reading *r, node n) {
    sc_x loss = read_node(r, n->items[0]);
    return sc_f_reduce_loss(r->t, loss, read_node(r, n->items[1]));
}

// --- Words ---------------------------------------------------------------------------------------

static sc_x read_word(reading *r, node n) {
    sc_trace *t = r->t;
    switch ((sc_formula_word)n->code) {
    case SC_WORD_opmath: return read_promoted(r, n->items[0], false);
    case SC_WORD_real: return read_promoted(r, n->items[0], true);
    case SC_WORD_scalar: return read_scalar(r, n, false);
    case SC_WORD_promoted: return read_scalar(r, n, true);
    case SC_WORD_tensor: return read_tensor(r, n);
    case SC_WORD_constant: return read_constant(r, n);
    case SC_WORD_minus: return read_minus(r, n);
    case SC_WORD_times: return read_times(r, n);
    case SC_WORD_float: return sc_x_float(t, read_known(r, n->items[0]));
    case SC_WORD_to: return read_to(r, n);
    case SC_WORD_part_dtype: return read_part_dtype(r, n);
    case SC_WORD_evenly: return sc_f_evenly(t, read_node(r, n->items[0]));
    case SC_WORD_given: return read_given(r, n);
    case SC_WORD_last_bit: return sc_x_int(t, 8 * sc_dtype_bytes(result_dtype(r)) - 1);
    case SC_WORD_dtype: return sc_x_dtype(t, dtype_of(read_node(r, n->items[0])));
    case SC_WORD_cast: return read_cast(r, n);
    case SC_WORD_cast_wide: return read_cast_wide(r, n);
    case SC_WORD_widen: return sc_f_widen(t, read_node(r, n->items[0]));
    case SC_WORD_like: return read_like(r, n);
    case SC_WORD_as_given: return read_as_given(r, n);
    case SC_WORD_rank: return sc_x_int(t, sc_x_rank(read_node(r, n->items[0])));
    case SC_WORD_size: return read_size(r, n);
    case SC_WORD_strided: return X_STRIDED;
    case SC_WORD_cpu: return X_CPU;
    case SC_WORD_reduced: return read_reduced(r, n);
    case SC_WORD_sizes: return sc_x_sizes(t, read_node(r, n->items[0]), 0, SC_RANK_MAX);
    case SC_WORD_dense: return sc_f_contiguous(t, read_node(r, n->items[0]));
    case SC_WORD_final: return sc_trace_final(t, read_node(r, n->items[0]));
    case SC_WORD_once: return read_node(r, n->items[0]);
    case SC_WORD_is_float: return sc_x_bool(sc_x_is_float(read_node(r, n->items[0])));
    case SC_WORD_is_tensor: return sc_x_bool(sc_x_is_tensor(read_node(r, n->items[0])));
    case SC_WORD_is_absent: return sc_x_bool(sc_x_is_none(read_node(r, n->items[0])));
    case SC_WORD_is_bool: return sc_x_bool(read_node(r, n->items[0])->code == SC_DTYPE_BOOL);
    case SC_WORD_is_true: return sc_x_bool(sc_x_truth(read_node(r, n->items[0])));
    case SC_WORD_is_complex: return sc_x_bool(sc_x_is_complex(read_node(r, n->items[0])));
    case SC_WORD_is_empty: return read_is_empty(r, n);
    case SC_WORD_COUNT: break;
    }
    return X_NONE;
}

// --- Expressions ---------------------------------------------------------------------------------

// Items that are absent take their defaults.
static void read_items(reading *r, node n, sc_x *out) {
    for (uint32_t i = 0; i < n->count; i++) out[i] = n->items[i] ? read_node(r, n->items[i]) : NULL;
}

static sc_x read_call(reading *r, node n) {
    sc_x args[SC_FORMULA_ITEMS];
    read_items(r, n, args);
    return sc_trace_call(r->t, n->op, args, n->count);
}

static sc_x read_list(reading *r, node n) {
    sc_x items[SC_FORMULA_ITEMS];
    read_items(r, n, items);
    return sc_x_list(r->t, items, n->count);
}

static sc_x read_block(reading *r, node n) {
    for (uint32_t i = 0; i + 1 < n->count; i++)
        r->values[n->items[i]->index] = read_node(r, n->items[i]->items[0]);
    return read_node(r, n->items[n->count - 1]);
}

static bool are_equal(sc_x a, sc_x b) {
    if (a->kind == SC_X_DTYPE && b->kind == SC_X_DTYPE) return a->code == b->code;
    return sc_x_is_number(a) && sc_x_is_number(b) && sc_x_real(a, 0) == sc_x_real(b, 0);
}

static sc_x read_equal(reading *r, node n) {
    sc_x a = read_node(r, n->items[0]), b = read_node(r, n->items[1]);
    return sc_x_bool(are_equal(a, b));
}

static sc_x read_if(reading *r, node n) {
    const bool holds = sc_x_truth(read_node(r, n->items[0]));
    return read_node(r, n->items[holds ? 1 : 2]);
}

static sc_x read_node(reading *r, node n) {
    sc_trace *t = r->t;
    switch ((sc_formula_kind)n->kind) {
    case SC_FORMULA_CALL: return read_call(r, n);
    case SC_FORMULA_WORD: return read_word(r, n);
    case SC_FORMULA_BLOCK: return read_block(r, n);
    case SC_FORMULA_IF: return read_if(r, n);
    case SC_FORMULA_EQUAL: return read_equal(r, n);
    case SC_FORMULA_NAME: return r->values[n->index];
    case SC_FORMULA_ITEM: return sc_x_at(t, read_node(r, n->items[0]), n->index);
    case SC_FORMULA_LIST: return read_list(r, n);
    case SC_FORMULA_INT: return sc_x_int(t, n->i);
    case SC_FORMULA_FLOAT: return sc_x_float(t, n->f);
    case SC_FORMULA_BOOL: return sc_x_bool(n->b);
    case SC_FORMULA_TEXT: return sc_x_new(t, (sc_x_data){.kind = SC_X_STR, .str = n->text});
    case SC_FORMULA_DTYPE: return sc_x_dtype(t, (sc_dtype)n->code);
    case SC_FORMULA_FORMAT: return sc_x_format(t, (sc_memory_format)n->code);
    case SC_FORMULA_DEFINITION:
    case SC_FORMULA_NONE: break;
    }
    return X_NONE;
}

// --- Formulas ------------------------------------------------------------------------------------

static bool is_given(reading *r, uint32_t i) {
    const sc_x is = read_node(r, r->formula->given[i].is);
    const sc_x x = r->values[r->formula->given[i].param];
    if (is->kind == SC_X_STR) return x->kind == SC_X_STR && sc_str_equal(x->str, is->str);
    return are_equal(x, is);
}

bool sc_trace_fits(sc_trace *t, const sc_formula *formula, const sc_x *args) {
    reading r = {.t = t, .formula = formula};
    memcpy(r.values, args, formula->param_count * sizeof *args);
    for (uint32_t i = 0; i < formula->given_count; i++)
        if (!is_given(&r, i)) return false;
    return true;
}

sc_x sc_trace_formula(sc_trace *t, const sc_formula *formula, const sc_x *args) {
    reading r = {.t = t, .formula = formula};
    memcpy(r.values, args, formula->param_count * sizeof *args);
    return read_node(&r, formula->root);
}

sc_x sc_trace_final(sc_trace *t, sc_x made) {
    sc_node *last = t->before ? t->before->prev : t->graph->last;
    if (last && t->status == SC_OK) last->is_final = true;
    return made;
}
