// Writes a FlatBuffer as JSON by the schema's descriptors. Names and shape are those of flatc
// --json --strict-json, so that the two can be compared. The buffer must be verified before, which
// also bounds depth and work.
#include "base/print.h"
#include "format/flatbuf.h"

typedef struct dumper {
    sc_json_writer *out;
    const sc_fb_schema *schema;
    uint32_t bytes_max;
} dumper;

static void dump_table(const dumper *d, sc_fb_table table, const sc_fb_table_type *type);

static const sc_fb_enum_value *enum_value(const sc_fb_enum *type, int64_t value) {
    for (uint32_t i = 0; i < type->value_count; i++)
        if (type->values[i].value == value) return &type->values[i];
    return NULL;
}

static void dump_int(const dumper *d, const sc_fb_field *field, int64_t value) {
    const sc_fb_enum_value *name =
        field->ref == SC_FB_NO_REF ? NULL : enum_value(&d->schema->enums[field->ref], value);
    if (name)
        sc_json_add_text(d->out, name->name);
    else
        sc_json_add_i64(d->out, value);
}

// Writes the inline value at `at`, a scalar or a reference. `vec` wraps it, so that fields and
// items use the same loads.
static void dump_value(const dumper *d, const sc_fb_field *field, const uint8_t *at) {
    sc_fb_vec vec = {at, 1};
    switch ((sc_fb_type)field->type) {
    case SC_FB_BOOL: sc_json_add_bool(d->out, sc_fb_vec_bool(vec, 0)); break;
    case SC_FB_I8: dump_int(d, field, sc_fb_vec_i8(vec, 0)); break;
    case SC_FB_U8: dump_int(d, field, sc_fb_vec_u8(vec, 0)); break;
    case SC_FB_I16: dump_int(d, field, sc_fb_vec_i16(vec, 0)); break;
    case SC_FB_U16: dump_int(d, field, sc_fb_vec_u16(vec, 0)); break;
    case SC_FB_I32: dump_int(d, field, sc_fb_vec_i32(vec, 0)); break;
    case SC_FB_U32: dump_int(d, field, sc_fb_vec_u32(vec, 0)); break;
    case SC_FB_I64: dump_int(d, field, sc_fb_vec_i64(vec, 0)); break;
    case SC_FB_U64: sc_json_add_u64(d->out, sc_fb_vec_u64(vec, 0)); break;
    case SC_FB_F32: sc_json_add_f64(d->out, (double)sc_fb_vec_f32(vec, 0)); break;
    case SC_FB_F64: sc_json_add_f64(d->out, sc_fb_vec_f64(vec, 0)); break;
    case SC_FB_STRING: sc_json_add_str(d->out, sc_fb_deref_str(at)); break;
    case SC_FB_TABLE: dump_table(d, sc_fb_deref_table(at), &d->schema->tables[field->ref]); break;
    case SC_FB_UNION: break;  // dump_union has its type
    }
}

static uint32_t item_bytes(uint8_t type) {
    if (type == SC_FB_BOOL || type == SC_FB_I8 || type == SC_FB_U8) return 1;
    if (type == SC_FB_I16 || type == SC_FB_U16) return 2;
    return type == SC_FB_I64 || type == SC_FB_U64 || type == SC_FB_F64 ? 8 : 4;
}

static void dump_vector(const dumper *d, const sc_fb_field *field, sc_fb_vec vec) {
    uint32_t bytes = item_bytes(field->type);
    if (bytes == 1 && d->bytes_max && vec.count > d->bytes_max) {
        char text[32];
        sc_print(text, sizeof text, "%u bytes", (unsigned)vec.count);
        sc_json_add_text(d->out, text);
        return;
    }
    sc_json_begin_array(d->out);
    for (uint32_t i = 0; i < vec.count; i++) dump_value(d, field, vec.items + (size_t)i * bytes);
    sc_json_end_array(d->out);
}

static void dump_union(const dumper *d, const sc_fb_field *field, sc_fb_table table) {
    const sc_fb_enum *type = &d->schema->enums[field->ref];
    const sc_fb_enum_value *member = enum_value(type, sc_fb_get_u8(table, field->slot - 1u, 0));
    sc_fb_table value = sc_fb_get_table(table, field->slot);
    if (!member || member->table == SC_FB_NO_REF) return;
    char key[80];
    sc_print(key, sizeof key, "%s_type", field->name);
    sc_json_put_text(d->out, key, member->name);
    if (!value.at) return;
    sc_json_key(d->out, field->name);
    dump_table(d, value, &d->schema->tables[member->table]);
}

static void dump_table(const dumper *d, sc_fb_table table, const sc_fb_table_type *type) {
    sc_json_begin_object(d->out);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const sc_fb_field *field = &type->fields[i];
        const uint8_t *at = sc_fb_field_at(table, field->slot);
        if (field->type == SC_FB_UNION) {
            dump_union(d, field, table);
        } else if (at) {
            sc_json_key(d->out, field->name);
            if (field->is_vector)
                dump_vector(d, field, sc_fb_deref_vec(at));
            else
                dump_value(d, field, at);
        }
    }
    sc_json_end_object(d->out);
}

void sc_fb_dump(sc_json_writer *writer, const sc_fb_schema *schema, const uint8_t *data,
                uint32_t bytes_max) {
    dumper d = {writer, schema, bytes_max};
    dump_table(&d, sc_fb_root(data), &schema->tables[schema->root]);
}
