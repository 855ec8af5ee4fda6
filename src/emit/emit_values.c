// EValues: indices of constants, lists and IR values. Constants that no instruction writes to are
// pooled by kind and content; a typical official program has eight times as many.
//
// Lists of integers contain indices of integers, so that sizes computed at run time can be among
// them; lists of numbers and flags contain their items. Elements of tensor lists get their index
// before the list does: loaders read values in one pass.
//
// Values that must not share an index may still share their table in the file: tensors of one shape
// that use the same place at different times, counters that start from 0.
#include "emit/emit_state.h"

#include "program_fbs.h"

// --- Building ------------------------------------------------------------------------------------

static int32_t add_evalue(sc_emit_method *m, uint8_t type, sc_fb_ref content) {
    sc_fb_builder *fb = &m->state->fb;
    sc_fb_begin(fb);
    sc_pte_EValue_set_val(fb, type, content);
    sc_vec_push(m->state->arena, &m->values, sc_fb_end_shared(fb));
    return (int32_t)m->values.count - 1;
}

// "" is a valid content, so the key always begins with the kind. The key is copied only when it is
// new.
static int32_t *pool_slot(sc_emit_method *m, uint8_t kind, const void *bytes, size_t size) {
    uint8_t small[64], *key = small;
    sc_arena *arena = m->state->arena;
    if (size + 1 > sizeof small) key = sc_arena_alloc(arena, size + 1);
    key[0] = kind;
    if (size) memcpy(key + 1, bytes, size);
    sc_str view = {(const char *)key, size + 1};
    void **found = sc_map_find(&m->pool, view);
    if (found) return *found;
    int32_t *slot = sc_new(arena, int32_t);
    *slot = -1;
    sc_map_add(&m->pool, key == small ? sc_str_copy(arena, view) : view, slot);
    return slot;
}

static sc_fb_ref int_table(sc_fb_builder *fb, int64_t value) {
    sc_fb_begin(fb);
    sc_pte_Int_set_int_val(fb, value);
    return sc_fb_end_shared(fb);
}

static sc_fb_ref bool_table(sc_fb_builder *fb, bool value) {
    sc_fb_begin(fb);
    sc_pte_Bool_set_bool_val(fb, value);
    return sc_fb_end_shared(fb);
}

static sc_fb_ref double_table(sc_fb_builder *fb, double value) {
    sc_fb_begin(fb);
    sc_pte_Double_set_double_val(fb, value);
    return sc_fb_end_shared(fb);
}

static sc_fb_ref str_table(sc_fb_builder *fb, sc_str value) {
    sc_fb_ref text = sc_fb_add_string(fb, value);
    sc_fb_begin(fb);
    sc_pte_String_set_string_val(fb, text);
    return sc_fb_end_shared(fb);
}

static sc_fb_ref null_table(sc_fb_builder *fb) {
    sc_fb_begin(fb);
    return sc_fb_end_shared(fb);
}

int32_t sc_emit_null(sc_emit_method *m) {
    int32_t *slot = pool_slot(m, SC_PTE_KernelTypes_Null, NULL, 0);
    if (*slot < 0) *slot = add_evalue(m, SC_PTE_KernelTypes_Null, null_table(&m->state->fb));
    return *slot;
}

int32_t sc_emit_int(sc_emit_method *m, int64_t value) {
    int32_t *slot = pool_slot(m, SC_PTE_KernelTypes_Int, &value, sizeof value);
    if (*slot < 0) *slot = sc_emit_variable(m, value);
    return *slot;
}

int32_t sc_emit_variable(sc_emit_method *m, int64_t value) {
    return add_evalue(m, SC_PTE_KernelTypes_Int, int_table(&m->state->fb, value));
}

int32_t sc_emit_bool(sc_emit_method *m, bool value) {
    int32_t *slot = pool_slot(m, SC_PTE_KernelTypes_Bool, &value, sizeof value);
    if (*slot < 0) *slot = add_evalue(m, SC_PTE_KernelTypes_Bool, bool_table(&m->state->fb, value));
    return *slot;
}

static int32_t emit_double(sc_emit_method *m, double value) {
    int32_t *slot = pool_slot(m, SC_PTE_KernelTypes_Double, &value, sizeof value);
    if (*slot < 0)
        *slot = add_evalue(m, SC_PTE_KernelTypes_Double, double_table(&m->state->fb, value));
    return *slot;
}

static int32_t emit_str(sc_emit_method *m, sc_str value) {
    int32_t *slot = pool_slot(m, SC_PTE_KernelTypes_String, value.data, value.size);
    if (*slot < 0)
        *slot = add_evalue(m, SC_PTE_KernelTypes_String, str_table(&m->state->fb, value));
    return *slot;
}

// A list, whatever its items mean: all list tables have their one vector in slot 0.
static int32_t add_list(sc_emit_method *m, uint8_t type, const void *items, uint32_t count,
                        uint32_t item_bytes) {
    int32_t *slot = pool_slot(m, type, items, (size_t)count * item_bytes);
    if (*slot >= 0) return *slot;
    sc_fb_builder *fb = &m->state->fb;
    sc_fb_ref vector = sc_emit_vector(m->state, items, count, item_bytes);
    sc_fb_begin(fb);
    sc_fb_set_ref(fb, SC_PTE_TensorList_items, vector);
    return *slot = add_evalue(m, type, sc_fb_end_shared(fb));
}

int32_t sc_emit_list(sc_emit_method *m, uint8_t list_type, const int32_t *ids, uint32_t count) {
    if (list_type != SC_PTE_KernelTypes_IntList) return add_list(m, list_type, ids, count, 4);
    sc_mark mark = sc_arena_mark(m->state->ctx->scratch);
    int64_t *wide = sc_new_array(m->state->ctx->scratch, int64_t, count + 1);
    for (uint32_t i = 0; i < count; i++) wide[i] = ids[i];
    int32_t id = add_list(m, list_type, wide, count, 8);
    sc_arena_rewind(m->state->ctx->scratch, mark);
    return id;
}

// --- IR values -----------------------------------------------------------------------------------

// Is the number known? Results of control flow have the dim of their first body's result, which may
// differ from those of the other bodies. So only results of symbolic operators count.
static bool is_known_number(const sc_value *value) {
    return value->node && sc_op_has(value->node->op, SC_SYMBOLIC) && value->has_dim &&
           sc_dim_is_int(value->dim);
}

sc_status sc_emit_value(sc_emit_method *m, const sc_value *value, int32_t *out) {
    sc_ctx *ctx = m->state->ctx;
    const sc_storage *storage = sc_storage_of(m->storage, value);
    // Bases are made before the values that are based on them, so this chain is finite.
    while (storage->kind == SC_STORAGE_SAME) {
        value = storage->base;
        storage = sc_storage_of(m->storage, value);
    }
    int32_t *id = &m->ids[value->mark];
    if (*id < 0 && value->type == SC_VALUE_TENSOR) {
        sc_fb_ref tensor = 0;
        SC_TRY(sc_emit_tensor(m, value, &tensor));
        *id = add_evalue(m, SC_PTE_KernelTypes_Tensor, tensor);
    } else if (*id < 0 && value->type == SC_VALUE_NONE) {
        *id = sc_emit_null(m);
    } else if (*id < 0 && is_known_number(value)) {
        *id = value->type == SC_VALUE_BOOL ? sc_emit_bool(m, value->dim.value != 0)
                                           : sc_emit_int(m, value->dim.value);
    } else if (*id < 0 && value->type == SC_VALUE_OPAQUE) {
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Keep script objects out of forward().",
                       "'%s' is neither a tensor nor a number: a .pte cannot hold it",
                       value->name->text);
    } else if (*id < 0) {
        *id = sc_emit_variable(m, 0);
    }
    *out = *id;
    return SC_OK;
}

// --- Arguments -----------------------------------------------------------------------------------

// Runtimes read an absent required tensor as an empty one.
int32_t sc_emit_missing(sc_emit_method *m) {
    int32_t *slot = pool_slot(m, SC_PTE_KernelTypes_Tensor, NULL, 0);
    if (*slot >= 0) return *slot;
    sc_fb_builder *fb = &m->state->fb;
    static const int32_t size = 0;
    static const uint8_t order = 0;
    sc_fb_ref sizes = sc_emit_vector(m->state, &size, 1, 4);
    sc_fb_ref orders = sc_emit_vector(m->state, &order, 1, 1);
    sc_fb_begin(fb);
    sc_pte_Tensor_set_scalar_type(fb, SC_DTYPE_U8);
    sc_pte_Tensor_set_sizes(fb, sizes);
    sc_pte_Tensor_set_dim_order(fb, orders);
    return *slot = add_evalue(m, SC_PTE_KernelTypes_Tensor, sc_fb_end_shared(fb));
}

static sc_status wrong_kind(sc_emit_method *m, const sc_param *param) {
    return sc_fail(m->state->ctx, SC_ERR_ARGUMENT, NULL,
                   "argument '" SC_STR_FMT "' has a value that a .pte cannot hold",
                   SC_STR_ARG(param->name));
}

static sc_status emit_ids(sc_emit_method *m, const sc_param *param, const sc_arg *list,
                          int32_t *ids) {
    sc_param item = *param;
    item.is_list = false;
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_arg *arg = &list->items[i];
        if (param->type == SC_PARAM_TENSOR && arg->kind == SC_ARG_NONE)
            ids[i] = -1;
        else
            SC_TRY(sc_emit_arg(m, &item, arg, &ids[i]));
    }
    return SC_OK;
}

static sc_status emit_doubles(sc_emit_method *m, const sc_param *param, const sc_arg *list,
                              int32_t *out) {
    double *items = sc_new_array(m->state->ctx->scratch, double, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_arg *arg = &list->items[i];
        if (arg->kind != SC_ARG_FLOAT && arg->kind != SC_ARG_INT) return wrong_kind(m, param);
        items[i] = arg->kind == SC_ARG_FLOAT ? arg->f : (double)arg->i;
    }
    *out = add_list(m, SC_PTE_KernelTypes_DoubleList, items, list->count, 8);
    return SC_OK;
}

static sc_status emit_bools(sc_emit_method *m, const sc_param *param, const sc_arg *list,
                            int32_t *out) {
    uint8_t *items = sc_new_array(m->state->ctx->scratch, uint8_t, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].kind != SC_ARG_BOOL) return wrong_kind(m, param);
        items[i] = list->items[i].b;
    }
    *out = add_list(m, SC_PTE_KernelTypes_BoolList, items, list->count, 1);
    return SC_OK;
}

static sc_status emit_items(sc_emit_method *m, const sc_param *param, const sc_arg *list,
                            int32_t *out) {
    if (param->type == SC_PARAM_FLOAT) return emit_doubles(m, param, list, out);
    if (param->type == SC_PARAM_BOOL) return emit_bools(m, param, list, out);
    if (param->type != SC_PARAM_INT && param->type != SC_PARAM_TENSOR) return wrong_kind(m, param);
    int32_t *ids = sc_new_array(m->state->ctx->scratch, int32_t, list->count + 1);
    SC_TRY(emit_ids(m, param, list, ids));
    *out = sc_emit_list(m,
                        param->type == SC_PARAM_INT ? SC_PTE_KernelTypes_IntList
                        : param->item_is_optional   ? SC_PTE_KernelTypes_OptionalTensorList
                                                    : SC_PTE_KernelTypes_TensorList,
                        ids, list->count);
    return SC_OK;
}

static sc_status emit_memory_format(sc_emit_method *m, const sc_arg *arg, int32_t *out) {
    if (arg->code > SC_MEMORY_FORMAT_PRESERVE)
        return sc_fail(m->state->ctx, SC_ERR_UNSUPPORTED, NULL,
                       "a .pte states layouts as dim orders, not as memory formats");
    *out = sc_emit_int(m, arg->code);
    return SC_OK;
}

// Numbers in the type of the parameter: 1 for a float is 1.0. Runtimes do not convert.
static sc_status emit_number(sc_emit_method *m, const sc_param *param, const sc_arg *arg,
                             int32_t *out) {
    bool is_int = arg->kind == SC_ARG_INT, is_bool = arg->kind == SC_ARG_BOOL;
    int64_t number = is_int ? arg->i : is_bool ? arg->b : 0;
    if (param->type == SC_PARAM_TENSOR && arg->kind != SC_ARG_VALUE && arg->kind != SC_ARG_NONE)
        return wrong_kind(m, param);
    if (param->type == SC_PARAM_INT && arg->kind == SC_ARG_FLOAT) return wrong_kind(m, param);
    if (param->type == SC_PARAM_FLOAT && (is_int || is_bool))
        *out = emit_double(m, (double)number);
    else if (param->type == SC_PARAM_INT && is_bool)
        *out = sc_emit_int(m, number);
    else if (param->type == SC_PARAM_BOOL && is_int)
        *out = sc_emit_bool(m, number != 0);
    else
        return sc_emit_plain(m, arg, out);
    return SC_OK;
}

sc_status sc_emit_plain(sc_emit_method *m, const sc_arg *arg, int32_t *out) {
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_NONE: *out = sc_emit_null(m); return SC_OK;
    case SC_ARG_VALUE: return sc_emit_value(m, arg->value, out);
    case SC_ARG_INT: *out = sc_emit_int(m, arg->i); return SC_OK;
    case SC_ARG_FLOAT: *out = emit_double(m, arg->f); return SC_OK;
    case SC_ARG_BOOL: *out = sc_emit_bool(m, arg->b); return SC_OK;
    case SC_ARG_STR: *out = emit_str(m, arg->str); return SC_OK;
    case SC_ARG_DTYPE:
    case SC_ARG_LAYOUT: *out = sc_emit_int(m, arg->code); return SC_OK;
    default: break;
    }
    return sc_fail(m->state->ctx, SC_ERR_UNSUPPORTED, NULL,
                   "a .pte cannot hold a value of this kind here");
}

sc_status sc_emit_arg(sc_emit_method *m, const sc_param *param, const sc_arg *arg, int32_t *out) {
    if (arg->kind == SC_ARG_NONE && param->type == SC_PARAM_TENSOR && !param->is_optional &&
        !param->is_list) {
        *out = sc_emit_missing(m);
        return SC_OK;
    }
    if (arg->kind == SC_ARG_MEMORY_FORMAT) return emit_memory_format(m, arg, out);
    if (arg->kind == SC_ARG_LIST) {
        if (!param->is_list) return wrong_kind(m, param);
        sc_mark mark = sc_arena_mark(m->state->ctx->scratch);
        sc_status status = emit_items(m, param, arg, out);
        sc_arena_rewind(m->state->ctx->scratch, mark);
        return status;
    }
    return emit_number(m, param, arg, out);
}

sc_status sc_emit_unshared(sc_emit_method *m, const sc_arg *arg, int32_t *out) {
    sc_fb_builder *fb = &m->state->fb;
    switch ((sc_arg_kind)arg->kind) {
    case SC_ARG_NONE: *out = add_evalue(m, SC_PTE_KernelTypes_Null, null_table(fb)); break;
    case SC_ARG_INT: *out = sc_emit_variable(m, arg->i); break;
    case SC_ARG_DTYPE:
    case SC_ARG_LAYOUT: *out = sc_emit_variable(m, arg->code); break;
    case SC_ARG_FLOAT:
        *out = add_evalue(m, SC_PTE_KernelTypes_Double, double_table(fb, arg->f));
        break;
    case SC_ARG_BOOL: *out = add_evalue(m, SC_PTE_KernelTypes_Bool, bool_table(fb, arg->b)); break;
    case SC_ARG_STR:
        *out = add_evalue(m, SC_PTE_KernelTypes_String, str_table(fb, arg->str));
        break;
    default:
        return sc_fail(m->state->ctx, SC_ERR_UNSUPPORTED, "Pass a number, a bool or a string.",
                       "a .pte cannot hold a value of this kind as input or result");
    }
    return SC_OK;
}

sc_status sc_emit_constant(sc_emit_method *m, const sc_constant *constant, int32_t *out) {
    sc_fb_ref tensor = 0;
    SC_TRY(sc_emit_constant_tensor(m->state, constant, &tensor));
    *out = add_evalue(m, SC_PTE_KernelTypes_Tensor, tensor);
    return SC_OK;
}
