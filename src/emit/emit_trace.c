// The stack traces of a chain, as ExecuTorch writes them: for each instruction the frames of the
// user's Python code behind it. ExecuTorch's emitter fails at instructions without a trace, and at
// views, jumps and delegates. Here such instructions have a list without frames, so that places in
// the two lists match.
#include "core/stack_trace.h"
#include "emit/emit_state.h"

#include "program_fbs.h"

// Digits are all that Python writes there.
static int32_t line_number(sc_str digits) {
    int64_t number = 0;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9') return 0;
        number = number * 10 + (digits.data[i] - '0');
        if (number > INT32_MAX) return INT32_MAX;
    }
    return (int32_t)number;
}

static sc_fb_ref write_frame(sc_emit_state *state, const sc_stack_frame *frame) {
    sc_fb_builder *fb = &state->fb;
    sc_fb_ref path = sc_emit_string(state, frame->path);
    sc_fb_ref function = sc_emit_string(state, frame->function);
    sc_fb_ref code = sc_emit_string(state, frame->code);
    sc_fb_begin(fb);
    sc_pte_Frame_set_filename(fb, path);
    sc_pte_Frame_set_lineno(fb, line_number(frame->line));
    sc_pte_Frame_set_name(fb, function);
    sc_pte_Frame_set_context(fb, code);
    return sc_fb_end_shared(fb);
}

static sc_fb_ref write_frames(sc_emit_state *state, sc_str trace) {
    SC_VEC(sc_fb_ref) frames = {0};
    sc_stack_frame frame;
    while (sc_stack_trace_next(&trace, &frame))
        sc_vec_push(state->arena, &frames, write_frame(state, &frame));
    sc_fb_ref items = sc_fb_add_refs(&state->fb, frames.data, frames.count);
    sc_fb_begin(&state->fb);
    sc_pte_FrameList_set_items(&state->fb, items);
    return sc_fb_end(&state->fb);
}

// Most instructions of a line have one trace.
static sc_fb_ref frames_of(sc_emit_state *state, sc_str trace) {
    uintptr_t known = (uintptr_t)sc_map_get(&state->traces, trace);
    if (known) return (sc_fb_ref)known;
    sc_fb_ref frames = write_frames(state, trace);
    sc_map_add(&state->traces, trace, (void *)(uintptr_t)frames);
    return frames;
}

sc_fb_ref sc_emit_traces(sc_emit_method *m) {
    if (!m->state->options.emit_stacktrace || m->code.count == 0) return 0;
    sc_fb_ref *refs = sc_new_array(m->state->arena, sc_fb_ref, m->code.count);
    for (uint32_t i = 0; i < m->code.count; i++) {
        const sc_node *node = m->code.data[i].served;
        refs[i] = frames_of(m->state, node ? node->meta.stack_trace : SC_STR(""));
    }
    return sc_fb_add_refs(&m->state->fb, refs, m->code.count);
}
