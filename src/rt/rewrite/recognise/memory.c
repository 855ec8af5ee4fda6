// Checks that no instruction writes between the parts of an expansion. Values share memory, and a
// file may let them overlap in any way. So the bytes that an instruction wrote to a value may be
// overwritten before another reads that value.
#include "rt/rewrite/recognise/recognise.h"

static uint32_t index_of(const sc_rt_search *s, const sc_evalue *value) {
    return sc_rt_value_index(s->o->m, value);
}

// Is that memory unwritten between the two instructions?
static bool is_quiet(sc_rt_search *s, const sc_tensor *t, uint32_t written, uint32_t read) {
    const uint64_t between = read - written;
    if (between > s->waits) return false;
    s->waits -= between;
    return sc_rt_is_quiet(s->o, t->data, t->capacity_bytes, written, read - 1);
}

// Does it show the content of an operand of the new call?
static bool shows(const sc_rt_search *s, const sc_evalue *value, const sc_evalue *operand) {
    const uint32_t at = index_of(s, value);
    if (operand->tag != SC_EVALUE_TENSOR) return false;
    if (value == operand || s->bases[at] == index_of(s, operand) + 1) return true;
    return !s->bases[at] && !s->o->uses[at].writes &&
           sc_rt_overlaps(value->tensor->data, value->tensor->capacity_bytes, operand->tensor->data,
                          operand->tensor->capacity_bytes);
}

// The first instruction, the root at last, that reads an operand of the new call.
static uint32_t first_reader(const sc_rt_search *s, const sc_evalue *operand) {
    uint32_t first = s->root;
    for (uint32_t i = 0; i < s->parts.count; i++) {
        const uint32_t part = s->parts.data[i];
        sc_rt_operands w = sc_rt_operands_of_call(&s->o->m->code[part].call, SC_RT_TAKES);
        while (part < first && sc_rt_operands_next(&w))
            if (w.tensor && shows(s, w.value, operand)) first = part;
    }
    return first;
}

// Does a part read the content that the walk assumed: the result of the part before, or the operand
// as it was for the first part that reads it?
static bool is_still_there(sc_rt_search *s, const sc_rt_found *found, const uint32_t *firsts,
                           const sc_evalue *value, uint32_t reader) {
    const sc_evalue *of = value;
    if (value->tensor->is_constant) return true;
    for (uint32_t i = 0; i < found->arg_count; i++) {
        if (!shows(s, value, found->args[i])) continue;
        const sc_tensor *t = found->args[i]->tensor;
        return reader == firsts[i] ||
               (!sc_rt_touches(s->o, firsts[i], SC_RT_WRITES, t->data, t->capacity_bytes) &&
                is_quiet(s, t, firsts[i], reader));
    }
    if (s->bases[index_of(s, value)]) of = &s->o->m->values[s->bases[index_of(s, value)] - 1];
    const sc_rt_use *use = sc_rt_plain_use(s->o, of);
    return use && use->first_write < reader && is_quiet(s, of->tensor, use->first_write, reader);
}

static bool reads_its_own(sc_rt_search *s, const sc_rt_found *found, const uint32_t *firsts,
                          uint32_t reader) {
    sc_rt_operands w = sc_rt_operands_of_call(&s->o->m->code[reader].call, SC_RT_TAKES);
    while (sc_rt_operands_next(&w))
        if (w.tensor && !is_still_there(s, found, firsts, w.value, reader)) return false;
    return true;
}

bool sc_rt_parts_hold(sc_rt_search *s, const sc_rt_found *found, uint32_t *firsts) {
    for (uint32_t i = 0; i < found->arg_count; i++) firsts[i] = first_reader(s, found->args[i]);
    for (uint32_t i = 0; i < s->parts.count; i++)
        if (!reads_its_own(s, found, firsts, s->parts.data[i])) return false;
    return reads_its_own(s, found, firsts, s->root);
}

bool sc_rt_is_intact(const sc_rt_search *s, const sc_evalue *operand, uint32_t first) {
    const sc_rt_use *use = &s->o->uses[index_of(s, operand)];
    if (use->writes && use->last_write >= first) return false;
    if (operand->tag != SC_EVALUE_TENSOR || operand->tensor->is_constant) return true;
    const void *data = operand->tensor->data;
    const uint64_t bytes = operand->tensor->capacity_bytes;
    if (first == s->root) return true;
    return !sc_rt_touches(s->o, first, SC_RT_WRITES, data, bytes) &&
           sc_rt_is_quiet(s->o, data, bytes, first, s->root - 1);
}
