// Makes values to write as a pickle.
#include "base/strides.h"
#include "format/pickle_machine.h"
#include "format/pickle_write.h"

static sc_pickle_value *make(sc_arena *arena, sc_pickle_kind kind) {
    sc_pickle_value *value = sc_new(arena, sc_pickle_value);
    value->kind = (uint8_t)kind;
    return value;
}

sc_pickle_value *sc_pickle_make_none(sc_arena *arena) { return make(arena, SC_PICKLE_NONE); }

sc_pickle_value *sc_pickle_make_bool(sc_arena *arena, bool value) {
    sc_pickle_value *made = make(arena, SC_PICKLE_BOOL);
    made->boolean = value;
    return made;
}

sc_pickle_value *sc_pickle_make_int(sc_arena *arena, int64_t value) {
    sc_pickle_value *made = make(arena, SC_PICKLE_INT);
    made->integer = value;
    return made;
}

sc_pickle_value *sc_pickle_make_float(sc_arena *arena, double value) {
    sc_pickle_value *made = make(arena, SC_PICKLE_FLOAT);
    made->real = value;
    return made;
}

sc_pickle_value *sc_pickle_make_str(sc_arena *arena, sc_str value) {
    sc_pickle_value *made = make(arena, SC_PICKLE_STR);
    made->text.data = value.data;
    made->text.size = value.size;
    return made;
}

sc_pickle_value *sc_pickle_make_container(sc_arena *arena, sc_pickle_kind kind) {
    SC_ASSERT(kind >= SC_PICKLE_TUPLE && kind <= SC_PICKLE_DICT);
    return make(arena, kind);
}

// Gives the items of `value` with room for `more`. Capacities are powers of two, from 4 on.
static sc_pickle_value **make_room(sc_arena *arena, sc_pickle_value *value, uint32_t width) {
    const uint32_t count = value->count;
    if (count == 0 || (count >= 4 && (count & (count - 1)) == 0))
        value->items =
            sc_arena_grow(arena, value->items, (size_t)count * width * sizeof(sc_pickle_value *),
                          (size_t)(count ? count * 2 : 4) * width * sizeof(sc_pickle_value *));
    return value->items + (size_t)width * value->count++;
}

void sc_pickle_add(sc_arena *arena, sc_pickle_value *container, const sc_pickle_value *item) {
    SC_ASSERT(container->kind >= SC_PICKLE_TUPLE && container->kind <= SC_PICKLE_SET);
    *make_room(arena, container, 1) = (sc_pickle_value *)item;
}

void sc_pickle_put(sc_arena *arena, sc_pickle_value *dict, sc_str key,
                   const sc_pickle_value *value) {
    SC_ASSERT(dict->kind == SC_PICKLE_DICT);
    sc_pickle_value **pair = make_room(arena, dict, 2);
    pair[0] = sc_pickle_make_str(arena, key);
    pair[1] = (sc_pickle_value *)value;
}

sc_pickle_storage *sc_pickle_make_storage(sc_arena *arena, sc_extent bytes) {
    sc_pickle_storage *storage = sc_new(arena, sc_pickle_storage);
    storage->location = SC_STR("cpu");
    storage->bytes = bytes.size;
    storage->extent = bytes;
    return storage;
}

sc_pickle_value *sc_pickle_make_tensor(sc_arena *arena, sc_pickle_storage *storage,
                                       const sc_pickle_view *view) {
    const sc_pickle_dtype *dtype = sc_pickle_dtype_of(view->code);
    SC_ASSERT(dtype && view->rank <= 64);
    sc_pickle_tensor *tensor = sc_new(arena, sc_pickle_tensor);
    *tensor = (sc_pickle_tensor){.storage = storage,
                                 .dtype = view->code,
                                 .item_bytes = dtype->item_bytes,
                                 .rank = (uint8_t)view->rank,
                                 .requires_grad = view->requires_grad,
                                 .is_parameter = view->is_parameter,
                                 .sizes = sc_new_array(arena, int64_t, view->rank),
                                 .strides = sc_new_array(arena, int64_t, view->rank),
                                 .storage_offset = view->storage_offset,
                                 .numel = 1};
    for (uint32_t i = 0; i < view->rank; i++) {
        tensor->sizes[i] = view->sizes[i];
        if (view->strides) tensor->strides[i] = view->strides[i];
        tensor->numel *= (uint64_t)view->sizes[i];
    }
    const bool has_strides =
        view->strides || sc_strides_of(view->sizes, view->rank, NULL, tensor->strides);
    SC_ASSERT(has_strides);
    (void)has_strides;
    uint64_t bytes;
    SC_ASSERT(sc_pickle_tensor_bytes(tensor, &bytes) && bytes <= storage->bytes);
    sc_pickle_value *made = make(arena, SC_PICKLE_TENSOR);
    made->tensor = tensor;
    return made;
}
