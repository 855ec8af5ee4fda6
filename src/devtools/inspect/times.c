// Time scales, how long events took, and statistics over many of them.
#include <math.h>
#include <stdlib.h>

#include "devtools/inspect/internal.h"

static const struct {
    const char *name;
    double per_second;
} SCALES[] = {{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}, {"cycles", 1}};

const char *sc_time_scale_name(sc_time_scale scale) { return SCALES[scale].name; }

bool sc_time_scale_from(sc_str name, sc_time_scale *out) {
    for (size_t i = 0; i < SC_COUNT_OF(SCALES); i++)
        if (sc_str_is(name, SCALES[i].name)) {
            *out = (sc_time_scale)i;
            return true;
        }
    return false;
}

sc_status sc_time_scale_factor(sc_ctx *ctx, sc_time_scale source, sc_time_scale target,
                               double *out) {
    if ((source == SC_TIME_CYCLES) != (target == SC_TIME_CYCLES))
        return sc_fail(ctx, SC_ERR_OPTION, "Give both time scales as cycles, or neither.",
                       "%s cannot be converted to %s", SCALES[source].name, SCALES[target].name);
    *out = SCALES[source].per_second / SCALES[target].per_second;
    return SC_OK;
}

bool sc_inspect_is_delegated(const sc_dump_event *e) {
    return e->delegate_str.data || e->delegate_int != SC_DUMP_NO_ID;
}

// Backends that only measure report a start of 0.
bool sc_inspect_is_placed(const sc_dump_event *e) {
    return e->kind == SC_DUMP_PROFILE && (e->start > 0 || !sc_inspect_is_delegated(e));
}

bool sc_inspect_is_converted(const sc_dump_event *e) {
    return e->kind == SC_DUMP_PROFILE && sc_inspect_is_delegated(e);
}

// Reads a time that the caller gave. NaN and negative numbers count as absent.
static bool converted(const double *times, double *out) {
    const double elapsed = times[1] - times[0];
    if (!isfinite(elapsed) || elapsed < 0) return false;
    *out = elapsed;
    return true;
}

// A counter of 32 bits may have wrapped between the two readings.
bool sc_inspect_elapsed(const sc_inspection *in, const sc_dump_event *event, double *out) {
    uint64_t ticks = event->end - event->start;
    *out = 0;
    const uint64_t *place =
        in->delegate_times ? sc_imap_find(&in->delegate_places, SC_PTR_KEY(event)) : NULL;
    if (place) return converted(&in->delegate_times[*place - 1], out);
    if (event->end < event->start) {
        if (event->start > UINT32_MAX) return false;
        ticks = (uint32_t)ticks;
    }
    *out = (double)ticks / in->factor;
    return true;
}

// --- Statistics ----------------------------------------------------------------------------------

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const double *sorted, uint32_t count, double p) {
    const double at = p * (count - 1);
    const uint32_t below = (uint32_t)at;
    const double next = sorted[below + 1 < count ? below + 1 : below];
    return sorted[below] + (next - sorted[below]) * (at - below);
}

sc_perf sc_perf_of(sc_arena *scratch, const double *raw, uint32_t count) {
    sc_perf perf = {.raw = raw, .count = count};
    if (count == 0) return perf;
    sc_mark mark = sc_arena_mark(scratch);
    double *sorted = sc_new_array(scratch, double, count);
    double sum = 0;
    memcpy(sorted, raw, count * sizeof *raw);
    qsort(sorted, count, sizeof *sorted, ascending);
    for (uint32_t i = 0; i < count; i++) sum += raw[i];
    perf.p10 = percentile(sorted, count, 0.1);
    perf.p50 = percentile(sorted, count, 0.5);
    perf.p90 = percentile(sorted, count, 0.9);
    perf.average = sum / count;
    perf.min = sorted[0];
    perf.max = sorted[count - 1];
    sc_arena_rewind(scratch, mark);
    return perf;
}

// --- Noise ---------------------------------------------------------------------------------------

// Quantiles of Student's distribution at 97.5 %, by degrees of freedom from 1 on.
static const double STUDENT[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

// If the exact degree is not in the table, a smaller one makes the interval wider, never narrower.
static double student(double degrees) {
    const uint32_t whole = degrees < 1 ? 1 : degrees > 1e6 ? 1000000 : (uint32_t)degrees;
    if (whole <= SC_COUNT_OF(STUDENT)) return STUDENT[whole - 1];
    return 1.96 + 2.46 / whole;
}

// The variance of the average.
static double spread(const sc_perf *p) {
    double sum = 0;
    for (uint32_t i = 0; i < p->count; i++)
        sum += (p->raw[i] - p->average) * (p->raw[i] - p->average);
    return sum / (p->count - 1) / p->count;
}

bool sc_perf_noise(const sc_perf *a, const sc_perf *b, double *half_width) {
    *half_width = 0;
    if (a->count < 2 || b->count < 2) return false;
    const double x = spread(a), y = spread(b);
    if (x + y <= 0) return true;
    const double degrees = (x + y) * (x + y) / (x * x / (a->count - 1) + y * y / (b->count - 1));
    *half_width = student(degrees) * sqrt(x + y);
    return true;
}
