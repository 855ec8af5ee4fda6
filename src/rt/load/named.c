// Named data: bytes that delegates look up by key, in the program's own segments or in data files.
// They are read on the first request, and freed when every delegate that requested them has packed
// them.
#include "rt/load/named.h"

#include "rt/allocate.h"
#include "rt/load/segments.h"

static sc_status open_program(sc_ctx *ctx, sc_rt_program *p) {
    sc_fb_vec named = sc_pte_Program_named_data(p->root);
    if (!named.items) return SC_OK;
    if (!p->segments.items) return sc_rt_bad_pte(ctx, "it names data but has no segments");
    for (uint32_t i = 0; i < named.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(named, i);
        sc_str key = sc_pte_NamedData_key(entry);
        sc_rt_blob *blob = sc_new(&p->arena, sc_rt_blob);
        SC_TRY(sc_rt_segment_at(ctx, p, sc_pte_NamedData_segment_index(entry), &blob->extent));
        if (!key.data || !sc_map_add(&p->named, key, blob))
            return sc_rt_bad_pte(ctx, "two of its data entries have the same name");
    }
    return SC_OK;
}

sc_status sc_rt_named_open(sc_ctx *ctx, sc_rt_program *p) {
    sc_map_init(&p->named, &p->arena);
    SC_TRY(open_program(ctx, p));
    for (uint32_t i = 0; i < p->data_map.data.count; i++) {
        sc_rt_datum *datum = p->data_map.data.data[i];
        sc_rt_blob *blob = sc_new(&p->arena, sc_rt_blob);
        *blob = (sc_rt_blob){.extent = datum->extent, .datum = datum};
        sc_map_set(&p->named, datum->key, blob);
    }
    return SC_OK;
}

// --- Reading -------------------------------------------------------------------------------------

static sc_status read_blob(sc_ctx *ctx, sc_rt_blob *blob) {
    _Alignas(16) static const uint8_t empty[16];
    const sc_extent *e = &blob->extent;
    const uint8_t *memory = e->size ? e->source->memory : empty;
    if (e->size && blob->datum && blob->datum->bytes) {
        blob->bytes = blob->datum->bytes;
        return SC_OK;
    }
    if (e->size && memory) memory += e->offset;
    if (memory && (uintptr_t)memory % 16 == 0) {
        blob->bytes = memory;
        return SC_OK;
    }
    SC_TRY(sc_rt_allocate(ctx, e->size, "the data of a delegate", &blob->owned));
    sc_status status = sc_extent_read(ctx, *e, 0, blob->owned, (size_t)e->size);
    if (status == SC_OK) {
        blob->bytes = blob->owned;
        return SC_OK;
    }
    sc_free(blob->owned);
    blob->owned = NULL;
    return status;
}

static sc_status find(void *user, sc_ctx *ctx, sc_str key, const uint8_t **bytes, uint64_t *size) {
    sc_rt_program *p = user;
    sc_rt_blob *blob = sc_map_get(&p->named, key);
    if (!blob)
        return sc_fail(ctx, SC_ERR_NOT_FOUND,
                       "Pass the .ptd files that were made with the .pte, if there are any; the "
                       "command takes them with --data FILE.",
                       "neither the program nor its data files have '" SC_STR_FMT
                       "', which a delegate needs",
                       SC_STR_ARG(key));
    if (!blob->bytes) SC_TRY(read_blob(ctx, blob));
    blob->users++;
    blob->found++;
    *bytes = blob->bytes;
    *size = blob->extent.size;
    return SC_OK;
}

static void release(void *user, sc_str key) {
    sc_rt_program *p = user;
    sc_rt_blob *blob = sc_map_get(&p->named, key);
    if (!blob || blob->users == 0 || --blob->users > 0) return;
    sc_free(blob->owned);
    blob->owned = NULL;
    blob->bytes = NULL;
}

static void replace(void *user, sc_str key, uint32_t times) {
    const sc_rt_program *p = user;
    sc_rt_blob *blob = sc_map_get(&p->named, key);
    if (!blob) return;
    blob->replaced += times;
    blob->is_packed = true;
}

static sc_str key_at(void *user, uint32_t index, uint64_t *bytes) {
    const sc_rt_program *p = user;
    const sc_rt_blob *blob = p->named.entries[index].value;
    *bytes = blob->extent.size;
    return p->named.entries[index].key;
}

sc_rt_named sc_rt_named_of(sc_rt_program *p) {
    return (sc_rt_named){.find = find,
                         .release = release,
                         .replace = replace,
                         .count = p->named.count,
                         .key = key_at,
                         .user = p};
}

void sc_rt_named_close(sc_rt_program *p) {
    for (uint32_t i = 0; i < p->named.count; i++)
        sc_free(((sc_rt_blob *)p->named.entries[i].value)->owned);
}
