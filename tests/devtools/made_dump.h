// ETDumps made up for tests, event by event.
#ifndef MADE_DUMP_H
#define MADE_DUMP_H

#include "etdump_fbs.h"
#include "setup.h"

enum { MADE_MAX = 64 };

typedef struct made_dump {
    sc_fb_builder b;
    sc_fb_ref events[MADE_MAX], runs[MADE_MAX], allocators[MADE_MAX];
    uint32_t event_count, run_count, allocator_count;
} made_dump;

// The place of an event: all zeros but for the members given.
typedef struct made_place {
    int32_t chain, instruction;
    const char *id;  // of a delegate; NULL: of no delegate
    int32_t number;  // of a delegate, and one more; 0 is absent
} made_place;

static inline void made_begin(made_dump *d, setup *s) {
    *d = (made_dump){0};
    sc_fb_builder_init(&d->b, &s->arena);
}

static inline void made_add(made_dump *d, uint32_t slot, sc_fb_ref part) {
    sc_fb_begin(&d->b);
    sc_fb_set_ref(&d->b, slot, part);
    d->events[d->event_count++] = sc_fb_end(&d->b);
}

static inline sc_fb_ref made_text(made_dump *d, const char *text) {
    return text ? sc_fb_add_string(&d->b, sc_str_from(text)) : 0;
}

static inline void made_profile(made_dump *d, const char *name, made_place at, uint64_t start,
                                uint64_t end) {
    const sc_fb_ref text = made_text(d, name), id = made_text(d, at.id);
    sc_fb_begin(&d->b);
    sc_etdp_ProfileEvent_set_name(&d->b, text);
    sc_etdp_ProfileEvent_set_chain_index(&d->b, at.chain);
    sc_etdp_ProfileEvent_set_instruction_id(&d->b, at.instruction);
    sc_etdp_ProfileEvent_set_delegate_debug_id_int(&d->b, at.number - 1);
    sc_etdp_ProfileEvent_set_delegate_debug_id_str(&d->b, id);
    sc_etdp_ProfileEvent_set_start_time(&d->b, start);
    sc_etdp_ProfileEvent_set_end_time(&d->b, end);
    made_add(d, SC_ETDP_Event_profile_event, sc_fb_end(&d->b));
}

// Without sizes where there are no dimensions: official readers want empty ones.
static inline sc_fb_ref made_tensor(made_dump *d, int8_t dtype, const int64_t *sizes,
                                    const int64_t *strides, uint32_t rank, int64_t offset) {
    const sc_fb_ref size = rank ? sc_fb_add_vector(&d->b, sizes, rank, 8, 8) : 0;
    const sc_fb_ref stride = rank && strides ? sc_fb_add_vector(&d->b, strides, rank, 8, 8) : 0;
    sc_fb_begin(&d->b);
    sc_etdp_Tensor_set_scalar_type(&d->b, dtype);
    sc_etdp_Tensor_set_sizes(&d->b, size);
    sc_etdp_Tensor_set_strides(&d->b, stride);
    sc_etdp_Tensor_set_offset(&d->b, offset);
    return sc_fb_end(&d->b);
}

static inline sc_fb_ref made_true(made_dump *d) {
    sc_fb_begin(&d->b);
    sc_etdp_Bool_set_bool_val(&d->b, true);
    return sc_fb_end(&d->b);
}

// A value in `slot` of its table, or none.
static inline sc_fb_ref made_entry(made_dump *d, int8_t kind, uint32_t slot, sc_fb_ref part,
                                   bool is_output) {
    const sc_fb_ref output = is_output ? made_true(d) : 0;
    sc_fb_begin(&d->b);
    sc_etdp_Value_set_val(&d->b, kind);
    if (part) sc_fb_set_ref(&d->b, slot, part);
    sc_etdp_Value_set_output(&d->b, output);
    return sc_fb_end(&d->b);
}

static inline void made_value(made_dump *d, uint64_t chain, made_place at, sc_fb_ref entry) {
    const sc_fb_ref id = made_text(d, at.id);
    sc_fb_begin(&d->b);
    sc_etdp_DebugEvent_set_chain_index(&d->b, chain);
    sc_etdp_DebugEvent_set_instruction_id(&d->b, at.instruction);
    sc_etdp_DebugEvent_set_debug_entry(&d->b, entry);
    sc_etdp_DebugEvent_set_delegate_debug_id_int(&d->b, at.number - 1);
    sc_etdp_DebugEvent_set_delegate_debug_id_str(&d->b, id);
    made_add(d, SC_ETDP_Event_debug_event, sc_fb_end(&d->b));
}

// A vector of floats in the debug buffer.
static inline void made_floats(made_dump *d, made_place at, int64_t count, int64_t offset) {
    const int64_t stride = 1;
    const sc_fb_ref tensor = made_tensor(d, SC_DTYPE_F32, &count, &stride, 1, offset);
    const uint64_t chain = (uint64_t)(int64_t)at.chain;
    made_value(d, chain, at,
               made_entry(d, SC_ETDP_ValueType_Tensor, SC_ETDP_Value_tensor, tensor, at.chain < 0));
}

static inline void made_allocation(made_dump *d, int32_t allocator, uint64_t bytes) {
    sc_fb_begin(&d->b);
    sc_etdp_AllocationEvent_set_allocator_id(&d->b, allocator);
    sc_etdp_AllocationEvent_set_allocation_size(&d->b, bytes);
    made_add(d, SC_ETDP_Event_allocation_event, sc_fb_end(&d->b));
}

static inline void made_allocator(made_dump *d, const char *name) {
    const sc_fb_ref text = made_text(d, name);
    sc_fb_begin(&d->b);
    sc_etdp_Allocator_set_name(&d->b, text);
    d->allocators[d->allocator_count++] = sc_fb_end(&d->b);
}

// Makes a run of the events added since the last one; an empty run has no vectors at all.
static inline void made_run(made_dump *d, const char *name, int32_t bundled_index) {
    sc_fb_builder *b = &d->b;
    const sc_fb_ref text = made_text(d, name);
    const sc_fb_ref events = d->event_count ? sc_fb_add_refs(b, d->events, d->event_count) : 0;
    const sc_fb_ref allocators =
        d->allocator_count ? sc_fb_add_refs(b, d->allocators, d->allocator_count) : 0;
    sc_fb_begin(b);
    sc_etdp_RunData_set_name(b, text);
    sc_etdp_RunData_set_bundled_input_index(b, bundled_index);
    sc_etdp_RunData_set_allocators(b, allocators);
    sc_etdp_RunData_set_events(b, events);
    d->runs[d->run_count++] = sc_fb_end(b);
    d->event_count = d->allocator_count = 0;
}

// The file, with the prefix that says how long it is or without.
static inline sc_source *made_file(made_dump *d, setup *s, bool has_prefix) {
    const uint8_t *flat;
    size_t size;
    const sc_fb_ref runs = d->run_count ? sc_fb_add_refs(&d->b, d->runs, d->run_count) : 0;
    sc_fb_begin(&d->b);
    sc_etdp_ETDump_set_run_data(&d->b, runs);
    const sc_fb_ref root = sc_fb_end(&d->b);
    CHECK_OK(sc_fb_finish(&s->ctx, &d->b, root, sc_etdp_schema.identifier, &flat, &size));
    uint8_t *data = sc_arena_alloc(&s->arena, size + 4);
    sc_fb_store_u32(data, (uint32_t)size);
    memcpy(data + (has_prefix ? 4 : 0), flat, size);
    return sc_source_from_memory(&s->arena, data, size + (has_prefix ? 4 : 0));
}

#endif
