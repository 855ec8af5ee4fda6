// Turns values into entries, and puts the bytes of tensors into the debug buffer. Bytes become
// dense and row-major, because readers ignore strides. A value that the format cannot store is
// written as `Null`, and counted.
#include "devtools/etdump/internal.h"

#include <math.h>

// A tensor as it is written.
typedef struct plain {
    sc_dtype dtype;
    uint32_t rank;
    const int64_t *sizes;
    int64_t numel;
} plain;

static sc_etdump_entry *add_entry(sc_etdump *dump, sc_evalue_tag tag) {
    sc_etdump_entry *entry = sc_etdump_add(dump, SC_ETDUMP_VALUE);
    if (entry) entry->what = (uint8_t)tag;
    return entry;
}

static void add_omitted(sc_etdump *dump, sc_evalue_tag tag) {
    dump->omitted++;
    (void)add_entry(dump, tag);
}

// The place for the elements. NULL if there are no elements, or no room.
static void *add_plain(sc_etdump *dump, const plain *t) {
    const uint64_t sizes_at = dump->sizes.size / sizeof(int64_t);
    int64_t *sizes = sc_etdump_add_sizes(dump, t->rank);
    if (!sizes) return NULL;
    for (uint32_t d = 0; d < t->rank; d++) sizes[d] = t->sizes[d];
    const int64_t offset = t->numel ? (int64_t)dump->debug_bytes : -1;
    const uint64_t bytes = (uint64_t)t->numel * sc_dtype_bytes(t->dtype);
    void *elements = t->numel ? sc_etdump_add_bytes(dump, bytes) : NULL;
    sc_etdump_entry *entry = add_entry(dump, SC_EVALUE_TENSOR);
    if (!entry) return NULL;
    entry->dtype = (uint8_t)t->dtype;
    entry->rank = (uint8_t)t->rank;
    entry->count = (uint32_t)sizes_at;
    entry->offset = offset;
    return elements;
}

// --- Tensors -------------------------------------------------------------------------------------

// The dtype to write: the tensor's own if readers know it, else one that has all its values. COUNT
// if there is no such dtype.
static sc_dtype written_dtype(sc_dtype dtype) {
    switch (dtype) {
    case SC_DTYPE_U8:
    case SC_DTYPE_I8:
    case SC_DTYPE_I16:
    case SC_DTYPE_I32:
    case SC_DTYPE_I64:
    case SC_DTYPE_F16:
    case SC_DTYPE_F32:
    case SC_DTYPE_F64:
    case SC_DTYPE_BOOL:
    case SC_DTYPE_U16: return dtype;
    case SC_DTYPE_BF16: return SC_DTYPE_F32;
    case SC_DTYPE_U32: return SC_DTYPE_I64;
    default: return SC_DTYPE_NONE;
    }
}

static bool can_write(const sc_evalue *value) {
    if (!value || value->tag != SC_EVALUE_TENSOR) return false;
    const sc_tensor *t = value->tensor;
    return written_dtype((sc_dtype)t->dtype) != SC_DTYPE_NONE && (t->data || t->numel == 0);
}

// Widens elements in place. The narrow ones lie at the end of the memory, and the wide ones start
// at the beginning. No wide element is written before the narrow one in its place was read.
static void widen(sc_dtype from, const uint8_t *narrow, uint8_t *wide, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (from == SC_DTYPE_BF16) {
            uint16_t bits;
            memcpy(&bits, narrow + 2 * i, sizeof bits);
            const float value = sc_bf16_to_f32(bits);
            memcpy(wide + 4 * i, &value, sizeof value);
        } else {
            uint32_t bits;
            memcpy(&bits, narrow + 4 * i, sizeof bits);
            const int64_t value = bits;
            memcpy(wide + 8 * i, &value, sizeof value);
        }
    }
}

static void add_tensor(sc_etdump *dump, const sc_tensor *t) {
    const sc_dtype from = (sc_dtype)t->dtype;
    const plain shape = {written_dtype(from), t->rank, t->sizes, t->numel};
    uint8_t *elements = add_plain(dump, &shape);
    if (shape.dtype != from) dump->widened++;
    if (!elements) return;
    const uint64_t bytes = (uint64_t)t->numel * sc_dtype_bytes(from);
    uint8_t *narrow = elements + (uint64_t)t->numel * sc_dtype_bytes(shape.dtype) - bytes;
    sc_rt_tensor_read(t, narrow, (size_t)bytes);
    if (shape.dtype != from) widen(from, narrow, elements, t->numel);
}

static void add_tensor_list(sc_etdump *dump, const sc_evalue *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        if (can_write(list->tensors[i])) continue;
        add_omitted(dump, SC_EVALUE_NONE);
        return;
    }
    sc_etdump_entry *entry = sc_etdump_add(dump, SC_ETDUMP_LIST);
    if (entry) entry->count = list->count;
    for (uint32_t i = 0; i < list->count; i++) add_tensor(dump, list->tensors[i]->tensor);
}

// --- Numbers -------------------------------------------------------------------------------------

// Readers convert the dump to JSON, which has no infinity and no NaN. These become a tensor.
static void add_double(sc_etdump *dump, double value) {
    if (isfinite(value)) {
        sc_etdump_entry *entry = add_entry(dump, SC_EVALUE_DOUBLE);
        if (entry) entry->number = value;
        return;
    }
    const plain scalar = {SC_DTYPE_F64, 0, NULL, 1};
    void *element = add_plain(dump, &scalar);
    if (element) memcpy(element, &value, sizeof value);
}

static void add_integer(sc_etdump *dump, sc_evalue_tag tag, int64_t value) {
    sc_etdump_entry *entry = add_entry(dump, tag);
    if (entry) entry->integer = value;
}

static int64_t as_integer(const sc_evalue *value) {
    return value->tag == SC_EVALUE_BOOL ? value->b : value->i;
}

// The format has no lists of numbers. They are written as tensors of one dimension.
static void add_list(sc_etdump *dump, const sc_evalue *list, sc_dtype dtype) {
    const int64_t size = list->count;
    const plain row = {dtype, 1, &size, size};
    uint8_t *elements = add_plain(dump, &row);
    if (!elements) return;
    for (uint32_t i = 0; i < list->count; i++) {
        const int64_t integer = list->tag == SC_EVALUE_INT_LIST ? as_integer(list->ints[i]) : 0;
        if (list->tag == SC_EVALUE_INT_LIST) memcpy(elements + 8 * i, &integer, 8);
        if (list->tag == SC_EVALUE_DOUBLE_LIST) memcpy(elements + 8 * i, &list->doubles[i], 8);
        if (list->tag == SC_EVALUE_BOOL_LIST) elements[i] = list->bools[i];
    }
}

void sc_etdump_add_value(sc_etdump *dump, const sc_evalue *value) {
    switch ((sc_evalue_tag)value->tag) {
    case SC_EVALUE_NONE: (void)add_entry(dump, SC_EVALUE_NONE); return;
    case SC_EVALUE_INT: add_integer(dump, SC_EVALUE_INT, value->i); return;
    case SC_EVALUE_BOOL: add_integer(dump, SC_EVALUE_BOOL, value->b); return;
    case SC_EVALUE_DOUBLE: add_double(dump, value->d); return;
    case SC_EVALUE_STRING: add_omitted(dump, SC_EVALUE_STRING); return;
    case SC_EVALUE_TENSOR:
        if (can_write(value))
            add_tensor(dump, value->tensor);
        else
            add_omitted(dump, SC_EVALUE_NONE);
        return;
    case SC_EVALUE_INT_LIST: add_list(dump, value, SC_DTYPE_I64); return;
    case SC_EVALUE_DOUBLE_LIST: add_list(dump, value, SC_DTYPE_F64); return;
    case SC_EVALUE_BOOL_LIST: add_list(dump, value, SC_DTYPE_BOOL); return;
    case SC_EVALUE_TENSOR_LIST:
    case SC_EVALUE_OPTIONAL_TENSOR_LIST: add_tensor_list(dump, value); return;
    }
}
