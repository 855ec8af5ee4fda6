// Builds a FlatBuffer from back to front, children first. So references always point to higher
// addresses, and are known when they are written. The block doubles in size: the used bytes move to
// the end of a new block.
//
// Fields of a table are ordered by size, the largest at the end, so that only the first and the
// last need padding. A layout is computed once for each shape of table, and equal vtables are
// stored once.
#include "format/flatbuf.h"

#define BYTES_FIRST 4096u
#define BYTES_MAX   (1u << 30)  // more than any real program needs; every offset stays below 2^31

void sc_fb_builder_init(sc_fb_builder *builder, sc_arena *arena) {
    memset(builder, 0, sizeof *builder);
    builder->arena = arena;
    builder->align_max = 4;
}

// Reserves `bytes` below the used part. False, from then on always, if the limit is reached.
static bool reserve(sc_fb_builder *b, uint64_t bytes) {
    if (b->failed || bytes > BYTES_MAX - b->used) {
        b->failed = true;
        return false;
    }
    uint64_t wanted = b->used + bytes;
    if (wanted <= b->capacity) return true;
    uint64_t capacity = sc_max_u64(b->capacity * (uint64_t)2, BYTES_FIRST);
    while (capacity < wanted) capacity *= 2;
    uint8_t *data = sc_arena_alloc(b->arena, (size_t)capacity);
    if (b->used) memcpy(data + capacity - b->used, b->data + b->capacity - b->used, b->used);
    b->data = data;
    b->capacity = (uint32_t)capacity;
    return true;
}

static uint8_t *head(const sc_fb_builder *b) { return b->data + b->capacity - b->used; }

static void push(sc_fb_builder *b, const void *bytes, uint32_t size) {
    b->used += size;
    memcpy(head(b), bytes, size);
}

// Writes zeros, so that the next `bytes` begin at a multiple of `align`.
static bool prepare(sc_fb_builder *b, uint64_t bytes, uint32_t align) {
    if (!reserve(b, bytes + align)) return false;
    if (align > b->align_max) b->align_max = align;
    uint32_t pad = (uint32_t)(0 - (b->used + bytes)) & (align - 1);
    b->used += pad;
    memset(head(b), 0, pad);
    return true;
}

static void push_u32(sc_fb_builder *b, uint32_t value) { push(b, &value, sizeof value); }

sc_fb_ref sc_fb_add_string(sc_fb_builder *b, sc_str s) {
    SC_ASSERT(!b->in_table);
    if (s.size > BYTES_MAX || !prepare(b, (uint64_t)s.size + 1 + 4, 4)) {
        b->failed = true;
        return 0;
    }
    push(b, "", 1);
    if (s.size) push(b, s.data, (uint32_t)s.size);
    push_u32(b, (uint32_t)s.size);
    return b->used;
}

sc_fb_ref sc_fb_add_vector(sc_fb_builder *b, const void *items, uint32_t count, uint32_t item_bytes,
                           uint32_t align) {
    SC_ASSERT(!b->in_table && align >= item_bytes && (align & (align - 1)) == 0);
    uint64_t bytes = (uint64_t)count * item_bytes;
    if (!prepare(b, bytes, align < 4 ? 4 : align) || !reserve(b, bytes + 4)) return 0;
    if (bytes) push(b, items, (uint32_t)bytes);
    push_u32(b, count);
    return b->used;
}

sc_fb_ref sc_fb_add_refs(sc_fb_builder *b, const sc_fb_ref *refs, uint32_t count) {
    SC_ASSERT(!b->in_table);
    if (!prepare(b, (uint64_t)count * 4, 4) || !reserve(b, (uint64_t)count * 4 + 4)) return 0;
    for (uint32_t i = count; i-- > 0;) push_u32(b, b->used + 4 - refs[i]);
    push_u32(b, count);
    return b->used;
}

void sc_fb_begin(sc_fb_builder *b) {
    SC_ASSERT(!b->in_table);
    b->in_table = true;
    b->slot_count = 0;
    b->shape = 0;
}

void sc_fb_set_scalar(sc_fb_builder *b, uint32_t slot, uint64_t bits, uint32_t bytes) {
    SC_ASSERT(b->in_table && b->slot_count < SC_FB_SLOT_MAX && slot < SC_FB_SLOT_MAX);
    b->slots[b->slot_count++] = (sc_fb_slot){(uint16_t)slot, (uint8_t)bytes, bits};
    b->shape = (b->shape ^ (slot << 8 | bytes)) * 0x9e3779b97f4a7c15u;
    b->shape ^= b->shape >> 29;
}

void sc_fb_set_ref(sc_fb_builder *b, uint32_t slot, sc_fb_ref ref) {
    if (ref) sc_fb_set_scalar(b, slot, ref, 0);
}

static uint32_t inline_bytes(const sc_fb_slot *slot) { return slot->bytes ? slot->bytes : 4u; }

// --- Layouts -------------------------------------------------------------------------------------
// The slots that are set, their order and their sizes decide all offsets and the vtable. A program
// has a few dozen such shapes and a hundred thousand tables.

struct sc_fb_layout {
    uint64_t shape;  // hash of keys
    sc_fb_ref vtable;
    uint16_t table_bytes;  // from the table's start to the end of its last field
    uint16_t align;
    uint32_t count;
    uint32_t *keys;     // slot and size of each field, in the order of the calls
    uint16_t *offsets;  // offset of each field from the table's start
};

static uint32_t slot_key(const sc_fb_slot *slot) { return (uint32_t)slot->slot << 8 | slot->bytes; }

static bool has_shape(const sc_fb_builder *b, const sc_fb_layout *layout) {
    if (layout->shape != b->shape || layout->count != b->slot_count) return false;
    for (uint32_t i = 0; i < b->slot_count; i++)
        if (layout->keys[i] != slot_key(&b->slots[i])) return false;
    return true;
}

static void grow_layouts(sc_fb_builder *b) {
    uint32_t capacity = b->layout_capacity ? b->layout_capacity * 2 : 64;
    sc_fb_layout **layouts = sc_new_array(b->arena, sc_fb_layout *, capacity);
    for (uint32_t i = 0; i < b->layout_capacity; i++) {
        if (!b->layouts[i]) continue;
        uint64_t at = b->layouts[i]->shape;
        while (layouts[at & (capacity - 1)]) at++;
        layouts[at & (capacity - 1)] = b->layouts[i];
    }
    b->layouts = layouts;
    b->layout_capacity = capacity;
}

// Gives the position of an equal vtable, or writes this one. The same fields in another order have
// another layout, but perhaps the same vtable.
static sc_fb_ref intern_vtable(sc_fb_builder *b, const uint16_t *vtable) {
    for (uint32_t i = 0; i < b->layout_capacity; i++) {
        if (!b->layouts[i]) continue;
        sc_fb_ref found = b->layouts[i]->vtable;
        if (memcmp(b->data + b->capacity - found, vtable, 2) == 0 &&
            memcmp(b->data + b->capacity - found, vtable, vtable[0]) == 0)
            return found;
    }
    if (!reserve(b, vtable[0] + 2u)) return 0;
    push(b, vtable, vtable[0]);
    b->vtable_count++;
    return b->used;
}

// Computes the offsets of the fields. The reference to the vtable comes first, then the fields by
// size. The largest ends the table.
static void lay_out(const sc_fb_builder *b, sc_fb_layout *layout) {
    uint32_t bytes = 0;
    layout->align = 4;
    for (uint32_t i = 0; i < b->slot_count; i++) {
        uint32_t field = inline_bytes(&b->slots[i]);
        layout->align = field > layout->align ? (uint16_t)field : layout->align;
        bytes += field;
    }
    // Goes from the end down, largest fields first, so that the only padding comes after the
    // reference to the vtable.
    uint32_t end = 4 + (uint32_t)sc_align_up(bytes, 4);
    layout->table_bytes = (uint16_t)end;
    for (uint32_t size = 8; size > 0; size /= 2)
        for (uint32_t i = 0; i < b->slot_count; i++)
            if (inline_bytes(&b->slots[i]) == size) layout->offsets[i] = (uint16_t)(end -= size);
}

static sc_fb_layout *add_layout(sc_fb_builder *b) {
    sc_fb_layout *layout = sc_new(b->arena, sc_fb_layout);
    uint16_t vtable[2 + SC_FB_SLOT_MAX] = {4};
    layout->shape = b->shape;
    layout->count = b->slot_count;
    layout->keys = sc_new_array(b->arena, uint32_t, b->slot_count + 1);
    layout->offsets = sc_new_array(b->arena, uint16_t, b->slot_count + 1);
    lay_out(b, layout);
    for (uint32_t i = 0; i < b->slot_count; i++) {
        uint32_t slot = b->slots[i].slot;
        layout->keys[i] = slot_key(&b->slots[i]);
        SC_ASSERT(vtable[2 + slot] == 0);  // each field is set once
        vtable[2 + slot] = layout->offsets[i];
        if (vtable[0] < 6 + 2 * slot) vtable[0] = (uint16_t)(6 + 2 * slot);
    }
    vtable[1] = layout->table_bytes;
    layout->vtable = intern_vtable(b, vtable);
    return layout;
}

static const sc_fb_layout *layout_of_fields(sc_fb_builder *b) {
    if (b->layout_count * 2 >= b->layout_capacity) grow_layouts(b);
    for (uint64_t at = b->shape;; at++) {
        sc_fb_layout **found = &b->layouts[at & (b->layout_capacity - 1)];
        if (*found && has_shape(b, *found)) return *found;
        if (*found) continue;
        sc_fb_layout *added = add_layout(b);
        b->layout_count++;
        return *found = added;
    }
}

static void store_field(const sc_fb_builder *b, const sc_fb_slot *slot, uint8_t *at) {
    switch (slot->bytes) {
    case 0:  // positions count from the end
        sc_fb_store_u32(at, (uint32_t)(b->data + b->capacity - at) - (uint32_t)slot->bits);
        break;
    case 1: *at = (uint8_t)slot->bits; break;
    case 2: memcpy(at, &slot->bits, 2); break;
    case 4: memcpy(at, &slot->bits, 4); break;
    default: memcpy(at, &slot->bits, 8); break;
    }
}

static sc_fb_ref write_table(sc_fb_builder *b, const sc_fb_layout *layout) {
    // The end of the table is aligned, and so is every field. Its start is a multiple of 4.
    if (b->failed || !prepare(b, 0, layout->align) || !reserve(b, layout->table_bytes)) return 0;
    b->used += layout->table_bytes;
    uint8_t *table = head(b);
    memset(table, 0, layout->table_bytes < 8 ? layout->table_bytes : 8u);
    sc_fb_store_u32(table, layout->vtable - b->used);
    for (uint32_t i = 0; i < b->slot_count; i++)
        store_field(b, &b->slots[i], table + layout->offsets[i]);
    return b->used;
}

sc_fb_ref sc_fb_end(sc_fb_builder *b) {
    SC_ASSERT(b->in_table);
    b->in_table = false;
    return write_table(b, layout_of_fields(b));
}

void sc_fb_patch_u32(sc_fb_builder *b, sc_fb_ref table, uint32_t slot, uint32_t value) {
    if (b->failed) return;
    uint8_t *at = b->data + b->capacity - table;
    const uint8_t *field = sc_fb_field_at((sc_fb_table){at}, slot);
    SC_ASSERT(field);
    sc_fb_store_u32(at + (field - at), value);
}

// --- Shared tables -------------------------------------------------------------------------------
// Children are compared by position. So whole trees are shared if children are shared first.

struct sc_fb_shared {
    uint64_t hash;
    sc_fb_ref table;  // 0: free
};

static uint64_t content_hash(const sc_fb_builder *b) {
    uint64_t hash = b->shape;
    for (uint32_t i = 0; i < b->slot_count; i++) {
        hash = (hash ^ b->slots[i].bits) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool holds_field(const sc_fb_builder *b, const sc_fb_slot *slot, const uint8_t *at) {
    if (slot->bytes) return memcmp(at, &slot->bits, slot->bytes) == 0;
    return (uint32_t)(b->data + b->capacity - at) - sc_fb_load_u32(at) == (uint32_t)slot->bits;
}

static bool holds_fields(const sc_fb_builder *b, const sc_fb_layout *layout, sc_fb_ref ref) {
    const uint8_t *table = b->data + b->capacity - ref;
    if (sc_fb_load_u32(table) != layout->vtable - ref) return false;
    for (uint32_t i = 0; i < b->slot_count; i++)
        if (!holds_field(b, &b->slots[i], table + layout->offsets[i])) return false;
    return true;
}

static void grow_shared(sc_fb_builder *b) {
    uint32_t capacity = b->shared_capacity ? b->shared_capacity * 2 : 256;
    struct sc_fb_shared *shared = sc_new_array(b->arena, struct sc_fb_shared, capacity);
    for (uint32_t i = 0; i < b->shared_capacity; i++) {
        if (!b->shared[i].table) continue;
        uint64_t at = b->shared[i].hash;
        while (shared[at & (capacity - 1)].table) at++;
        shared[at & (capacity - 1)] = b->shared[i];
    }
    b->shared = shared;
    b->shared_capacity = capacity;
}

sc_fb_ref sc_fb_end_shared(sc_fb_builder *b) {
    SC_ASSERT(b->in_table);
    b->in_table = false;
    const sc_fb_layout *layout = layout_of_fields(b);
    if (b->shared_count * 2 >= b->shared_capacity) grow_shared(b);
    uint64_t hash = content_hash(b);
    for (uint64_t at = hash;; at++) {
        struct sc_fb_shared *found = &b->shared[at & (b->shared_capacity - 1)];
        if (!found->table) {
            b->shared_count++;
            *found = (struct sc_fb_shared){hash, write_table(b, layout)};
            return found->table;
        }
        if (found->hash == hash && holds_fields(b, layout, found->table)) return found->table;
    }
}

// In the file, `before` bytes come before the reference to the root.
static sc_status finish(sc_ctx *ctx, sc_fb_builder *b, sc_fb_ref root, const char *identifier,
                        uint32_t before) {
    SC_ASSERT(!b->in_table && (root || b->failed) && strlen(identifier) == 4);
    if (!prepare(b, 8 + before, b->align_max) || !reserve(b, 8 + before))
        return sc_fail(ctx, SC_ERR_LIMIT, "Split the program into several files.",
                       "the program's description is larger than %u MB", BYTES_MAX >> 20);
    push(b, identifier, 4);
    push_u32(b, b->used + 4 - root);
    return SC_OK;
}

sc_status sc_fb_finish(sc_ctx *ctx, sc_fb_builder *b, sc_fb_ref root, const char *identifier,
                       const uint8_t **data, size_t *size) {
    SC_TRY(finish(ctx, b, root, identifier, 0));
    *data = head(b);
    *size = b->used;
    return SC_OK;
}

sc_status sc_fb_finish_size_prefixed(sc_ctx *ctx, sc_fb_builder *b, sc_fb_ref root,
                                     const char *identifier, const uint8_t **data, size_t *size) {
    SC_TRY(finish(ctx, b, root, identifier, 4));
    push_u32(b, b->used);
    *data = head(b);
    *size = b->used;
    return SC_OK;
}
