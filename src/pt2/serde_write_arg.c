// Arguments, in the encodings that the official deserializer knows. Its schema is older than that
// of a .pt2, and cannot express floats computed at run time, complex numbers, or lists of lists.
#include <math.h>

#include "pt2/serde_write.h"

static sc_status fail_arg(sc_serde_writer *w, const char *what) {
    return sc_fail(w->ctx, SC_ERR_UNSUPPORTED, "Leave the program out of the record.",
                   "%s cannot be written to a record", what);
}

static void put_str(sc_serde_writer *w, const char *tag, sc_str value) {
    sc_json_begin_object(&w->json);
    sc_json_put_str(&w->json, tag, value);
    sc_json_end_object(&w->json);
}

static void add_float(sc_serde_writer *w, double value) {
    if (isnan(value))
        sc_json_add_raw(&w->json, SC_STR("NaN"));
    else if (isinf(value))
        sc_json_add_raw(&w->json, value > 0 ? SC_STR("Infinity") : SC_STR("-Infinity"));
    else
        sc_json_add_f64(&w->json, value);
}

static void put_tagged_bool(sc_serde_writer *w, const char *tag, bool value) {
    sc_json_begin_object(&w->json);
    sc_json_put_bool(&w->json, tag, value);
    sc_json_end_object(&w->json);
}

static void put_none(sc_serde_writer *w) {
    sc_json_begin_object(&w->json);
    sc_json_put_array(&w->json, "as_none");
    sc_json_end_array(&w->json);
    sc_json_end_object(&w->json);
}

static sc_status put_dtype(sc_serde_writer *w, sc_dtype dtype) {
    const uint8_t code = sc_dtype_to_serde(dtype);
    if (!code)
        return sc_fail(w->ctx, SC_ERR_DTYPE, "Leave the program out of the record.",
                       "records of programs cannot hold %s", sc_dtype_name(dtype));
    sc_serde_put_number(w, "as_scalar_type", code);
    return SC_OK;
}

static void put_format(sc_serde_writer *w, sc_memory_format format) {
    static const uint8_t codes[] = {[SC_MEMORY_FORMAT_CONTIGUOUS] = 1,
                                    [SC_MEMORY_FORMAT_PRESERVE] = 4,
                                    [SC_MEMORY_FORMAT_CHANNELS_LAST] = 2,
                                    [SC_MEMORY_FORMAT_CHANNELS_LAST_3D] = 3};
    sc_serde_put_number(w, "as_memory_format", codes[format]);
}

// "cuda:0" consists of a type and an index.
static void put_device(sc_serde_writer *w, sc_str device) {
    const ptrdiff_t colon = sc_str_find(device, ':');
    int64_t index = 0;
    const bool indexed =
        colon > 0 && sc_parse_i64(sc_str_slice(device, (size_t)colon + 1, device.size), &index);
    sc_json_begin_object(&w->json);
    sc_json_put_object(&w->json, "as_device");
    sc_json_put_str(&w->json, "type", indexed ? sc_str_slice(device, 0, (size_t)colon) : device);
    if (indexed) {
        sc_json_put_i64(&w->json, "index", index);
    }
    sc_json_end_object(&w->json);
    sc_json_end_object(&w->json);
}

sc_status sc_serde_put_value(sc_serde_writer *w, const sc_value *value) {
    const sc_str name = sc_serde_name(w, value);
    switch (value->type) {
    case SC_VALUE_TENSOR: sc_serde_put_named(w, "as_tensor", "name", name); return SC_OK;
    case SC_VALUE_INT: sc_serde_put_named(w, "as_sym_int", "as_name", name); return SC_OK;
    case SC_VALUE_BOOL: sc_serde_put_named(w, "as_sym_bool", "as_name", name); return SC_OK;
    case SC_VALUE_NONE: put_none(w); return SC_OK;
    case SC_VALUE_FLOAT: return fail_arg(w, "a float that is computed at run time");
    case SC_VALUE_OPAQUE: break;
    }
    return fail_arg(w, "an object that is not a tensor");
}

// --- Lists ---------------------------------------------------------------------------------------

// Kinds of items in a list, as bits.
enum {
    HAS_NONE = 1,
    HAS_INT = 2,
    HAS_FLOAT = 4,
    HAS_BOOL = 8,
    HAS_STR = 16,
    HAS_TENSOR = 32,
    HAS_SYM_INT = 64,
    HAS_SYM_BOOL = 128,
    HAS_OTHER = 256
};

static unsigned kind_of(const sc_arg *arg) {
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_NONE: return HAS_NONE;
    case SC_ARG_INT: return HAS_INT;
    case SC_ARG_FLOAT: return HAS_FLOAT;
    case SC_ARG_BOOL: return HAS_BOOL;
    case SC_ARG_STR: return HAS_STR;
    case SC_ARG_VALUE: break;
    default: return HAS_OTHER;
    }
    switch (arg->value->type) {
    case SC_VALUE_TENSOR: return HAS_TENSOR;
    case SC_VALUE_INT: return HAS_SYM_INT;
    case SC_VALUE_BOOL: return HAS_SYM_BOOL;
    case SC_VALUE_NONE: return HAS_NONE;
    default: return HAS_OTHER;
    }
}

static void add_name(sc_serde_writer *w, const sc_arg *item) {
    sc_json_begin_object(&w->json);
    sc_json_put_str(&w->json, "name", sc_serde_name(w, item->value));
    sc_json_end_object(&w->json);
}

static void add_int(sc_serde_writer *w, const sc_arg *item) { sc_json_add_i64(&w->json, item->i); }
static void add_real(sc_serde_writer *w, const sc_arg *item) {
    add_float(w, item->kind == SC_ARG_INT ? (double)item->i : item->f);
}
static void add_bool(sc_serde_writer *w, const sc_arg *item) {
    sc_json_add_bool(&w->json, item->b);
}
static void add_str(sc_serde_writer *w, const sc_arg *item) {
    sc_json_add_str(&w->json, item->str);
}

// SymIntArgument, SymBoolArgument: a name or a number.
static void add_symbolic(sc_serde_writer *w, const sc_arg *item) {
    if (item->kind == SC_ARG_INT) {
        sc_serde_put_number(w, "as_int", item->i);
    } else if (item->kind == SC_ARG_BOOL) {
        put_tagged_bool(w, "as_bool", item->b);
    } else {
        put_str(w, "as_name", sc_serde_name(w, item->value));
    }
}

static void add_optional(sc_serde_writer *w, const sc_arg *item) {
    if (kind_of(item) == HAS_NONE)
        put_none(w);
    else
        sc_serde_put_named(w, "as_tensor", "name", sc_serde_name(w, item->value));
}

typedef struct list_row {
    unsigned kinds;  // all kinds that its items may have
    const char *tag;
    void (*add)(sc_serde_writer *w, const sc_arg *item);
} list_row;

// The first row whose kinds include those of all items. Names of tensors may be those of numbers,
// too: operands of control flow are listed in this way.
static const list_row list_rows[] = {
    {HAS_BOOL, "as_bools", add_bool},
    {HAS_INT, "as_ints", add_int},
    {HAS_FLOAT, "as_floats", add_real},
    {HAS_STR, "as_strings", add_str},
    {HAS_INT | HAS_SYM_INT, "as_sym_ints", add_symbolic},
    {HAS_BOOL | HAS_SYM_BOOL, "as_sym_bools", add_symbolic},
    {HAS_TENSOR | HAS_SYM_INT | HAS_SYM_BOOL, "as_tensors", add_name},
    {HAS_TENSOR | HAS_NONE, "as_optional_tensors", add_optional},
};

// The kind that the items of an empty list would have.
static const char *empty_tag(const sc_param *param) {
    switch (param ? param->type : SC_PARAM_TENSOR) {
    case SC_PARAM_TENSOR: return "as_tensors";
    case SC_PARAM_BOOL: return "as_bools";
    case SC_PARAM_FLOAT: return "as_floats";
    case SC_PARAM_STR: return "as_strings";
    default: return "as_ints";
    }
}

static sc_status put_list(sc_serde_writer *w, const sc_arg *list, const sc_param *param) {
    unsigned kinds = 0;
    for (uint32_t i = 0; i < list->count; i++) kinds |= kind_of(&list->items[i]);
    // Whole numbers among floats, if the operator takes floats.
    if (kinds == (HAS_INT | HAS_FLOAT) && param && param->type == SC_PARAM_FLOAT) kinds = HAS_FLOAT;
    const list_row *row = NULL;
    for (size_t i = 0; i < SC_COUNT_OF(list_rows) && !row && kinds; i++)
        if ((kinds & ~list_rows[i].kinds) == 0) row = &list_rows[i];
    if (kinds && !row) return fail_arg(w, "a list of values of different kinds");
    sc_json_begin_object(&w->json);
    sc_json_put_array(&w->json, row ? row->tag : empty_tag(param));
    for (uint32_t i = 0; i < list->count; i++) row->add(w, &list->items[i]);
    sc_json_end_array(&w->json);
    sc_json_end_object(&w->json);
    return SC_OK;
}

// --- One argument --------------------------------------------------------------------------------

static sc_status put_body(sc_serde_writer *w, const sc_graph *graph) {
    const uint32_t outer = w->body;
    w->body = ++*w->bodies;
    sc_json_begin_object(&w->json);
    sc_json_put_object(&w->json, "as_graph");
    sc_json_put_str(&w->json, "name", graph->name ? sc_name_str(graph->name) : SC_STR("body"));
    sc_json_key(&w->json, "graph");
    SC_TRY(sc_serde_put_graph(w, graph));
    sc_json_end_object(&w->json);
    sc_json_end_object(&w->json);
    w->body = outer;
    return SC_OK;
}

sc_status sc_serde_put_arg(sc_serde_writer *w, const sc_arg *arg, const sc_param *param) {
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_NONE: put_none(w); break;
    case SC_ARG_VALUE: return sc_serde_put_value(w, arg->value);
    case SC_ARG_INT: sc_serde_put_number(w, "as_int", arg->i); break;
    case SC_ARG_FLOAT:
        sc_json_begin_object(&w->json);
        sc_json_key(&w->json, "as_float");
        add_float(w, arg->f);
        sc_json_end_object(&w->json);
        break;
    case SC_ARG_BOOL: put_tagged_bool(w, "as_bool", arg->b); break;
    case SC_ARG_STR: put_str(w, "as_string", arg->str); break;
    case SC_ARG_DTYPE: return put_dtype(w, (sc_dtype)arg->code);
    case SC_ARG_LAYOUT:
        // Strided is 0 in this project, and 0 is unknown in PyTorch.
        sc_serde_put_number(w, "as_layout", arg->code == 0 ? 7 : arg->code == 7 ? 0 : arg->code);
        break;
    case SC_ARG_MEMORY_FORMAT: put_format(w, (sc_memory_format)arg->code); break;
    case SC_ARG_DEVICE: put_device(w, arg->str); break;
    case SC_ARG_LIST: return put_list(w, arg, param);
    case SC_ARG_GRAPH: return put_body(w, arg->graph);
    case SC_ARG_PART: return fail_arg(w, "a delegate that is not called");
    }
    return SC_OK;
}
