// Makes the maps of an emitted program from the emitter's list of instructions.
#include "devtools/etrecord.h"
#include "ir/part.h"

static void add_part_call(sc_ctx *ctx, sc_etrecord_maps *maps, const sc_emit_part_call *call) {
    sc_etrecord_delegate delegate = {.instruction = call->instruction,
                                     .backend = call->part->backend,
                                     .has_events = call->part->has_events};
    for (uint32_t i = 0; i < call->part->events.count; i++) {
        const sc_part_event *event = &call->part->events.data[i];
        const sc_etrecord_event row = {.is_number = event->name.data == NULL,
                                       .id = event->id,
                                       .name = event->name,
                                       .handles = event->handles,
                                       .count = event->handle_count};
        sc_vec_push(ctx->arena, &delegate.events, row);
    }
    // The official inspector applies this number to each event inside of the call, and does not
    // find the values there. So the results of the call are among the values of its events.
    const sc_etrecord_outs outs = {call->instruction,
                                   delegate.events.count ? 1 : call->output_count};
    sc_vec_push(ctx->arena, &maps->delegates, delegate);
    sc_vec_push(ctx->arena, &maps->outs, outs);
}

static sc_etrecord_maps maps_of(sc_ctx *ctx, const sc_emit_plan *plan) {
    sc_etrecord_maps maps = {.method = sc_name_str(plan->name),
                             .has_handles = true,
                             .has_delegates = true,
                             .has_outs = true};
    uint32_t call = 0;
    for (uint32_t i = 0; i < plan->instruction_count; i++) {
        const bool is_call =
            call < plan->part_calls.count && plan->part_calls.data[call].instruction == i;
        sc_etrecord_handles row = {.instruction = i, .is_list = is_call, .count = 1};
        row.handles = &plan->debug_handles[i];
        if (is_call) {
            const sc_emit_part_call *part = &plan->part_calls.data[call++];
            row.handles = part->handles;
            row.count = part->handle_count;
            add_part_call(ctx, &maps, part);
        }
        if (is_call || plan->debug_handles[i]) sc_vec_push(ctx->arena, &maps.handles, row);
    }
    return maps;
}

sc_status sc_etrecord_add_emitted(sc_ctx *ctx, sc_etrecord *record, const sc_emit_result *emitted) {
    SC_TRY(sc_etrecord_check_no_executorch(ctx, record));
    for (uint32_t i = 0; i < emitted->plans.count; i++)
        if (!emitted->plans.data[i].is_constant)
            sc_vec_push(ctx->arena, &record->maps, maps_of(ctx, &emitted->plans.data[i]));
    record->has_debug_handle_map = record->has_delegate_map = record->has_num_outs_map = true;
    return SC_OK;
}
