// A program that was expanded for the official runtime may need much more memory at once. If it
// needs more than twice as much, a note says so, with the line that needs it. Less than one page of
// wasm memory is not worth a note.
#include "passes/passes.h"
#include "passes/peak.h"

enum { PAGE_BYTES = 1 << 16 };

sc_status sc_pass_growth(sc_ctx *ctx, sc_method *method) {
    const uint64_t before = method->peak_before;
    const sc_node *at = NULL;
    if (before == 0) return SC_OK;
    const uint64_t after = sc_peak_bytes(method->graph, (sc_span){NULL, NULL}, &at);
    if (after / 2 <= before || after < PAGE_BYTES) return SC_OK;
    sc_where_set_method(ctx, method);
    if (at) sc_where_set_origin(ctx, at);
    sc_report(
        ctx, SC_NOTE, SC_ERR_LIMIT, "Lower it with the target sconce if only Sconce runs it.",
        "expanded for ExecuTorch's runtime, the program needs about %llu bytes at once, not %llu",
        (unsigned long long)after, (unsigned long long)before);
    return SC_OK;
}
