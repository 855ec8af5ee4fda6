// Discrete Fourier transforms of lines of numbers: any length, float32 or float64, any step from
// one number to the next. Lengths with small prime factors are split by these (Stockham's order,
// roots computed in double). Other lengths become a convolution of a length with small factors
// (Bluestein), in double. Both take O(n log n). Short lines of floats are transformed four at a
// time, one in each lane; no line affects another.
// Prefix: sc_fft_ plans and runs a Fourier transform.
#ifndef SC_FFT_H
#define SC_FFT_H

#include "base/base.h"

typedef enum sc_fft_kind {
    SC_FFT_COMPLEX,    // numbers are pairs, the real part first
    SC_FFT_FROM_REAL,  // real numbers in, pairs out: half of the spectrum, or all of it
    SC_FFT_TO_REAL     // the inverse of pairs, of which the first half is read
} sc_fft_kind;

enum { SC_FFT_FACTORS_MAX = 64, SC_FFT_LANES = 4 };

typedef struct sc_fft {
    // Set by the caller.
    sc_fft_kind kind;
    bool is_f64;      // the numbers in memory
    bool inverse;     // of pairs: with the sign of the exponent reversed
    int64_t length;   // of the transform, at least 1
    int64_t lines;    // the number of lines to come: few are not worth lanes
    double scale;     // of every result
    int64_t in_step;  // from one number (or pair) to the next, in floats or doubles
    int64_t out_step;
    int64_t in_count;  // pairs or numbers of a line in memory; missing ones count as zero
    int64_t out_count;
    // Set by sc_fft_plan.
    uint8_t engine;
    int64_t points;  // of the complex transform: the length, or half of it
    int64_t padded;  // of the convolution; 0: no convolution
    uint32_t factor_count;
    uint8_t factors[SC_FFT_FACTORS_MAX];
    // Set by sc_fft_start, in its memory.
    void *roots;  // roots of unity, `length` pairs
    void *chirp, *response, *padded_roots;
    void *line, *spare;
} sc_fft;

// Plans a transform. Returns the bytes that sc_fft_start needs, UINT64_MAX beyond 2^28 points.
uint64_t sc_fft_plan(sc_fft *f);
// An upper bound of the bytes for any transform of at most that length.
uint64_t sc_fft_bytes_max(int64_t length);
// Computes roots in `memory`, which is 16-byte aligned and stays with the plan.
void sc_fft_start(sc_fft *f, void *memory);

// The bytes in which a plan keeps the lines that it works on. Another thread takes a copy of the
// plan with memory of its own for them.
uint64_t sc_fft_line_bytes(const sc_fft *f);
sc_fft sc_fft_with_lines(const sc_fft *f, void *memory);

// The first number of a line, and of its result, which may be at the same place.
typedef struct sc_fft_line {
    const void *in;
    void *out;
} sc_fft_line;
// Transforms at most SC_FFT_LANES lines. A line is read before it is written. Pairs that overlap
// real numbers (SC_FFT_FROM_REAL) must not extend into another line.
void sc_fft_run(const sc_fft *f, const sc_fft_line *lines, uint32_t count);

#endif
