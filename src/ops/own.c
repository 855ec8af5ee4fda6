#include "ops/own.h"

#include "base/print.h"

enum {
    TEXT_MAX = 4096,
    NAME_BYTES_MAX = 99,  // runtimes look operators up through a buffer of 100 characters
    OWN_MAX = 1024
};

static const char form[] =
    "Write it as PyTorch does: mylib::scale(Tensor x, float alpha=1.0) -> Tensor.";

// --- Names ---------------------------------------------------------------------------------------

static bool begins_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(sc_str text) {
    if (!text.size || !begins_word(text.data[0])) return false;
    for (size_t i = 1; i < text.size; i++)
        if (!begins_word(text.data[i]) && !(text.data[i] >= '0' && text.data[i] <= '9'))
            return false;
    return true;
}

// Namespaces in which names mean something else to the compiler.
static bool is_reserved(sc_str space) {
    static const char *const reserved[] = {
        "sym", "higher_order", "functorch", "executorch_prim", "dim_order_ops", "sconce", "prim"};
    for (size_t i = 0; i < SC_COUNT_OF(reserved); i++)
        if (sc_str_is(space, reserved[i])) return true;
    return false;
}

static sc_str base_of(sc_str name) {
    const ptrdiff_t dot = sc_str_find(name, '.');
    return dot < 0 ? name : sc_str_slice(name, 0, (size_t)dot);
}

static sc_status check_name(sc_ctx *ctx, sc_str name, sc_str overload) {
    const sc_str base = base_of(name);
    const ptrdiff_t colon = sc_str_find(base, ':');
    const bool has_space =
        colon > 0 && (size_t)colon + 2 < base.size && base.data[colon + 1] == ':';
    const sc_str space = has_space ? sc_str_slice(base, 0, (size_t)colon) : (sc_str){0};
    const sc_str stem = has_space ? sc_str_slice(base, (size_t)colon + 2, base.size) : base;
    const bool overloads =
        base.size == name.size || is_word(sc_str_slice(name, base.size + 1, name.size));
    if (!is_word(space) || !is_word(stem) || !overloads)
        return sc_fail(ctx, SC_ERR_ARGUMENT, form,
                       "the name of an operator is namespace::name or namespace::name.overload, "
                       "not '" SC_STR_FMT "'",
                       SC_STR_ARG(name));
    if (is_reserved(space))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Choose a namespace of your own.",
                       "the namespace of '" SC_STR_FMT "' is reserved", SC_STR_ARG(name));
    if (overload.size && (!is_word(overload) || sc_str_is(overload, "default")))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give the overload alone, such as 'out'.",
                       "'" SC_STR_FMT "' is not the overload of an out variant",
                       SC_STR_ARG(overload));
    return SC_OK;
}

static const char *out_name(sc_arena *arena, sc_str name, sc_str overload) {
    const sc_str base = base_of(name);
    if (overload.size)
        return sc_str_format(arena, SC_STR_FMT ".%.*s", SC_STR_ARG(base), (int)overload.size,
                             overload.data)
            .data;
    return sc_str_format(arena, SC_STR_FMT "%s", SC_STR_ARG(name),
                         base.size == name.size ? ".out" : "_out")
        .data;
}

// --- Types ---------------------------------------------------------------------------------------

static bool is_storable(sc_param_type type) {
    switch (type) {
    case SC_PARAM_TENSOR:
    case SC_PARAM_INT:
    case SC_PARAM_FLOAT:
    case SC_PARAM_BOOL:
    case SC_PARAM_SCALAR:
    case SC_PARAM_STR:
    case SC_PARAM_DTYPE: return true;
    default: return false;
    }
}

static bool default_fits(const sc_param *param) {
    if (param->is_list) {
        const bool ints = param->type == SC_PARAM_INT || param->default_ints_count == 0;
        return param->default_kind == SC_DEFAULT_INTS && ints;
    }
    switch (param->type) {
    case SC_PARAM_INT:
    case SC_PARAM_DTYPE: return param->default_kind == SC_DEFAULT_INT;
    case SC_PARAM_FLOAT: return param->default_kind == SC_DEFAULT_FLOAT;
    case SC_PARAM_BOOL: return param->default_kind == SC_DEFAULT_BOOL;
    case SC_PARAM_STR: return param->default_kind == SC_DEFAULT_STR;
    case SC_PARAM_SCALAR:
        return param->default_kind == SC_DEFAULT_INT || param->default_kind == SC_DEFAULT_FLOAT ||
               param->default_kind == SC_DEFAULT_BOOL;
    default: return false;
    }
}

static sc_status wrong(sc_ctx *ctx, const sc_schema *schema, const sc_param *param,
                       const char *what) {
    return sc_fail(ctx, SC_ERR_ARGUMENT, form, "%s: the parameter '" SC_STR_FMT "' %s",
                   schema->name.data, SC_STR_ARG(param->name), what);
}

static sc_status writes(sc_ctx *ctx, const sc_schema *schema) {
    return sc_fail(ctx, SC_ERR_UNSUPPORTED,
                   "Write the operator so that it returns new tensors, and copies what it changes.",
                   "%s writes to an operand or returns a view of one, as its marks say: only "
                   "operators that compute new tensors are supported",
                   schema->name.data);
}

static sc_status check_param(sc_ctx *ctx, const sc_schema *schema, uint32_t at) {
    const sc_param *param = &schema->params[at];
    const bool has_default = param->default_kind != SC_DEFAULT_REQUIRED;
    if (param->is_written || param->is_aliased) return writes(ctx, schema);
    if (!is_word(param->name)) return wrong(ctx, schema, param, "has a name that is no word");
    for (uint32_t i = 0; i < at; i++)
        if (sc_str_equal(schema->params[i].name, param->name))
            return wrong(ctx, schema, param, "comes twice");
    const bool is_odd_list =
        param->is_list && (param->type == SC_PARAM_STR || param->type == SC_PARAM_DTYPE ||
                           param->type == SC_PARAM_SCALAR);
    const bool is_odd_item = param->item_is_optional && param->type != SC_PARAM_TENSOR;
    if (!is_storable(param->type) || is_odd_list || is_odd_item)
        return sc_fail(ctx, SC_ERR_UNSUPPORTED,
                       "Use tensors, numbers, text, dtypes, and lists of tensors or numbers.",
                       "%s: a .pte file cannot store the type of the parameter '" SC_STR_FMT "'",
                       schema->name.data, SC_STR_ARG(param->name));
    if (param->default_kind == SC_DEFAULT_NONE) {
        if (!param->is_optional) return wrong(ctx, schema, param, "may not be None");
    } else if (has_default && !default_fits(param)) {
        return wrong(ctx, schema, param, "has a default of another type");
    }
    const sc_param *before = at ? &schema->params[at - 1] : NULL;
    if (!has_default && !param->keyword_only && before &&
        before->default_kind != SC_DEFAULT_REQUIRED)
        return wrong(ctx, schema, param, "has no default, but the one before it has");
    return SC_OK;
}

static sc_status check_returns(sc_ctx *ctx, const sc_schema *schema) {
    for (uint32_t i = 0; i < schema->return_count; i++)
        if (schema->returns[i].is_marked) return writes(ctx, schema);
    for (uint32_t i = 0; i < schema->return_count; i++) {
        const sc_return *result = &schema->returns[i];
        if (result->type != SC_PARAM_TENSOR || result->is_list || result->is_optional)
            return sc_fail(ctx, SC_ERR_UNSUPPORTED,
                           "Return one tensor, or several: -> (Tensor, Tensor).",
                           "%s: result %u is not a tensor", schema->name.data, i);
    }
    if (schema->return_count) return SC_OK;
    return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Return a tensor.", "%s has no result",
                   schema->name.data);
}

// --- The whole -----------------------------------------------------------------------------------

static sc_status check_text(sc_ctx *ctx, sc_str text) {
    if (text.size > TEXT_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, form,
                       "the schema of an operator has %zu bytes, more "
                       "than %d",
                       text.size, TEXT_MAX);
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < ' ' || text.data[i] > '~')
            return sc_fail(ctx, SC_ERR_ARGUMENT, form,
                           "the schema of an operator has a byte that is no ASCII text, at %zu", i);
    return SC_OK;
}

static sc_status parse(sc_ctx *ctx, sc_arena *arena, sc_str text, sc_schema *schema) {
    const sc_diag_mark mark = sc_diags_mark(ctx);
    if (sc_schema_parse(ctx, arena, text, schema) == SC_OK) return SC_OK;
    const sc_str what = sc_vec_last(&ctx->diags).message;
    sc_diags_rewind(ctx, mark);
    return sc_fail(ctx, SC_ERR_ARGUMENT, form, SC_STR_FMT " of '" SC_STR_FMT "'", SC_STR_ARG(what),
                   SC_STR_ARG(text));
}

sc_status sc_own_read(sc_ctx *ctx, sc_arena *arena, sc_str text, sc_str overload, sc_op *out) {
    SC_TRY(check_text(ctx, text));
    sc_schema *schema = sc_new(arena, sc_schema);
    SC_TRY(parse(ctx, arena, sc_str_copy(arena, text), schema));
    if (sc_str_ends_with(schema->name, ".default")) schema->name.size -= 8;
    SC_TRY(check_name(ctx, schema->name, overload));
    schema->name = sc_str_copy(arena, schema->name);
    for (uint32_t i = 0; i < schema->param_count; i++) SC_TRY(check_param(ctx, schema, i));
    SC_TRY(check_returns(ctx, schema));
    *out = (sc_op){.id = SC_OP_FOREIGN,
                   .traits = SC_OWN,
                   .name = schema->name.data,
                   .out_name = out_name(arena, schema->name, overload),
                   .schema = schema};
    if (strlen(out->out_name) > NAME_BYTES_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, "Choose a shorter name.",
                       "%s has more than %d characters, the most that a .pte file can store",
                       out->out_name, NAME_BYTES_MAX);
    return SC_OK;
}

static sc_status check_new(sc_ctx *ctx, const sc_op *op, uint32_t count) {
    if (count == OWN_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "%d operators are registered, which is the most",
                       OWN_MAX);
    const sc_str out = sc_str_from(op->out_name);
    const size_t dot = (size_t)sc_str_find_last(out, '.');
    if (!sc_op_find(sc_str_from(op->name)) &&
        !sc_op_find_out(sc_str_slice(out, 0, dot), sc_str_slice(out, dot + 1, out.size)))
        return SC_OK;
    return sc_fail(ctx, SC_ERR_ARGUMENT, "Give the operator another name.",
                   "an operator %s, or its variant %s, is known already", op->name, op->out_name);
}

sc_status sc_own_add(sc_ctx *ctx, sc_str schema, sc_str overload, const struct sc_kernel *kernel) {
    static uint32_t count;
    sc_arena scratch;
    sc_op read;
    sc_arena_init(&scratch);
    sc_status status = sc_own_read(ctx, &scratch, schema, overload, &read);
    if (status == SC_OK) status = check_new(ctx, &read, count);
    sc_arena_deinit(&scratch);
    SC_TRY(status);
    sc_op *op = sc_new(sc_ops_arena(), sc_op);
    SC_TRY(sc_own_read(ctx, sc_ops_arena(), schema, overload, op));
    op->kernel = kernel;
    op->traits |= kernel ? SC_RUNS : 0;
    SC_ASSERT(sc_ops_adopt(op));
    count++;
    return SC_OK;
}

const sc_op *sc_own_registered(const sc_op *foreign) {
    const sc_op *op = sc_op_find(sc_str_from(foreign->name));
    return op && sc_op_has(op, SC_OWN) ? op : NULL;
}

const sc_op *sc_own_stated(sc_arena *arena, const sc_op *foreign, const sc_schema *schema) {
    sc_op *op = sc_new(arena, sc_op);
    *op = (sc_op){.id = SC_OP_FOREIGN,
                  .traits = SC_OWN,
                  .name = foreign->name,
                  .out_name = out_name(arena, sc_str_from(foreign->name), (sc_str){0}),
                  .schema = schema};
    return op;
}
