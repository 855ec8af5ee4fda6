// Walks a buffer by its schema's descriptors and bounds every offset. Accessors check no bytes, and
// wasm does not fault, so an unchecked offset would read garbage silently.
//
// The buffer's size bounds the work. Every table, vector and run of items is charged against a
// budget that is linear in it. So offsets that share targets cannot multiply the work, neither here
// nor in code that walks over the verified buffer. SC_FB_DEPTH_MAX bounds the depth.
#include "format/flatbuf.h"

// Our own files share most: four bytes may give a value of three tables and two vectors.
#define BUDGET_PER_BYTE 4
#define BYTES_PER_UNIT  16  // bytes of vectors and strings

typedef struct verifier {
    sc_ctx *ctx;
    const sc_fb_schema *schema;
    const uint8_t *data;
    uint64_t size;
    uint64_t budget;
    uint32_t depth;
    const sc_fb_table_type *type;  // the current table
} verifier;

static sc_status damaged(verifier *v, const char *field, const char *what) {
    return sc_fail(v->ctx, SC_ERR_CORRUPT, "Make or fetch the file again: it is damaged.",
                   "%s data is damaged: %s%s%s %s", v->schema->identifier, v->type->name,
                   field ? "." : "", field ? field : "", what);
}

static bool fits(const verifier *v, uint64_t offset, uint64_t bytes) {
    return offset <= v->size && bytes <= v->size - offset;
}

static bool spend(verifier *v, uint64_t amount) {
    if (amount > v->budget) return false;
    v->budget -= amount;
    return true;
}

static uint32_t type_bytes(uint8_t type) {
    static const uint8_t bytes[] = {
        [SC_FB_BOOL] = 1, [SC_FB_I8] = 1,     [SC_FB_U8] = 1,    [SC_FB_I16] = 2,  [SC_FB_U16] = 2,
        [SC_FB_I32] = 4,  [SC_FB_U32] = 4,    [SC_FB_I64] = 8,   [SC_FB_U64] = 8,  [SC_FB_F32] = 4,
        [SC_FB_F64] = 8,  [SC_FB_STRING] = 4, [SC_FB_TABLE] = 4, [SC_FB_UNION] = 4};
    return bytes[type];
}

// Follows the reference at `offset`. The offset itself is in bounds.
static bool follow(const verifier *v, uint64_t offset, uint64_t *target) {
    uint32_t distance = sc_fb_load_u32(v->data + offset);
    *target = offset + distance;
    return distance != 0 && fits(v, *target, 4);
}

static sc_status verify_table(verifier *v, uint64_t offset, const sc_fb_table_type *type);

static sc_status verify_string(verifier *v, const sc_fb_field *field, uint64_t offset) {
    uint64_t at;
    if (!follow(v, offset, &at)) return damaged(v, field->name, "points outside the file");
    uint64_t count = sc_fb_load_u32(v->data + at);
    if (!fits(v, at + 4, count + 1))
        return damaged(v, field->name, "is a string that leaves the file");
    if (v->data[at + 4 + count] != 0)
        return damaged(v, field->name, "is a string without its end mark");
    return spend(v, 1 + count / BYTES_PER_UNIT) ? SC_OK
                                                : damaged(v, field->name, "is shared too often");
}

static sc_status verify_vector(verifier *v, const sc_fb_field *field, uint64_t offset) {
    uint64_t at;
    if (!follow(v, offset, &at)) return damaged(v, field->name, "points outside the file");
    uint64_t count = sc_fb_load_u32(v->data + at);
    uint64_t bytes = count * type_bytes(field->type);
    if (!fits(v, at + 4, bytes)) return damaged(v, field->name, "is a vector that leaves the file");
    if (!spend(v, 1 + bytes / BYTES_PER_UNIT))
        return damaged(v, field->name, "is shared too often");
    for (uint64_t i = 0; i < count && field->type >= SC_FB_STRING; i++) {
        if (field->type == SC_FB_STRING) {
            SC_TRY(verify_string(v, field, at + 4 + 4 * i));
            continue;
        }
        uint64_t item;
        if (!follow(v, at + 4 + 4 * i, &item))
            return damaged(v, field->name, "has an item outside the file");
        SC_TRY(verify_table(v, item, &v->schema->tables[field->ref]));
    }
    return SC_OK;
}

static sc_status verify_union(verifier *v, const sc_fb_field *field, uint64_t offset, uint8_t tag) {
    const sc_fb_enum *members = &v->schema->enums[field->ref];
    for (uint32_t i = 0; i < members->value_count; i++) {
        if (members->values[i].value != tag || tag == 0) continue;
        uint64_t at;
        if (!follow(v, offset, &at)) return damaged(v, field->name, "points outside the file");
        return verify_table(v, at, &v->schema->tables[members->values[i].table]);
    }
    return damaged(v, field->name, "is of an unknown kind");
}

// Gives the offset of a field's inline bytes; 0 if it is absent. The vtable was checked before. Its
// size of the table is no bound, because the Python writer shares vtables between tables of
// different sizes.
static sc_status locate(verifier *v, uint64_t table, uint64_t vtable, uint32_t slot, uint32_t bytes,
                        const char *name, uint64_t *out) {
    *out = 0;
    uint32_t entry = 4 + 2 * slot;
    if (entry >= sc_fb_load_u16(v->data + vtable)) return SC_OK;
    uint32_t offset = sc_fb_load_u16(v->data + vtable + entry);
    if (offset == 0) return SC_OK;
    if (offset < 4 || !fits(v, table + offset, bytes)) return damaged(v, name, "leaves the file");
    *out = table + offset;
    return SC_OK;
}

static sc_status verify_field(verifier *v, const sc_fb_field *field, uint64_t table,
                              uint64_t vtable) {
    uint32_t bytes = field->is_vector ? 4 : type_bytes(field->type);
    uint64_t at = 0, tag_at = 0;
    SC_TRY(locate(v, table, vtable, field->slot, bytes, field->name, &at));
    if (field->type == SC_FB_UNION) {
        SC_TRY(locate(v, table, vtable, field->slot - 1u, 1, field->name, &tag_at));
        if (at) return verify_union(v, field, at, tag_at ? v->data[tag_at] : 0);
    }
    if (!at) return field->is_required ? damaged(v, field->name, "is missing") : SC_OK;
    if (field->is_vector) return verify_vector(v, field, at);
    if (field->type == SC_FB_STRING) return verify_string(v, field, at);
    if (field->type != SC_FB_TABLE) return SC_OK;
    uint64_t target;
    if (!follow(v, at, &target)) return damaged(v, field->name, "points outside the file");
    return verify_table(v, target, &v->schema->tables[field->ref]);
}

static sc_status verify_table(verifier *v, uint64_t offset, const sc_fb_table_type *type) {
    const sc_fb_table_type *outer = v->type;
    v->type = type;
    if (!spend(v, 1)) return damaged(v, NULL, "is shared too often");
    if (v->depth >= SC_FB_DEPTH_MAX) return damaged(v, NULL, "is nested too deeply");
    int64_t at = (int64_t)offset - (int32_t)sc_fb_load_u32(v->data + offset);
    if (at < 0 || !fits(v, (uint64_t)at, 4))
        return damaged(v, NULL, "has its layout outside the file");
    uint64_t vtable = (uint64_t)at;
    uint32_t vtable_bytes = sc_fb_load_u16(v->data + vtable);
    if (vtable_bytes < 4 || vtable_bytes % 2 != 0 || !fits(v, vtable, vtable_bytes))
        return damaged(v, NULL, "has a layout of impossible size");
    v->depth++;
    for (uint32_t i = 0; i < type->field_count; i++)
        SC_TRY(verify_field(v, &type->fields[i], offset, vtable));
    v->depth--;
    v->type = outer;
    return SC_OK;
}

sc_status sc_fb_verify(sc_ctx *ctx, const sc_fb_schema *schema, const uint8_t *data, size_t size) {
    verifier v = {.ctx = ctx, .schema = schema, .data = data, .size = size};
    v.type = &schema->tables[schema->root];
    v.budget = (uint64_t)size * BUDGET_PER_BYTE + 4096;
    if (size < 12 || size > INT32_MAX)
        return damaged(&v, NULL, size < 12 ? "is cut short" : "is larger than 2 GB");
    if (memcmp(data + 4, schema->identifier, 4) != 0) {
        bool related = memcmp(data + 4, schema->identifier, 2) == 0;
        return sc_fail(ctx, related ? SC_ERR_VERSION : SC_ERR_FORMAT, NULL,
                       "this is not %s data of the known format (identifier \"%s\")", schema->name,
                       schema->identifier);
    }
    uint64_t root;
    if (!follow(&v, 0, &root)) return damaged(&v, NULL, "is outside the file");
    return verify_table(&v, root, v.type);
}
