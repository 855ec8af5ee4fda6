// Depthwise convolution on planes. Each channel is copied once into a padded plane. If the stride
// is above 1, the plane is split by phase: each phase (y % stride, x % stride) of padded
// coordinates becomes a plane of its own, all of one pitch. Then a tap is one offset for all
// outputs, whatever the edges and strides. Narrow outputs are computed as one long row in the pitch
// of the plane, gaps included, and copied out. Wide ones are computed row by row in place.
// In wasm: -O3
#include <math.h>

#include "compute/conv.h"
#include "compute/simd/dwconv_f32.h"
#include "compute/simd/simd.h"

enum {
    TAP_MAX = 256,
    PLANE_MAX = 1 << 26,  // floats of the padded copy
    NARROW = 56           // outputs narrower than this are computed across rows
};

typedef struct plane {
    int64_t rows, pitch;  // of one phase
    int64_t stride_y, stride_x;
    int64_t phase;  // floats from one phase to the next
    int64_t total;
} plane;

// False if the copy would be disproportionately large (a huge stride or dilation).
static bool plane_of(const sc_conv *c, plane *p) {
    p->stride_y = c->stride[1], p->stride_x = c->stride[2];
    int64_t reach_y = (c->kernel[1] - 1) * c->dilation[1] / p->stride_y;
    int64_t reach_x = (c->kernel[2] - 1) * c->dilation[2] / p->stride_x;
    p->rows = c->out[1] + reach_y;
    p->pitch = c->out[2] + reach_x;
    if (p->rows > PLANE_MAX || p->pitch > PLANE_MAX || p->rows * p->pitch > PLANE_MAX) return false;
    p->phase = p->rows * p->pitch;
    p->total = p->phase * p->stride_y * p->stride_x;
    return p->total <= PLANE_MAX;
}

static bool is_narrow(const sc_conv *c) { return c->out[2] < NARROW; }

static bool fits(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    plane p;
    return !c->transposed && c->in_channels == 1 && c->in[0] == 1 && c->kernel[0] == 1 &&
           c->out[0] == 1 && c->pad[0] == 0 && c->kernel[1] <= TAP_MAX && c->kernel[2] <= TAP_MAX &&
           sc_conv_taps(c) <= TAP_MAX && c->stride[1] <= 4 && c->stride[2] <= 4 &&
           sc_conv_planes(c->in_step, c->in) && sc_conv_planes(c->out_step, c->out) &&
           sc_conv_planes(c->weight_step, c->kernel) && plane_of(c, &p);
}

// Bytes of the plane, and of a row across rows for narrow outputs.
static uint64_t scratch_bytes(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    plane p;
    if (!plane_of(c, &p)) return 0;
    uint64_t row = is_narrow(c) ? (uint64_t)(c->out[1] * p.pitch) : 0;
    return ((uint64_t)p.total + row + 2 * SC_DWCONV_OVERREAD) * sizeof(float);
}

// --- Into the plane ------------------------------------------------------------------------------

static void copy_floats(float *to, const float *from, int64_t count) {
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) v4f_store(to + i, v4f_load(from + i));
    if (i < count && count >= 4) {
        v4f_store(to + count - 4, v4f_load(from + count - 4));  // overlaps the vector before
        return;
    }
    for (; i < count; i++) to[i] = from[i];
}

// Separates even and odd elements.
static void split_in_two(float *even, float *odd, const float *from, int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8, even += 4, odd += 4) {
        v4f a = v4f_load(from + i), b = v4f_load(from + i + 4);
        v4f_store(even, __builtin_shufflevector(a, b, 0, 2, 4, 6));
        v4f_store(odd, __builtin_shufflevector(a, b, 1, 3, 5, 7));
    }
    for (; i < count; i++) *(i % 2 ? odd++ : even++) = from[i];
}

// One input row into the phases of a plane row. Columns that no output reads are left out.
static void copy_row(const sc_conv *c, const plane *p, const float *from, float *row) {
    const int64_t s = p->stride_x, left = c->pad[2];
    const int64_t count = sc_min_i64(c->in[2], p->pitch * s - left);
    if (s == 1) {
        copy_floats(row + left, from, count);
    } else if (s == 2) {
        float *phases[2] = {row, row + p->phase};
        split_in_two(phases[left % 2] + left / 2, phases[(left + 1) % 2] + (left + 1) / 2, from,
                     count);
    } else {
        for (int64_t x = 0; x < count; x++)
            row[(x + left) % s * p->phase + (x + left) / s] = from[x];
    }
}

// Writes the same places for every channel, so the edges stay zero from one channel to the next.
static void copy_channel(const sc_conv *c, const plane *p, const float *in, float *to) {
    const int64_t top = c->pad[1], s = p->stride_y;
    const int64_t count = sc_min_i64(c->in[1], p->rows * s - top);
    if (c->pad[2] >= p->pitch * p->stride_x) return;  // all reads are padding
    for (int64_t y = 0; y < count; y++) {
        int64_t at = y + top;
        copy_row(c, p, in + y * c->in[2], to + at % s * p->stride_x * p->phase + at / s * p->pitch);
    }
}

// --- Out of it -----------------------------------------------------------------------------------

typedef struct channel_job {
    const sc_conv *conv;
    const plane *plane;
    float *padded, *across;
    const float *end;  // of the outputs that are written one after the other
    size_t offsets[TAP_MAX];
    float weights[TAP_MAX];
} channel_job;

static void find_offsets(channel_job *job) {
    const sc_conv *c = job->conv;
    const plane *p = job->plane;
    size_t t = 0;
    for (int64_t ky = 0; ky < c->kernel[1]; ky++) {
        for (int64_t kx = 0; kx < c->kernel[2]; kx++) {
            int64_t y = ky * c->dilation[1], x = kx * c->dilation[2];
            int64_t phase = y % p->stride_y * p->stride_x + x % p->stride_x;
            job->offsets[t++] =
                (size_t)(phase * p->phase + y / p->stride_y * p->pitch + x / p->stride_x);
        }
    }
}

static void run_rows(const channel_job *job, sc_dwconv_f32 *d, float *out) {
    const sc_conv *c = job->conv;
    d->count = (size_t)c->out[2];
    for (int64_t y = 0; y < c->out[1]; y++) {
        d->in = job->padded + y * job->plane->pitch;
        d->out = out + y * c->out[2];
        d->spill = d->out + d->count <= job->end ? (size_t)(job->end - d->out) - d->count : 0;
        sc_dwconv_run_f32(d);
    }
}

static void run_across(const channel_job *job, sc_dwconv_f32 *d, float *out) {
    const sc_conv *c = job->conv;
    const int64_t pitch = job->plane->pitch, width = c->out[2];
    d->in = job->padded;
    d->out = job->across;
    d->count = (size_t)(c->out[1] * pitch);
    d->spill = SC_DWCONV_OVERREAD;
    sc_dwconv_run_f32(d);
    for (int64_t y = 0; y < c->out[1]; y++, out += width) {
        const float *from = job->across + y * pitch;
        int64_t spill = (width + 3) / 4 * 4;
        copy_floats(out, from, out + spill <= job->end ? spill : width);
    }
}

static void run_channel(channel_job *job, const float *weight, int64_t channel, float *out) {
    const sc_conv *c = job->conv;
    const sc_finish *finish = &c->record.finish;
    const float scale = sc_finish_scale(finish, channel);
    sc_dwconv_f32 d = {
        .offsets = job->offsets,
        .weights = job->weights,
        .tap_count = (size_t)sc_conv_taps(c),
        .shift = sc_conv_shift(c, channel),
        .low = finish->clamps ? finish->low : -INFINITY,
        .high = finish->clamps ? finish->high : INFINITY,
    };
    for (size_t t = 0; t < d.tap_count; t++) job->weights[t] = weight[t] * scale;
    if (is_narrow(c))
        run_across(job, &d, out);
    else
        run_rows(job, &d, out);
}

static int64_t tiles(const sc_record *record) {
    return sc_conv_of(record)->batch * sc_conv_of(record)->groups;
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    plane p;
    (void)packed;
    if (!plane_of(c, &p)) return;  // does not happen: fits() has checked it
    // Rows, channels and batch items follow one another, so a row may spill into the next.
    const bool dense = c->out_step[1] == sc_conv_out_area(c) &&
                       c->out_step[0] == sc_conv_channels(c) * c->out_step[1];
    float *const output = c->output;
    channel_job job = {.conv = c, .plane = &p, .padded = scratch};
    job.across = job.padded + p.total + SC_DWCONV_OVERREAD;
    job.end = dense ? output + to * c->out_channels * c->out_step[1] : output;
    find_offsets(&job);
    memset(job.padded, 0, (size_t)(p.total + SC_DWCONV_OVERREAD) * sizeof(float));
    for (int64_t tile = from; tile < to; tile++) {
        const int64_t n = tile / c->groups, g = tile % c->groups;
        const float *weight = (const float *)c->weight + g * c->weight_group;
        copy_channel(c, &p, (const float *)c->input + n * c->in_step[0] + g * c->in_step[1],
                     job.padded);
        for (int64_t o = 0; o < c->out_channels; o++) {
            const int64_t channel = g * c->out_channels + o;
            run_channel(&job, weight + o * c->weight_step[0], channel,
                        output + n * c->out_step[0] + channel * c->out_step[1]);
        }
    }
}

SC_ALGORITHM(conv_depthwise, .fits = fits, .scratch_bytes = scratch_bytes, .tiles = tiles,
             .run = run);
