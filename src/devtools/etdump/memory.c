// Memory for entries, sizes and bytes of tensors. There are two bounds: the listener's, and that of
// the FlatBuffer.
#include "devtools/etdump/internal.h"

#define BLOCK_FIRST UINT64_C(4096)
#define PIECE_FIRST (UINT64_C(1) << 20)
#define ENTRY_ALIGN 64u  // of a tensor in the debug buffer

bool sc_etdump_charge(sc_etdump *dump, uint64_t bytes, uint64_t written) {
    if (dump->status != SC_OK) return false;
    if (bytes > dump->bytes_max - dump->held_bytes - dump->name_bytes ||
        written > SC_ETDUMP_WRITTEN_MAX - dump->written_bytes - dump->name_written_bytes)
        dump->status = SC_ERR_LIMIT;
    dump->held_bytes += bytes;
    dump->written_bytes += written;
    return dump->status == SC_OK;
}

static bool grow(sc_etdump *dump, sc_etdump_block *block, uint64_t wanted) {
    uint64_t capacity = sc_max_u64(block->capacity * 2, BLOCK_FIRST);
    while (capacity < wanted) capacity *= 2;
    void *data = sc_try_alloc(capacity);
    if (!data) {
        dump->status = SC_ERR_MEMORY;
        return false;
    }
    if (block->size) memcpy(data, block->data, (size_t)block->size);
    sc_free(block->data);
    block->data = data;
    block->capacity = capacity;
    return true;
}

static void *push(sc_etdump *dump, sc_etdump_block *block, uint64_t bytes, uint64_t written) {
    if (!sc_etdump_charge(dump, bytes, written)) return NULL;
    const uint64_t wanted = block->size + bytes;
    if ((wanted > block->capacity || !block->data) && !grow(dump, block, wanted)) return NULL;
    void *added = (uint8_t *)block->data + block->size;
    block->size = wanted;
    return added;
}

sc_etdump_entry *sc_etdump_add(sc_etdump *dump, sc_etdump_kind kind) {
    sc_etdump_entry *entry = push(dump, &dump->entries, sizeof(sc_etdump_entry), SC_ETDUMP_WRITTEN);
    if (entry) *entry = (sc_etdump_entry){.kind = (uint8_t)kind};
    return entry;
}

int64_t *sc_etdump_add_sizes(sc_etdump *dump, uint32_t count) {
    const uint64_t bytes = count * sizeof(int64_t);
    return push(dump, &dump->sizes, bytes, 2 * bytes);
}

static sc_etdump_piece *add_piece(sc_etdump *dump, uint64_t bytes) {
    sc_etdump_piece *piece = push(dump, &dump->pieces, sizeof(sc_etdump_piece), 0);
    if (!piece) return NULL;
    const uint64_t capacity = sc_max_u64(bytes, PIECE_FIRST);
    *piece = (sc_etdump_piece){.data = sc_try_alloc(capacity), .capacity = capacity};
    if (piece->data) return piece;
    dump->pieces.size -= sizeof(sc_etdump_piece);
    dump->status = SC_ERR_MEMORY;
    return NULL;
}

void *sc_etdump_add_bytes(sc_etdump *dump, uint64_t bytes) {
    const uint64_t padded = sc_align_up(bytes, ENTRY_ALIGN);
    if (!sc_etdump_charge(dump, padded, 0)) return NULL;
    const uint32_t count = sc_etdump_piece_count(dump);
    sc_etdump_piece *piece = count ? sc_etdump_piece_at(dump, count - 1) : NULL;
    if (!piece || piece->capacity - piece->size < padded) piece = add_piece(dump, padded);
    if (!piece) return NULL;
    uint8_t *added = piece->data + piece->size;
    memset(added + bytes, 0, (size_t)(padded - bytes));
    piece->size += padded;
    dump->debug_bytes += padded;
    return added;
}

void sc_etdump_drop_pieces(sc_etdump *dump, uint32_t kept) {
    for (uint32_t i = kept; i < sc_etdump_piece_count(dump); i++)
        sc_free(sc_etdump_piece_at(dump, i)->data);
    dump->pieces.size = kept * sizeof(sc_etdump_piece);
}

bool sc_etdump_is_empty(const sc_etdump *dump) { return sc_etdump_count(dump) == 0; }

void sc_etdump_put_debug_buffer(const sc_etdump *dump, sc_cord *out) {
    for (uint32_t i = 0; i < sc_etdump_piece_count(dump); i++) {
        const sc_etdump_piece *piece = sc_etdump_piece_at(dump, i);
        sc_cord_append_bytes(out, piece->data, piece->size);
    }
}

// --- Names ---------------------------------------------------------------------------------------

const sc_str *sc_etdump_keep_name(sc_etdump *dump, sc_str name) {
    const sc_str *known = sc_map_get(&dump->names, name);
    const uint64_t bytes = name.size + sizeof(sc_map_entry), written = name.size + 8;
    if (known || !sc_etdump_charge(dump, bytes, written)) return known;
    dump->held_bytes -= bytes;
    dump->name_bytes += bytes;
    dump->written_bytes -= written;
    dump->name_written_bytes += written;
    sc_str *kept = sc_new(&dump->name_arena, sc_str);
    *kept = sc_str_copy(&dump->name_arena, name);
    sc_map_add(&dump->names, *kept, kept);
    return kept;
}
