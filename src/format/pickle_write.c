// Writes one value after the other, without the memo. A value in two places is written twice, and
// the work is bounded. Tensors refer to storages by index.
#include "format/pickle_write.h"

#include "base/map.h"
#include "base/print.h"
#include "format/pickle_machine.h"

// Protocol 2; opcodes: CPython's Lib/pickletools.py.
enum {
    PROTO = 0x80,
    MARK = '(',
    NONE = 'N',
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    LONG1 = 0x8a,
    BINFLOAT = 'G',
    BINUNICODE = 'X',
    EMPTY_TUPLE = ')',
    TUPLE = 't',
    TUPLE1 = 0x85,
    EMPTY_LIST = ']',
    APPENDS = 'e',
    EMPTY_DICT = '}',
    SETITEMS = 'u',
    REDUCE = 'R',
    BINPERSID = 'Q',
    STOP = '.'
};

typedef struct writer {
    sc_ctx *ctx;
    sc_arena *arena;
    sc_sb *out;
    sc_pickle_storages *storages;
    sc_imap known;  // storage -> its index and, from bit 32 on, the dtype of its first use
    uint64_t work;
    uint32_t depth;
} writer;

static void put(writer *w, uint8_t byte) { sc_sb_add_char(w->out, (char)byte); }

static void put_number(writer *w, uint64_t value, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++) put(w, (uint8_t)(value >> (8 * i)));
}

static void put_int(writer *w, int64_t value) {
    if (value >= 0 && value <= UINT16_MAX) {
        put(w, value <= UINT8_MAX ? BININT1 : BININT2);
        put_number(w, (uint64_t)value, value <= UINT8_MAX ? 1 : 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        put(w, BININT);
        put_number(w, (uint64_t)value, 4);
    } else {
        put(w, LONG1);
        put(w, 8);
        put_number(w, (uint64_t)value, 8);
    }
}

static void put_bool(writer *w, bool value) { put(w, value ? NEWTRUE : NEWFALSE); }

static void put_float(writer *w, double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    put(w, BINFLOAT);
    put_number(w, __builtin_bswap64(bits), 8);
}

static sc_status put_str(writer *w, sc_str text) {
    if (text.size > UINT32_MAX)
        return sc_fail(w->ctx, SC_ERR_LIMIT, NULL, "a text is too long for a pickle");
    put(w, BINUNICODE);
    put_number(w, text.size, 4);
    sc_sb_add(w->out, text);
    return SC_OK;
}

static void put_global(writer *w, const char *module, const char *name) {
    sc_sb_addf(w->out, "c%s\n%s\n", module, name);
}

// --- Tensors -------------------------------------------------------------------------------------

// Writes collections.OrderedDict(), the empty hooks of a tensor.
static void put_hooks(writer *w) {
    put_global(w, "collections", "OrderedDict");
    put(w, EMPTY_TUPLE);
    put(w, REDUCE);
}

// Gives the index of a storage. `typed` is true if it has the class of that dtype, which holds only
// while all tensors use that dtype.
static uint32_t storage_index(writer *w, const sc_pickle_storage *storage, uint8_t code,
                              bool *typed) {
    uint64_t *known = sc_imap_find(&w->known, SC_PTR_KEY(storage));
    *typed = !known || *known >> 32 == code;
    if (known) return (uint32_t)*known;
    const uint32_t index = w->storages->count;
    sc_imap_add(&w->known, SC_PTR_KEY(storage), index | (uint64_t)code << 32);
    sc_vec_push(w->arena, w->storages, storage);
    return index;
}

// Writes the id ('storage', class, key, 'cpu', number of elements).
static sc_status put_storage(writer *w, const sc_pickle_storage *storage,
                             const sc_pickle_dtype *dtype, bool *typed) {
    char key[12];
    sc_print(key, sizeof(key), "%u", storage_index(w, storage, dtype->code, typed));
    *typed = *typed && dtype->storage_class && storage->bytes % dtype->item_bytes == 0;
    put(w, MARK);
    SC_TRY(put_str(w, SC_STR("storage")));
    if (*typed)
        put_global(w, "torch", dtype->storage_class);
    else
        put_global(w, "torch.storage", "UntypedStorage");
    SC_TRY(put_str(w, sc_str_from(key)));
    SC_TRY(put_str(w, SC_STR("cpu")));
    put_int(w, (int64_t)(storage->bytes / (*typed ? dtype->item_bytes : 1)));
    put(w, TUPLE);
    put(w, BINPERSID);
    return SC_OK;
}

static void put_ints(writer *w, const int64_t *values, uint32_t count) {
    put(w, MARK);
    for (uint32_t i = 0; i < count; i++) put_int(w, values[i]);
    put(w, TUPLE);
}

static bool takes_grad(const sc_pickle_tensor *tensor) {
    const sc_pickle_dtype *dtype = sc_pickle_dtype_of(tensor->dtype);
    sc_str name = sc_str_from(dtype->name);
    return tensor->requires_grad &&
           (sc_str_starts_with(name, "float") || sc_str_starts_with(name, "bfloat") ||
            sc_str_starts_with(name, "complex"));
}

// Writes _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks), or v3, which
// takes the dtype, too.
static sc_status put_plain_tensor(writer *w, const sc_pickle_tensor *tensor) {
    const sc_pickle_dtype *dtype = sc_pickle_dtype_of(tensor->dtype);
    bool typed;
    put_global(w, "torch._utils", "_rebuild_tensor_v2");
    const size_t digit = w->out->size - 2;
    put(w, MARK);
    SC_TRY(put_storage(w, tensor->storage, dtype, &typed));
    if (!typed) w->out->data[digit] = '3';
    put_int(w, tensor->storage_offset);
    put_ints(w, tensor->sizes, tensor->rank);
    put_ints(w, tensor->strides, tensor->rank);
    put_bool(w, !tensor->is_parameter && takes_grad(tensor));
    put_hooks(w);
    if (!typed) put_global(w, "torch", dtype->name);
    put(w, TUPLE);
    put(w, REDUCE);
    return SC_OK;
}

static sc_status put_tensor(writer *w, const sc_pickle_tensor *tensor) {
    if (!tensor->storage || tensor->storage->missing)
        return sc_fail(w->ctx, SC_ERR_UNSUPPORTED, "Give it data: a tensor of device cpu.",
                       "a tensor without data cannot be written to a torch.save file");
    if (!tensor->is_parameter) return put_plain_tensor(w, tensor);
    put_global(w, "torch._utils", "_rebuild_parameter");
    put(w, MARK);
    SC_TRY(put_plain_tensor(w, tensor));
    put_bool(w, takes_grad(tensor));
    put_hooks(w);
    put(w, TUPLE);
    put(w, REDUCE);
    return SC_OK;
}

// --- Values --------------------------------------------------------------------------------------

static sc_status put_value(writer *w, const sc_pickle_value *value);

static sc_status put_items(writer *w, const sc_pickle_value *value, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) SC_TRY(put_value(w, value->items[i]));
    return SC_OK;
}

static sc_status put_tuple(writer *w, const sc_pickle_value *tuple) {
    const uint32_t count = tuple->count;
    if (count > 3) put(w, MARK);
    SC_TRY(put_items(w, tuple, count));
    put(w, count == 0 ? EMPTY_TUPLE : count > 3 ? TUPLE : (uint8_t)(TUPLE1 + count - 1));
    return SC_OK;
}

static sc_status put_list(writer *w, const sc_pickle_value *list) {
    put(w, EMPTY_LIST);
    if (list->count == 0) return SC_OK;
    put(w, MARK);
    SC_TRY(put_items(w, list, list->count));
    put(w, APPENDS);
    return SC_OK;
}

static sc_status put_set(writer *w, const sc_pickle_value *set) {
    put_global(w, "__builtin__", "set");
    SC_TRY(put_list(w, set));
    put(w, TUPLE1);
    put(w, REDUCE);
    return SC_OK;
}

static sc_status put_dict(writer *w, const sc_pickle_value *dict) {
    put(w, EMPTY_DICT);
    if (dict->count == 0) return SC_OK;
    put(w, MARK);
    SC_TRY(put_items(w, dict, 2 * dict->count));
    put(w, SETITEMS);
    return SC_OK;
}

static sc_status put_complex(writer *w, const double *parts) {
    put_global(w, "__builtin__", "complex");
    put_float(w, parts[0]);
    put_float(w, parts[1]);
    put(w, TUPLE1 + 1);
    put(w, REDUCE);
    return SC_OK;
}

static sc_status refuse(writer *w, const sc_pickle_value *value) {
    const char *hint = "Pass tensors, numbers, text, and lists, tuples and dicts of them.";
    bool named = value->kind == SC_PICKLE_OBJECT || value->kind == SC_PICKLE_GLOBAL;
    if (named && value->object->name.size)
        return sc_fail(w->ctx, SC_ERR_UNSUPPORTED, hint,
                       SC_STR_FMT "." SC_STR_FMT " cannot be written to a torch.save file",
                       SC_STR_ARG(value->object->module), SC_STR_ARG(value->object->name));
    return sc_fail(w->ctx, SC_ERR_UNSUPPORTED, hint, "%s cannot be written to a torch.save file",
                   value->kind == SC_PICKLE_BYTES ? "bytes" : "an object");
}

static sc_status put_one(writer *w, const sc_pickle_value *value) {
    switch ((sc_pickle_kind)value->kind) {
    case SC_PICKLE_NONE: put(w, NONE); return SC_OK;
    case SC_PICKLE_BOOL: put_bool(w, value->boolean); return SC_OK;
    case SC_PICKLE_INT: put_int(w, value->integer); return SC_OK;
    case SC_PICKLE_FLOAT: put_float(w, value->real); return SC_OK;
    case SC_PICKLE_COMPLEX: return put_complex(w, value->complex);
    case SC_PICKLE_STR: return put_str(w, sc_pickle_str(value));
    case SC_PICKLE_TUPLE: return put_tuple(w, value);
    case SC_PICKLE_LIST: return put_list(w, value);
    case SC_PICKLE_SET: return put_set(w, value);
    case SC_PICKLE_DICT: return put_dict(w, value);
    case SC_PICKLE_DTYPE: put_global(w, "torch", sc_pickle_dtype_of(value->dtype)->name); break;
    case SC_PICKLE_TENSOR: return put_tensor(w, value->tensor);
    case SC_PICKLE_BYTES:
    case SC_PICKLE_GLOBAL:
    case SC_PICKLE_STORAGE:
    case SC_PICKLE_OBJECT: return refuse(w, value);
    }
    return SC_OK;
}

static sc_status put_value(writer *w, const sc_pickle_value *value) {
    if (++w->work > w->ctx->limits.pickle_opcode_max)
        return sc_fail(w->ctx, SC_ERR_LIMIT, NULL, "the pickle exceeds pickle_opcode_max");
    if (++w->depth > w->ctx->limits.pickle_depth_max)
        return sc_fail(w->ctx, SC_ERR_LIMIT, NULL,
                       "the pickle is nested deeper than pickle_depth_max");
    sc_status status = put_one(w, value);
    w->depth--;
    return status;
}

sc_status sc_pickle_write(sc_ctx *ctx, sc_arena *arena, const sc_pickle_value *root, sc_sb *out,
                          sc_pickle_storages *storages) {
    writer w = {.ctx = ctx, .arena = arena, .out = out, .storages = storages};
    sc_imap_init(&w.known, arena);
    put(&w, PROTO);
    put(&w, 2);
    SC_TRY(put_value(&w, root));
    put(&w, STOP);
    return SC_OK;
}
