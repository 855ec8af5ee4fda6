#include "backends/host/run/values.h"

#include "backends/host/answer.h"
#include "rt/rt.h"

size_t sc_host_tensor_bytes(const sc_tensor *t) {
    return (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
}

sc_str sc_host_sizes_text(sc_arena *arena, const int64_t *sizes, uint32_t rank) {
    sc_sb sb;
    sc_sb_init(&sb, arena);
    sc_sb_add_char(&sb, '[');
    for (uint32_t d = 0; d < rank; d++)
        sc_sb_addf(&sb, "%s%lld", d ? ", " : "", (long long)sizes[d]);
    sc_sb_add_char(&sb, ']');
    return sc_sb_str(&sb);
}

void sc_host_put_tensor(sc_json_writer *w, const sc_tensor *t, const void *row_major) {
    sc_json_put_text(w, "kind", "tensor");
    sc_json_put_text(w, "dtype", sc_dtype_name((sc_dtype)t->dtype));
    sc_json_put_array(w, "shape");
    for (uint32_t d = 0; d < t->rank; d++) sc_json_add_i64(w, t->sizes[d]);
    sc_json_end_array(w);
    sc_host_put_bytes(w, "bytes", row_major, sc_host_tensor_bytes(t));
}

// Numbers are text: JavaScript's numbers are narrower than 64 bits, and JSON has no infinities.
static void add_number(sc_json_writer *w, sc_arena *arena, sc_evalue_tag tag, int64_t i, double d) {
    sc_sb text;
    sc_sb_init(&text, arena);
    if (tag == SC_EVALUE_DOUBLE)
        sc_sb_add_f64(&text, d);
    else
        sc_sb_add_i64(&text, i);
    sc_json_begin_object(w);
    sc_json_put_text(w, "kind",
                     tag == SC_EVALUE_DOUBLE ? "double"
                     : tag == SC_EVALUE_BOOL ? "bool"
                                             : "int");
    sc_json_put_str(w, "value", sc_sb_str(&text));
    sc_json_end_object(w);
}

static void add_tensor(sc_json_writer *w, sc_arena *arena, const sc_tensor *t) {
    void *row_major = t->data;
    if (!sc_tensor_is_contiguous(t)) {
        row_major = sc_arena_alloc(arena, sc_host_tensor_bytes(t) + 1);
        sc_rt_tensor_read(t, row_major, sc_host_tensor_bytes(t));
    }
    sc_json_begin_object(w);
    sc_host_put_tensor(w, t, row_major);
    sc_json_end_object(w);
}

static void add_plain(sc_json_writer *w, sc_arena *arena, const sc_evalue *value) {
    switch (value ? value->tag : SC_EVALUE_NONE) {
    case SC_EVALUE_TENSOR: add_tensor(w, arena, value->tensor); return;
    case SC_EVALUE_INT: add_number(w, arena, SC_EVALUE_INT, value->i, 0); return;
    case SC_EVALUE_BOOL: add_number(w, arena, SC_EVALUE_BOOL, value->b, 0); return;
    case SC_EVALUE_DOUBLE: add_number(w, arena, SC_EVALUE_DOUBLE, 0, value->d); return;
    default: break;
    }
    sc_json_begin_object(w);
    sc_json_put_text(w, "kind", value && value->tag == SC_EVALUE_STRING ? "string" : "none");
    if (value && value->tag == SC_EVALUE_STRING) sc_json_put_str(w, "value", value->str);
    sc_json_end_object(w);
}

static void add_item(sc_json_writer *w, sc_arena *arena, const sc_evalue *list, uint32_t i) {
    switch (list->tag) {
    case SC_EVALUE_DOUBLE_LIST: add_number(w, arena, SC_EVALUE_DOUBLE, 0, list->doubles[i]); return;
    case SC_EVALUE_BOOL_LIST: add_number(w, arena, SC_EVALUE_BOOL, list->bools[i] != 0, 0); return;
    case SC_EVALUE_INT_LIST: add_plain(w, arena, list->ints[i]); return;
    default: add_plain(w, arena, list->tensors[i]);
    }
}

void sc_host_add_value(sc_json_writer *w, sc_arena *arena, const sc_evalue *value) {
    if (value->tag < SC_EVALUE_INT_LIST) {
        add_plain(w, arena, value);
        return;
    }
    sc_json_begin_object(w);
    sc_json_put_text(w, "kind", "list");
    sc_json_put_array(w, "items");
    for (uint32_t i = 0; i < value->count; i++) add_item(w, arena, value, i);
    sc_json_end_array(w);
    sc_json_end_object(w);
}
