// Reads, builds, verifies and dumps FlatBuffers of any schema.
//
// schema/fbsgen.mjs turns a .fbs file into typed accessors on the functions below. It also makes
// descriptor tables for the verifier and the JSON dump. Accessors check no bytes: call sc_fb_verify
// first. The bytes must not change while tables and vectors are in use.
//
// The layout is little-endian. A table starts with an int32: its address minus the address of its
// vtable. A vtable is a list of uint16s: its own bytes, the bytes of the table, then for each field
// the distance from the table's start. A distance of 0 is a field at its default. Vectors and
// strings are a uint32 count and the items. Strings have a NUL after the last byte. A reference is
// a uint32 distance from its own address. The buffer begins with the reference to the root table,
// and four bytes of identifier.
// Prefixes: sc_fb_ reads and writes a FlatBuffer of any schema; generated accessors have a prefix
// for each schema, such as sc_pte_ for program.fbs.
#ifndef SC_FLATBUF_H
#define SC_FLATBUF_H

#include "format/json.h"

// --- Reading -------------------------------------------------------------------------------------

typedef struct sc_fb_table {
    const uint8_t *at;  // NULL: absent
} sc_fb_table;

typedef struct sc_fb_vec {
    const uint8_t *items;  // NULL: absent; an empty vector has an address
    uint32_t count;
} sc_fb_vec;

static inline uint16_t sc_fb_load_u16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint32_t sc_fb_load_u32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint64_t sc_fb_load_u64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void sc_fb_store_u32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof v); }
static inline void sc_fb_store_u64(uint8_t *p, uint64_t v) { memcpy(p, &v, sizeof v); }

static inline sc_fb_table sc_fb_root(const uint8_t *buffer) {
    return (sc_fb_table){buffer + sc_fb_load_u32(buffer)};
}

// The address of a field's inline bytes. NULL if the field is absent.
static inline const uint8_t *sc_fb_field_at(sc_fb_table table, uint32_t slot) {
    const uint8_t *vtable = table.at - (int32_t)sc_fb_load_u32(table.at);
    uint32_t entry = 4 + 2 * slot;
    if (entry >= sc_fb_load_u16(vtable)) return NULL;
    uint16_t offset = sc_fb_load_u16(vtable + entry);
    return offset ? table.at + offset : NULL;
}

#define SC_FB_SCALAR(name, type)                                                           \
    static inline type sc_fb_get_##name(sc_fb_table table, uint32_t slot, type fallback) { \
        const uint8_t *at = sc_fb_field_at(table, slot);                                   \
        if (at) memcpy(&fallback, at, sizeof fallback);                                    \
        return fallback;                                                                   \
    }                                                                                      \
    static inline type sc_fb_vec_##name(sc_fb_vec vec, uint32_t index) {                   \
        type value;                                                                        \
        memcpy(&value, vec.items + (size_t)index * sizeof value, sizeof value);            \
        return value;                                                                      \
    }
SC_FB_SCALAR(i8, int8_t)
SC_FB_SCALAR(u8, uint8_t)
SC_FB_SCALAR(i16, int16_t)
SC_FB_SCALAR(u16, uint16_t)
SC_FB_SCALAR(i32, int32_t)
SC_FB_SCALAR(u32, uint32_t)
SC_FB_SCALAR(i64, int64_t)
SC_FB_SCALAR(u64, uint64_t)
SC_FB_SCALAR(f32, float)
SC_FB_SCALAR(f64, double)
#undef SC_FB_SCALAR

// Any non-zero byte is true.
static inline bool sc_fb_get_bool(sc_fb_table table, uint32_t slot, bool fallback) {
    return sc_fb_get_u8(table, slot, fallback) != 0;
}
static inline bool sc_fb_vec_bool(sc_fb_vec vec, uint32_t index) { return vec.items[index] != 0; }

static inline sc_fb_vec sc_fb_deref_vec(const uint8_t *at) {
    if (!at) return (sc_fb_vec){NULL, 0};
    at += sc_fb_load_u32(at);
    return (sc_fb_vec){at + 4, sc_fb_load_u32(at)};
}
static inline sc_str sc_fb_deref_str(const uint8_t *at) {
    sc_fb_vec vec = sc_fb_deref_vec(at);
    return (sc_str){(const char *)vec.items, vec.count};
}
static inline sc_fb_table sc_fb_deref_table(const uint8_t *at) {
    return (sc_fb_table){at ? at + sc_fb_load_u32(at) : NULL};
}

static inline sc_fb_vec sc_fb_get_vec(sc_fb_table table, uint32_t slot) {
    return sc_fb_deref_vec(sc_fb_field_at(table, slot));
}
// An absent string has NULL data; an empty one has an address.
static inline sc_str sc_fb_get_str(sc_fb_table table, uint32_t slot) {
    return sc_fb_deref_str(sc_fb_field_at(table, slot));
}
static inline sc_fb_table sc_fb_get_table(sc_fb_table table, uint32_t slot) {
    return sc_fb_deref_table(sc_fb_field_at(table, slot));
}
static inline sc_fb_table sc_fb_vec_table(sc_fb_vec vec, uint32_t index) {
    return sc_fb_deref_table(vec.items + (size_t)index * 4);
}

// --- Descriptors (generated) ---------------------------------------------------------------------

typedef enum sc_fb_type {
    SC_FB_BOOL,
    SC_FB_I8,
    SC_FB_U8,
    SC_FB_I16,
    SC_FB_U16,
    SC_FB_I32,
    SC_FB_U32,
    SC_FB_I64,
    SC_FB_U64,
    SC_FB_F32,
    SC_FB_F64,
    SC_FB_STRING,
    SC_FB_TABLE,
    SC_FB_UNION
} sc_fb_type;

#define SC_FB_NO_REF UINT16_MAX

typedef struct sc_fb_field {
    const char *name;
    uint8_t type;  // sc_fb_type, for a vector that of its items
    bool is_vector;
    bool is_required;
    uint16_t align;  // force_align of a vector's items; 0: natural
    uint16_t slot;   // for a union that of its value; its type byte is one slot before
    uint16_t ref;    // TABLE: index among tables; UNION, scalars of enum type: among enums
    int64_t default_int;
    double default_float;
} sc_fb_field;

typedef struct sc_fb_table_type {
    const char *name;
    const sc_fb_field *fields;
    uint16_t field_count;
} sc_fb_table_type;

typedef struct sc_fb_enum_value {
    const char *name;
    int64_t value;
    uint16_t table;  // unions: index among tables
} sc_fb_enum_value;

typedef struct sc_fb_enum {
    const char *name;
    const sc_fb_enum_value *values;
    uint16_t value_count;
    bool is_union;
} sc_fb_enum;

typedef struct sc_fb_schema {
    const char *name;        // "program"
    const char *identifier;  // four characters
    const sc_fb_table_type *tables;
    const sc_fb_enum *enums;
    uint16_t table_count, enum_count;
    uint16_t root;  // index among tables
} sc_fb_schema;

// --- Verifying -----------------------------------------------------------------------------------

#define SC_FB_DEPTH_MAX 64

// Checks every offset that an accessor could follow: identifier, root, vtables, field positions,
// vector and string extents, terminators, known union tags, required fields. Time is linear in
// `size`, even if offsets are shared. SC_ERR_VERSION for another identifier, which a file of
// another kind or generation has. Otherwise SC_ERR_CORRUPT with the place.
sc_status sc_fb_verify(sc_ctx *ctx, const sc_fb_schema *schema, const uint8_t *data, size_t size);

// --- Dumping -------------------------------------------------------------------------------------

// Writes a verified buffer as JSON, from `root` down. Fields are in slot order, and absent ones are
// left out. Enums and unions are written by name. A vector of more than `bytes_max` bytes is
// written as its length ("4096 bytes"); 0 is no limit.
void sc_fb_dump(sc_json_writer *writer, const sc_fb_schema *schema, const uint8_t *data,
                uint32_t bytes_max);

// --- Building ------------------------------------------------------------------------------------

// A position counted from the end of the buffer, which grows toward lower addresses. 0: no
// position.
typedef uint32_t sc_fb_ref;

#define SC_FB_SLOT_MAX 64  // fields of a table

typedef struct sc_fb_slot {
    uint16_t slot;
    uint8_t bytes;  // bytes of the inline value; 0: a reference
    uint64_t bits;  // the value, or the sc_fb_ref
} sc_fb_slot;

typedef struct sc_fb_layout sc_fb_layout;  // the places of the fields in one shape of table

// A table is begun after all tables that it refers to are finished. Equal vtables are stored once.
// Fields are ordered by size, so that no padding is needed between them.
typedef struct sc_fb_builder {
    sc_arena *arena;
    uint8_t *data;  // the used bytes are the last `used` of `capacity`
    uint32_t capacity, used;
    uint32_t align_max;  // the largest requested alignment
    bool failed;         // it grew past the limit, which sc_fb_finish reports
    bool in_table;
    uint32_t slot_count;
    uint64_t shape;  // hash of the slots and sizes set so far
    sc_fb_slot slots[SC_FB_SLOT_MAX];
    sc_fb_layout **layouts;  // open-addressed, by shape
    uint32_t layout_count, layout_capacity;
    struct sc_fb_shared *shared;  // open-addressed, by content
    uint32_t shared_count, shared_capacity;
    uint32_t vtable_count;
} sc_fb_builder;

void sc_fb_builder_init(sc_fb_builder *builder, sc_arena *arena);
sc_fb_ref sc_fb_add_string(sc_fb_builder *builder, sc_str s);
// `align` is at least `item_bytes`. For example, a vector of bytes with tensor data needs 16.
sc_fb_ref sc_fb_add_vector(sc_fb_builder *builder, const void *items, uint32_t count,
                           uint32_t item_bytes, uint32_t align);
sc_fb_ref sc_fb_add_refs(sc_fb_builder *builder, const sc_fb_ref *refs, uint32_t count);

void sc_fb_begin(sc_fb_builder *builder);
// Generated code calls these with the field's slot. It leaves out values that equal the default.
void sc_fb_set_scalar(sc_fb_builder *builder, uint32_t slot, uint64_t bits, uint32_t bytes);
void sc_fb_set_ref(sc_fb_builder *builder, uint32_t slot, sc_fb_ref ref);  // 0: left out
sc_fb_ref sc_fb_end(sc_fb_builder *builder);
// The same, but a table with equal fields that was ended this way before is used again.
sc_fb_ref sc_fb_end_shared(sc_fb_builder *builder);

// Changes a number of 4 bytes in a table. The table was ended by sc_fb_end, with that field set.
void sc_fb_patch_u32(sc_fb_builder *builder, sc_fb_ref table, uint32_t slot, uint32_t value);

// Writes root reference and identifier. The result is in the builder's memory. The caller must put
// its first byte at a multiple of `align_max`. SC_ERR_LIMIT if it is too large.
sc_status sc_fb_finish(sc_ctx *ctx, sc_fb_builder *builder, sc_fb_ref root, const char *identifier,
                       const uint8_t **data, size_t *size);
// The same after four bytes with the number of bytes that follow. Alignments count from the first
// of these four.
sc_status sc_fb_finish_size_prefixed(sc_ctx *ctx, sc_fb_builder *builder, sc_fb_ref root,
                                     const char *identifier, const uint8_t **data, size_t *size);

#endif
