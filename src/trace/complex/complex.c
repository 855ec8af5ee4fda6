// The table of complex calls, and how a call finds its row.
// In wasm: -Os
#include "trace/complex/complex.h"

#include "trace/expand.h"

typedef enum move_rule { PARTS, AS_IS, DIM, SIZES, ORDER } move_rule;

// One of `full`, `map`, or how elements move; if all are absent, its expansion holds.
typedef struct complex_row {
    sc_op_id op;
    sc_x (*full)(sc_trace *t, const sc_op *op, const sc_x *a);
    sc_complex (*map)(sc_trace *t, sc_complex z);
    bool moves;
    uint8_t rule, arg;
} complex_row;

// clang-format off
static const complex_row rows[] = {
#define FULL(fn, op) {SC_OP_##op, sc_complex_##fn, NULL, false, 0, 0},
#define MAP(fn, op) {SC_OP_##op, NULL, sc_complex_##fn, false, 0, 0},
#define MOVES(op, rule, arg) {SC_OP_##op, NULL, NULL, true, rule, arg},
#define ALLOWS(op) {SC_OP_##op, NULL, NULL, false, 0, 0},
#include "trace/complex/complex.def"
#undef FULL
#undef MAP
#undef MOVES
#undef ALLOWS
};
// clang-format on

static const complex_row *row_of(const sc_op *op) {
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++)
        if (rows[i].op == op->id) return &rows[i];
    return NULL;
}

static bool is_complex_dtype(sc_x x) {
    return x->kind == SC_X_DTYPE && sc_dtype_is_complex((sc_dtype)x->code);
}

// Every call asks, so what is no tensor is passed over first.
static bool says_complex(sc_x x) {
    return x->kind == SC_X_TENSOR ? sc_x_is_complex(x) : is_complex_dtype(x);
}

static bool is_complex_call(const sc_op *op, const sc_x *args) {
    for (uint32_t i = 0; i < op->schema->param_count; i++) {
        const sc_x x = args[i];
        const uint32_t count = x->kind == SC_X_LIST ? x->count : 0;
        if (says_complex(x)) return true;
        for (uint32_t k = 0; k < count; k++)
            if (x->items[k]->kind == SC_X_TENSOR && sc_x_is_complex(x->items[k])) return true;
    }
    return false;
}

bool sc_complex_has_row(const sc_op *op, const sc_x *args) {
    if (!is_complex_call(op, args)) return false;
    const complex_row *row = row_of(op);
    return row && (row->full || row->map || row->moves);
}

// --- Moving pairs --------------------------------------------------------------------------------

static bool all_whole(const sc_op *op, const sc_x *args) {
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        if (sc_x_is_complex(args[i]) && (!sc_complex_is_whole(args[i]) || sc_x_rank(args[i]) == 0))
            return false;
    return true;
}

// Dims of the tensor, counted from the front.
static sc_x from_front(sc_trace *t, sc_x dims, uint32_t rank) {
    if (dims->kind == SC_X_INT) return sc_x_int(t, sc_x_wrap(t, dims, rank));
    sc_x items[SC_RANK_MAX];
    uint32_t count = dims->kind == SC_X_LIST ? dims->count : 0;
    for (uint32_t i = 0; i < count && i < SC_RANK_MAX; i++)
        items[i] = sc_x_int(t, sc_x_wrap(t, dims->items[i], rank));
    return sc_x_list(t, items, count < SC_RANK_MAX ? count : SC_RANK_MAX);
}

static sc_x with_item(sc_trace *t, sc_x list, int64_t item) {
    sc_x items[SC_RANK_MAX + 1];
    uint32_t count = list->kind == SC_X_LIST ? list->count : 0;
    for (uint32_t i = 0; i < count && i < SC_RANK_MAX; i++) items[i] = list->items[i];
    if (count > SC_RANK_MAX) count = SC_RANK_MAX;
    items[count++] = sc_x_int(t, item);
    return sc_x_list(t, items, count);
}

static sc_x for_pair(sc_trace *t, sc_x arg, uint32_t rank, move_rule rule) {
    if (rule == DIM) return from_front(t, arg, rank);
    if (rule == SIZES) return with_item(t, arg, 2);
    return with_item(t, from_front(t, arg, rank), rank);
}

static sc_x as_complex(sc_trace *t, sc_x x) {
    if (x->kind == SC_X_TENSOR) return CALL(t, view_as_complex, x);
    sc_x *items = sc_new_array(t->arena, sc_x, x->count + 1);
    for (uint32_t i = 0; i < x->count; i++) items[i] = CALL(t, view_as_complex, x->items[i]);
    return sc_x_list_of(t, items, x->count);
}

static sc_x move_pairs(sc_trace *t, const complex_row *row, const sc_op *op, const sc_x *args) {
    const uint32_t count = op->schema->param_count, rank = sc_x_rank(args[0]);
    sc_x *own = sc_new_array(t->arena, sc_x, count + 1);
    for (uint32_t i = 0; i < count; i++)
        own[i] = sc_x_is_complex(args[i]) ? sc_complex_pair(t, args[i]) : args[i];
    if (row->rule != AS_IS) own[row->arg] = for_pair(t, args[row->arg], rank, row->rule);
    if (sc_op_has(op, SC_RESHAPES)) own[0] = sc_f_viewable(t, own[0], own[1]);
    return as_complex(t, sc_trace_call(t, op, own, count));
}

// The arguments with the tensor, and the source that is moved into it, made complex: their
// imaginary parts are zeros.
static const sc_x *made_complex(sc_trace *t, const sc_op *op, const sc_x *args) {
    const uint32_t count = op->schema->param_count;
    const int src = sc_op_param_index(op, "src");
    sc_x *own = sc_new_array(t->arena, sc_x, count + 1);
    memcpy(own, args, count * sizeof *own);
    for (uint32_t i = 1; i < count && own[0]->kind == SC_X_TENSOR && !sc_x_is_complex(own[0]); i++)
        if (is_complex_dtype(own[i])) own[0] = sc_f_to(t, own[0], (sc_dtype)own[i]->code);
    if (src > 0 && sc_x_is_complex(own[0]) && own[src]->kind == SC_X_TENSOR)
        own[src] = sc_f_to_dtype_of(t, own[src], own[0]);
    return own;
}

static sc_x move(sc_trace *t, const complex_row *row, const sc_op *op, const sc_x *given) {
    const sc_x *args = made_complex(t, op, given);
    const bool on_pairs = row->rule != PARTS && all_whole(op, args);
    return on_pairs ? move_pairs(t, row, op, args) : sc_complex_by_parts(t, op, args);
}

// --- Calls ---------------------------------------------------------------------------------------

static sc_x map(sc_trace *t, const complex_row *row, const sc_x *args) {
    const sc_dtype part = sc_dtype_to_real(sc_x_dtype_of(args[0]));
    return sc_complex_make(t, row->map(t, sc_complex_operand(t, args[0], part)), part);
}

// Another name for one call, which is asked in its turn.
static bool is_synonym(const sc_expansion *how) {
    const char *call = how->text ? strchr(how->text, '(') : NULL;
    return call && !strchr(call + 1, '(');
}

// Expansions that need no conjugates and make no comparison.
static bool expansion_holds(const sc_op *op, const sc_expansion *how) {
    if (is_synonym(how)) return !sc_complex_has_advice(op);
    switch (op->family) {
    case SC_FAMILY_SHAPE:
    case SC_FAMILY_INDEX:
    case SC_FAMILY_CREATE: return true;
    default: return row_of(op) != NULL;
    }
}

static sc_x by_row(sc_trace *t, const complex_row *row, const sc_op *op, const sc_x *args) {
    if (row->full) return row->full(t, op, args);
    if (row->map) return map(t, row, args);
    return row->moves ? move(t, row, op, args) : NULL;
}

// Rules call each other, and for the parts of some operands the same operator: a call whose other
// operands are complex, too (a condition, indices), would do so for ever.
enum { DEPTH_MAX = 24 };

sc_x sc_complex_call(sc_trace *t, const sc_op *op, const sc_x *args, const sc_expansion *how) {
    if (!is_complex_call(op, args)) return NULL;
    const complex_row *row = row_of(op);
    t->has_pairs = true;
    if (how && !row && !expansion_holds(op, how)) return sc_complex_refuse(t, op);
    if (!row || !t->plain) return NULL;
    if (t->pairs_depth >= DEPTH_MAX) return sc_complex_refuse(t, op);
    t->pairs_depth++;
    sc_x x = by_row(t, row, op, args);
    t->pairs_depth--;
    return x;
}
