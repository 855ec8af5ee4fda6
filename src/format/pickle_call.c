// The known globals: PyTorch's storages, dtypes and functions that make tensors, and Python's
// containers. A known global with wrong arguments is a corrupt file. An unknown global becomes an
// opaque object.
#include "format/pickle_machine.h"

enum { RANK_MAX = 64 };

typedef sc_pickle_dtype dtype_row;

static const dtype_row dtype_rows[] = {
    {"uint8", "ByteStorage", 1, 1},
    {"int8", "CharStorage", 2, 1},
    {"int16", "ShortStorage", 3, 2},
    {"int32", "IntStorage", 4, 4},
    {"int64", "LongStorage", 5, 8},
    {"float16", "HalfStorage", 6, 2},
    {"float32", "FloatStorage", 7, 4},
    {"float64", "DoubleStorage", 8, 8},
    {"complex32", NULL, 9, 4},
    {"complex64", "ComplexFloatStorage", 10, 8},
    {"complex128", "ComplexDoubleStorage", 11, 16},
    {"bool", "BoolStorage", 12, 1},
    {"bfloat16", "BFloat16Storage", 13, 2},
    {"uint16", NULL, 28, 2},
    {"float8_e4m3fn", NULL, 29, 1},
    {"float8_e5m2", NULL, 30, 1},
    {"float8_e4m3fnuz", NULL, 31, 1},
    {"float8_e5m2fnuz", NULL, 32, 1},
    {"float8_e8m0fnu", NULL, 33, 1},
    {"uint32", NULL, 34, 4},
    {"uint64", NULL, 35, 8},
};

static const dtype_row *find_dtype(sc_str name) {
    for (size_t i = 0; i < SC_COUNT_OF(dtype_rows); i++)
        if (sc_str_is(name, dtype_rows[i].name)) return &dtype_rows[i];
    return NULL;
}

static const dtype_row *find_storage_class(sc_str name) {
    for (size_t i = 0; i < SC_COUNT_OF(dtype_rows); i++)
        if (dtype_rows[i].storage_class && sc_str_is(name, dtype_rows[i].storage_class))
            return &dtype_rows[i];
    return NULL;
}

const sc_pickle_dtype *sc_pickle_dtype_of(uint8_t code) {
    for (size_t i = 0; i < SC_COUNT_OF(dtype_rows); i++)
        if (dtype_rows[i].code == code) return &dtype_rows[i];
    return NULL;
}

static sc_pickle_value *new_object(sc_pickle_machine *m, sc_pickle_kind kind, sc_str module,
                                   sc_str name, sc_pickle_value *args) {
    sc_pickle_object *object = sc_new(m->arena, sc_pickle_object);
    *object = (sc_pickle_object){.module = module, .name = name, .args = args};
    sc_pickle_value *value = sc_pickle_new(m, kind);
    value->object = object;
    return value;
}

sc_pickle_value *sc_pickle_global(sc_pickle_machine *m, sc_str module, sc_str name) {
    const dtype_row *row = sc_str_is(module, "torch") ? find_dtype(name) : NULL;
    if (!row) return new_object(m, SC_PICKLE_GLOBAL, module, name, NULL);
    sc_pickle_value *value = sc_pickle_new(m, SC_PICKLE_DTYPE);
    value->dtype = row->code;
    return value;
}

// --- Storages ----------------------------------------------------------------------------------

static bool is_kind(const sc_pickle_value *tuple, uint32_t index, sc_pickle_kind kind) {
    return tuple->count > index && tuple->items[index]->kind == kind;
}

// The number of bytes that a big-endian file reverses at a time: those of an item, or of one part
// of a complex number.
static uint8_t swap_bytes(const dtype_row *row) {
    bool complex = row->code >= 9 && row->code <= 11;
    return complex ? row->item_bytes / 2 : row->item_bytes;
}

// Reads the dtype of a storage class; NULL for the untyped class. False if the class is unknown.
static bool read_storage_class(const sc_pickle_value *class, const dtype_row **row) {
    *row = NULL;
    if (sc_pickle_is(class, "torch.storage", "UntypedStorage") ||
        sc_pickle_is(class, "torch", "UntypedStorage"))
        return true;
    if (class->kind != SC_PICKLE_GLOBAL || !sc_str_is(class->object->module, "torch")) return false;
    *row = find_storage_class(class->object->name);
    return *row != NULL;
}

static sc_status find_storage(sc_pickle_machine *m, sc_pickle_storage wanted,
                              sc_pickle_storage **out) {
    sc_pickle_storage *storage = sc_map_get(&m->storages, wanted.key);
    if (!storage) {
        storage = sc_new(m->arena, sc_pickle_storage);
        *storage = wanted;
        sc_map_add(&m->storages, storage->key, storage);
        sc_vec_push(m->arena, &m->out->storages, storage);
    }
    if (storage->bytes != wanted.bytes) return sc_pickle_fail(m, "a storage has two sizes");
    // Two dtypes use this storage, so the unit of swapping is not known.
    if (storage->swap_bytes != wanted.swap_bytes) storage->swap_bytes = 1;
    *out = storage;
    return SC_OK;
}

sc_status sc_pickle_persistent(sc_pickle_machine *m, sc_pickle_value *id, sc_pickle_value **out) {
    *out = new_object(m, SC_PICKLE_OBJECT, SC_STR(""), SC_STR(""), id);
    if (id->kind != SC_PICKLE_TUPLE || !is_kind(id, 0, SC_PICKLE_STR) ||
        !sc_str_is(sc_pickle_str(id->items[0]), "storage"))
        return SC_OK;
    const dtype_row *row;
    if (!is_kind(id, 2, SC_PICKLE_STR) || !is_kind(id, 3, SC_PICKLE_STR) ||
        !is_kind(id, 4, SC_PICKLE_INT) || id->items[4]->integer < 0)
        return sc_pickle_fail(m, "malformed reference to a storage");
    if (!read_storage_class(id->items[1], &row))
        return SC_OK;  // a quantized or other storage, which no known tensor can have
    sc_pickle_storage wanted = {
        .key = sc_pickle_str(id->items[2]),
        .location = sc_pickle_str(id->items[3]),
        .swap_bytes = row ? swap_bytes(row) : 1,
    };
    if (!sc_mul_u64((uint64_t)id->items[4]->integer, row ? row->item_bytes : 1, &wanted.bytes))
        return sc_pickle_fail(m, "the size of a storage overflows");
    *out = sc_pickle_new(m, SC_PICKLE_STORAGE);
    (*out)->dtype = row ? row->code : 0;
    return find_storage(m, wanted, &(*out)->storage);
}

// --- Tensors -----------------------------------------------------------------------------------

static bool read_dims(sc_pickle_machine *m, const sc_pickle_value *dims, int64_t **out) {
    if (!sc_pickle_is_sequence(dims) || dims->count > RANK_MAX) return false;
    *out = sc_new_array(m->arena, int64_t, dims->count);
    for (uint32_t i = 0; i < dims->count; i++) {
        if (dims->items[i]->kind != SC_PICKLE_INT || dims->items[i]->integer < 0) return false;
        (*out)[i] = dims->items[i]->integer;
    }
    return true;
}

static sc_status new_tensor(sc_pickle_machine *m, uint8_t code, const sc_pickle_value *sizes,
                            const sc_pickle_value *strides, sc_pickle_value **out) {
    const dtype_row *row = sc_pickle_dtype_of(code);
    if (!row) return sc_pickle_fail(m, "a tensor has no known dtype");
    sc_pickle_tensor *tensor = sc_new(m->arena, sc_pickle_tensor);
    tensor->dtype = code;
    tensor->item_bytes = row->item_bytes;
    if (!read_dims(m, sizes, &tensor->sizes) || !read_dims(m, strides, &tensor->strides) ||
        sizes->count != strides->count)
        return sc_pickle_fail(m, "a tensor has malformed sizes or strides");
    tensor->rank = (uint8_t)sizes->count;
    uint64_t numel = 1;
    bool fits = true, empty = false;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        empty = empty || tensor->sizes[i] == 0;
        fits = fits && sc_mul_u64(numel, (uint64_t)tensor->sizes[i], &numel);
    }
    tensor->numel = empty ? 0 : numel;
    uint64_t bytes;
    if (!empty && (!fits || !sc_mul_u64(numel, tensor->item_bytes, &bytes)))
        return sc_pickle_fail(m, "the size of a tensor overflows");
    *out = sc_pickle_new(m, SC_PICKLE_TENSOR);
    (*out)->tensor = tensor;
    return SC_OK;
}

bool sc_pickle_tensor_bytes(const sc_pickle_tensor *tensor, uint64_t *out) {
    uint64_t last = (uint64_t)tensor->storage_offset, step;
    *out = 0;
    if (tensor->numel == 0) return true;
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (!sc_mul_u64((uint64_t)tensor->sizes[i] - 1, (uint64_t)tensor->strides[i], &step) ||
            !sc_add_u64(last, step, &last))
            return false;
    return sc_add_u64(last, 1, &last) && sc_mul_u64(last, tensor->item_bytes, out);
}

// Arguments: (storage, offset, sizes, strides, requires_grad, hooks, ...). `code` replaces the
// storage's dtype if it is not 0.
static sc_status rebuild_strided(sc_pickle_machine *m, sc_pickle_value *args, uint8_t code,
                                 sc_pickle_value **out) {
    if (is_kind(args, 0, SC_PICKLE_OBJECT)) return SC_OK;  // it is in an unknown storage
    if (!is_kind(args, 0, SC_PICKLE_STORAGE) || !is_kind(args, 1, SC_PICKLE_INT) ||
        args->count < 4 || args->items[1]->integer < 0)
        return sc_pickle_fail(m, "malformed tensor");
    SC_TRY(new_tensor(m, code ? code : args->items[0]->dtype, args->items[2], args->items[3], out));
    sc_pickle_tensor *tensor = (*out)->tensor;
    tensor->storage = args->items[0]->storage;
    tensor->storage_offset = args->items[1]->integer;
    if (args->items[0]->dtype == 0 && tensor->storage->swap_bytes == 1)
        tensor->storage->swap_bytes = swap_bytes(sc_pickle_dtype_of(tensor->dtype));
    tensor->requires_grad = is_kind(args, 4, SC_PICKLE_BOOL) && args->items[4]->boolean;
    uint64_t bytes;
    if (!sc_pickle_tensor_bytes(tensor, &bytes) || bytes > tensor->storage->bytes)
        return sc_pickle_fail(m, "a tensor reaches beyond its storage");
    return SC_OK;
}

static sc_status rebuild_tensor_v2(sc_pickle_machine *m, sc_pickle_value *args,
                                   sc_pickle_value **out) {
    return rebuild_strided(m, args, 0, out);
}

static sc_status rebuild_tensor_v3(sc_pickle_machine *m, sc_pickle_value *args,
                                   sc_pickle_value **out) {
    if (!is_kind(args, 6, SC_PICKLE_DTYPE)) return sc_pickle_fail(m, "malformed tensor");
    return rebuild_strided(m, args, args->items[6]->dtype, out);
}

// Arguments: (dtype, sizes, strides, requires_grad).
static sc_status rebuild_meta(sc_pickle_machine *m, sc_pickle_value *args, sc_pickle_value **out) {
    if (!is_kind(args, 0, SC_PICKLE_DTYPE) || args->count < 3)
        return sc_pickle_fail(m, "malformed meta tensor");
    SC_TRY(new_tensor(m, args->items[0]->dtype, args->items[1], args->items[2], out));
    (*out)->tensor->requires_grad = is_kind(args, 3, SC_PICKLE_BOOL) && args->items[3]->boolean;
    return SC_OK;
}

// Arguments: (data, requires_grad, hooks[, state]). Data of an opaque subclass stays opaque.
static sc_status rebuild_parameter(sc_pickle_machine *m, sc_pickle_value *args,
                                   sc_pickle_value **out) {
    if (args->count < 2) return sc_pickle_fail(m, "malformed parameter");
    if (args->items[0]->kind != SC_PICKLE_TENSOR) return SC_OK;
    sc_pickle_tensor *tensor = sc_new(m->arena, sc_pickle_tensor);
    *tensor = *args->items[0]->tensor;
    tensor->is_parameter = true;
    tensor->requires_grad = is_kind(args, 1, SC_PICKLE_BOOL) && args->items[1]->boolean;
    *out = sc_pickle_new(m, SC_PICKLE_TENSOR);
    (*out)->tensor = tensor;
    return SC_OK;
}

// --- Containers and other builtins ---------------------------------------------------------------

// Arguments: () or ([(key, value), ...]).
static sc_status make_dict(sc_pickle_machine *m, sc_pickle_value *args, sc_pickle_value **out) {
    sc_pickle_value *dict = sc_pickle_new(m, SC_PICKLE_DICT);
    const sc_pickle_value *pairs = args->count ? args->items[0] : NULL;
    if (pairs && !sc_pickle_is_sequence(pairs)) return SC_OK;
    SC_TRY(sc_pickle_spend(m, pairs ? pairs->count : 0));
    for (uint32_t i = 0; pairs && i < pairs->count; i++) {
        const sc_pickle_value *pair = pairs->items[i];
        if (!sc_pickle_is_sequence(pair) || pair->count != 2) return SC_OK;
        sc_pickle_append_pair(m, dict, pair->items[0], pair->items[1]);
    }
    *out = dict;
    return SC_OK;
}

// Arguments: (factory).
static sc_status make_defaultdict(sc_pickle_machine *m, sc_pickle_value *args,
                                  sc_pickle_value **out) {
    (void)args;
    *out = sc_pickle_new(m, SC_PICKLE_DICT);
    return SC_OK;
}

// set([...]), frozenset([...]) and Size((...)) have the same items as another kind.
static sc_status make_from_items(sc_pickle_machine *m, sc_pickle_value *args, sc_pickle_kind kind,
                                 sc_pickle_value **out) {
    if (args->count > 1 || (args->count == 1 && !sc_pickle_is_sequence(args->items[0])))
        return SC_OK;
    SC_TRY(sc_pickle_spend(m, args->count ? args->items[0]->count : 0));
    *out = sc_pickle_new(m, kind);
    for (uint32_t i = 0; args->count && i < args->items[0]->count; i++)
        sc_pickle_append(m, *out, args->items[0]->items[i]);
    return SC_OK;
}

static sc_status make_set(sc_pickle_machine *m, sc_pickle_value *args, sc_pickle_value **out) {
    return make_from_items(m, args, SC_PICKLE_SET, out);
}

static sc_status make_tuple(sc_pickle_machine *m, sc_pickle_value *args, sc_pickle_value **out) {
    return make_from_items(m, args, SC_PICKLE_TUPLE, out);
}

static sc_status make_complex(sc_pickle_machine *m, sc_pickle_value *args, sc_pickle_value **out) {
    if (args->count != 2 || !is_kind(args, 0, SC_PICKLE_FLOAT) ||
        !is_kind(args, 1, SC_PICKLE_FLOAT))
        return SC_OK;
    double *parts = sc_new_array(m->arena, double, 2);
    parts[0] = args->items[0]->real;
    parts[1] = args->items[1]->real;
    *out = sc_pickle_new(m, SC_PICKLE_COMPLEX);
    (*out)->complex = parts;
    return SC_OK;
}

// encode(text, 'latin1') makes bytes in protocol 2. Every code point is one byte.
static sc_status make_bytes(sc_pickle_machine *m, sc_pickle_value *args, sc_pickle_value **out) {
    if (!is_kind(args, 0, SC_PICKLE_STR) || !is_kind(args, 1, SC_PICKLE_STR) ||
        !sc_str_is(sc_pickle_str(args->items[1]), "latin1"))
        return SC_OK;
    sc_str text = sc_pickle_str(args->items[0]);
    SC_TRY(sc_pickle_spend(m, text.size));
    char *bytes = sc_arena_alloc(m->arena, text.size);
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned byte = (unsigned char)text.data[i];
        if (byte >= 0x80) {
            unsigned next = i + 1 < text.size ? (unsigned char)text.data[++i] : 0;
            if ((byte & 0xfe) != 0xc2 || (next & 0xc0) != 0x80)
                return sc_pickle_fail(m, "malformed bytes");
            byte = (byte & 3) << 6 | (next & 0x3f);
        }
        bytes[count++] = (char)byte;
    }
    *out = sc_pickle_new(m, SC_PICKLE_BYTES);
    (*out)->text.data = bytes;
    (*out)->text.size = count;
    return SC_OK;
}

typedef struct call_row {
    const char *module, *name;
    // Leaves *out unchanged if the arguments are legal but unusual.
    sc_status (*make)(sc_pickle_machine *m, sc_pickle_value *args, sc_pickle_value **out);
} call_row;

static const call_row call_rows[] = {
    {"torch._utils", "_rebuild_tensor", rebuild_tensor_v2},
    {"torch._utils", "_rebuild_tensor_v2", rebuild_tensor_v2},
    {"torch._utils", "_rebuild_tensor_v3", rebuild_tensor_v3},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", rebuild_meta},
    {"torch._utils", "_rebuild_parameter", rebuild_parameter},
    {"torch._utils", "_rebuild_parameter_with_state", rebuild_parameter},
    {"torch", "Size", make_tuple},
    {"collections", "OrderedDict", make_dict},
    {"collections", "defaultdict", make_defaultdict},
    {"__builtin__", "set", make_set},
    {"builtins", "set", make_set},
    {"__builtin__", "frozenset", make_set},
    {"builtins", "frozenset", make_set},
    {"__builtin__", "complex", make_complex},
    {"builtins", "complex", make_complex},
    {"_codecs", "encode", make_bytes},
};

sc_status sc_pickle_call(sc_pickle_machine *m, sc_pickle_value *callee, sc_pickle_value *args,
                         sc_pickle_value **out) {
    bool global = callee->kind == SC_PICKLE_GLOBAL;
    sc_str module = global ? callee->object->module : SC_STR("");
    sc_str name = global ? callee->object->name : SC_STR("");
    *out = NULL;
    if (args->kind != SC_PICKLE_TUPLE) return sc_pickle_fail(m, "arguments are not a tuple");
    for (size_t i = 0; global && i < SC_COUNT_OF(call_rows); i++)
        if (sc_str_is(module, call_rows[i].module) && sc_str_is(name, call_rows[i].name))
            SC_TRY(call_rows[i].make(m, args, out));
    if (!*out) *out = new_object(m, SC_PICKLE_OBJECT, module, name, args);
    return SC_OK;
}
