// Leaves constants in the file until they are packed. So weights are never in memory twice: each is
// read, packed and let go before the next one is read.
//
// Until then a tensor points at a mark, which identifies its constant. The mark has no content, so
// code that reads constants while a method is loaded asks for them first. The capacity of the
// tensor is 0, so it overlaps no memory.
#include "rt/deferred.h"

#include "base/hash.h"
#include "rt/load/steps.h"
#include "rt/operands.h"

typedef struct finding {
    sc_ctx *ctx;
    sc_rt_method *m;
    uint8_t *is_read;     // by value: something other than packing may read it
    uint8_t *is_blocked;  // by constant of the program
} finding;

// --- Readers -------------------------------------------------------------------------------------

static bool may_pack(const sc_rt_instruction *in) {
    const sc_kernel *kernel = in->kind == SC_RT_KERNEL ? sc_kernel_of(in->call.op) : NULL;
    return kernel && kernel->packs;
}

// A transposition, which loading folds into a product that reads its result.
static bool permutes(const sc_rt_instruction *in) {
    return in->kind == SC_RT_KERNEL && sc_op_has(in->call.op, SC_PERMUTES);
}

// Marks the operands of everything that may read them: not those of calls that may pack, and of
// transpositions of constants.
static void find_readers(const finding *f) {
    const sc_rt_method *m = f->m;
    for (uint32_t i = 0; i < m->code_count; i++) {
        const sc_rt_instruction *in = &m->code[i];
        if (may_pack(in) ||
            (permutes(in) && m->places[sc_rt_value_index(m, in->call.args[0])].is_constant))
            continue;
        sc_rt_operands o = sc_rt_operands_of(m, in, SC_RT_ANY_ACCESS);
        while (sc_rt_operands_next(&o)) f->is_read[sc_rt_value_index(m, o.value)] = true;
    }
    for (uint32_t i = 0; i < m->output_count; i++) {
        const sc_evalue *out = &m->values[m->outputs[i]];
        const bool is_list =
            out->tag == SC_EVALUE_TENSOR_LIST || out->tag == SC_EVALUE_OPTIONAL_TENSOR_LIST;
        f->is_read[m->outputs[i]] = true;
        for (uint32_t k = 0; is_list && k < out->count; k++)
            if (out->tensors[k]) f->is_read[sc_rt_value_index(m, out->tensors[k])] = true;
    }
}

// A transposition reads its operand if its result is read.
static void follow_permutes(const finding *f) {
    const sc_rt_method *m = f->m;
    for (uint32_t i = 0; i < m->code_count; i++) {
        const sc_kernel_call *call = &m->code[i].call;
        if (!permutes(&m->code[i])) continue;
        const uint32_t out = sc_rt_value_index(m, call->args[call->arg_count - 1]);
        const sc_rt_place *place = &m->places[out];
        if (f->is_read[out] || place->is_input || place->is_state || place->is_loose)
            f->is_read[sc_rt_value_index(m, call->args[0])] = true;
    }
}

// --- Constants -----------------------------------------------------------------------------------

static bool is_large(const finding *f, uint32_t value) {
    const sc_rt_place *place = &f->m->places[value];
    return place->is_constant && place->bytes >= f->ctx->limits.deferred_bytes_min &&
           (place->datum || !f->m->program->constants_inline);
}

// All values that show one constant must be left in the file, or none.
static void find_blocked(const finding *f) {
    const sc_rt_program *p = f->m->program;
    for (uint32_t i = 0; i < f->m->value_count; i++) {
        const sc_rt_place *place = &f->m->places[i];
        if (!place->is_constant && !place->datum) continue;
        const bool is_blocked = f->is_read[i] || !is_large(f, i);
        if (place->datum)
            place->datum->is_blocked = false;
        else if (is_blocked && place->buffer_index < p->constant_offsets.count)
            f->is_blocked[place->buffer_index] = true;
    }
    for (uint32_t i = 0; i < f->m->value_count; i++) {
        const sc_rt_place *place = &f->m->places[i];
        if (place->datum && (!place->is_constant || f->is_read[i] || !is_large(f, i)))
            place->datum->is_blocked = true;
    }
}

static uint64_t key_of(sc_extent e) {
    return sc_hash64_mix(sc_hash64_mix(e.offset, e.size), SC_PTR_KEY(e.source));
}

static sc_rt_deferred *find_made(const sc_rt_program *p, sc_extent extent) {
    const uint64_t *found = sc_imap_find(&p->deferred_by_place, key_of(extent));
    sc_rt_deferred *d = found ? (sc_rt_deferred *)(uintptr_t)*found : NULL;
    return d && sc_extent_is(d->extent, extent) ? d : NULL;
}

static sc_rt_deferred *make(sc_rt_program *p, sc_extent extent) {
    sc_rt_deferred *d = sc_new(&p->arena, sc_rt_deferred);
    *d = (sc_rt_deferred){.extent = extent, .next = p->deferred};
    sc_imap_set(&p->deferred_by_mark, SC_PTR_KEY(d->mark), SC_PTR_KEY(d));
    sc_imap_set(&p->deferred_by_place, key_of(extent), SC_PTR_KEY(d));
    p->deferred = d;
    return d;
}

// False if the place reaches beyond the segment, which reading the constants reports.
static bool extent_of(const sc_rt_program *p, const sc_rt_place *place, sc_extent *out) {
    if (place->datum) {
        *out = place->datum->extent;
        return out->size == place->bytes;
    }
    if (place->buffer_index >= p->constant_offsets.count) return false;
    return sc_extent_slice(p->constant_extent,
                           sc_fb_vec_u64(p->constant_offsets, place->buffer_index), place->bytes,
                           out);
}

static bool is_loaded(const sc_rt_program *p, const sc_rt_place *place) {
    if (place->datum) return place->datum->bytes != NULL;
    return p->constants && place->bytes <= p->constants[place->buffer_index].bytes;
}

static void defer(const finding *f, uint32_t value) {
    sc_rt_program *p = f->m->program;
    sc_rt_place *place = &f->m->places[value];
    const bool is_blocked = place->datum ? place->datum->is_blocked
                                         : place->buffer_index >= p->constant_offsets.count ||
                                               f->is_blocked[place->buffer_index];
    sc_extent extent;
    if (is_blocked || !extent_of(p, place, &extent) || is_loaded(p, place)) return;
    sc_rt_deferred *made = find_made(p, extent);
    place->deferred = made ? made : make(p, extent);
}

sc_status sc_rt_deferred_find(sc_ctx *ctx, sc_rt_method *m) {
    const sc_rt_program *p = m->program;
    finding f = {.ctx = ctx, .m = m};
    if (!p->options.optimize) return SC_OK;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    f.is_read = sc_new_array(ctx->scratch, uint8_t, (size_t)m->value_count + 1);
    f.is_blocked = sc_new_array(ctx->scratch, uint8_t, (size_t)p->constant_offsets.count + 1);
    find_readers(&f);
    follow_permutes(&f);
    find_blocked(&f);
    for (uint32_t i = 0; i < m->value_count; i++)
        if (is_large(&f, i)) defer(&f, i);
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

void sc_rt_deferred_finish(sc_rt_method *m) {
    for (uint32_t i = 0; i < m->value_count; i++) {
        sc_tensor *t = m->values[i].tag == SC_EVALUE_TENSOR ? m->values[i].tensor : NULL;
        const sc_rt_deferred *d = t ? sc_rt_deferred_of(m->program, t) : NULL;
        if (!d) continue;
        sc_rt_deferred_show(t, d->memory);
        if (!d->memory) sc_rt_constant_set_gone(t);
    }
}
