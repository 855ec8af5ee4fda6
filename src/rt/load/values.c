// The value table of a method: every EValue becomes an sc_evalue, checked on its own. Tensors come
// out without memory. Lists may only name values before them, as the format demands. Lists of
// integers are excepted: a kernel looks their items up when it reads them.
#include "rt/load/data_map.h"
#include "rt/load/steps.h"
#include "rt/run/tensor.h"

typedef struct parser {
    sc_ctx *ctx;
    sc_rt_method *m;
    sc_arena *arena;
    uint32_t index;  // of the value being read
} parser;

static sc_status bad(const parser *p, const char *what) {
    return sc_fail(p->ctx, SC_ERR_CORRUPT, NULL, "value %u of method '" SC_STR_FMT "': %s",
                   p->index, SC_STR_ARG(p->m->name), what);
}

static sc_status unsupported(const parser *p, const char *what) {
    return sc_fail(p->ctx, SC_ERR_UNSUPPORTED, NULL, "value %u of method '" SC_STR_FMT "': %s",
                   p->index, SC_STR_ARG(p->m->name), what);
}

// --- Tensors -------------------------------------------------------------------------------------

static sc_status read_sizes(const parser *p, sc_fb_table table, sc_tensor *t) {
    sc_fb_vec sizes = sc_pte_Tensor_sizes(table), order = sc_pte_Tensor_dim_order(table);
    const uint32_t rank = sizes.count;
    if (order.count != rank) return bad(p, "sizes and dim order have different lengths");
    if (rank > SC_RANK_MAX) return bad(p, "the rank is more than 16");
    t->rank = (uint8_t)rank;
    t->sizes = sc_new_array(p->arena, int64_t, 2 * rank + 1);
    t->strides = t->sizes + rank;
    t->dim_order = sc_new_array(p->arena, uint8_t, rank + 1);
    uint64_t bytes = sc_dtype_bytes((sc_dtype)t->dtype);
    uint32_t seen = 0;
    for (uint32_t d = 0; d < rank; d++) {
        int32_t size = sc_fb_vec_i32(sizes, d);
        uint8_t dim = sc_fb_vec_u8(order, d);
        if (size < 0) return bad(p, "a size is negative");
        if (dim >= rank || (seen & (1u << dim)))
            return bad(p, "the dim order is not a permutation");
        if (!sc_mul_u64(bytes, size ? (uint64_t)size : 1, &bytes) || bytes > INT64_MAX)
            return bad(p, "the number of bytes overflows");
        seen |= 1u << dim;
        t->sizes[d] = size;
        t->dim_order[d] = dim;
    }
    sc_rt_tensor_set_strides(t);
    t->capacity_bytes = sc_rt_tensor_bytes(t);
    return SC_OK;
}

static sc_status same_layout(const parser *p, const sc_tensor *t, const sc_rt_datum *datum) {
    bool same = datum->has_layout && datum->dtype == t->dtype && datum->rank == t->rank;
    for (uint32_t d = 0; same && d < t->rank; d++)
        same = sc_fb_vec_i32(datum->sizes, d) == t->sizes[d] &&
               sc_fb_vec_u8(datum->dim_order, d) == t->dim_order[d];
    if (!same || datum->extent.size < sc_rt_tensor_bytes(t))
        return sc_fail(p->ctx, SC_ERR_CORRUPT, "Pass the .ptd files that were made with the .pte.",
                       "'" SC_STR_FMT
                       "' has a different layout in the data file than in the program",
                       SC_STR_ARG(datum->key));
    return SC_OK;
}

static sc_status find_external(const parser *p, sc_fb_table extra, const sc_tensor *t,
                               sc_rt_place *place) {
    sc_str name = sc_pte_ExtraTensorInfo_fully_qualified_name(extra);
    if (!name.data) return bad(p, "its external data has no name");
    place->datum = sc_rt_data_map_find(&p->m->program->data_map, name);
    if (!place->datum)
        return sc_fail(p->ctx, SC_ERR_NOT_FOUND, "Pass the .ptd files that belong to this .pte.",
                       "the program keeps '" SC_STR_FMT "' in a data file that was not given",
                       SC_STR_ARG(name));
    return same_layout(p, t, place->datum);
}

static sc_status read_place(const parser *p, sc_fb_table table, const sc_tensor *t,
                            sc_rt_place *place) {
    sc_fb_table alloc = sc_pte_Tensor_allocation_info(table);
    sc_fb_table extra = sc_pte_Tensor_extra_tensor_info(table);
    place->bytes = t->capacity_bytes;
    place->buffer_index = sc_pte_Tensor_data_buffer_idx(table);
    if (alloc.at) {
        place->memory_id = sc_pte_AllocationDetails_memory_id(alloc);
        place->offset = sc_pte_AllocationDetails_memory_offset_low(alloc) |
                        (uint64_t)sc_pte_AllocationDetails_memory_offset_high(alloc) << 32;
        if (place->memory_id == 0) return bad(p, "memory id 0 is reserved");
        if (place->offset % sc_dtype_bytes((sc_dtype)t->dtype) != 0)
            return bad(p, "its planned memory is misaligned");
    }
    if (extra.at && sc_pte_ExtraTensorInfo_location(extra) == SC_PTE_TensorDataLocation_EXTERNAL) {
        place->buffer_index = 0;
        SC_TRY(find_external(p, extra, t, place));
    }
    place->is_constant = !alloc.at && (place->buffer_index || place->datum);
    return SC_OK;
}

static sc_status read_tensor(const parser *p, sc_fb_table table, sc_evalue *value) {
    sc_tensor *t = sc_new(p->arena, sc_tensor);
    int8_t dtype = sc_pte_Tensor_scalar_type(table), dynamism = sc_pte_Tensor_shape_dynamism(table);
    if (sc_pte_Tensor_storage_offset(table) != 0)
        return unsupported(p, "tensors with a storage offset are not supported");
    if (dtype < 0 || !sc_dtype_is_known((unsigned)dtype))
        return sc_fail(p->ctx, SC_ERR_DTYPE, NULL,
                       "value %u of method '" SC_STR_FMT "': element type %d is not known",
                       p->index, SC_STR_ARG(p->m->name), dtype);
    if (dynamism == SC_PTE_TensorShapeDynamism_DYNAMIC_UNBOUND)
        return unsupported(p, "tensors without an upper bound are not supported");
    if (dynamism != SC_PTE_TensorShapeDynamism_STATIC &&
        dynamism != SC_PTE_TensorShapeDynamism_DYNAMIC_BOUND)
        return bad(p, "the kind of its shape is not known");
    t->dtype = (uint8_t)dtype;
    t->is_dynamic = dynamism == SC_PTE_TensorShapeDynamism_DYNAMIC_BOUND;
    SC_TRY(read_sizes(p, table, t));
    SC_TRY(read_place(p, table, t, &p->m->places[p->index]));
    t->is_constant = p->m->places[p->index].is_constant;
    value->tag = SC_EVALUE_TENSOR;
    value->tensor = t;
    return SC_OK;
}

// --- Lists ---------------------------------------------------------------------------------------

static sc_status read_ints(const parser *p, sc_fb_vec items, sc_evalue *value) {
    sc_evalue **refs = sc_new_array(p->arena, sc_evalue *, items.count);
    if (!items.items) return bad(p, "a list has no items");
    for (uint32_t i = 0; i < items.count; i++) {
        int64_t at = sc_fb_vec_i64(items, i);
        if (at < 0 || at >= p->m->value_count) return bad(p, "an item of the list does not exist");
        refs[i] = &p->m->values[at];
    }
    value->tag = SC_EVALUE_INT_LIST;
    value->count = items.count;
    value->ints = refs;
    return SC_OK;
}

static sc_status read_tensors(const parser *p, sc_fb_vec items, bool optional, sc_evalue *value) {
    sc_evalue **refs = sc_new_array(p->arena, sc_evalue *, items.count);
    if (!items.items) return bad(p, "a list has no items");
    for (uint32_t i = 0; i < items.count; i++) {
        int32_t at = sc_fb_vec_i32(items, i);
        if (optional && at == -1) continue;
        if (at < 0 || (uint32_t)at >= p->index)
            return bad(p, "an item of the list does not exist or comes after the list");
        refs[i] = &p->m->values[at];
        if (refs[i]->tag != SC_EVALUE_TENSOR) return bad(p, "an item of the list is not a tensor");
    }
    value->tag = optional ? SC_EVALUE_OPTIONAL_TENSOR_LIST : SC_EVALUE_TENSOR_LIST;
    value->count = items.count;
    value->tensors = refs;
    return SC_OK;
}

// Copied, because the place in the file may be unaligned.
static sc_status read_doubles(const parser *p, sc_fb_vec items, sc_evalue *value) {
    double *copy = sc_new_array(p->arena, double, items.count);
    if (!items.items) return bad(p, "a list has no items");
    if (items.count) memcpy(copy, items.items, items.count * sizeof(double));
    value->tag = SC_EVALUE_DOUBLE_LIST;
    value->count = items.count;
    value->doubles = copy;
    return SC_OK;
}

static sc_status read_bools(const parser *p, sc_fb_vec items, sc_evalue *value) {
    uint8_t *copy = sc_new_array(p->arena, uint8_t, items.count);
    if (!items.items) return bad(p, "a list has no items");
    for (uint32_t i = 0; i < items.count; i++) copy[i] = sc_fb_vec_bool(items, i);
    value->tag = SC_EVALUE_BOOL_LIST;
    value->count = items.count;
    value->bools = copy;
    return SC_OK;
}

// --- All of them ---------------------------------------------------------------------------------

static sc_status read_value(const parser *p, sc_fb_table entry, sc_evalue *value) {
    uint8_t type = sc_pte_EValue_val_type(entry);
    sc_fb_table val = sc_pte_EValue_val(entry);
    if (type == SC_PTE_KernelTypes_Null) return SC_OK;
    if (!val.at) return bad(p, "it is empty");
    switch (type) {
    case SC_PTE_KernelTypes_Int:
        value->tag = SC_EVALUE_INT;
        value->i = sc_pte_Int_int_val(val);
        return SC_OK;
    case SC_PTE_KernelTypes_Bool:
        value->tag = SC_EVALUE_BOOL;
        value->b = sc_pte_Bool_bool_val(val);
        return SC_OK;
    case SC_PTE_KernelTypes_Double:
        value->tag = SC_EVALUE_DOUBLE;
        value->d = sc_pte_Double_double_val(val);
        return SC_OK;
    case SC_PTE_KernelTypes_String:
        value->tag = SC_EVALUE_STRING;
        value->str = sc_pte_String_string_val(val);
        return value->str.data ? SC_OK : bad(p, "a string has no text");
    case SC_PTE_KernelTypes_Tensor: return read_tensor(p, val, value);
    case SC_PTE_KernelTypes_IntList: return read_ints(p, sc_pte_IntList_items(val), value);
    case SC_PTE_KernelTypes_DoubleList: return read_doubles(p, sc_pte_DoubleList_items(val), value);
    case SC_PTE_KernelTypes_BoolList: return read_bools(p, sc_pte_BoolList_items(val), value);
    case SC_PTE_KernelTypes_TensorList:
        return read_tensors(p, sc_pte_TensorList_items(val), false, value);
    case SC_PTE_KernelTypes_OptionalTensorList:
        return read_tensors(p, sc_pte_OptionalTensorList_items(val), true, value);
    default: return bad(p, "its kind is not known");
    }
}

// Integer lists may name later values, so their items are checked when all values are known.
static sc_status check_ints(parser *p) {
    for (p->index = 0; p->index < p->m->value_count; p->index++) {
        const sc_evalue *value = &p->m->values[p->index];
        if (value->tag != SC_EVALUE_INT_LIST) continue;
        for (uint32_t i = 0; i < value->count; i++) {
            uint8_t tag = value->ints[i]->tag;
            if (tag != SC_EVALUE_INT && tag != SC_EVALUE_BOOL)
                return bad(p, "an item of a list of integers is not an integer");
        }
    }
    return SC_OK;
}

sc_status sc_rt_values_parse(sc_ctx *ctx, sc_rt_method *m) {
    sc_fb_vec values = sc_pte_ExecutionPlan_values(m->plan);
    parser p = {ctx, m, &m->program->arena, 0};
    m->value_count = values.count;
    m->values = sc_new_array(p.arena, sc_evalue, values.count);
    m->places = sc_new_array(p.arena, sc_rt_place, values.count);
    for (p.index = 0; p.index < values.count; p.index++)
        SC_TRY(read_value(&p, sc_fb_vec_table(values, p.index), &m->values[p.index]));
    return check_ints(&p);
}
