// Regions of images, and convolutions whose taps each have an offset. Pixels are looked up at the
// four corners of a place, and weighted.
#include "trace/official/official.h"

// --- Places along an axis ------------------------------------------------------------------------

// A place between two pixels: their numbers, its distance from the lower one, and a mark for places
// in the image.
typedef struct between {
    sc_x low, high, part, is_inside;
} between;

static sc_x index_at(sc_trace *t, sc_x x) { return sc_f_to(t, x, SC_DTYPE_I64); }

// Half a pixel beyond an edge counts as the edge, and more than a pixel as zero.
static between clamped(sc_trace *t, sc_x at, int64_t size) {
    between b;
    sc_x last = sc_x_float(t, (double)(size - 1)), zero = sc_x_float(t, 0);
    sc_x above = CALL(t, ge_Scalar, at, sc_x_int(t, -1));
    b.is_inside = sc_f_and(t, above, CALL(t, le_Scalar, at, sc_x_float(t, (double)size)));
    at = CALL(t, clamp, sc_f_where_else(t, b.is_inside, at, zero), zero, last);
    sc_x low = CALL(t, floor, at), high = CALL(t, clamp, sc_f_add_number(t, low, 1), X_NONE, last);
    b.part = sc_f_sub(t, at, low);
    b.low = index_at(t, low);
    b.high = index_at(t, high);
    return b;
}

static sc_x reshaped(sc_trace *t, sc_x x, sc_dim a, sc_dim b, sc_dim c, sc_dim d) {
    const sc_dim sizes[4] = {a, b, c, d};
    return sc_f_view(t, x, sizes, 4);
}

static between reshape_all(sc_trace *t, const between *b, sc_dim n, sc_dim rows, sc_dim columns) {
    const sc_dim one = sc_dim_int(1);
    between r = {.low = reshaped(t, b->low, n, rows, columns, one)};
    r.high = reshaped(t, b->high, n, rows, columns, one);
    r.part = reshaped(t, b->part, n, rows, columns, one);
    r.is_inside = reshaped(t, b->is_inside, n, rows, columns, one);
    return r;
}

// --- roi_align, ps_roi_align ---------------------------------------------------------------------

enum { IN_ORDER_MAX = 4 };  // samples along one side of a bin

typedef struct regions {
    sc_x pixels, image;  // [images, height, width, channels]; the image of each region
    sc_x bin[2];         // of samples, where pixels are [images, height, width, *bins, channels]
    sc_dim count, channels;
    int64_t bins[2], samples;
    between at[2];
} regions;

static sc_x squeezed(sc_trace *t, sc_x x) { return sc_f_squeeze(t, x, 3); }

// 0, 1, 2, ... along one of three dims, in the dtype of places.
static sc_x counted(sc_trace *t, int64_t count, uint32_t dim, sc_dtype dtype) {
    return sc_f_to(t, sc_f_places(t, sc_dim_int(count), dim, 3), dtype);
}

// Divides by a tensor of the same size. For a single number the official runtime would multiply by
// the rounded reciprocal.
static sc_x divided(sc_trace *t, sc_x x, int64_t by) {
    return sc_f_div(t, x, CALL(t, full_like, x, sc_x_float(t, (double)by)));
}

// Places of the samples of all bins of a region along one axis: [n, bins * samples]. They are
// rounded at the same steps as in torchvision, which counts samples half a step beyond an edge as
// zero.
static sc_x sample_places(sc_trace *t, const regions *g, const sc_x *a, bool aligned,
                          uint32_t axis) {
    const sc_dtype dtype = sc_x_dtype_of(a[0]);
    const double given = sc_x_known(t, a[2], 1);
    const double scale = dtype == SC_DTYPE_F64 ? given : (double)(float)given;
    const sc_dim sizes[2] = {g->count, sc_dim_int(g->bins[axis] * g->samples)};
    sc_x rois = sc_f_unsqueeze(t, a[1], 2);
    sc_x first = sc_f_mul_number(t, sc_f_slice_steps(t, rois, 1, 2 - axis, 1, 1), scale);
    sc_x last = sc_f_mul_number(t, sc_f_slice_steps(t, rois, 1, 4 - axis, 1, 1), scale);
    if (aligned) first = sc_f_add_number(t, first, -0.5);
    if (aligned) last = sc_f_add_number(t, last, -0.5);
    sc_x size = sc_f_sub(t, last, first);
    if (!aligned) size = CALL(t, clamp, size, sc_x_float(t, 1));
    size = divided(t, size, g->bins[axis]);
    sc_x bin = sc_f_mul(t, counted(t, g->bins[axis], 1, dtype), size);
    sc_x sample = sc_f_add_number(t, counted(t, g->samples, 2, dtype), 0.5);
    sample = divided(t, sc_f_mul(t, sample, size), g->samples);
    bin = sc_f_add(t, first, bin);
    return sc_f_view(t, sc_f_add(t, bin, sample), sizes, 2);
}

static sc_x corner(sc_trace *t, const regions *g, sc_x y, sc_x x) {
    const sc_dim wide[3] = {g->count, sc_dim_int(1), sc_dim_int(1)};
    sc_x image = sc_f_view(t, g->image, wide, 3);
    if (g->bin[0])
        return CALL(t, index_Tensor, g->pixels, X_LIST(t, image, y, x, g->bin[0], g->bin[1]));
    return CALL(t, index_Tensor, g->pixels, X_LIST(t, image, y, x));
}

// The first pixel times 0, which torchvision uses for samples outside of the image. It is NaN if
// the pixel is infinite: [n, 1, 1, channels].
static sc_x outside(sc_trace *t, const regions *g) {
    sc_x first = sc_f_slice_steps(t, sc_f_slice_steps(t, g->pixels, 1, 0, 1, 1), 2, 0, 1, 1);
    return sc_f_mul_number(t, CALL(t, index_select, first, sc_x_int(t, 0), g->image), 0);
}

// [n, rows, columns, channels]: the four pixels around each sample, by how near they are
static sc_x sampled(sc_trace *t, const regions *g) {
    const sc_dim one = sc_dim_int(1);
    const sc_dim rows = sc_dim_int(g->bins[0] * g->samples);
    const sc_dim columns = sc_dim_int(g->bins[1] * g->samples);
    const between v = reshape_all(t, &g->at[0], g->count, rows, one);
    const between h = reshape_all(t, &g->at[1], g->count, one, columns);
    sc_x y[2], x[2], sum = NULL;
    y[0] = squeezed(t, v.low);
    y[1] = squeezed(t, v.high);
    x[0] = squeezed(t, h.low);
    x[1] = squeezed(t, h.high);
    const sc_x above = sc_f_number_minus(t, 1, v.part), before = sc_f_number_minus(t, 1, h.part);
    const sc_x of_row[2] = {above, v.part}, of_column[2] = {before, h.part};
    for (uint32_t i = 0; i < 4; i++) {
        sc_x weight = sc_f_mul(t, of_row[i / 2], of_column[i % 2]);
        sc_x part = sc_f_mul(t, weight, corner(t, g, y[i / 2], x[i % 2]));
        sum = sum ? sc_f_add(t, sum, part) : part;
    }
    sc_x is_inside = sc_f_and(t, v.is_inside, h.is_inside);
    if (g->bin[0]) return sc_f_where_else(t, is_inside, sum, sc_x_int(t, 0));
    return sc_f_where(t, is_inside, sum, outside(t, g));
}

// [n, rows, samples, columns, samples, channels]: a few are added up one after the other, as
// torchvision does, from 0.
static sc_x mean_of_samples(sc_trace *t, sc_x all, int64_t samples) {
    sc_x sum = NULL;
    if (samples > IN_ORDER_MAX) return CALL(t, mean_dim, all, X_INTS(t, 2, 4), X_FALSE);
    for (int64_t i = 0; i < samples * samples; i++) {
        sc_x next = sc_f_select(t, sc_f_select(t, all, 4, i % samples), 2, i / samples);
        sum = sum ? sc_f_add(t, sum, next) : sc_f_add_number(t, next, 0);
    }
    return divided(t, sum, samples * samples);
}

// (input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio), without its pixels
static bool read_regions(sc_trace *t, const sc_x *a, bool aligned, regions *g) {
    const sc_spec *out = &t->source->outs[0]->spec;
    *g = (regions){.samples = sc_x_number(a[5], 0), .count = sc_x_size(a[1], 0)};
    if (sc_x_rank(a[0]) != 4 || sc_x_rank(a[1]) != 2) return false;
    g->channels = out->sizes[1];
    for (uint32_t i = 0; i < 2; i++) {
        const int64_t size = sc_official_known(t, sc_x_size(a[0], 2 + i), SC_LIMIT_KNOWN_IMAGES);
        g->bins[i] = sc_official_known(t, out->sizes[2 + i], SC_LIMIT_KNOWN_RESULTS);
        if (t->status != SC_OK || size < 1) return false;
        g->at[i] = clamped(t, sample_places(t, g, a, aligned, i), size);
    }
    g->image = sc_f_view(t, index_at(t, sc_f_slice_steps(t, a[1], 1, 0, 1, 1)), &g->count, 1);
    return true;
}

static bool takes_samples(const sc_x *a) {
    const int64_t samples = sc_x_number(a[5], 0);
    return samples >= 1 && samples <= SC_UP_TO_SAMPLES;
}

static sc_x mean_of_bins(sc_trace *t, const regions *g) {
    static const int64_t channels_first[] = {0, 3, 1, 2};
    const sc_dim samples = sc_dim_int(g->samples);
    const sc_dim sizes[6] = {
        g->count, sc_dim_int(g->bins[0]), samples, sc_dim_int(g->bins[1]), samples, g->channels};
    sc_x all = sc_f_view(t, sampled(t, g), sizes, 6);
    return sc_f_permute(t, mean_of_samples(t, all, g->samples), channels_first);
}

// (..., sampling_ratio, aligned)
sc_x sc_official_roi_align(sc_trace *t, const sc_x *a) {
    static const int64_t channels_last[] = {0, 2, 3, 1};
    regions g;
    if (!takes_samples(a)) return sc_official_beyond(t, SC_LIMIT_SAMPLES);
    if (!read_regions(t, a, sc_x_truth(a[6]), &g)) return sc_official_refuse(t);
    g.pixels = sc_f_permute(t, a[0], channels_last);
    return mean_of_bins(t, &g);
}

// The bin of each sample along one axis, along that one of three dims.
static sc_x bin_of_samples(sc_trace *t, const regions *g, uint32_t axis) {
    const sc_dim wide[2] = {sc_dim_int(g->bins[axis]), sc_dim_int(g->samples)};
    sc_dim sizes[3] = {sc_dim_int(1), sc_dim_int(1), sc_dim_int(1)};
    sizes[1 + axis] = sc_dim_int(g->bins[axis] * g->samples);
    sc_x bins = sc_f_expand(t, sc_f_places(t, wide[0], 0, 2), wide, 2);
    return sc_f_view(t, sc_f_contiguous(t, bins), sizes, 3);
}

// The channel of the image that each number belongs to.
static sc_x channel_mapping(sc_trace *t, const regions *g) {
    const sc_dim area = sc_dim_int(g->bins[0] * g->bins[1]);
    const sc_dim sizes[4] = {g->count, g->channels, sc_dim_int(g->bins[0]), sc_dim_int(g->bins[1])};
    sc_x one = sc_f_places(t, sc_trace_mul(t, g->channels, area), 0, 1);
    one = reshaped(t, one, sc_dim_int(1), sizes[1], sizes[2], sizes[3]);
    return sc_f_contiguous(t, sc_f_to(t, sc_f_expand(t, one, sizes, 4), SC_DTYPE_I32));
}

// Each bin has channels of its own, and samples outside of the image count as 0.
sc_x sc_official_ps_roi_align(sc_trace *t, const sc_x *a) {
    static const int64_t channels_last[] = {0, 4, 5, 2, 3, 1};
    regions g;
    if (!takes_samples(a)) return sc_official_beyond(t, SC_LIMIT_SAMPLES);
    if (!read_regions(t, a, true, &g)) return sc_official_refuse(t);
    const sc_dim sizes[6] = {sc_x_size(a[0], 0),    g.channels,         sc_dim_int(g.bins[0]),
                             sc_dim_int(g.bins[1]), sc_x_size(a[0], 2), sc_x_size(a[0], 3)};
    g.pixels = sc_f_permute(t, sc_f_view(t, a[0], sizes, 6), channels_last);
    for (uint32_t i = 0; i < 2; i++) g.bin[i] = bin_of_samples(t, &g, i);
    sc_x mean = mean_of_bins(t, &g);
    return X_LIST(t, mean, channel_mapping(t, &g));
}

// --- deform_conv2d -------------------------------------------------------------------------------

typedef struct deform {
    sc_x pixels;  // [images, groups, channels of a group, height * width]
    sc_dim images, groups, channels, taps, places;
    int64_t size[2], kernel[2], out[2];
} deform;

// Places of the taps without an offset: [1, 1, taps, places].
static sc_x grid(sc_trace *t, const deform *g, const sc_x *a, uint32_t axis) {
    const sc_dim one = sc_dim_int(1), step = sc_dim_int(sc_x_number(a[5 + axis], 1));
    const sc_dim wide_taps[2] = {sc_dim_int(g->kernel[0]), sc_dim_int(g->kernel[1])};
    const sc_dim wide_places[2] = {sc_dim_int(g->out[0]), sc_dim_int(g->out[1])};
    const double apart = (double)sc_x_number(a[9 + axis], 1);
    sc_x tap = sc_f_double(t, sc_f_places(t, wide_taps[axis], axis, 2));
    sc_x place = sc_f_double(t, sc_f_places(t, wide_places[axis], axis, 2));
    tap = sc_f_add_number(t, sc_f_mul_number(t, tap, apart), -(double)sc_x_number(a[7 + axis], 0));
    place = sc_f_mul_number(t, place, (double)step.value);
    tap = sc_f_contiguous(t, sc_f_expand(t, tap, wide_taps, 2));
    place = sc_f_contiguous(t, sc_f_expand(t, place, wide_places, 2));
    tap = reshaped(t, tap, one, one, g->taps, one);
    return sc_f_add(t, tap, reshaped(t, place, one, one, one, g->places));
}

// [images, groups, taps, places]
static sc_x place_of(sc_trace *t, const deform *g, const sc_x *a, uint32_t axis) {
    const sc_dim sizes[5] = {g->images, g->groups, g->taps, sc_dim_int(2), g->places};
    sc_x offset = sc_f_select(t, sc_f_view(t, a[2], sizes, 5), 3, axis);
    sc_x place = sc_f_to_dtype_of(t, grid(t, g, a, axis), a[0]);
    return sc_f_add(t, offset, place);
}

// The place of a pixel along an axis, its weight, and a mark for pixels that exist.
typedef struct pixel {
    sc_x at, weight, is_there;
} pixel;

static pixel pixel_at(sc_trace *t, sc_x low, sc_x weight, int64_t size) {
    const double last = (double)(size - 1);
    pixel p = {.at = CALL(t, clamp, low, sc_x_float(t, 0), sc_x_float(t, last))};
    p.is_there = CALL(t, eq_Tensor, p.at, low);
    p.weight = weight;
    return p;
}

static void pixels_at(sc_trace *t, sc_x at, int64_t size, pixel *out) {
    sc_x above = CALL(t, gt_Scalar, at, sc_x_int(t, -1));
    sc_x inside = sc_f_and(t, above, sc_f_lt_number(t, at, (double)size));
    at = sc_f_where_else(t, inside, at, sc_x_float(t, -2));
    sc_x low = CALL(t, floor, at), part = sc_f_sub(t, at, low);
    out[0] = pixel_at(t, low, sc_f_number_minus(t, 1, part), size);
    out[1] = pixel_at(t, sc_f_add_number(t, low, 1), part, size);
}

// [images, groups, channels of a group, taps * places]
static sc_x weighted(sc_trace *t, const deform *g, const pixel *y, const pixel *x) {
    const sc_dim one = sc_dim_int(1), all = sc_trace_mul(t, g->taps, g->places);
    const sc_dim sizes[4] = {g->images, g->groups, g->channels, all};
    sc_x row = CALL(t, mul_Scalar, index_at(t, y->at), sc_x_int(t, g->size[1]));
    sc_x at = sc_f_add(t, row, index_at(t, x->at));
    at = sc_f_expand(t, reshaped(t, at, g->images, g->groups, one, all), sizes, 4);
    sc_x found = CALL(t, gather, g->pixels, sc_x_int(t, 3), at);
    sc_x weight = sc_f_mul(t, y->weight, x->weight);
    weight = reshaped(t, weight, g->images, g->groups, one, all);
    sc_x is_there = sc_f_and(t, y->is_there, x->is_there);
    is_there = reshaped(t, is_there, g->images, g->groups, one, all);
    return sc_f_where_else(t, is_there, sc_f_mul(t, found, weight), sc_x_int(t, 0));
}

static sc_x column(sc_trace *t, const deform *g, const sc_x *a) {
    const sc_dim one = sc_dim_int(1), all = sc_trace_mul(t, g->taps, g->places);
    pixel y[2], x[2];
    pixels_at(t, place_of(t, g, a, 0), g->size[0], y);
    pixels_at(t, place_of(t, g, a, 1), g->size[1], x);
    sc_x sum = weighted(t, g, &y[0], &x[0]);
    for (uint32_t i = 1; i < 4; i++) sum = sc_f_add(t, sum, weighted(t, g, &y[i / 2], &x[i % 2]));
    if (!sc_x_truth(a[13])) return sum;
    return sc_f_mul(t, sum, reshaped(t, a[3], g->images, g->groups, one, all));
}

static bool read_deform(sc_trace *t, const sc_x *a, deform *g) {
    const sc_spec *out = &t->source->outs[0]->spec;
    if (sc_x_rank(a[0]) != 4 || sc_x_rank(a[1]) != 4) return false;
    const int64_t groups = sc_x_number(a[12], 0);
    const int64_t channels = sc_official_known(t, sc_x_size(a[0], 1), SC_LIMIT_KNOWN_IMAGES);
    for (uint32_t i = 0; i < 2; i++) {
        g->size[i] = sc_official_known(t, sc_x_size(a[0], 2 + i), SC_LIMIT_KNOWN_IMAGES);
        g->kernel[i] = sc_official_known(t, sc_x_size(a[1], 2 + i), SC_LIMIT_KNOWN_RESULTS);
        g->out[i] = sc_official_known(t, out->sizes[2 + i], SC_LIMIT_KNOWN_RESULTS);
    }
    if (t->status != SC_OK || groups < 1 || channels < groups) return false;
    g->images = sc_x_size(a[0], 0);
    g->groups = sc_dim_int(groups);
    g->channels = sc_dim_int(channels / groups);
    g->taps = sc_dim_int(g->kernel[0] * g->kernel[1]);
    g->places = sc_dim_int(g->out[0] * g->out[1]);
    g->pixels =
        reshaped(t, a[0], g->images, g->groups, g->channels, sc_dim_int(g->size[0] * g->size[1]));
    return true;
}

// (input, weight, offset, mask, bias, stride, stride, pad, pad, dilation, dilation, groups,
// offset_groups, use_mask)
sc_x sc_official_deform_conv2d(sc_trace *t, const sc_x *a) {
    const sc_dim one = sc_dim_int(1);
    deform g = {0};
    if (!read_deform(t, a, &g)) return sc_official_refuse(t);
    sc_dim wide = sc_trace_mul(t, sc_trace_mul(t, g.groups, g.channels), g.taps);
    sc_x sampled =
        reshaped(t, column(t, &g, a), g.images, wide, sc_dim_int(g.out[0]), sc_dim_int(g.out[1]));
    wide = sc_trace_mul(t, sc_x_size(a[1], 1), g.taps);
    sc_x weight = reshaped(t, a[1], sc_x_size(a[1], 0), wide, one, one);
    return CALL(t, convolution, sampled, weight, a[4], X_INTS(t, 1, 1), X_INTS(t, 0, 0),
                X_INTS(t, 1, 1), X_FALSE, X_INTS(t, 0, 0), a[11]);
}
