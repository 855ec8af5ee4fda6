// Arguments: tagged unions of values, constants, lists of both, and graphs. Nodes name the values
// that they define and use in the same encoding. Definitions are read as slots, uses as sc_arg.
#include "pt2/pt2.h"

enum { NESTING_MAX = 4 };

static sc_status fail_tag(sc_pt2_scope *scope, sc_str tag) {
    tag = sc_str_slice(tag, 0, 64);
    return sc_fail(scope->imp->ctx, SC_ERR_FORMAT, NULL,
                   "argument '" SC_STR_FMT "' is unknown or malformed", SC_STR_ARG(tag));
}

// The decoded name of {"name": text}; empty if there is none.
static sc_str name_of(sc_pt2_scope *scope, const sc_json *json, const char *key) {
    return sc_json_str(scope->imp->work, sc_json_get(json, key));
}

// --- Slots: what an Argument defines -------------------------------------------------------------

typedef struct slot_row {
    const char *tag, *name_key;
    sc_value_type type;
} slot_row;

static const slot_row slot_rows[] = {
    {"as_tensor", "name", SC_VALUE_TENSOR},     {"as_sym_int", "as_name", SC_VALUE_INT},
    {"as_sym_bool", "as_name", SC_VALUE_BOOL},  {"as_sym_float", "as_name", SC_VALUE_FLOAT},
    {"as_custom_obj", "name", SC_VALUE_OPAQUE},
};

// Plain constants: the type of each as a value.
static sc_value_type constant_type(sc_str tag) {
    if (sc_str_is(tag, "as_int") || sc_str_is(tag, "as_sym_int")) return SC_VALUE_INT;
    if (sc_str_is(tag, "as_bool") || sc_str_is(tag, "as_sym_bool")) return SC_VALUE_BOOL;
    if (sc_str_is(tag, "as_float") || sc_str_is(tag, "as_sym_float")) return SC_VALUE_FLOAT;
    return sc_str_is(tag, "as_none") ? SC_VALUE_NONE : SC_VALUE_OPAQUE;
}

sc_status sc_pt2_read_slot(sc_pt2_scope *scope, const sc_json *json, sc_pt2_slot *out) {
    sc_str tag;
    const sc_json *value;
    SC_TRY(sc_json_union(scope->imp->ctx, json, "argument", &tag, &value));
    *out = (sc_pt2_slot){.name = SC_STR("")};
    for (size_t i = 0; i < SC_COUNT_OF(slot_rows); i++)
        if (sc_str_is(tag, slot_rows[i].tag)) {
            out->type = slot_rows[i].type;
            out->name = name_of(scope, value, slot_rows[i].name_key);
        }
    if (out->name.size) return SC_OK;
    if (sc_str_is(tag, "as_tensor")) return fail_tag(scope, tag);
    out->type = constant_type(tag);
    out->constant = json;
    return SC_OK;
}

static sc_status add_tensor_slots(sc_pt2_scope *scope, sc_str tag, const sc_json *list,
                                  sc_pt2_slots *out) {
    if (list->kind != SC_JSON_ARRAY) return fail_tag(scope, tag);
    const sc_json *item = sc_json_first(list);
    for (uint32_t i = 0; i < list->size; i++, item = sc_json_next(item)) {
        sc_pt2_slot slot = {.type = SC_VALUE_TENSOR, .name = name_of(scope, item, "name")};
        if (sc_str_is(tag, "as_optional_tensors"))
            SC_TRY(sc_pt2_read_slot(scope, item, &slot));
        else if (slot.name.size == 0)
            return fail_tag(scope, tag);
        sc_vec_push(scope->imp->ctx->scratch, out, slot);
    }
    return SC_OK;
}

sc_status sc_pt2_read_slots(sc_pt2_scope *scope, const sc_json *json, sc_pt2_slots *out) {
    sc_str tag;
    const sc_json *value;
    sc_pt2_slot slot;
    SC_TRY(sc_json_union(scope->imp->ctx, json, "output", &tag, &value));
    if (sc_str_is(tag, "as_tensors") || sc_str_is(tag, "as_optional_tensors"))
        return add_tensor_slots(scope, tag, value, out);
    if (sc_str_is(tag, "as_optional_tensor")) json = value;
    SC_TRY(sc_pt2_read_slot(scope, json, &slot));
    sc_vec_push(scope->imp->ctx->scratch, out, slot);
    return SC_OK;
}

sc_status sc_pt2_define(sc_pt2_scope *scope, sc_str name, sc_value *value) {
    if (!sc_map_add(&scope->values, name, value))
        return sc_fail(scope->imp->ctx, SC_ERR_CORRUPT, NULL, "'" SC_STR_FMT "' is defined twice",
                       SC_STR_ARG(name));
    return SC_OK;
}

// --- Uses ----------------------------------------------------------------------------------------

typedef sc_status reader(sc_pt2_scope *scope, const sc_json *json, sc_arg *out);

static sc_status use_value(sc_pt2_scope *scope, sc_str name, sc_arg *out) {
    void **value = sc_map_find(&scope->values, name);
    if (!value || name.size == 0)
        return sc_fail(scope->imp->ctx, SC_ERR_CORRUPT, NULL,
                       "'" SC_STR_FMT "' is used before it is defined", SC_STR_ARG(name));
    // Tokens only order effects, and the program's order does that already.
    *out = *value ? sc_arg_value(*value) : sc_arg_none();
    return SC_OK;
}

static sc_status read_none(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    (void)scope, (void)json;
    *out = sc_arg_none();
    return SC_OK;
}

static sc_status read_tensor(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    return use_value(scope, name_of(scope, json, "name"), out);
}

// uint64 scalars beyond the range of int64 keep their bits.
static sc_status read_int(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    if (json->kind != SC_JSON_INT && json->kind != SC_JSON_UINT)
        return fail_tag(scope, SC_STR("as_int"));
    *out = sc_arg_int(json->kind == SC_JSON_INT ? json->integer : (int64_t)json->natural);
    return SC_OK;
}

static sc_status read_float(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    double value;
    if (!sc_json_f64(json, &value)) return fail_tag(scope, SC_STR("as_float"));
    *out = sc_arg_float(value);
    return SC_OK;
}

static sc_status read_bool(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    bool value;
    if (!sc_json_bool(json, &value)) return fail_tag(scope, SC_STR("as_bool"));
    *out = sc_arg_bool(value);
    return SC_OK;
}

static sc_status read_string(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    if (json->kind != SC_JSON_STRING) return fail_tag(scope, SC_STR("as_string"));
    *out = sc_arg_str(sc_pt2_keep(scope->imp, json));
    return SC_OK;
}

// SymIntArgument and similar arguments: {"as_name": text} or a constant.
static sc_status read_symbolic(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    sc_str tag;
    const sc_json *value;
    SC_TRY(sc_json_union(scope->imp->ctx, json, "symbolic argument", &tag, &value));
    if (sc_str_is(tag, "as_name"))
        return use_value(scope, sc_json_str(scope->imp->work, value), out);
    if (sc_str_is(tag, "as_int")) return read_int(scope, value, out);
    if (sc_str_is(tag, "as_float")) return read_float(scope, value, out);
    return sc_str_is(tag, "as_bool") ? read_bool(scope, value, out) : fail_tag(scope, tag);
}

static sc_status read_scalar_type(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    int64_t code;
    if (!sc_json_i64(json, &code)) return fail_tag(scope, SC_STR("as_scalar_type"));
    sc_dtype dtype = sc_pt2_dtype(scope->imp, code);
    if (dtype == SC_DTYPE_NONE)
        return sc_pt2_refuse_dtype(scope->imp->ctx, SC_STR("an argument"), code);
    *out = sc_arg_dtype(dtype);
    return SC_OK;
}

static sc_status read_memory_format(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    static const sc_memory_format formats[] = {
        SC_MEMORY_FORMAT_CONTIGUOUS, SC_MEMORY_FORMAT_CONTIGUOUS, SC_MEMORY_FORMAT_CHANNELS_LAST,
        SC_MEMORY_FORMAT_CHANNELS_LAST_3D, SC_MEMORY_FORMAT_PRESERVE};
    int64_t code;
    if (!sc_json_i64(json, &code) || code < 1 || code >= (int64_t)SC_COUNT_OF(formats))
        return fail_tag(scope, SC_STR("as_memory_format"));
    *out = sc_arg_format(formats[code]);
    return SC_OK;
}

// 0 is strided in this project and unknown in PyTorch.
static sc_status read_layout(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    int64_t code;
    if (!sc_json_i64(json, &code) || code < 0 || code > 7)
        return fail_tag(scope, SC_STR("as_layout"));
    *out = (sc_arg){.kind = SC_ARG_LAYOUT, .code = code == 7 ? 0 : (uint8_t)(code ? code : 7)};
    return SC_OK;
}

static sc_status read_device(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    const sc_json *type = sc_json_get(json, "type"), *index = sc_json_get(json, "index");
    if (!type || type->kind != SC_JSON_STRING) return fail_tag(scope, SC_STR("as_device"));
    sc_str name = sc_pt2_keep(scope->imp, type);
    if (index && index->kind == SC_JSON_INT)
        name = sc_str_format(scope->imp->ctx->arena, SC_STR_FMT ":%lld", SC_STR_ARG(name),
                             (long long)index->integer);
    *out = (sc_arg){.kind = SC_ARG_DEVICE, .str = name};
    return SC_OK;
}

static sc_status read_graph(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    sc_graph *graph;
    SC_TRY(sc_pt2_read_subgraph(scope, json, &graph));
    *out = sc_arg_graph(graph);
    return SC_OK;
}

static sc_status read_list(sc_pt2_scope *scope, const sc_json *json, reader *item_reader,
                           sc_arg *out) {
    if (json->kind != SC_JSON_ARRAY)
        return sc_fail(scope->imp->ctx, SC_ERR_FORMAT, NULL, "a list argument is not a list");
    sc_arg *items = sc_new_array(scope->imp->ctx->scratch, sc_arg, json->size);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item))
        SC_TRY(item_reader(scope, item, &items[i]));
    *out = sc_arg_list(items, json->size);
    return SC_OK;
}

static sc_status read_ints(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    return read_list(scope, json, read_int, out);
}

static sc_status read_floats(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    return read_list(scope, json, read_float, out);
}

static sc_status read_tensors(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    return read_list(scope, json, read_tensor, out);
}

// Each argument under its name, as a list of pairs.
static sc_status read_string_map(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    if (json->kind != SC_JSON_OBJECT) return fail_tag(scope, SC_STR("as_string_to_argument"));
    if (++scope->arg_depth > NESTING_MAX)
        return sc_fail(scope->imp->ctx, SC_ERR_LIMIT, NULL, "arguments are nested too deeply");
    sc_arg *pairs = sc_new_array(scope->imp->ctx->scratch, sc_arg, 2 * (size_t)json->size);
    const sc_json *key = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, key = sc_json_next(key + 1)) {
        pairs[2 * i] = sc_arg_str(sc_pt2_keep(scope->imp, key));
        SC_TRY(sc_pt2_read_arg(scope, key + 1, &pairs[2 * i + 1]));
    }
    scope->arg_depth--;
    *out = sc_arg_list(pairs, 2 * json->size);
    return SC_OK;
}

// Optional tensors are unions again: as_tensor or as_none.
static sc_status read_optional_tensor(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    sc_str tag;
    const sc_json *value;
    SC_TRY(sc_json_union(scope->imp->ctx, json, "optional tensor", &tag, &value));
    if (sc_str_is(tag, "as_none")) return read_none(scope, value, out);
    return sc_str_is(tag, "as_tensor") ? read_tensor(scope, value, out) : fail_tag(scope, tag);
}

typedef struct arg_row {
    const char *tag;
    reader *read;
    bool is_list;  // reads one item
} arg_row;

// Most frequent first.
static const arg_row arg_rows[] = {
    {"as_tensor", read_tensor, false},
    {"as_int", read_int, false},
    {"as_ints", read_int, true},
    {"as_float", read_float, false},
    {"as_bool", read_bool, false},
    {"as_none", read_none, false},
    {"as_scalar_type", read_scalar_type, false},
    {"as_tensors", read_tensor, true},
    {"as_sym_int", read_symbolic, false},
    {"as_sym_ints", read_symbolic, true},
    {"as_string", read_string, false},
    {"as_strings", read_string, true},
    {"as_device", read_device, false},
    {"as_memory_format", read_memory_format, false},
    {"as_layout", read_layout, false},
    {"as_floats", read_float, true},
    {"as_bools", read_bool, true},
    {"as_sym_bool", read_symbolic, false},
    {"as_sym_bools", read_symbolic, true},
    {"as_sym_float", read_symbolic, false},
    {"as_sym_floats", read_symbolic, true},
    {"as_optional_tensor", read_optional_tensor, false},
    {"as_optional_tensors", read_optional_tensor, true},
    {"as_graph", read_graph, false},
    {"as_operator", read_string, false},
    {"as_custom_obj", read_tensor, false},
    {"as_complex", sc_pt2_read_complex, false},
    {"as_nested_tensors", read_tensors, true},
    {"as_int_lists", read_ints, true},
    {"as_float_lists", read_floats, true},
    {"as_string_to_argument", read_string_map, false},
};

sc_status sc_pt2_read_arg(sc_pt2_scope *scope, const sc_json *json, sc_arg *out) {
    sc_str tag;
    const sc_json *value;
    SC_TRY(sc_json_union(scope->imp->ctx, json, "argument", &tag, &value));
    for (size_t i = 0; i < SC_COUNT_OF(arg_rows); i++)
        if (sc_str_is(tag, arg_rows[i].tag))
            return arg_rows[i].is_list ? read_list(scope, value, arg_rows[i].read, out)
                                       : arg_rows[i].read(scope, value, out);
    return fail_tag(scope, tag);
}
