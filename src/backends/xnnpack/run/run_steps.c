// The steps of a call, one after the other, and the events that a listener gets of them.
#include "backends/xnnpack/run/delegate.h"

static sc_status run_step(sc_xnn_delegate *d, sc_xnn_step *s) {
    if (s->is_fused && !d->is_watched) return SC_OK;
    SC_TRY(sc_progress_of_run(d->ctx));
    return s->out[0]->tensor.numel ? s->runner->run(d, s) : SC_OK;
}

static sc_status run_steps(sc_xnn_delegate *d) {
    for (uint32_t i = 0; i < d->graph->nodes.count; i++) {
        sc_xnn_step *s = &d->steps[i];
        if (!s->leads) {
            SC_TRY(run_step(d, s));
            continue;
        }
        SC_TRY(sc_progress_of_run(d->ctx));
        sc_xnn_run_pair(d, s);
        i++;
    }
    return SC_OK;
}

static void show_results(sc_xnn_delegate *d, const sc_xnn_step *s, const sc_rt_hearing *hearing,
                         const sc_rt_delegate_event *event) {
    for (uint32_t k = 0; k < SC_XNN_OUTPUTS_MAX && s->out[k]; k++) {
        sc_xnn_shown shown = sc_xnn_show(d, s->node->outputs[k]);
        shown.tensor.sizes = shown.sizes;
        shown.tensor.strides = shown.strides;
        shown.tensor.dim_order = shown.dim_order;
        const sc_evalue value = {.tag = SC_EVALUE_TENSOR, .tensor = &shown.tensor};
        sc_rt_delegate_output(hearing, event, &value);
    }
}

// Every node is an event, even one without work. The event of a fused product has the time of all
// steps that it stands for.
static sc_status run_heard(sc_xnn_delegate *d, const sc_rt_hearing *hearing) {
    const uint32_t count = d->graph->nodes.count;
    for (uint32_t i = 0; i < count; i++) {
        char text[SC_XNN_EVENT_ID_BYTES];
        sc_xnn_step *s = &d->steps[i];
        const sc_rt_delegate_event event = {.id = sc_xnn_event_id(s->node, i, count, text)};
        sc_rt_delegate_begin(hearing, &event);
        const sc_status status = run_step(d, s);
        sc_rt_delegate_end(hearing, &event, status);
        SC_TRY(status);
        if (d->is_watched) show_results(d, s, hearing, &event);
    }
    return SC_OK;
}

sc_status sc_xnn_run_steps(sc_xnn_delegate *d, const sc_rt_hearing *hearing) {
    d->is_watched = hearing && sc_rt_delegate_is_watched(hearing);
    return hearing ? run_heard(d, hearing) : run_steps(d);
}
