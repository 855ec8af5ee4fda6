// Detection, as torchvision computes it: suppression of overlapping boxes, and samples of regions
// of an image. Arithmetic is rounded to the operands' type step by step, because the number of
// samples of a region depends on it.
#include <float.h>
#include <math.h>

#include "base/parallel.h"
#include "kernels/kernel.h"

// The most samples along one side of a bin if the region determines their number.
enum { SAMPLES_MAX = 4096 };

static bool is_real(const sc_tensor *t) {
    return t->dtype == SC_DTYPE_F32 || t->dtype == SC_DTYPE_F64;
}

// --- Boxes --------------------------------------------------------------------------------------

typedef struct box {
    double side[4];  // left, top, right, bottom
    double area, score;
    int64_t index;
    bool is_hidden;
} box;

static double rounded(bool is_single, double x) { return is_single ? (double)(float)x : x; }

static bool overlaps(const box *a, const box *b, double threshold, bool is_single) {
    double width = fmin(a->side[2], b->side[2]) - fmax(a->side[0], b->side[0]);
    double height = fmin(a->side[3], b->side[3]) - fmax(a->side[1], b->side[1]);
    width = rounded(is_single, width > 0 ? width : 0);
    height = rounded(is_single, height > 0 ? height : 0);
    double shared = rounded(is_single, width * height);
    double all = rounded(is_single, rounded(is_single, a->area + b->area) - shared);
    return rounded(is_single, shared / all) > threshold;
}

// Sorts the best first; boxes of one score stay in order. NaN counts as the best, as in a sort.
static bool is_better(const box *a, const box *b) {
    if (a->score != a->score) return b->score == b->score;
    return a->score > b->score;
}

static box *sort_boxes(box *items, box *spare, int64_t count) {
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t start = 0; start < count; start += 2 * width) {
            int64_t middle = sc_min_i64(start + width, count);
            int64_t end = sc_min_i64(start + 2 * width, count), a = start, b = middle;
            for (int64_t k = start; k < end; k++) {
                bool left = a < middle && (b >= end || !is_better(&items[b], &items[a]));
                spare[k] = left ? items[a++] : items[b++];
            }
        }
        box *swap = items;
        items = spare;
        spare = swap;
    }
    return items;
}

static void read_boxes(const sc_tensor *dets, const sc_tensor *scores, box *out) {
    bool is_single = dets->dtype == SC_DTYPE_F32;
    for (int64_t i = 0; i < dets->sizes[0]; i++) {
        box *b = &out[i];
        for (int64_t k = 0; k < 4; k++)
            b->side[k] = sc_tensor_real(dets, i * dets->strides[0] + k * dets->strides[1]);
        double width = rounded(is_single, b->side[2] - b->side[0]);
        b->area = rounded(is_single, width * rounded(is_single, b->side[3] - b->side[1]));
        b->score = sc_tensor_real(scores, i * scores->strides[0]);
        b->index = i;
        b->is_hidden = false;
    }
}

// Boxes after the one that was kept.
typedef struct hiding {
    const box *kept;
    box *others;
    double threshold;
    bool is_single;
} hiding;

static void hide_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const hiding *h = work;
    (void)thread;
    for (int64_t k = from; k < to; k++)
        if (!h->others[k].is_hidden)
            h->others[k].is_hidden = overlaps(h->kept, &h->others[k], h->threshold, h->is_single);
}

static uint64_t nms_scratch(const sc_kernel_call *call) {
    return 2 * (uint64_t)sc_call_tensor(call, 1)->numel * sizeof(box);
}

// (dets, scores, iou_threshold, out)
static sc_status run_nms(const sc_kernel_call *call) {
    const sc_tensor *dets = sc_call_tensor(call, 0), *scores = sc_call_tensor(call, 1);
    sc_tensor *out = sc_call_out(call);
    double threshold = sc_call_number(call, 2);
    if (!is_real(dets) || scores->dtype != dets->dtype || out->dtype != SC_DTYPE_I64)
        return sc_call_no_kernel(call);
    if (dets->rank != 2 || dets->sizes[1] != 4 || scores->rank != 1 || out->rank != 1 ||
        scores->sizes[0] != dets->sizes[0])
        return sc_call_fail(call, SC_ERR_SHAPE, "needs four numbers and a score for each box");
    if (call->scratch_bytes < nms_scratch(call)) return sc_call_starved(call);
    int64_t count = dets->sizes[0], kept = 0;
    box *boxes = call->scratch;
    read_boxes(dets, scores, boxes);
    boxes = sort_boxes(boxes, boxes + count, count);
    for (int64_t i = 0; i < count; i++) {
        if (boxes[i].is_hidden) continue;
        kept++;
        hiding h = {&boxes[i], &boxes[i + 1], threshold, dets->dtype == SC_DTYPE_F32};
        sc_parallel_rows(count - i - 1, 2 * SC_COST_FUNCTION, hide_part, &h);
    }
    SC_TRY(sc_call_resize(call, out, &kept));
    for (int64_t i = 0, at = 0; i < count; i++)
        if (!boxes[i].is_hidden) ((int64_t *)out->data)[at++] = boxes[i].index;
    return SC_OK;
}

// --- Regions ------------------------------------------------------------------------------------

typedef struct regions {
    const sc_tensor *in, *rois, *out;
    bool is_single;
    double scale;
    int64_t bins[2];  // rows and columns of the result
    double start[2];  // of the current region
    double size[2], bin[2];
    int64_t image;
    bool reads_first;            // a position outside the image takes no part of the first pixel
    double offset;               // by which regions are moved back
    bool is_aligned;             // no region is smaller than a pixel else
    int64_t wanted;              // samples along a side of a bin; 0: by its size
    const sc_tensor *positions;  // the second result, or NULL
} regions;

static double r(const regions *g, double x) { return rounded(g->is_single, x); }

// (input, rois, spatial_scale, pooled_height, pooled_width, ...)
static sc_status regions_init(const sc_kernel_call *call, regions *g, const sc_tensor *out) {
    *g = (regions){.in = sc_call_tensor(call, 0), .rois = sc_call_tensor(call, 1), .out = out};
    g->is_single = g->in->dtype == SC_DTYPE_F32;
    g->scale = r(g, sc_call_number(call, 2));
    if (!is_real(g->in) || g->rois->dtype != g->in->dtype || out->dtype != g->in->dtype)
        return sc_call_no_kernel(call);
    if (g->in->rank != 4 || g->rois->rank != 2 || g->rois->sizes[1] != 5 || out->rank != 4 ||
        out->sizes[0] != g->rois->sizes[0])
        return sc_call_fail(call, SC_ERR_SHAPE, "needs images, and five numbers for each region");
    for (int i = 0; i < 2; i++) g->bins[i] = out->sizes[2 + i];
    return SC_OK;
}

// An image without pixels has no neighbours for any position.
static sc_status need_pixels(const sc_kernel_call *call, const regions *g) {
    if ((g->in->sizes[2] > 0 && g->in->sizes[3] > 0) || g->out->numel == 0) return SC_OK;
    return sc_call_fail(call, SC_ERR_SHAPE, "needs images that have pixels");
}

static double roi_number(const regions *g, int64_t roi, int64_t k) {
    return sc_tensor_real(g->rois, roi * g->rois->strides[0] + k * g->rois->strides[1]);
}

static sc_status check_image(const sc_kernel_call *call, const regions *g, int64_t roi) {
    const double image = roi_number(g, roi, 0);
    if (image >= 0 && image < (double)g->in->sizes[0]) return SC_OK;
    return sc_call_fail(call, SC_ERR_INDEX, "region %lld is of image %g, but there are %lld",
                        (long long)roi, image, (long long)g->in->sizes[0]);
}

// The region's image and its rectangle.
static void find_region(regions *g, int64_t roi) {
    g->image = (int64_t)roi_number(g, roi, 0);
    for (int i = 0; i < 2; i++) {
        double first = r(g, r(g, roi_number(g, roi, 2 - i) * g->scale) - g->offset);
        double last = r(g, r(g, roi_number(g, roi, 4 - i) * g->scale) - g->offset);
        g->start[i] = first;
        g->size[i] = r(g, last - first);
        if (!g->is_aligned && g->size[i] < 1.0) g->size[i] = 1.0;  // a NaN stays
        g->bin[i] = r(g, g->size[i] / (double)g->bins[i]);
    }
}

static double own_samples(const regions *g, int axis) {
    return ceil(r(g, g->size[axis] / (double)g->bins[axis]));
}

static int64_t count_samples(const regions *g, int axis) {
    return g->wanted > 0 ? g->wanted : (int64_t)own_samples(g, axis);
}

// Checks all regions, because parts do not fail.
static sc_status check_regions(const sc_kernel_call *call, const regions *all) {
    regions g = *all;
    for (int64_t n = 0; n < g.rois->sizes[0]; n++) {
        SC_TRY(check_image(call, &g, n));
        find_region(&g, n);
        for (int i = 0; i < 2; i++) {
            if (g.wanted <= 0 && !(fabs(own_samples(&g, i)) <= SAMPLES_MAX))
                return sc_call_fail(call, SC_ERR_LIMIT, "a region of %g pixels is too large",
                                    g.size[i]);
            if (count_samples(&g, i) > SAMPLES_MAX)
                return sc_call_fail(call, SC_ERR_LIMIT, "takes at most %d samples", SAMPLES_MAX);
        }
    }
    return SC_OK;
}

// Nanoseconds of all bins of a region, when so many pixels are read for each.
static double cost_of_region(const regions *g, double reads) {
    return 4 * SC_COST_CONVERT * reads * (double)g->out->numel /
           (double)sc_max_i64(g->out->sizes[0], 1);
}

static void share_samples(regions *g, sc_parallel_fn *part) {
    const double reads = 4.0 * (double)sc_max_i64(g->wanted > 0 ? g->wanted * g->wanted : 4, 1);
    sc_parallel_rows(g->rois->sizes[0], cost_of_region(g, reads), part, g);
}

static double pixel(const regions *g, int64_t channel, int64_t y, int64_t x) {
    const int64_t *step = g->in->strides;
    return sc_tensor_real(g->in,
                          g->image * step[0] + channel * step[1] + y * step[2] + x * step[3]);
}

// A position up to one pixel beyond the centre of an edge pixel is moved to it. A position further
// out counts as zero.
static bool clamp_position(double *at, int64_t size, int64_t *low, int64_t *high) {
    if (!(*at >= -1.0 && *at <= (double)size)) return false;
    if (*at <= 0) *at = 0;
    *low = (int64_t)*at;
    *high = *low + 1;
    if (*low >= size - 1) {
        *low = *high = size - 1;
        *at = (double)*low;
    }
    return true;
}

static double interpolate(const regions *g, int64_t channel, double y, double x) {
    int64_t rows[2], columns[2];
    if (!clamp_position(&y, g->in->sizes[2], &rows[0], &rows[1]) ||
        !clamp_position(&x, g->in->sizes[3], &columns[0], &columns[1]))
        return g->reads_first ? 0.0 * pixel(g, channel, 0, 0) : 0.0;
    const double v = r(g, y - (double)rows[0]), h = r(g, x - (double)columns[0]);
    const double of_row[2] = {r(g, 1 - v), v}, of_column[2] = {r(g, 1 - h), h};
    double sum = 0.0;
    for (int i = 0; i < 4; i++) {
        const double weight = r(g, of_row[i / 2] * of_column[i % 2]);
        sum = r(g, sum + r(g, weight * pixel(g, channel, rows[i / 2], columns[i % 2])));
    }
    return sum;
}

// The position of sample `number` among the samples of a bin.
static double sample_place(const regions *g, int axis, int64_t bin, int64_t number,
                           const int64_t *samples) {
    const double first = r(g, g->start[axis] + r(g, (double)bin * g->bin[axis]));
    const double step = r(g, ((double)number + 0.5) * g->bin[axis]);
    return r(g, first + r(g, step / (double)samples[axis]));
}

static double sum_of_bin(const regions *g, int64_t channel, int64_t row, int64_t column,
                         const int64_t *samples) {
    double sum = 0.0;
    for (int64_t i = 0; i < samples[0]; i++) {
        const double y = sample_place(g, 0, row, i, samples);
        for (int64_t k = 0; k < samples[1]; k++) {
            const double x = sample_place(g, 1, column, k, samples);
            sum = r(g, sum + interpolate(g, channel, y, x));
        }
    }
    return sum;
}

static int64_t place(const sc_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d) {
    return a * t->strides[0] + b * t->strides[1] + c * t->strides[2] + d * t->strides[3];
}

static void align_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    regions g = *(const regions *)work;
    (void)thread;
    for (int64_t n = from; n < to; n++) {
        find_region(&g, n);
        const int64_t samples[2] = {count_samples(&g, 0), count_samples(&g, 1)};
        const double count = fmax((double)(samples[0] * samples[1]), 1.0);
        for (int64_t c = 0; c < g.in->sizes[1]; c++)
            for (int64_t y = 0; y < g.bins[0]; y++)
                for (int64_t x = 0; x < g.bins[1]; x++)
                    sc_tensor_put_real(g.out, place(g.out, n, c, y, x),
                                       sum_of_bin(&g, c, y, x, samples) / count);
    }
}

// (input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned, out)
static sc_status run_roi_align(const sc_kernel_call *call) {
    regions g;
    SC_TRY(regions_init(call, &g, sc_call_out(call)));
    SC_TRY(need_pixels(call, &g));
    g.reads_first = true;
    g.is_aligned = sc_call_integer(call, 6) != 0;
    g.offset = g.is_aligned ? 0.5 : 0.0;
    g.wanted = sc_call_integer(call, 5);
    if (g.out->sizes[1] != g.in->sizes[1])
        return sc_call_fail(call, SC_ERR_SHAPE,
                            "needs a result with as many channels as its input");
    SC_TRY(check_regions(call, &g));
    share_samples(&g, align_part);
    return SC_OK;
}

static void align_bins_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    regions g = *(const regions *)work;
    const sc_tensor *mapping = g.positions;
    (void)thread;
    for (int64_t n = from; n < to; n++) {
        find_region(&g, n);
        const int64_t samples[2] = {count_samples(&g, 0), count_samples(&g, 1)};
        const double count = (double)(samples[0] * samples[1]);
        for (int64_t c = 0; c < g.out->sizes[1]; c++)
            for (int64_t y = 0; y < g.bins[0]; y++)
                for (int64_t x = 0; x < g.bins[1]; x++) {
                    int64_t channel = (c * g.bins[0] + y) * g.bins[1] + x;
                    sc_tensor_put_real(g.out, place(g.out, n, c, y, x),
                                       sum_of_bin(&g, channel, y, x, samples) / count);
                    sc_tensor_put_integer(mapping, place(mapping, n, c, y, x), channel);
                }
    }
}

// Each bin has channels of its own: (…, sampling_ratio, out, channel_mapping)
static sc_status run_ps_roi_align(const sc_kernel_call *call) {
    regions g;
    const sc_tensor *mapping = sc_call_out(call);
    SC_TRY(regions_init(call, &g, sc_call_tensor(call, 6)));
    SC_TRY(need_pixels(call, &g));
    int64_t channels = g.out->sizes[1], area = g.bins[0] * g.bins[1];
    if (mapping->dtype != SC_DTYPE_I32) return sc_call_no_kernel(call);
    if (g.in->sizes[1] != channels * area || mapping->numel != g.out->numel || mapping->rank != 4)
        return sc_call_fail(call, SC_ERR_SHAPE, "needs channels for each bin");
    g.is_aligned = true;
    g.offset = 0.5;
    g.wanted = sc_call_integer(call, 5);
    g.positions = mapping;
    SC_TRY(check_regions(call, &g));
    share_samples(&g, align_bins_part);
    return SC_OK;
}

static int64_t clipped(double x, int64_t size) {
    return x > 0 ? (x < (double)size ? (int64_t)x : size) : 0;
}

// The largest pixel of a bin, and its position; 0 and -1 if the bin is empty.
static double largest_of_bin(const regions *g, int64_t channel, const int64_t *bin,
                             int64_t *found) {
    int64_t from[2], to[2];
    *found = -1;
    for (int i = 0; i < 2; i++) {
        from[i] =
            clipped(floor(r(g, (double)bin[i] * g->bin[i])) + g->start[i], g->in->sizes[2 + i]);
        to[i] = clipped(ceil(r(g, (double)(bin[i] + 1) * g->bin[i])) + g->start[i],
                        g->in->sizes[2 + i]);
    }
    if (to[0] <= from[0] || to[1] <= from[1]) return 0.0;
    double most = -(double)FLT_MAX;
    for (int64_t y = from[0]; y < to[0]; y++)
        for (int64_t x = from[1]; x < to[1]; x++) {
            double value = pixel(g, channel, y, x);
            if (!(value > most)) continue;
            most = value;
            *found = y * g->in->sizes[3] + x;
        }
    return most;
}

static void pool_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    regions g = *(const regions *)work;
    const sc_tensor *argmax = g.positions;
    (void)thread;
    for (int64_t n = from; n < to; n++) {
        g.image = (int64_t)roi_number(&g, n, 0);
        for (int i = 0; i < 2; i++) {
            double first = round(r(&g, roi_number(&g, n, 2 - i) * g.scale));
            double last = round(r(&g, roi_number(&g, n, 4 - i) * g.scale));
            g.start[i] = first;
            g.bin[i] = r(&g, fmax(last - first + 1, 1.0) / (double)g.bins[i]);
        }
        for (int64_t c = 0; c < g.in->sizes[1]; c++)
            for (int64_t y = 0; y < g.bins[0]; y++)
                for (int64_t x = 0; x < g.bins[1]; x++) {
                    int64_t found, bin[2] = {y, x};
                    double value = largest_of_bin(&g, c, bin, &found);
                    sc_tensor_put_real(g.out, place(g.out, n, c, y, x), value);
                    sc_tensor_put_integer(argmax, place(argmax, n, c, y, x), found);
                }
    }
}

// (input, rois, spatial_scale, pooled_height, pooled_width, out, argmax)
static sc_status run_roi_pool(const sc_kernel_call *call) {
    regions g;
    const sc_tensor *argmax = sc_call_out(call);
    SC_TRY(regions_init(call, &g, sc_call_tensor(call, 5)));
    if (argmax->dtype != SC_DTYPE_I32) return sc_call_no_kernel(call);
    if (g.out->sizes[1] != g.in->sizes[1] || argmax->rank != 4 || argmax->numel != g.out->numel)
        return sc_call_fail(call, SC_ERR_SHAPE,
                            "needs a result with as many channels as its input");
    for (int64_t n = 0; n < g.rois->sizes[0]; n++) SC_TRY(check_image(call, &g, n));
    g.positions = argmax;
    sc_parallel_rows(g.rois->sizes[0], cost_of_region(&g, 4), pool_part, &g);
    return SC_OK;
}

SC_KERNEL(nms, .run = run_nms, .scratch = nms_scratch);
SC_KERNEL(roi_align, .run = run_roi_align);
SC_KERNEL(ps_roi_align, .run = run_ps_roi_align);
SC_KERNEL(roi_pool, .run = run_roi_pool);
