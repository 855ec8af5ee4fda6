// Transforms of lines against the sum that defines them, computed in double: lengths of all kinds,
// both types, one line and several, numbers next to each other and apart.
#include "compute/fft.h"

#include <math.h>

#include "harness.h"

enum { LINES_MAX = 6, STEP = 3 };

static uint32_t random_state = 11;

static double random_number(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return (double)((int)(random_state >> 8) % 2001 - 1000) / 500;
}

typedef struct complex_number {
    double re, im;
} complex_number;

// Sums of in[k] exp(sign 2 pi i j k / n) for every j.
static void define(const complex_number *in, int64_t n, double sign, complex_number *out) {
    complex_number *roots = test_alloc((size_t)n * sizeof *roots);
    for (int64_t k = 0; k < n; k++) {
        const double angle = sign * 6.283185307179586 * (double)k / (double)n;
        roots[k] = (complex_number){cos(angle), sin(angle)};
    }
    for (int64_t j = 0; j < n; j++) {
        complex_number sum = {0, 0};
        for (int64_t k = 0, at = 0; k < n; k++) {
            sum.re += in[k].re * roots[at].re - in[k].im * roots[at].im;
            sum.im += in[k].re * roots[at].im + in[k].im * roots[at].re;
            at = at + j < n ? at + j : at + j - n;
        }
        out[j] = sum;
    }
}

typedef struct memory {
    void *data;
    bool is_f64;
    int64_t step, line;  // in numbers
} memory;

static memory new_memory(bool is_f64, int64_t step, int64_t count) {
    const size_t all = (size_t)(step * (count + 1) * LINES_MAX + 2);
    return (memory){test_alloc(all * (is_f64 ? 8 : 4)), is_f64, step, step * count};
}

static void *start_of(const memory *m, int64_t line) {
    return (char *)m->data + line * m->line * (m->is_f64 ? 8 : 4);
}

static double get(const memory *m, int64_t line, int64_t i, int64_t part) {
    const void *at = start_of(m, line);
    return m->is_f64 ? ((const double *)at)[i * m->step + part]
                     : (double)((const float *)at)[i * m->step + part];
}

static void put(const memory *m, int64_t line, int64_t i, int64_t part, double value) {
    void *at = start_of(m, line);
    if (m->is_f64)
        ((double *)at)[i * m->step + part] = value;
    else
        ((float *)at)[i * m->step + part] = (float)value;
}

typedef struct example {
    sc_fft plan;
    memory in, out;
    complex_number *numbers, *expected;
} example;

// The numbers that the transform reads: real ones, or half of the spectrum of real ones.
static void fill_line(example *e, int64_t line) {
    const int64_t n = e->plan.length;
    complex_number *z = e->numbers;
    for (int64_t i = 0; i < n; i++) {
        z[i] = (complex_number){random_number(), random_number()};
        if (e->plan.kind == SC_FFT_FROM_REAL) z[i].im = 0;
        if (e->plan.kind == SC_FFT_TO_REAL && 2 * i > n)
            z[i] = (complex_number){z[n - i].re, -z[n - i].im};
    }
    for (int64_t i = 0; i < e->plan.in_count; i++) {
        put(&e->in, line, i, 0, z[i].re);
        z[i].re = get(&e->in, line, i, 0);
        if (e->plan.kind == SC_FFT_FROM_REAL) continue;
        put(&e->in, line, i, 1, z[i].im);
        z[i].im = get(&e->in, line, i, 1);
        if (e->plan.kind == SC_FFT_TO_REAL && (i == 0 || 2 * i == n)) z[i].im = 0;
        if (e->plan.kind == SC_FFT_TO_REAL && i > 0 && 2 * i < n)
            z[n - i] = (complex_number){z[i].re, -z[i].im};
    }
}

// The error of a line relative to its numbers, both as the root of the mean square.
static double error_of(example *e, int64_t line) {
    double error = 0, size = 0;
    const bool real = e->plan.kind == SC_FFT_TO_REAL;
    for (int64_t i = 0; i < e->plan.out_count; i++) {
        const double re = e->expected[i].re * e->plan.scale, im = e->expected[i].im * e->plan.scale;
        const double a = get(&e->out, line, i, 0) - re;
        const double b = real ? 0 : get(&e->out, line, i, 1) - im;
        error += a * a + b * b;
        size += re * re + (real ? 0 : im * im);
    }
    return size > 0 ? sqrt(error / size) : error;
}

static void run(example *e, uint32_t count) {
    sc_fft_line lines[SC_FFT_LANES];
    const uint64_t bytes = sc_fft_plan(&e->plan);
    CHECK(bytes <= sc_fft_bytes_max(e->plan.length));
    sc_fft_start(&e->plan, test_alloc(bytes));
    for (uint32_t first = 0; first < count; first += SC_FFT_LANES) {
        uint32_t now = count - first < SC_FFT_LANES ? count - first : SC_FFT_LANES;
        for (uint32_t i = 0; i < now; i++)
            lines[i] = (sc_fft_line){start_of(&e->in, first + i), start_of(&e->out, first + i)};
        sc_fft_run(&e->plan, lines, now);
    }
}

static void check(sc_fft_kind kind, int64_t n, bool is_f64, bool inverse, uint32_t count,
                  bool whole) {
    const int64_t half = n / 2 + 1, step = count > 1 ? STEP : 2;
    example e = {.plan = {.kind = kind, .is_f64 = is_f64, .inverse = inverse, .length = n}};
    e.plan.lines = count;
    e.plan.scale = inverse ? 1.0 / (double)n : 1.0;
    e.plan.in_step = kind == SC_FFT_FROM_REAL ? step - 1 : step;
    e.plan.out_step = kind == SC_FFT_TO_REAL ? step - 1 : step;
    e.plan.in_count = kind == SC_FFT_TO_REAL ? half : n;
    e.plan.out_count = kind == SC_FFT_FROM_REAL && !whole ? half : n;
    e.in = new_memory(is_f64, e.plan.in_step, e.plan.in_count);
    e.out = new_memory(is_f64, e.plan.out_step, e.plan.out_count);
    e.numbers = test_alloc((size_t)n * count * sizeof *e.numbers);
    e.expected = test_alloc((size_t)n * sizeof *e.expected);
    complex_number *all = e.numbers;
    for (uint32_t i = 0; i < count; i++, e.numbers += n) fill_line(&e, i);
    run(&e, count);
    for (uint32_t i = 0; i < count; i++) {
        define(all + i * n, n, inverse || kind == SC_FFT_TO_REAL ? 1 : -1, e.expected);
        const double error = error_of(&e, i);
        if (!(error < (is_f64 ? 4e-15 : 4e-7)))
            FAIL("kind %d of %lld, f64 %d, inverse %d, line %u of %u: error %g", kind, (long long)n,
                 is_f64, inverse, i, count, error);
    }
}

static void check_length(int64_t n, uint32_t count) {
    for (int is_f64 = 0; is_f64 < 2; is_f64++) {
        check(SC_FFT_COMPLEX, n, is_f64, false, count, true);
        check(SC_FFT_COMPLEX, n, is_f64, true, count, true);
        check(SC_FFT_FROM_REAL, n, is_f64, false, count, false);
        check(SC_FFT_FROM_REAL, n, is_f64, false, count, true);
        check(SC_FFT_TO_REAL, n, is_f64, false, count, false);
    }
}

TEST(short_lines_are_what_the_sum_is) {
    for (int64_t n = 1; n <= 70; n++) {
        check_length(n, 1);
        check_length(n, 5);
    }
}

TEST(long_lines_are_what_the_sum_is) {
    static const int64_t lengths[] = {97, 128, 202, 256, 400, 441, 512, 551};
    for (uint32_t i = 0; i < SC_COUNT_OF(lengths); i++) {
        check_length(lengths[i], 1);
        check_length(lengths[i], 3);
    }
    check_length(1009, 1);
    check(SC_FFT_COMPLEX, 1024, false, false, 3, true);
    check(SC_FFT_FROM_REAL, 2018, false, false, 3, false);
    check(SC_FFT_FROM_REAL, 2048, false, false, 3, false);
    check(SC_FFT_COMPLEX, 6000, false, false, 3, true);
    check(SC_FFT_FROM_REAL, 6000, true, false, 1, false);
    check(SC_FFT_TO_REAL, 4099, false, false, 1, false);
}

// Lines longer than the lanes can take: the result of a single frequency is known.
TEST(very_long_lines_find_a_frequency) {
    enum { LENGTH = 1 << 17, AT = 77 };
    sc_fft plan = {.kind = SC_FFT_FROM_REAL, .length = LENGTH, .lines = 9, .scale = 1.0};
    plan.in_step = 1;
    plan.out_step = 2;
    plan.in_count = LENGTH;
    plan.out_count = LENGTH / 2 + 1;
    float *in = test_alloc(LENGTH * sizeof *in), *out = test_alloc((LENGTH + 2) * sizeof *out);
    for (int i = 0; i < LENGTH; i++)
        in[i] = (float)cos(6.283185307179586 * AT * i / (double)LENGTH);
    sc_fft_start(&plan, test_alloc(sc_fft_plan(&plan)));
    sc_fft_run(&plan, &(sc_fft_line){in, out}, 1);
    for (int i = 0; i <= LENGTH / 2; i++) {
        CHECK_CLOSE(out[2 * i], i == AT ? LENGTH / 2 : 0, 0.02);
        CHECK_CLOSE(out[2 * i + 1], 0, 0.02);
    }
}

// A line that is not a number, or large, leaves its neighbours as they are.
TEST(lines_do_not_meet) {
    enum { LENGTH = 24, COUNT = 4 };
    float in[COUNT][LENGTH], out[COUNT][LENGTH + 2], alone[LENGTH + 2];
    sc_fft plan = {.kind = SC_FFT_FROM_REAL, .length = LENGTH, .lines = COUNT, .scale = 1.0};
    sc_fft_line lines[COUNT];
    plan.in_step = 1;
    plan.out_step = 2;
    plan.in_count = LENGTH;
    plan.out_count = LENGTH / 2 + 1;
    for (int l = 0; l < COUNT; l++) {
        const double size = l == 1 ? NAN : l == 2 ? 1e30 : 1e-8;
        for (int i = 0; i < LENGTH; i++) in[l][i] = (float)(size * random_number());
        lines[l] = (sc_fft_line){in[l], out[l]};
    }
    sc_fft_start(&plan, test_alloc(sc_fft_plan(&plan)));
    sc_fft_run(&plan, lines, COUNT);
    sc_fft_run(&plan, &(sc_fft_line){in[3], alone}, 1);
    CHECK(isnan(out[1][0]));
    CHECK_EQ_MEM(out[3], alone, sizeof alone);
}

// a, 0, 0, b has a + ib in its second place, whatever a and b are: infinite, or zeros with a sign.
static void check_pair(bool is_f64, uint32_t count, double a, double b) {
    const memory in = new_memory(is_f64, 1, 4), out = new_memory(is_f64, 2, 3);
    sc_fft plan = {.kind = SC_FFT_FROM_REAL, .is_f64 = is_f64, .length = 4, .lines = count};
    sc_fft_line lines[SC_FFT_LANES];
    plan.scale = plan.in_step = 1;
    plan.out_step = 2;
    plan.in_count = 4;
    plan.out_count = 3;
    for (uint32_t i = 0; i < count; i++) {
        put(&in, i, 0, 0, a);
        put(&in, i, 3, 0, b);
        lines[i] = (sc_fft_line){start_of(&in, i), start_of(&out, i)};
    }
    sc_fft_start(&plan, test_alloc(sc_fft_plan(&plan)));
    sc_fft_run(&plan, lines, count);
    for (uint32_t i = 0; i < count; i++) {
        const double re = get(&out, i, 1, 0), im = get(&out, i, 1, 1);
        CHECK(re == a && im == b && !signbit(re) == !signbit(a) && !signbit(im) == !signbit(b));
    }
}

TEST(four_numbers_make_any_pair) {
    static const double numbers[] = {0.0, -0.0, 1.5, INFINITY, -INFINITY, 1e38f, -1e-40f};
    for (uint32_t i = 0; i < SC_COUNT_OF(numbers); i++)
        for (uint32_t k = 0; k < SC_COUNT_OF(numbers); k++)
            for (uint32_t count = 1; count <= SC_FFT_LANES; count += 3) {
                check_pair(false, count, numbers[i], numbers[k]);
                check_pair(true, count, numbers[i], numbers[k]);
            }
}

TEST(what_is_too_long_asks_for_more_than_there_is) {
    sc_fft plan = {.kind = SC_FFT_COMPLEX, .length = INT64_MAX, .scale = 1.0};
    CHECK(sc_fft_plan(&plan) == UINT64_MAX && sc_fft_bytes_max(INT64_MAX) == UINT64_MAX);
    plan.length = 0;
    CHECK(sc_fft_plan(&plan) == UINT64_MAX);
}
