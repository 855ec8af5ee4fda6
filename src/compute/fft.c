// Plans transforms, and has the three engines that run them: fft_lines.inc for floats in four
// lanes, for single floats, and for doubles.
// In wasm: -O3
#include "compute/fft.h"

#include <math.h>

#include "compute/simd/simd.h"

enum {
    FACTOR_MAX = 31,       // larger primes use a convolution
    LANES_LENGTH = 16384,  // four longer lines at a time would exceed the cache
    LANES_LINES = 3,
    LENGTH_MAX = 1 << 28,
    ALIGNMENT = 64
};
enum { LANES_F32, ONE_F32, ONE_F64 };  // engines

#define REAL                   float
#define LANE                   v4f
#define LANES                  4
#define SPLAT(p)               v4f_load_splat(p)
#define GET(f, base, i)        ((const float *)(base))[i]
#define PUT(f, base, i, value) ((float *)(base))[i] = (value)
#define NAME(x)                lanes_##x
#include "compute/fft_lines.inc"

#define REAL                   float
#define LANE                   float
#define LANES                  1
#define SPLAT(p)               (*(p))
#define GET(f, base, i)        ((const float *)(base))[i]
#define PUT(f, base, i, value) ((float *)(base))[i] = (value)
#define NAME(x)                one_##x
#include "compute/fft_lines.inc"

static inline double get_number(const sc_fft *f, const void *base, int64_t i) {
    return f->is_f64 ? ((const double *)base)[i] : (double)((const float *)base)[i];
}
static inline void put_number(const sc_fft *f, void *base, int64_t i, double value) {
    if (f->is_f64)
        ((double *)base)[i] = value;
    else
        ((float *)base)[i] = (float)value;
}

#define CONVOLVES
#define REAL                   double
#define LANE                   double
#define LANES                  1
#define SPLAT(p)               (*(p))
#define GET(f, base, i)        get_number(f, base, i)
#define PUT(f, base, i, value) put_number(f, base, i, value)
#define NAME(x)                wide_##x
#include "compute/fft_lines.inc"

// --- Planning ------------------------------------------------------------------------------------

// The factors of n, fours first; the largest prime among them.
static int64_t factorise(sc_fft *f, int64_t n) {
    int64_t largest = 1;
    f->factor_count = 0;
    for (int64_t p = 4; n > 1; p = p == 4 ? 2 : p == 2 ? 3 : p + 2) {
        if (p > FACTOR_MAX) return n;
        for (; n % p == 0; n /= p) {
            f->factors[f->factor_count++] = (uint8_t)p;
            if (p != 4) largest = p;
        }
    }
    return largest;
}

static uint64_t aligned(uint64_t bytes) { return sc_align_up(bytes, ALIGNMENT); }

// The smallest number from n on that is a power of two, or three or five times one: factors of four
// are fastest.
static int64_t smooth_from(int64_t n) {
    int64_t best = INT64_MAX;
    for (int64_t odd = 1; odd <= 5; odd += 2) {
        int64_t all = odd;
        while (all < n) all *= 2;
        best = sc_min_i64(best, all);
    }
    return best;
}

static void plan_convolution(sc_fft *f) {
    f->padded = smooth_from(2 * f->points - 1);
    factorise(f, f->padded);
}

static uint64_t line_bytes(const sc_fft *f) {
    static const uint8_t widths[] = {4 * SC_FFT_LANES, 4, 8};
    const uint64_t points = (uint64_t)(f->padded ? f->padded : f->points) + 1;
    return aligned(2 * points * widths[f->engine]);
}

static uint64_t pairs_bytes(const sc_fft *f, int64_t count) {
    return aligned(2 * (uint64_t)count * (f->engine == ONE_F64 ? 8 : 4));
}

uint64_t sc_fft_plan(sc_fft *f) {
    if (f->length < 1 || f->length > LENGTH_MAX) return UINT64_MAX;
    const bool halves = f->kind != SC_FFT_COMPLEX && f->length % 2 == 0;
    f->points = halves ? f->length / 2 : f->length;
    f->padded = 0;
    f->engine = f->is_f64                                              ? ONE_F64
                : f->lines >= LANES_LINES && f->length <= LANES_LENGTH ? LANES_F32
                                                                       : ONE_F32;
    if (factorise(f, f->points) > FACTOR_MAX) {
        f->engine = ONE_F64;
        plan_convolution(f);
    }
    uint64_t bytes = 2 * line_bytes(f) + pairs_bytes(f, f->length);
    if (f->padded) bytes += pairs_bytes(f, f->points) + 2 * pairs_bytes(f, f->padded);
    return bytes;
}

// The bytes of a convolution. It is at most as long as the next power of two, below four times as
// long as the line: two lines, its roots and its response; chirp and roots of the line.
uint64_t sc_fft_bytes_max(int64_t length) {
    const uint64_t n = length < 1 ? 1 : (uint64_t)length;
    if (n > LENGTH_MAX) return UINT64_MAX;
    return 16 * (4 * 4 * n + 2 * n) + 8 * ALIGNMENT + 64;
}

// --- Roots ---------------------------------------------------------------------------------------

typedef struct root {
    double re, im;
} root;

// exp(-2 pi i k / n) for 0 <= k < n, by the angle from the nearest multiple of a right angle, which
// is at most an eighth of a turn.
static root root_of(int64_t k, int64_t n) {
    const int64_t eighth = (int64_t)(8.0 * (double)k / (double)n), octant = eighth > 7 ? 7 : eighth;
    const int64_t quarter = (octant + 1) / 2;
    const double turns = (double)(4 * k - quarter * n) / (4.0 * (double)n);
    const double c = cos(6.283185307179586 * turns), s = sin(6.283185307179586 * turns);
    switch (quarter % 4) {
    case 0: return (root){c, -s};
    case 1: return (root){-s, -c};
    case 2: return (root){-c, s};
    default: return (root){s, c};
    }
}

static void put_root(bool is_f64, void *to, int64_t i, root w) {
    if (is_f64)
        ((root *)to)[i] = w;
    else {
        ((float *)to)[2 * i] = (float)w.re;
        ((float *)to)[2 * i + 1] = (float)w.im;
    }
}

// Every root is the product of one of the first few and one root at a multiple of their number.
static void fill_roots(bool is_f64, void *to, int64_t n) {
    enum { FINE = 64 };
    root fine[FINE];
    for (int64_t i = 0; i < FINE && i < n; i++) fine[i] = root_of(i, n);
    for (int64_t i = 0; i < n; i += FINE) {
        const root coarse = root_of(i, n);
        for (int64_t k = 0; k < FINE && i + k < n; k++) {
            const root w = {coarse.re * fine[k].re - coarse.im * fine[k].im,
                            coarse.re * fine[k].im + coarse.im * fine[k].re};
            put_root(is_f64, to, i + k, w);
        }
    }
}

// Computes the chirp exp(-pi i k^2 / n), and the transform of its conjugate, divided by its length,
// with which the convolution multiplies.
static void fill_chirp(sc_fft *f) {
    const int64_t n = f->points;
    root *chirp = f->chirp, *line = f->line, *response = f->response;
    memset(line, 0, (size_t)f->padded * sizeof *line);
    for (int64_t k = 0, square = 0; k < n; k++) {  // k^2 mod 2 n
        chirp[k] = root_of(square, 2 * n);
        const root w = {chirp[k].re / (double)f->padded, -chirp[k].im / (double)f->padded};
        line[k] = w;
        if (k) line[f->padded - k] = w;
        square = (square + 2 * k + 1) % (2 * n);
    }
    const void *made =
        wide_passes(f->factors, f->factor_count, f->line, f->spare, f->padded_roots, 1, f->padded);
    memcpy(response, made, (size_t)f->padded * sizeof *response);
}

void sc_fft_start(sc_fft *f, void *memory) {
    char *at = memory;
    f->line = at;
    f->spare = at += line_bytes(f);
    f->roots = at += line_bytes(f);
    fill_roots(f->engine == ONE_F64, f->roots, f->length);
    if (!f->padded) return;
    f->chirp = at += pairs_bytes(f, f->length);
    f->response = at += pairs_bytes(f, f->points);
    f->padded_roots = at + pairs_bytes(f, f->padded);
    fill_roots(true, f->padded_roots, f->padded);
    fill_chirp(f);
}

uint64_t sc_fft_line_bytes(const sc_fft *f) { return 2 * line_bytes(f); }

sc_fft sc_fft_with_lines(const sc_fft *f, void *memory) {
    sc_fft own = *f;
    own.line = memory;
    own.spare = (char *)memory + line_bytes(f);
    return own;
}

// --- Runs ----------------------------------------------------------------------------------------

static void put_pair(const sc_fft *f, void *out, int64_t i, double re, double im) {
    if (i >= f->out_count) return;
    put_number(f, out, i * f->out_step, re * f->scale);
    put_number(f, out, i * f->out_step + 1, im * f->scale);
}

// Transforms of four real numbers have the roots 1, -i, -1 and i, so there is no multiplication, in
// which an infinite number could meet a 0. Complex numbers of unknown size are transformed in this
// way (trace/official/fft.c).
static void run_four(const sc_fft *f, const sc_fft_line *line) {
    double x[4] = {0};
    for (int64_t i = 0; i < 4 && i < f->in_count; i++)
        x[i] = get_number(f, line->in, i * f->in_step);
    const double even = x[0] + x[2], odd = x[1] + x[3], re = x[0] - x[2], im = x[3] - x[1];
    put_pair(f, line->out, 0, even + odd, 0);
    put_pair(f, line->out, 1, re, im);
    put_pair(f, line->out, 2, even - odd, 0);
    put_pair(f, line->out, 3, re, -im);
}

void sc_fft_run(const sc_fft *f, const sc_fft_line *lines, uint32_t count) {
    if (f->kind == SC_FFT_FROM_REAL && f->length == 4) {
        for (uint32_t i = 0; i < count; i++) run_four(f, lines + i);
        return;
    }
    if (f->engine == LANES_F32) {
        lanes_run(f, lines, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (f->engine == ONE_F32)
            one_run(f, lines + i, 1);
        else
            wide_run(f, lines + i, 1);
}
