// Arguments of a call as the user writes them: converts JSON to the kinds of the operator's schema.
#include "api/edit/edit.h"
#include "ir/text.h"

typedef struct reader {
    sc_edit *edit;
    const sc_op *op;
    const sc_param *param;  // NULL: an output of a graph
} reader;

static sc_status wrong(const reader *r, const char *wanted) {
    sc_ctx *ctx = &r->edit->job->ctx;
    if (!r->param)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "an output of a graph must be %s", wanted);
    return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "argument '" SC_STR_FMT "' of %s must be %s",
                   SC_STR_ARG(r->param->name), r->op->name, wanted);
}

static sc_status read_dtype(const reader *r, sc_str text, sc_arg *out) {
    const sc_dtype dtype = sc_dtype_from_short(text);
    if (dtype == SC_DTYPE_NONE) return wrong(r, "a dtype, such as 'float32'");
    *out = sc_arg_dtype(dtype);
    return SC_OK;
}

static sc_status read_format(const reader *r, sc_str text, sc_arg *out) {
    for (uint32_t code = 0; code < SC_COUNT_OF(sc_text_formats); code++) {
        if (!sc_str_is(text, sc_text_formats[code])) continue;
        *out = sc_arg_format((sc_memory_format)code);
        return SC_OK;
    }
    return wrong(r, "a memory format, such as 'channels_last'");
}

static sc_status read_text(const reader *r, const sc_json *json, sc_arg *out) {
    sc_arena *arena = r->edit->job->ctx.arena;
    const sc_str text = sc_str_copy(arena, sc_json_str(arena, json));
    switch (r->param ? r->param->type : SC_PARAM_STR) {
    case SC_PARAM_DTYPE: return read_dtype(r, text, out);
    case SC_PARAM_MEMORY_FORMAT: return read_format(r, text, out);
    case SC_PARAM_LAYOUT:
        *out = (sc_arg){.kind = SC_ARG_LAYOUT};
        return sc_str_is(text, "strided") ? SC_OK : wrong(r, "'strided'");
    case SC_PARAM_DEVICE: *out = (sc_arg){.kind = SC_ARG_DEVICE, .str = text}; return SC_OK;
    case SC_PARAM_STR: *out = sc_arg_str(text); return SC_OK;
    default: return wrong(r, "a number, a tensor or a list of these, not text");
    }
}

// A number may stand for a tensor, but not for one that may be absent, such as a bias.
static bool is_only_tensor(const reader *r) {
    return r->param && r->param->type == SC_PARAM_TENSOR && r->param->is_optional;
}

// {"v": value}, {"g": body}, {"f": a float, also a whole number} or {"i": an integer as text}.
static sc_status read_tagged(const reader *r, const sc_json *json, sc_arg *out) {
    const sc_json *value = sc_json_get(json, "v"), *graph = sc_json_get(json, "g");
    const sc_json *number = sc_json_get(json, "f");
    if (value) {
        sc_value *found = NULL;
        SC_TRY(sc_edit_value(r->edit, value, &found));
        *out = sc_arg_value(found);
        return SC_OK;
    }
    if (graph) {
        sc_graph *found = NULL;
        SC_TRY(sc_edit_graph(r->edit, graph, &found));
        *out = sc_arg_graph(found);
        return SC_OK;
    }
    if (is_only_tensor(r)) return wrong(r, "a tensor or null");
    int64_t i = 0;
    if (sc_parse_i64(sc_json_str(r->edit->job->ctx.scratch, sc_json_get(json, "i")), &i)) {
        *out = sc_arg_int(i);
        return SC_OK;
    }
    double f = 0;
    if (!sc_json_f64(number, &f)) return wrong(r, "a value, a body, a number, text or a list");
    *out = sc_arg_float(f);
    return SC_OK;
}

static sc_status read_item(const reader *r, const sc_json *json, sc_arg *out) {
    double f = 0;
    switch ((sc_json_kind)json->kind) {
    case SC_JSON_NULL: *out = sc_arg_none(); return SC_OK;
    case SC_JSON_BOOL:
        if (is_only_tensor(r)) return wrong(r, "a tensor or null");
        *out = sc_arg_bool(json->boolean);
        return SC_OK;
    case SC_JSON_INT:
        if (is_only_tensor(r)) return wrong(r, "a tensor or null");
        *out = sc_arg_int(json->integer);
        return SC_OK;
    case SC_JSON_FLOAT:
        if (is_only_tensor(r)) return wrong(r, "a tensor or null");
        if (!sc_json_f64(json, &f)) return wrong(r, "a number");
        *out = sc_arg_float(f);
        return SC_OK;
    case SC_JSON_STRING: return read_text(r, json, out);
    case SC_JSON_OBJECT: return read_tagged(r, json, out);
    case SC_JSON_UINT: return wrong(r, "an integer of 64 bits");
    case SC_JSON_ARRAY: break;
    }
    return wrong(r, "no list inside of a list");
}

sc_status sc_edit_read_arg(sc_edit *edit, const sc_op *op, const sc_param *param,
                           const sc_json *json, sc_arg *out) {
    const reader r = {edit, op, param};
    if (!json) return wrong(&r, "given");
    if (json->kind != SC_JSON_ARRAY) return read_item(&r, json, out);
    sc_arg *items = sc_new_array(edit->job->ctx.scratch, sc_arg, json->size ? json->size : 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item))
        SC_TRY(read_item(&r, item, &items[i]));
    *out = sc_arg_list(items, json->size);
    return SC_OK;
}

// --- All arguments of a call ---------------------------------------------------------------------

static sc_status read_named(sc_edit *edit, const sc_op *op, const sc_json *kwargs, sc_arg *given,
                            bool *is_given) {
    sc_ctx *ctx = &edit->job->ctx;
    const sc_json *key = sc_json_first(kwargs);
    for (uint32_t n = kwargs->size; n--; key = sc_json_next(key + 1)) {
        const sc_str name = sc_json_str(ctx->scratch, key);
        const int32_t at = sc_op_param_index(op, sc_str_dup(ctx->scratch, name));
        if (at < 0)
            return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "%s has no argument '" SC_STR_FMT "'",
                           op->name, SC_STR_ARG(name));
        if (is_given[at])
            return sc_fail(ctx, SC_ERR_ARGUMENT, NULL,
                           "argument '" SC_STR_FMT "' of %s is given twice", SC_STR_ARG(name),
                           op->name);
        is_given[at] = true;
        SC_TRY(sc_edit_read_arg(edit, op, &op->schema->params[at], key + 1, &given[at]));
    }
    return SC_OK;
}

// Positional arguments fill the parameters that are not keyword-only.
static sc_status read_positional(sc_edit *edit, const sc_op *op, const sc_json *args, sc_arg *given,
                                 bool *is_given) {
    const sc_schema *schema = op->schema;
    const sc_json *item = sc_json_first(args);
    for (uint32_t i = 0; i < args->size; i++, item = sc_json_next(item)) {
        if (i >= schema->param_count || schema->params[i].keyword_only)
            return sc_fail(&edit->job->ctx, SC_ERR_ARGUMENT, NULL,
                           "%s takes %u arguments by position, not %u", op->name, i, args->size);
        is_given[i] = true;
        SC_TRY(sc_edit_read_arg(edit, op, &schema->params[i], item, &given[i]));
    }
    return SC_OK;
}

sc_status sc_edit_read_args(sc_edit *edit, const sc_op *op, const sc_json *args,
                            const sc_json *kwargs, sc_arg **out) {
    sc_ctx *ctx = &edit->job->ctx;
    const sc_schema *schema = op->schema;
    sc_arg *given = sc_new_array(ctx->scratch, sc_arg, schema->param_count + 1);
    bool *is_given = sc_new_array(ctx->scratch, bool, schema->param_count + 1);
    if (args && args->kind == SC_JSON_ARRAY)
        SC_TRY(read_positional(edit, op, args, given, is_given));
    if (kwargs && kwargs->kind == SC_JSON_OBJECT)
        SC_TRY(read_named(edit, op, kwargs, given, is_given));
    for (uint32_t i = 0; i < schema->param_count; i++) {
        const sc_param *param = &schema->params[i];
        if (is_given[i]) continue;
        if (param->default_kind == SC_DEFAULT_REQUIRED)
            return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "%s needs the argument '" SC_STR_FMT "'",
                           op->name, SC_STR_ARG(param->name));
        given[i] = sc_arg_default(ctx->scratch, param);
    }
    return sc_args_complete(ctx, ctx->scratch, op, given, schema->param_count, out);
}
