// Constants and initial state: their places in the file, and in memory. A method's constants are
// read when it is loaded, each once for all methods. Large ones get blocks of their own, and small
// ones share blocks, so no block has to be as large as all of them. All memory is allocated before
// anything is read, so that a load without enough memory fails at once. A segment that is in memory
// already is used there.
#include "rt/load/constants.h"

#include <stdlib.h>

#include "rt/allocate.h"
#include "rt/deferred.h"
#include "rt/load/segments.h"
#include "rt/operands.h"

enum {
    GROUP_BYTES_MAX = 1 << 20,
    GAP_BYTES_MAX = 4 << 10,  // the largest unused gap between two constants of a group
    LINE_BYTES = 64,          // constants of a group keep their places within lines
    READ_BYTES = 8 << 20
};

// A range to read: constants that lie together in the segment, or an entry of a data file.
typedef struct piece {
    sc_extent extent;
    uint8_t *memory;
    sc_rt_datum *datum;
    uint32_t first, count;  // of the ranges
} piece;

typedef struct range {
    uint64_t begin, end;
    uint32_t index;
} range;

typedef struct loading {
    sc_ctx *ctx;
    sc_rt_method *m;
    SC_VEC(range) ranges;
    SC_VEC(piece) pieces;
} loading;

// --- Needs of a method ---------------------------------------------------------------------------

static sc_status find_range(sc_ctx *ctx, const sc_rt_program *p, uint32_t index, uint64_t bytes,
                            range *out) {
    if (index >= p->constant_offsets.count)
        return sc_rt_bad_pte(ctx, "a constant that it names does not exist");
    const uint64_t begin = sc_fb_vec_u64(p->constant_offsets, index);
    if (bytes > p->constant_extent.size - begin)
        return sc_rt_bad_pte(ctx, "a constant is longer than its segment");
    *out = (range){begin, begin + bytes, index};
    return SC_OK;
}

static void add_datum(loading *l, sc_rt_datum *datum) {
    const sc_extent *e = &datum->extent;
    const uint8_t *memory = e->size ? e->source->memory : NULL;
    if (datum->bytes || datum->is_wanted) return;
    if (memory && ((uintptr_t)memory + e->offset) % 16 == 0) {
        datum->bytes = memory + e->offset;
        return;
    }
    datum->is_wanted = true;
    sc_vec_push(l->ctx->scratch, &l->pieces, (piece){.extent = *e, .datum = datum});
}

static sc_status list_places(loading *l) {
    sc_rt_program *p = l->m->program;
    for (uint32_t i = 0; i < l->m->value_count; i++) {
        const sc_rt_place *place = &l->m->places[i];
        range found;
        if (place->deferred) continue;
        if (place->datum) add_datum(l, place->datum);
        if (!place->is_constant || place->datum || p->constants_inline) continue;
        SC_TRY(find_range(l->ctx, p, place->buffer_index, place->bytes, &found));
        if (!p->constant_view && place->bytes > p->constants[place->buffer_index].bytes)
            sc_vec_push(l->ctx->scratch, &l->ranges, found);
    }
    return SC_OK;
}

static int compare_ranges(const void *a, const void *b) {
    const range *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

// Constants that share bytes are read together whatever their size, so that no method takes more
// memory than the segment has bytes.
static void group_ranges(loading *l) {
    const sc_extent *segment = &l->m->program->constant_extent;
    // A gap may be a constant that is read later, which a packed file may lack.
    const uint64_t gap_max = sc_min_u64(GAP_BYTES_MAX, l->ctx->limits.deferred_bytes_min - 1);
    uint64_t begin = 0, end = 0;
    for (uint32_t i = 0; i < l->ranges.count; i++) {
        const range *r = &l->ranges.data[i];
        bool joins = i && (r->begin < end ||
                           (r->begin - end <= gap_max && r->end - begin <= GROUP_BYTES_MAX));
        if (!joins) {
            bool is_large = r->end - r->begin >= GROUP_BYTES_MAX;
            begin = is_large ? r->begin : r->begin - r->begin % LINE_BYTES;
            end = r->end;
            sc_vec_push(l->ctx->scratch, &l->pieces, (piece){.first = i});
        }
        end = sc_max_u64(end, r->end);
        piece *last = &sc_vec_last(&l->pieces);
        last->count++;
        last->extent = (sc_extent){segment->source, segment->offset + begin, end - begin};
    }
}

// --- Loading -------------------------------------------------------------------------------------

// Constants that are read later count, too.
static void begin_progress(const loading *l) {
    sc_rt_program *p = l->m->program;
    p->weights_done = p->weights_total = 0;
    for (uint32_t i = 0; i < l->pieces.count; i++)
        p->weights_total += l->pieces.data[i].extent.size;
    for (uint32_t i = 0; i < l->m->value_count; i++)
        if (l->m->places[i].deferred) p->weights_total += l->m->places[i].bytes;
}

static sc_status allocate_pieces(loading *l) {
    uint64_t bytes = 0, had = 0;
    for (uint32_t i = 0; i < l->pieces.count; i++) bytes += l->pieces.data[i].extent.size;
    for (uint32_t i = 0; i < l->pieces.count; i++) {
        piece *part = &l->pieces.data[i];
        part->memory = sc_try_alloc(sc_max_u64(part->extent.size, 1));
        if (!part->memory && part->extent.size > SC_BLOCK_BYTES_MAX)
            return sc_rt_no_block(l->ctx, "a weight", part->extent.size);
        if (!part->memory) return sc_rt_no_memory(l->ctx, "weights", bytes, had);
        had += part->extent.size;
    }
    return SC_OK;
}

static sc_status read_pieces(loading *l) {
    sc_rt_program *p = l->m->program;
    for (uint32_t i = 0; i < l->pieces.count; i++) {
        const piece *part = &l->pieces.data[i];
        for (uint64_t at = 0; at < part->extent.size; at += READ_BYTES) {
            const size_t size = (size_t)sc_min_u64(READ_BYTES, part->extent.size - at);
            SC_TRY(sc_rt_weights_progress(l->ctx, p, size));
            SC_TRY(sc_extent_read(l->ctx, part->extent, at, part->memory + at, size));
        }
    }
    return SC_OK;
}

static void keep_pieces(loading *l) {
    sc_rt_program *p = l->m->program;
    for (uint32_t i = 0; i < l->pieces.count; i++) {
        const piece *part = &l->pieces.data[i];
        if (part->datum) part->datum->bytes = part->memory;
        const uint64_t begin = part->extent.offset - p->constant_extent.offset;
        for (uint32_t k = part->first; k < part->first + part->count; k++) {
            const range *r = &l->ranges.data[k];
            sc_rt_constant *constant = &p->constants[r->index];
            if (constant->bytes < r->end - r->begin)
                *constant = (sc_rt_constant){part->memory + (r->begin - begin), r->end - r->begin};
        }
        const sc_rt_block block = {
            .memory = part->memory, .bytes = part->extent.size, .is_kept = part->datum != NULL};
        sc_vec_push(&p->arena, &p->constant_blocks, block);
    }
}

static sc_status load(loading *l) {
    sc_rt_program *p = l->m->program;
    const sc_extent *segment = &p->constant_extent;
    const uint8_t *memory = segment->size ? segment->source->memory : NULL;
    if (memory && ((uintptr_t)memory + segment->offset) % 16 == 0)
        p->constant_view = memory + segment->offset;
    if (!p->constants)
        p->constants = sc_new_array(&p->arena, sc_rt_constant, p->constant_offsets.count);
    SC_TRY(list_places(l));
    if (l->ranges.count)
        qsort(l->ranges.data, l->ranges.count, sizeof *l->ranges.data, compare_ranges);
    group_ranges(l);
    begin_progress(l);
    SC_TRY(allocate_pieces(l));
    return read_pieces(l);
}

sc_status sc_rt_constants_load(sc_ctx *ctx, sc_rt_method *m) {
    loading l = {.ctx = ctx, .m = m};
    sc_mark mark = sc_arena_mark(ctx->scratch);
    const sc_status status = load(&l);
    if (status == SC_OK) keep_pieces(&l);
    for (uint32_t i = 0; i < l.pieces.count; i++) {
        const piece *part = &l.pieces.data[i];
        if (part->datum) part->datum->is_wanted = false;
        if (status != SC_OK) sc_free(part->memory);
    }
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

void sc_rt_constants_free(sc_rt_program *p) {
    for (uint32_t i = 0; i < p->constant_blocks.count; i++) {
        if (!p->constant_blocks.data[i].is_gone) sc_free(p->constant_blocks.data[i].memory);
    }
}

// --- Letting go ----------------------------------------------------------------------------------

static int compare_blocks(const void *a, const void *b) {
    const sc_rt_block *x = a, *y = b;
    return (uintptr_t)x->memory < (uintptr_t)y->memory ? -1 : x->memory != y->memory;
}

// Finds the block that contains an address; NULL if no block does. Blocks are sorted by address.
static sc_rt_block *block_of(const sc_rt_program *p, const void *data) {
    uint32_t from = 0, to = p->constant_blocks.count;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        sc_rt_block *block = &p->constant_blocks.data[middle];
        if ((uintptr_t)data < (uintptr_t)block->memory)
            to = middle;
        else if ((uintptr_t)data - (uintptr_t)block->memory < block->bytes)
            return block;
        else
            from = middle + 1;
    }
    return NULL;
}

static void hold(const sc_rt_program *p, const sc_evalue *value) {
    const bool is_constant = value->tag == SC_EVALUE_TENSOR && value->tensor->is_constant;
    sc_rt_block *block = is_constant ? block_of(p, value->tensor->data) : NULL;
    if (block) block->users++;
}

static void hold_output(const sc_rt_program *p, const sc_evalue *value) {
    hold(p, value);
    if (value->tag != SC_EVALUE_TENSOR_LIST && value->tag != SC_EVALUE_OPTIONAL_TENSOR_LIST) return;
    for (uint32_t i = 0; i < value->count; i++) {
        if (value->tensors[i]) hold(p, value->tensors[i]);
    }
}

void sc_rt_constants_count(sc_rt_method *m) {
    sc_rt_program *p = m->program;
    if (p->plans.count != 1 || !p->constant_blocks.count) return;
    qsort(p->constant_blocks.data, p->constant_blocks.count, sizeof *p->constant_blocks.data,
          compare_blocks);
    for (uint32_t i = 0; i < m->code_count; i++) {
        sc_rt_operands o = sc_rt_operands_of(m, &m->code[i], SC_RT_ANY_ACCESS);
        while (sc_rt_operands_next(&o)) hold(p, o.value);
    }
    for (uint32_t i = 0; i < m->output_count; i++) hold_output(p, &m->values[m->outputs[i]]);
}

void sc_rt_constants_release(sc_rt_method *m, const sc_tensor *tensor) {
    sc_rt_program *p = m->program;
    sc_rt_block *block = p->plans.count == 1 ? block_of(p, tensor->data) : NULL;
    if (!block || block->is_gone || block->users == 0 || --block->users > 0 || block->is_kept)
        return;
    sc_free(block->memory);
    block->is_gone = true;
}

static bool is_gone(const sc_rt_program *p, const void *data) {
    const sc_rt_block *block = block_of(p, data);
    return block && block->is_gone;
}

void sc_rt_constants_forget(sc_rt_method *m) {
    sc_rt_program *p = m->program;
    uint32_t kept = 0;
    if (p->plans.count != 1) return;
    for (uint32_t i = 0; p->constants && i < p->constant_offsets.count; i++) {
        if (is_gone(p, p->constants[i].data)) p->constants[i] = (sc_rt_constant){0};
    }
    for (uint32_t i = 0; i < m->value_count; i++) {
        const sc_evalue *value = &m->values[i];
        if (value->tag == SC_EVALUE_TENSOR && value->tensor->is_constant &&
            is_gone(p, value->tensor->data))
            sc_rt_constant_set_gone(value->tensor);
    }
    for (uint32_t i = 0; i < p->constant_blocks.count; i++) {
        if (!p->constant_blocks.data[i].is_gone)
            p->constant_blocks.data[kept++] = p->constant_blocks.data[i];
    }
    p->constant_blocks.count = kept;
}

// --- Places --------------------------------------------------------------------------------------

static sc_status inline_constant(sc_ctx *ctx, const sc_rt_program *p, uint32_t index,
                                 uint64_t bytes, const uint8_t **out) {
    sc_fb_vec buffers = sc_pte_Program_constant_buffer(p->root);
    if (index >= buffers.count)
        return sc_rt_bad_pte(ctx, "a constant that it names does not exist");
    sc_fb_vec storage = sc_pte_Buffer_storage(sc_fb_vec_table(buffers, index));
    if (storage.count < bytes) return sc_rt_bad_pte(ctx, "a constant is shorter than its tensor");
    *out = storage.items;
    return SC_OK;
}

sc_status sc_rt_constant_at(sc_ctx *ctx, const sc_rt_program *p, const sc_rt_place *place,
                            const uint8_t **out) {
    static const uint8_t empty[64];
    if (place->deferred)
        *out = place->deferred->memory ? place->deferred->memory : place->deferred->mark;
    else if (place->datum)
        *out = place->datum->bytes;
    else if (p->constants_inline)
        SC_TRY(inline_constant(ctx, p, place->buffer_index, place->bytes, out));
    else if (p->constant_view)
        *out = p->constant_view + sc_fb_vec_u64(p->constant_offsets, place->buffer_index);
    else
        *out = p->constants[place->buffer_index].data;
    if (place->bytes == 0) *out = empty;  // an empty segment has no address
    return SC_OK;
}

sc_status sc_rt_initial_read(sc_ctx *ctx, const sc_rt_program *p, uint32_t index, void *out,
                             size_t bytes) {
    if (index >= p->mutable_offsets.count)
        return sc_rt_bad_pte(ctx, "the initial state that it names does not exist");
    uint64_t offset = sc_fb_vec_u64(p->mutable_offsets, index);
    if (bytes > p->mutable_extent.size - offset)
        return sc_rt_bad_pte(ctx, "initial state is longer than its segment");
    return sc_extent_read(ctx, p->mutable_extent, offset, out, bytes);
}
