// Writes a loaded program as a packed file. Bytes that only packing has read are left out of its
// files: their weights follow in the order of the kernels. All others stay as they are.
#include <stdlib.h>

#include "base/hash.h"
#include "rt/deferred.h"
#include "rt/load/packed_file.h"

// Reading constants begins at a multiple of so many bytes, so the ends of what is left out stay.
enum { MARGIN = 64 };

typedef struct hole {
    uint64_t begin, end;
    uint32_t file;
    bool is_needed;
} hole;

// Bytes in memory that are in the file once, however many calls share them.
typedef struct packed {
    const void *data;
    uint64_t bytes, offset, sum;
} packed;

typedef struct saving {
    sc_ctx *ctx;
    sc_rt_program *p;
    sc_arena *arena;
    sc_fb_builder fb;
    sc_cord data;
    SC_VEC(hole) holes;
    SC_VEC(packed) packed;
    sc_imap packed_at;  // index in `packed`, plus 1, by address
    SC_VEC(sc_fb_ref) packings;
} saving;

// --- Bytes that are left out ---------------------------------------------------------------------

static uint32_t file_count(const sc_rt_program *p) { return p->options.data_file_count + 1; }

static sc_source *file_at(const sc_rt_program *p, uint32_t file) {
    return file ? p->options.data_files[file - 1] : p->source;
}

// The number of the file that a source is; the count of files if it is another source.
static uint32_t file_of(const sc_rt_program *p, const sc_source *source) {
    uint32_t file = 0;
    while (file < file_count(p) && file_at(p, file) != source) file++;
    return file;
}

static void leave_out(saving *s, sc_extent e) {
    const uint32_t file = file_of(s->p, e.source);
    if (e.size <= 2 * MARGIN || file == file_count(s->p)) return;
    const hole h = {e.offset + MARGIN, e.offset + e.size - MARGIN, file, false};
    sc_vec_push(s->arena, &s->holes, h);
}

static bool is_replaced(const sc_rt_blob *blob) {
    return blob->is_packed && blob->found == blob->replaced;
}

static void find_holes(saving *s) {
    const sc_rt_program *p = s->p;
    for (const sc_rt_deferred *d = p->deferred; d; d = d->next)
        if (!d->memory) leave_out(s, d->extent);
    for (uint32_t i = 0; i < p->named.count; i++) {
        const sc_rt_blob *blob = p->named.entries[i].value;
        if (is_replaced(blob)) leave_out(s, blob->extent);
    }
}

static int compare_holes(const void *a, const void *b) {
    const hole *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

// Joins holes that overlap, as those of bytes that have two names do.
static void join_holes(saving *s) {
    uint32_t kept = 0;
    if (!s->holes.count) return;
    qsort(s->holes.data, s->holes.count, sizeof *s->holes.data, compare_holes);
    for (uint32_t i = 1; i < s->holes.count; i++) {
        hole *last = &s->holes.data[kept];
        const hole *h = &s->holes.data[i];
        if (h->file == last->file && h->begin <= last->end)
            last->end = sc_max_u64(last->end, h->end);
        else
            s->holes.data[++kept] = *h;
    }
    s->holes.count = kept + 1;
}

// Fills the holes in bytes that something else reads.
static void keep(saving *s, sc_extent e) {
    const uint32_t file = file_of(s->p, e.source);
    uint32_t from = 0, to = s->holes.count;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        const hole *h = &s->holes.data[middle];
        if (h->file < file || (h->file == file && h->end <= e.offset))
            from = middle + 1;
        else
            to = middle;
    }
    for (; from < s->holes.count; from++) {
        hole *h = &s->holes.data[from];
        if (h->file != file || h->begin >= e.offset + e.size) break;
        h->is_needed = true;
    }
}

static void keep_place(saving *s, const sc_rt_place *place) {
    const sc_rt_program *p = s->p;
    if (place->deferred) {
        if (place->deferred->memory) keep(s, place->deferred->extent);
    } else if (place->datum) {
        keep(s, place->datum->extent);
    } else if (place->is_constant && place->buffer_index < p->constant_offsets.count) {
        const uint64_t offset = sc_fb_vec_u64(p->constant_offsets, place->buffer_index);
        keep(s, (sc_extent){p->constant_extent.source, p->constant_extent.offset + offset,
                            place->bytes});
    }
}

static void keep_needed(saving *s) {
    const sc_rt_program *p = s->p;
    for (uint32_t i = 0; i < p->plans.count; i++) {
        const sc_rt_method *m = p->methods[i];
        for (uint32_t v = 0; v < m->value_count; v++) keep_place(s, &m->places[v]);
    }
    for (uint32_t i = 0; i < p->named.count; i++) {
        const sc_rt_blob *blob = p->named.entries[i].value;
        if (!is_replaced(blob) && !blob->datum) keep(s, blob->extent);
        if (!is_replaced(blob) && blob->found) keep(s, blob->extent);
    }
    keep(s, p->mutable_extent);
}

// --- Files ---------------------------------------------------------------------------------------

static sc_fb_ref add_range(saving *s, sc_source *source, uint64_t begin, uint64_t end) {
    sc_fb_begin(&s->fb);
    sc_packed_Range_set_begin(&s->fb, begin);
    sc_packed_Range_set_size(&s->fb, end - begin);
    sc_packed_Range_set_offset(&s->fb, s->data.size);
    sc_cord_append_extent(&s->data, (sc_extent){source, begin, end - begin});
    return sc_fb_end(&s->fb);
}

static sc_fb_ref add_file(saving *s, uint32_t file, uint32_t *at) {
    sc_source *source = file_at(s->p, file);
    SC_VEC(sc_fb_ref) ranges = {0};
    uint64_t begin = 0;
    for (; *at < s->holes.count && s->holes.data[*at].file == file; ++*at) {
        const hole *h = &s->holes.data[*at];
        if (h->is_needed) continue;
        sc_vec_push(s->arena, &ranges, add_range(s, source, begin, h->begin));
        begin = h->end;
    }
    if (begin < source->size)
        sc_vec_push(s->arena, &ranges, add_range(s, source, begin, source->size));
    const sc_fb_ref list = sc_fb_add_refs(&s->fb, ranges.data, ranges.count);
    sc_fb_begin(&s->fb);
    sc_packed_File_set_size(&s->fb, source->size);
    sc_packed_File_set_ranges(&s->fb, list);
    return sc_fb_end(&s->fb);
}

static sc_fb_ref add_files(saving *s) {
    sc_fb_ref *files = sc_new_array(s->arena, sc_fb_ref, file_count(s->p));
    uint32_t at = 0;
    for (uint32_t i = 0; i < file_count(s->p); i++) files[i] = add_file(s, i, &at);
    return sc_fb_add_refs(&s->fb, files, file_count(s->p));
}

// --- Packings ------------------------------------------------------------------------------------

static packed add_data(saving *s, const void *data, uint64_t bytes) {
    uint64_t *at = sc_imap_at(&s->packed_at, SC_PTR_KEY(data));
    if (*at && s->packed.data[*at - 1].bytes == bytes) return s->packed.data[*at - 1];
    sc_cord_align(&s->data, SC_RT_PACKED_ALIGN);
    const packed added = {data, bytes, s->data.size, sc_hash64_wide(data, (size_t)bytes)};
    sc_cord_append_bytes(&s->data, data, bytes);
    sc_vec_push(s->arena, &s->packed, added);
    *at = s->packed.count;
    return added;
}

static void add_packing(saving *s, sc_rt_saved_key key, const char *variant, const void *data,
                        uint64_t bytes) {
    const packed added = add_data(s, data, bytes);
    const sc_fb_ref name = sc_fb_add_string(&s->fb, sc_str_from(variant));
    sc_fb_begin(&s->fb);
    sc_packed_Packing_set_method(&s->fb, key.method);
    sc_packed_Packing_set_delegate(&s->fb, key.delegate);
    sc_packed_Packing_set_call(&s->fb, key.call);
    sc_packed_Packing_set_variant(&s->fb, name);
    sc_packed_Packing_set_offset(&s->fb, added.offset);
    sc_packed_Packing_set_size(&s->fb, bytes);
    sc_packed_Packing_set_sum(&s->fb, added.sum);
    sc_vec_push(s->arena, &s->packings, sc_fb_end(&s->fb));
}

static void add_of_delegate(saving *s, const sc_rt_method *m, uint32_t index) {
    const sc_rt_delegate *d = &m->delegates[index];
    sc_rt_packing packing;
    if (!d->is_started || !d->backend->packing) return;
    for (uint32_t at = 0; d->backend->packing(d->state, at, &packing); at = packing.call + 1) {
        const sc_rt_saved_key key = {m->plan_index, index + 1, packing.call};
        add_packing(s, key, packing.variant, packing.data, packing.bytes);
        if (packing.call == UINT32_MAX) break;
    }
}

static void add_of_method(saving *s, const sc_rt_method *m) {
    for (uint32_t i = 0; i < m->code_count; i++) {
        const sc_rt_instruction *in = &m->code[i];
        const sc_packing *packing = in->packed_from ? in->call.packed : NULL;
        if (in->kind != SC_RT_KERNEL || !packing) continue;
        const sc_rt_saved_key key = {m->plan_index, 0, i};
        add_packing(s, key, packing->name, packing->data, packing->bytes);
    }
    for (uint32_t i = 0; i < m->delegate_count; i++) add_of_delegate(s, m, i);
}

// --- The whole -----------------------------------------------------------------------------------

static sc_status write(saving *s, sc_fb_ref files, sc_cord *out) {
    const sc_fb_ref packings = sc_fb_add_refs(&s->fb, s->packings.data, s->packings.count);
    const sc_fb_ref version = sc_fb_add_string(&s->fb, sc_rt_packed_version());
    const sc_fb_ref layout = sc_fb_add_string(&s->fb, sc_rt_packed_layout());
    const uint8_t *directory;
    size_t bytes;
    sc_fb_begin(&s->fb);
    sc_packed_Packed_set_version(&s->fb, version);
    sc_packed_Packed_set_layout(&s->fb, layout);
    sc_packed_Packed_set_channels_last(&s->fb, (uint8_t)s->p->options.channels_last);
    sc_packed_Packed_set_files(&s->fb, files);
    sc_packed_Packed_set_packings(&s->fb, packings);
    SC_TRY(
        sc_fb_finish(s->ctx, &s->fb, sc_fb_end(&s->fb), SC_PACKED_IDENTIFIER, &directory, &bytes));
    uint8_t *head = sc_arena_alloc(s->arena, SC_RT_PACKED_HEAD);
    const uint64_t base = sc_align_up(SC_RT_PACKED_HEAD + bytes, SC_RT_PACKED_ALIGN);
    memcpy(head, SC_PACKED_MARK, 8);
    sc_fb_store_u32(head + 8, SC_RT_PACKED_FORMAT);
    sc_fb_store_u64(head + 16, bytes);
    sc_fb_store_u64(head + 24, base + s->data.size);
    sc_fb_store_u64(head + 32, sc_hash64_wide(directory, bytes));
    sc_cord_append_bytes(out, head, SC_RT_PACKED_HEAD);
    sc_cord_append_bytes(out, directory, bytes);
    sc_cord_align(out, SC_RT_PACKED_ALIGN);
    sc_cord_append_cord(out, &s->data);
    return SC_OK;
}

sc_status sc_rt_program_save(sc_ctx *ctx, sc_rt_program *p, sc_cord *cord) {
    saving s = {.ctx = ctx, .p = p, .arena = cord->arena};
    if (!p->options.optimize)
        return sc_fail(ctx, SC_ERR_STATE, "Load the program without { optimize: false }.",
                       "a program that was loaded without optimizing has no packed weights");
    for (uint32_t i = 0; i < p->plans.count; i++) {
        sc_rt_method *method;
        SC_TRY(sc_rt_method_load(ctx, p, sc_rt_program_method_name(p, i), &method));
    }
    sc_fb_builder_init(&s.fb, s.arena);
    sc_cord_init(&s.data, s.arena);
    sc_imap_init(&s.packed_at, s.arena);
    find_holes(&s);
    join_holes(&s);
    keep_needed(&s);
    const sc_fb_ref files = add_files(&s);
    for (uint32_t i = 0; i < p->plans.count; i++) add_of_method(&s, p->methods[i]);
    return write(&s, files, cord);
}
