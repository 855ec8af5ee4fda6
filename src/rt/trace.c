// Read only when something has failed, so that loading and runs do not pay for it.
#include "rt/trace.h"

#include "program_fbs.h"

enum { FRAMES_MAX = 64, TEXT_BYTES_MAX = 1024 };

static sc_str cut(sc_str text) { return sc_str_slice(text, 0, TEXT_BYTES_MAX); }

static void add_frame(sc_sb *sb, sc_fb_table frame) {
    sc_sb_addf(sb, "  File \"" SC_STR_FMT "\", line %d, in " SC_STR_FMT "\n    " SC_STR_FMT "\n",
               SC_STR_ARG(cut(sc_pte_Frame_filename(frame))), (int)sc_pte_Frame_lineno(frame),
               SC_STR_ARG(cut(sc_pte_Frame_name(frame))),
               SC_STR_ARG(cut(sc_pte_Frame_context(frame))));
}

// The trace as Python writes it. A long one keeps its innermost frames, which come last.
static sc_str trace_text(sc_ctx *ctx, sc_fb_vec frames) {
    sc_sb sb;
    sc_sb_init(&sb, ctx->diag_arena);
    for (uint32_t i = frames.count > FRAMES_MAX ? frames.count - FRAMES_MAX : 0; i < frames.count;
         i++)
        add_frame(&sb, sc_fb_vec_table(frames, i));
    return sc_sb_str(&sb);
}

void sc_rt_trace_diags(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_origin *origin,
                       sc_diag_mark since) {
    sc_fb_vec chains = sc_pte_ExecutionPlan_chains(m->plan);
    sc_fb_vec lists = sc_pte_Chain_stacktrace(sc_fb_vec_table(chains, origin->chain));
    if (origin->index >= lists.count) return;
    sc_fb_vec frames = sc_pte_FrameList_items(sc_fb_vec_table(lists, origin->index));
    if (frames.count) sc_diags_trace(ctx, since, trace_text(ctx, frames));
}
