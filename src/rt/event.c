#include "rt/event.h"

#include "base/parallel.h"
#include "rt/operands.h"
#include "rt/tell.h"

void sc_rt_program_listen(sc_rt_program *program, sc_rt_sink *sink) { program->sink = sink; }

static sc_rt_event event_of(const sc_rt_method *m, sc_rt_event_kind kind,
                            const sc_rt_instruction *in) {
    sc_rt_event event = {.kind = kind, .method = m->name};
    if (in) {
        event.work = (sc_rt_kind)in->kind;
        event.origins = in->origins;
        event.origin_count = in->origin_count;
    }
    return event;
}

// Counts threads from here on. Events of different kinds lie in one another, those of one kind do
// not.
static void begin_count(const sc_rt_method *m, sc_rt_event_kind kind) {
    m->program->shared_calls[kind] = sc_parallel_calls();
}

static void end_count(const sc_rt_method *m, sc_rt_event *event) {
    event->threads = sc_parallel_threads_since(m->program->shared_calls[event->kind]);
}

// Another instruction stands for an instruction that was merged into it.
static bool is_reported(const sc_rt_instruction *in) { return !in || in->origin_count > 0; }

void sc_rt_tell_begin(const sc_rt_method *m, sc_rt_event_kind kind, const sc_rt_instruction *in) {
    sc_rt_sink *sink = m->program->sink;
    if (!sink || !is_reported(in)) return;
    const sc_rt_event event = event_of(m, kind, in);
    begin_count(m, kind);
    sink->begin(sink, &event);
}

// Reports the values that an instruction has written, and all arguments of a delegate's call. A
// rewritten instruction still has the call that the file states.
static void show_written(sc_rt_sink *sink, const sc_rt_event *event, const sc_rt_method *m,
                         const sc_rt_instruction *in) {
    const uint32_t wanted = in->kind == SC_RT_DELEGATE ? SC_RT_ANY_ACCESS : SC_RT_WRITES;
    sc_rt_operands o =
        in->call.op ? sc_rt_operands_of_call(&in->call, wanted) : sc_rt_operands_of(m, in, wanted);
    for (const sc_evalue *list = NULL; sc_rt_operands_next(&o);) {
        if (o.list ? o.list == list : sc_rt_constant_is_gone(o.value)) continue;
        list = o.list;
        sink->output(sink, event, list ? list : o.value);
    }
}

void sc_rt_tell_end(const sc_rt_method *m, sc_rt_event_kind kind, const sc_rt_instruction *in,
                    sc_status status) {
    sc_rt_sink *sink = m->program->sink;
    if (!sink || !is_reported(in)) return;
    sc_rt_event event = event_of(m, kind, in);
    end_count(m, &event);
    sink->end(sink, &event, status);
    if (!sink->output || status != SC_OK) return;
    if (in && in->shown) show_written(sink, &event, m, in->shown);
    for (uint32_t i = 0; kind == SC_RT_EVENT_RUN && i < m->output_count; i++)
        sink->output(sink, &event, &m->values[m->outputs[i]]);
}

// --- Delegates -----------------------------------------------------------------------------------

static sc_rt_event event_in(const sc_rt_hearing *hearing, const sc_rt_delegate_event *within) {
    sc_rt_event event = event_of(hearing->method, SC_RT_EVENT_DELEGATE, hearing->in);
    event.delegate_id = within->id;
    event.delegate_number = within->number;
    return event;
}

void sc_rt_delegate_begin(const sc_rt_hearing *hearing, const sc_rt_delegate_event *within) {
    const sc_rt_event event = event_in(hearing, within);
    begin_count(hearing->method, event.kind);
    hearing->sink->begin(hearing->sink, &event);
}

void sc_rt_delegate_end(const sc_rt_hearing *hearing, const sc_rt_delegate_event *within,
                        sc_status status) {
    sc_rt_event event = event_in(hearing, within);
    end_count(hearing->method, &event);
    hearing->sink->end(hearing->sink, &event, status);
}

bool sc_rt_delegate_is_watched(const sc_rt_hearing *hearing) {
    return hearing->sink->output != NULL;
}

void sc_rt_delegate_output(const sc_rt_hearing *hearing, const sc_rt_delegate_event *within,
                           const sc_evalue *value) {
    const sc_rt_event event = event_in(hearing, within);
    hearing->sink->output(hearing->sink, &event, value);
}
