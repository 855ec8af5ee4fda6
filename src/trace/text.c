// Expansions written as text in the operator table:
//
//   text := { NAME '=' expr ';' } expr                                    the same in opmath(...)
//   expr := NAME '(' [ [NAME '='] expr , ... ] ')' { '[' INT ']' }   a call, overload after a dot
//         | NAME                       a parameter of the operator, or a local
//         | INT | FLOAT | 'text' | inf | nan | None | True | False | f32 i64 ... | [ expr, ... ]
//         | contiguous_format | preserve_format
//
// Besides operators there are: opmath(expr) and real(expr), which compute the expression on inputs
// cast as PyTorch's elementwise wrappers cast them; scalar(v, x), a rank-0 tensor of x's dtype;
// beside(v, x), one of the dtype that v and x promote to; and dtype(x). Texts come from our own
// tables, so a mistake is reported as a defect of ours.
#include "trace/expand.h"
#include "trace/words/calls.h"

#include <math.h>
#include <stdio.h>

#define NAMES_MAX 32
#define ITEMS_MAX 24

typedef struct text_eval {
    sc_trace *t;  // NULL: only checking
    sc_ctx *ctx;
    const sc_op *op;
    const char *at;
    const char *mistake;
    sc_str names[NAMES_MAX];
    sc_x values[NAMES_MAX];
    uint32_t name_count, param_count;
} text_eval;

static sc_x eval_expr(text_eval *e);
static sc_x eval_block(text_eval *e);

static sc_x wrong(text_eval *e, const char *mistake) {
    if (!e->mistake) e->mistake = mistake;
    return X_NONE;
}

static void skip_space(text_eval *e) {
    while (*e->at == ' ' || *e->at == '\n') e->at++;
}

// While only checking there is no trace, and nobody looks at values.
static sc_x made(text_eval *e, sc_x_data data) { return e->t ? sc_x_new(e->t, data) : X_NONE; }

static sc_x made_float(text_eval *e, double f) {
    return made(e, (sc_x_data){.kind = SC_X_FLOAT, .f = f});
}

static sc_x made_code(text_eval *e, sc_x_kind kind, int code) {
    return made(e, (sc_x_data){.kind = (uint8_t)kind, .code = (uint8_t)code});
}

static bool take(text_eval *e, char c) {
    skip_space(e);
    if (*e->at != c) return false;
    e->at++;
    return true;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':';
}

static sc_str take_word(text_eval *e) {
    skip_space(e);
    const char *start = e->at;
    while (is_word(*e->at)) e->at++;
    return (sc_str){start, (size_t)(e->at - start)};
}

static bool find_name(text_eval *e, sc_str name, sc_x *out) {
    for (uint32_t i = e->name_count; i-- > 0;) {
        if (sc_str_equal(e->names[i], name)) {
            *out = e->values[i];
            return true;
        }
    }
    return false;
}

static void bind(text_eval *e, sc_str name, sc_x value) {
    if (e->name_count == NAMES_MAX) {
        wrong(e, "too many names");
        return;
    }
    e->names[e->name_count] = name;
    e->values[e->name_count++] = value;
}

// --- Casts --------------------------------------------------------------------------------------

static sc_dtype promote_params(text_eval *e, bool to_real) {
    sc_promotion p = {0};
    for (uint32_t i = 0; i < e->param_count; i++)
        if (e->values[i]->kind == SC_X_TENSOR)
            sc_promotion_add_tensor(&p, sc_x_dtype_of(e->values[i]), sc_x_rank(e->values[i]) > 0);
    sc_dtype dtype = sc_promotion_result(&p);
    if (to_real && dtype != SC_DTYPE_NONE && sc_dtype_is_integral(dtype, true))
        dtype = SC_DTYPE_F32;
    return dtype;
}

static sc_x eval_cast(text_eval *e, bool to_real) {
    sc_x saved[NAMES_MAX];
    if (!e->t) return eval_block(e);
    memcpy(saved, e->values, sizeof saved);
    sc_dtype dtype = promote_params(e, to_real);
    if (dtype == SC_DTYPE_NONE)
        return sc_trace_fail(e->t, SC_ERR_DTYPE, NULL, "the inputs' dtypes do not promote");
    for (uint32_t i = 0; i < e->param_count; i++)
        if (e->values[i]->kind == SC_X_TENSOR)
            e->values[i] = sc_f_to(e->t, e->values[i], sc_f_opmath(dtype));
    sc_x result = eval_block(e);
    memcpy(e->values, saved, e->param_count * sizeof *saved);
    return sc_f_to(e->t, result, dtype);
}

static sc_x eval_scalar(text_eval *e, bool promotes) {
    sc_x value = eval_expr(e);
    if (!take(e, ',')) return wrong(e, "a number needs a tensor to be like");
    sc_x like = eval_expr(e);
    if (!e->t) return X_NONE;
    return sc_f_scalar(e->t, value, promotes ? sc_f_dtype_with(value, like) : sc_x_dtype_of(like));
}

// --- Calls --------------------------------------------------------------------------------------

static const sc_op *find_op(text_eval *e, sc_str name) {
    char full[96];
    int size = snprintf(full, sizeof full, "%s" SC_STR_FMT,
                        sc_str_find(name, ':') >= 0 ? "" : "aten::", SC_STR_ARG(name));
    const sc_op *op =
        size > 0 && (size_t)size < sizeof full ? sc_op_find((sc_str){full, (size_t)size}) : NULL;
    if (!op) wrong(e, "an operator is not in the table");
    return op;
}

static bool starts_keyword(const text_eval *e) {
    const char *at = e->at;
    while (*at == ' ') at++;
    while (is_word(*at)) at++;
    while (*at == ' ') at++;
    return *at == '=';
}

static int32_t param_of(const sc_op *op, sc_str name) {
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        if (sc_str_equal(op->schema->params[i].name, name)) return (int32_t)i;
    return -1;
}

static sc_x eval_call(text_eval *e, sc_str name) {
    const sc_op *op = find_op(e, name);
    sc_x args[ITEMS_MAX] = {NULL};  // not given: takes its default
    uint32_t count = 0;
    while (!e->mistake && !take(e, ')')) {
        uint32_t index = count;
        if (starts_keyword(e)) {
            int32_t param = param_of(op, take_word(e));
            take(e, '=');
            if (param < 0) return wrong(e, "a keyword is not a parameter");
            index = (uint32_t)param;
        }
        if (index >= ITEMS_MAX || index >= op->schema->param_count)
            return wrong(e, "too many arguments");
        args[index] = eval_expr(e);
        if (index >= count) count = index + 1;
        skip_space(e);
        if (*e->at != ')' && !take(e, ',')) return wrong(e, "an argument list does not end");
    }
    return e->mistake || !e->t ? X_NONE : sc_trace_call(e->t, op, args, count);
}

static sc_x eval_special(text_eval *e, sc_str name, bool *known) {
    sc_x result = X_NONE;
    *known = true;
    if (sc_str_is(name, "opmath"))
        result = eval_cast(e, false);
    else if (sc_str_is(name, "real"))
        result = eval_cast(e, true);
    else if (sc_str_is(name, "scalar"))
        result = eval_scalar(e, false);
    else if (sc_str_is(name, "beside"))
        result = eval_scalar(e, true);
    else if (sc_str_is(name, "dtype"))
        result = made_code(e, SC_X_DTYPE, sc_x_dtype_of(eval_expr(e)));
    else
        *known = false;
    if (*known && !take(e, ')')) return wrong(e, "an argument list does not end");
    return result;
}

// --- Expressions --------------------------------------------------------------------------------

static sc_x eval_list(text_eval *e) {
    sc_x items[ITEMS_MAX];
    uint32_t count = 0;
    while (!e->mistake && !take(e, ']')) {
        if (count == ITEMS_MAX) return wrong(e, "a list is too long");
        items[count++] = eval_expr(e);
        skip_space(e);
        if (*e->at != ']' && !take(e, ',')) return wrong(e, "a list does not end");
    }
    return e->t ? sc_x_list(e->t, items, count) : X_NONE;
}

static sc_x eval_number(text_eval *e) {
    skip_space(e);
    const char *start = e->at;
    if (*e->at == '-') e->at++;
    while (is_word(*e->at) || ((*e->at == '-' || *e->at == '+') && e->at[-1] == 'e')) e->at++;
    sc_str text = {start, (size_t)(e->at - start)};
    int64_t i;
    double f;
    if (sc_parse_i64(text, &i)) return made(e, (sc_x_data){.kind = SC_X_INT, .dim = sc_dim_int(i)});
    if (sc_parse_f64(text, &f)) return made_float(e, f);
    return wrong(e, "a number is malformed");
}

static sc_x eval_constant(text_eval *e, sc_str name) {
    if (sc_str_is(name, "None")) return X_NONE;
    if (sc_str_is(name, "True") || sc_str_is(name, "False")) return sc_x_bool(name.data[0] == 'T');
    if (sc_str_is(name, "inf")) return made_float(e, INFINITY);
    if (sc_str_is(name, "nan")) return made_float(e, NAN);
    if (sc_str_is(name, "contiguous_format"))
        return made_code(e, SC_X_FORMAT, SC_MEMORY_FORMAT_CONTIGUOUS);
    if (sc_str_is(name, "preserve_format"))
        return made_code(e, SC_X_FORMAT, SC_MEMORY_FORMAT_PRESERVE);
    sc_dtype dtype = sc_dtype_from_short(name);
    return dtype != SC_DTYPE_NONE ? made_code(e, SC_X_DTYPE, dtype)
                                  : wrong(e, "a name is not known");
}

static sc_x eval_text(text_eval *e) {
    const char *start = ++e->at;
    while (*e->at && *e->at != '\'') e->at++;
    sc_str text = {start, (size_t)(e->at - start)};
    if (!take(e, '\'')) return wrong(e, "a text does not end");
    return made(e, (sc_x_data){.kind = SC_X_STR, .str = text});
}

static sc_x eval_word(text_eval *e) {
    sc_str name = take_word(e);
    if (name.size == 0) return wrong(e, "an expression is missing");
    sc_x value;
    bool known;
    if (take(e, '(')) {
        value = eval_special(e, name, &known);
        if (!known) value = eval_call(e, name);
    } else if (!find_name(e, name, &value)) {
        value = eval_constant(e, name);
    }
    while (!e->mistake && take(e, '[')) {
        int64_t index = sc_x_number(eval_number(e), 0);
        if (!take(e, ']')) return wrong(e, "an index does not end");
        if (e->t) value = sc_x_at(e->t, value, (uint32_t)index);
    }
    return value;
}

static sc_x eval_expr(text_eval *e) {
    skip_space(e);
    char c = *e->at;
    if (e->mistake) return X_NONE;
    if (c == '[') {
        e->at++;
        return eval_list(e);
    }
    if (c == '\'') return eval_text(e);
    if (c == '-' && e->at[1] == 'i') {
        e->at += 4;
        return made_float(e, -INFINITY);
    }
    if (c == '-' || (c >= '0' && c <= '9')) return eval_number(e);
    return eval_word(e);
}

// Definitions and the expression they are for.
static sc_x eval_block(text_eval *e) {
    while (!e->mistake && starts_keyword(e)) {
        sc_str name = take_word(e);
        take(e, '=');
        sc_x value = eval_expr(e);
        bind(e, name, value);
        if (!take(e, ';')) return wrong(e, "a definition does not end");
    }
    return eval_expr(e);
}

static sc_x eval_all(text_eval *e) {
    sc_x result = eval_block(e);
    skip_space(e);
    return *e->at ? wrong(e, "text follows the expression") : result;
}

static void bind_params(text_eval *e, const sc_x *args) {
    for (uint32_t i = 0; i < e->op->schema->param_count; i++)
        bind(e, e->op->schema->params[i].name, args ? args[i] : X_NONE);
    e->param_count = e->name_count;
}

sc_x sc_expand_text(sc_trace *t, const sc_op *op, const char *text, const sc_x *args) {
    text_eval e = {.t = t, .ctx = t->ctx, .op = op, .at = text};
    bind_params(&e, args);
    sc_x result = eval_all(&e);
    if (e.mistake)
        return sc_trace_fail(t, SC_ERR_INTERNAL, NULL, "expansion of %s: %s", op->name, e.mistake);
    return result;
}

sc_status sc_expand_check(sc_ctx *ctx, const sc_op *op, const char *text) {
    text_eval e = {.ctx = ctx, .op = op, .at = text};
    bind_params(&e, NULL);
    eval_all(&e);
    if (e.mistake)
        return sc_fail(ctx, SC_ERR_INTERNAL, NULL, "expansion of %s: %s, at \"%s\"", op->name,
                       e.mistake, e.at);
    return SC_OK;
}
