// Builds a FlatBuffer back to front: children first, at the end of the block; references then
// always point to higher addresses and are known when they are written. The block doubles by moving
// the used tail to the end of a new block.
//
// Owns the layout of tables: fields by falling size toward lower addresses, so that only the first
// and the last need padding. Equal vtables are found in a hash set and stored once.
#include "format/flatbuf.h"

#include "base/hash.h"

#define BYTES_FIRST 4096u
#define BYTES_MAX   (1u << 30)  // far above any real program; keeps every offset inside 31 bits

void sc_fb_builder_init(sc_fb_builder *builder, sc_arena *arena) {
    memset(builder, 0, sizeof *builder);
    builder->arena = arena;
    builder->align_max = 4;
}

// Room for `bytes` more below the used part; false, for good, when the limit is reached.
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

// Zeros, so that what is pushed next (`bytes` in all) begins at a multiple of `align`.
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
}

void sc_fb_set_scalar(sc_fb_builder *b, uint32_t slot, uint64_t bits, uint32_t bytes) {
    SC_ASSERT(b->in_table && b->slot_count < SC_FB_SLOT_MAX && slot < SC_FB_SLOT_MAX);
    b->slots[b->slot_count++] = (sc_fb_slot){(uint16_t)slot, (uint8_t)bytes, bits};
}

void sc_fb_set_ref(sc_fb_builder *b, uint32_t slot, sc_fb_ref ref) {
    if (ref) sc_fb_set_scalar(b, slot, ref, 0);
}

// Writes the fields that take `bytes` inline bytes and notes where they start.
static void push_fields(sc_fb_builder *b, uint32_t bytes, uint32_t *places) {
    for (uint32_t i = 0; i < b->slot_count; i++) {
        const sc_fb_slot *slot = &b->slots[i];
        if ((slot->bytes ? slot->bytes : 4u) != bytes) continue;
        if (slot->bytes)
            push(b, &slot->bits, bytes);
        else
            push_u32(b, b->used + 4 - (uint32_t)slot->bits);
        places[slot->slot] = b->used;
    }
}

static uint32_t field_bytes(const sc_fb_builder *b) {
    uint32_t largest = 1;
    for (uint32_t i = 0; i < b->slot_count; i++) {
        uint32_t bytes = b->slots[i].bytes ? b->slots[i].bytes : 4u;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static uint64_t vtable_hash(const uint8_t *at) { return sc_hash64(at, sc_fb_load_u16(at)); }

static void grow_vtables(sc_fb_builder *b) {
    uint32_t capacity = b->vtable_capacity ? b->vtable_capacity * 2 : 64;
    sc_fb_ref *vtables = sc_new_array(b->arena, sc_fb_ref, capacity);
    for (uint32_t i = 0; i < b->vtable_capacity; i++) {
        if (!b->vtables[i]) continue;
        uint64_t at = vtable_hash(b->data + b->capacity - b->vtables[i]);
        while (vtables[at & (capacity - 1)]) at++;
        vtables[at & (capacity - 1)] = b->vtables[i];
    }
    b->vtables = vtables;
    b->vtable_capacity = capacity;
}

// The position of an equal vtable, or of this one, newly written.
static sc_fb_ref intern_vtable(sc_fb_builder *b, const uint16_t *vtable, uint32_t bytes) {
    if (b->vtable_count * 2 >= b->vtable_capacity) grow_vtables(b);
    uint64_t at = sc_hash64(vtable, bytes);
    for (;; at++) {
        sc_fb_ref *found = &b->vtables[at & (b->vtable_capacity - 1)];
        if (!*found) {
            push(b, vtable, bytes);
            b->vtable_count++;
            return *found = b->used;
        }
        const uint8_t *other = b->data + b->capacity - *found;
        if (sc_fb_load_u16(other) == bytes && memcmp(other, vtable, bytes) == 0) return *found;
    }
}

sc_fb_ref sc_fb_end(sc_fb_builder *b) {
    SC_ASSERT(b->in_table);
    b->in_table = false;
    uint32_t align = field_bytes(b);
    // The whole table and its vtable at their largest, so that no push below can outgrow the block.
    if (!reserve(b, SC_FB_SLOT_MAX * 10 + 64) || !prepare(b, 0, align < 4 ? 4 : align)) return 0;
    uint32_t places[SC_FB_SLOT_MAX] = {0}, start = b->used, slot_end = 0;
    for (uint32_t bytes = 8; bytes > 0; bytes /= 2) push_fields(b, bytes, places);
    SC_ASSERT(prepare(b, 4, 4));
    push_u32(b, 0);
    sc_fb_ref table = b->used;
    for (uint32_t i = 0; i < b->slot_count; i++)
        slot_end = b->slots[i].slot >= slot_end ? b->slots[i].slot + 1u : slot_end;
    uint16_t vtable[2 + SC_FB_SLOT_MAX];
    vtable[0] = (uint16_t)(4 + 2 * slot_end);
    vtable[1] = (uint16_t)(table - start);
    for (uint32_t i = 0; i < slot_end; i++)
        vtable[2 + i] = (uint16_t)(places[i] ? table - places[i] : 0);
    sc_fb_ref at = intern_vtable(b, vtable, vtable[0]);
    sc_fb_store_u32(b->data + b->capacity - table, at - table);
    return table;
}

sc_status sc_fb_finish(sc_ctx *ctx, sc_fb_builder *b, sc_fb_ref root, const char *identifier,
                       const uint8_t **data, size_t *size) {
    SC_ASSERT(!b->in_table && (root || b->failed) && strlen(identifier) == 4);
    if (!prepare(b, 8, b->align_max) || !reserve(b, 8))
        return sc_fail(ctx, SC_ERR_LIMIT, "Split the program into several files.",
                       "the program's description is larger than %u MB", BYTES_MAX >> 20);
    push(b, identifier, 4);
    push_u32(b, b->used + 4 - root);
    *data = head(b);
    *size = b->used;
    return SC_OK;
}
