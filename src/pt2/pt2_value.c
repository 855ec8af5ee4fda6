// Value tables: a graph's facts about its tensors and numbers, and the symbols in their sizes.
#include "base/print.h"
#include "pt2/pt2.h"

#include <math.h>

enum { LAYOUT_STRIDED = 7 };

void sc_pt2_importer_init(sc_pt2_importer *imp, sc_ctx *ctx, sc_arena *work, sc_method *method) {
    *imp = (sc_pt2_importer){.ctx = ctx, .work = work, .method = method};
    sc_map_init(&imp->texts, work);
    sc_map_init(&imp->dims, work);
    sc_map_init(&imp->foreign, work);
    sc_map_init(&imp->written, work);
    sc_map_init(&imp->payloads.weights, work);
    sc_map_init(&imp->payloads.constants, work);
}

sc_dtype sc_pt2_dtype(const sc_pt2_importer *imp, int64_t code) {
    return imp->is_serde ? sc_dtype_from_serde(code) : sc_dtype_from_pt2(code);
}

sc_status sc_pt2_refuse_dtype(sc_ctx *ctx, sc_str what, int64_t code) {
    enum { FLOAT8_E8M0FNU = 33 };
    const bool is_exponent = code == FLOAT8_E8M0FNU;
    char number[24];
    sc_print(number, sizeof number, "%lld", (long long)code);
    return sc_fail(ctx, SC_ERR_DTYPE,
                   is_exponent ? "Use another type there: torch.float8_e4m3fn, torch.bfloat16."
                               : NULL,
                   SC_STR_FMT " has dtype %s, which is not supported", SC_STR_ARG(what),
                   is_exponent ? "float8_e8m0fnu" : number);
}

sc_str sc_pt2_keep(sc_pt2_importer *imp, const sc_json *string) {
    if (!string || string->kind != SC_JSON_STRING || string->size == 0) return SC_STR("");
    sc_str *known = sc_map_get(&imp->texts, sc_json_raw(string));
    if (!known) {
        known = sc_new(imp->work, sc_str);
        *known = sc_str_copy(imp->ctx->arena, sc_json_str(imp->work, string));
        sc_map_set(&imp->texts, sc_json_raw(string), known);
    }
    return *known;
}

// --- Expressions ---------------------------------------------------------------------------------

// An expression that only PyTorch understands (such as a float function) becomes a symbol of its
// own. The same text is the same symbol, so equal sizes stay equal.
static sc_status parse_expression(sc_pt2_importer *imp, sc_str text, sc_dim *out) {
    sc_ctx *ctx = imp->ctx;
    const sc_diag_mark mark = sc_diags_mark(ctx);
    sc_status status = sc_dim_parse(ctx, imp->method->exprs, text, out);
    if (status != SC_ERR_UNSUPPORTED) return status;
    sc_diags_rewind(ctx, mark);
    sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED,
              "Export with this size static, or compute it with whole numbers.",
              "the expression " SC_STR_FMT " cannot be read, so its value is treated as unknown",
              SC_STR_ARG(text));
    // The name differs from PyTorch's own symbols, which may come later.
    char name[24];
    sc_print(name, sizeof(name), "unknown%u", imp->unknown_count++);
    sc_symbol *symbol = sc_exprs_symbol(imp->method->exprs, sc_str_from(name));
    symbol->range = (sc_range){0, SC_DIM_INF};
    *out = sc_dim_from_symbol(imp->method->exprs, symbol);
    return SC_OK;
}

// The example value of 2*s0 + 1 gives one of s0, too, if that is a whole number.
static void set_hint(sc_dim dim, const sc_json *hint) {
    sc_symbol *symbol;
    int64_t value, scale, offset, example;
    if (!sc_dim_linear(dim, &symbol, &scale, &offset) || symbol->has_hint) return;
    if (!sc_json_i64(sc_json_get(hint, "as_int"), &value)) return;
    sc_dim rest = sc_dim_sub(NULL, sc_dim_int(value), sc_dim_int(offset));
    symbol->hint = sc_dim_floordiv(NULL, rest, sc_dim_int(scale)).value;
    symbol->has_hint = true;
    symbol->has_hint = sc_dim_hint(dim, &example) && example == value;
}

// {"expr_str": text, "hint": {"as_int": n} | null}
static sc_status read_expression(sc_pt2_importer *imp, const sc_json *json, sc_dim *out) {
    const sc_json *text = sc_json_get(json, "expr_str");
    if (!text || text->kind != SC_JSON_STRING)
        return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "an expression without expr_str");
    sc_dim *known = sc_map_get(&imp->dims, sc_json_raw(text));
    if (!known) {
        sc_dim dim;
        SC_TRY(parse_expression(imp, sc_json_str(imp->work, text), &dim));
        known = sc_new(imp->work, sc_dim);
        *known = dim;
        sc_map_set(&imp->dims, sc_json_raw(text), known);
        set_hint(dim, sc_json_get(json, "hint"));
    }
    *out = *known;
    return SC_OK;
}

// SymInt and SymBool, a number or an expression: {"as_int": n} | {"as_bool": b} | {"as_expr":
// {...}}. `what` is for messages.
static sc_status read_dim(sc_pt2_importer *imp, const sc_json *json, const char *what,
                          sc_dim *out) {
    sc_str tag;
    const sc_json *value;
    bool boolean;
    *out = sc_dim_int(0);
    SC_TRY(sc_json_union(imp->ctx, json, what, &tag, &value));
    if (sc_str_is(tag, "as_int") && sc_json_i64(value, &out->value)) return SC_OK;
    if (sc_str_is(tag, "as_expr")) return read_expression(imp, value, out);
    if (sc_str_is(tag, "as_bool") && sc_json_bool(value, &boolean)) {
        out->value = boolean;
        return SC_OK;
    }
    return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "%s is neither a number nor an expression", what);
}

// A bound may be absent, null, an integer, or an infinite float. For an unbacked symbol without a
// known bound, PyTorch writes the largest integer less one.
static int64_t read_bound(const sc_json *json, int64_t infinity) {
    int64_t value;
    double real;
    if (sc_json_i64(json, &value)) return value >= INT64_MAX - 1 ? SC_DIM_INF : value;
    if (!sc_json_f64(json, &real) || isnan(real)) return infinity;
    if (real >= 9.2e18) return SC_DIM_INF;
    return real <= -9.2e18 ? SC_DIM_NEG_INF : (int64_t)real;
}

// Keys that are no symbols bound an expression of one symbol, which has its own entry.
sc_status sc_pt2_read_range(sc_pt2_importer *imp, const sc_json *key, const sc_json *json) {
    sc_dim dim;
    sc_json_field f[2] = {{.name = "min_val"}, {.name = "max_val"}};
    SC_TRY(sc_json_pick(imp->ctx, json, "range constraint", f, 2));
    SC_TRY(parse_expression(imp, sc_json_str(imp->work, key), &dim));
    sc_symbol *symbol = sc_dim_symbol(dim);
    if (!symbol) return SC_OK;
    symbol->range.min = sc_max_i64(symbol->range.min, read_bound(f[0].value, SC_DIM_NEG_INF));
    symbol->range.max = sc_min_i64(symbol->range.max, read_bound(f[1].value, SC_DIM_INF));
    if (symbol->range.min > symbol->range.max)
        return sc_fail(imp->ctx, SC_ERR_CORRUPT, NULL, "the range of %s is empty",
                       symbol->name->text);
    return SC_OK;
}

// --- Tensors -------------------------------------------------------------------------------------

enum { META_DTYPE, META_SIZES, META_GRAD, META_STRIDES, META_OFFSET, META_LAYOUT, META_COUNT };

static sc_status read_natural(sc_pt2_importer *imp, const sc_json *json, const char *what,
                              sc_dim *out) {
    SC_TRY(read_dim(imp, json, what, out));
    if (sc_dim_is_int(*out) && out->value < 0)
        return sc_fail(imp->ctx, SC_ERR_CORRUPT, NULL, "a %s is negative", what);
    return SC_OK;
}

static sc_status read_dims(sc_pt2_importer *imp, const sc_json *json, const char *what,
                           sc_dim *out) {
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item))
        SC_TRY(read_natural(imp, item, what, &out[i]));
    return SC_OK;
}

static sc_status check_meta(const sc_pt2_importer *imp, const sc_json_field *f, sc_dtype *dtype) {
    sc_ctx *ctx = imp->ctx;
    const sc_json *sizes = f[META_SIZES].value, *strides = f[META_STRIDES].value;
    int64_t code, layout = LAYOUT_STRIDED;
    if (!sizes || sizes->kind != SC_JSON_ARRAY || !strides || strides->kind != SC_JSON_ARRAY ||
        strides->size != sizes->size || !sc_json_i64(f[META_DTYPE].value, &code))
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, "malformed tensor description");
    if (sizes->size > SC_RANK_MAX || sizes->size > ctx->limits.rank_max)
        return sc_fail(ctx, SC_ERR_LIMIT, "Reshape it to fewer dimensions.",
                       "a tensor has %u dimensions, but at most %d are supported", sizes->size,
                       SC_RANK_MAX);
    *dtype = sc_pt2_dtype(imp, code);
    if (*dtype == SC_DTYPE_NONE) return sc_pt2_refuse_dtype(ctx, SC_STR("a tensor"), code);
    if (sc_json_i64(f[META_LAYOUT].value, &layout) && layout != LAYOUT_STRIDED)
        return sc_fail(ctx, SC_ERR_UNSUPPORTED,
                       "Keep tensors dense in the model: leave out to_sparse() and the like.",
                       "a tensor is sparse");
    return SC_OK;
}

static sc_status read_spec(sc_pt2_importer *imp, const sc_json *json, sc_spec *out) {
    sc_json_field f[META_COUNT] = {{.name = "dtype"},          {.name = "sizes"},
                                   {.name = "requires_grad"},  {.name = "strides"},
                                   {.name = "storage_offset"}, {.name = "layout"}};
    sc_dtype dtype = SC_DTYPE_NONE;
    SC_TRY(sc_json_pick(imp->ctx, json, "tensor description", f, META_COUNT));
    SC_TRY(check_meta(imp, f, &dtype));
    *out = sc_spec_new(imp->ctx->arena, dtype, f[META_SIZES].value->size);
    SC_TRY(read_dims(imp, f[META_SIZES].value, "size", out->sizes));
    if (!sc_spec_products_fit(imp->method->exprs, out))
        return sc_fail(imp->ctx, SC_ERR_LIMIT, NULL, "a tensor has too many elements to count");
    SC_TRY(read_dims(imp, f[META_STRIDES].value, "stride", out->strides));
    out->offset = sc_dim_int(0);
    if (f[META_OFFSET].value)
        SC_TRY(read_natural(imp, f[META_OFFSET].value, "storage offset", &out->offset));
    sc_json_bool(f[META_GRAD].value, &out->requires_grad);
    return SC_OK;
}

sc_status sc_pt2_describe(sc_pt2_scope *scope, sc_value_type type, sc_str name, sc_value *out,
                          bool *known) {
    out->type = type;
    *known = true;
    if (type == SC_VALUE_TENSOR) {
        const sc_json *meta = sc_map_get(&scope->tensors, name);
        *known = meta != NULL;
        return meta ? read_spec(scope->imp, meta, &out->spec) : SC_OK;
    }
    if (type == SC_VALUE_INT || type == SC_VALUE_BOOL) {
        const sc_map *table = type == SC_VALUE_INT ? &scope->ints : &scope->bools;
        const sc_json *meta = sc_map_get(table, name);
        out->has_dim = meta != NULL;
        return meta ? read_dim(scope->imp, meta, "symbolic value", &out->dim) : SC_OK;
    }
    return SC_OK;
}
