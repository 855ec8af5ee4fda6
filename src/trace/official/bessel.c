// Bessel functions: polynomials up to 8, amplitude and phase beyond 8.
#include <math.h>

#include "trace/official/official.h"

// In x^2 / 32 - 1: J_0(x), J_1(x) / x, and what is left of Y_0(x) and Y_1(x) / x without logarithm
// and pole
static const double j0_near[] = {
    0.04582966485981377,    0.9303012472958572,     -0.6484692830871837,    -0.8080888076696872,
    1.0383794611437211,     -0.5074680458471,       0.14598884856759264,    -0.028472718610882047,
    0.004058078989140991,   -0.0004435459224311503, 3.8473197855944365e-05, -2.717749223632098e-06,
    1.5956109104549218e-07, -7.91532308295207e-09,  3.3634475788173604e-10, -1.243301171273326e-11,
    4.0037632815796753e-13};
static const double j1_near[] = {
    -0.05814382795599107,  0.08105866038589796,    0.15151665143806636,    -0.2595948652859303,
    0.15858376432721838,   -0.05474581821284722,   0.012456814392263375,   -0.0020290394945705996,
    0.0002494945813597261, -2.404574865968694e-05, 1.8684526037206013e-06, -1.196708186787801e-07,
    6.431190177265836e-09, -2.943013798001659e-10, 1.1658972367678622e-11, -4.0045728425886457e-13};
static const double y0_near[] = {
    -0.382250654459425,      -0.8284358903604587,    1.6470964788745466,     0.14412632369302475,
    -1.0775477338215995,     0.6721770783431679,     -0.21895747096171628,   0.046367047681375125,
    -0.00702574105727097,    0.000806158605961636,   -7.279541882454115e-05, 5.3213188103997145e-06,
    -3.2185078445935923e-07, 1.6390875014077404e-08, -7.13046146536789e-10,  2.6926938054524057e-11,
    -8.840112096073101e-13};
static const double y1_near[] = {
    0.07075985882118005,     -0.24337743079193114,  0.02336757172099348,    0.23507209206669755,
    -0.19639839859930203,    0.07854786922242532,   -0.01962875683311711,   0.0034224907399188495,
    -0.0004438173434420147,  4.467433012646365e-05, -3.601000022590458e-06, 2.3804930420514178e-07,
    -1.3153147367094951e-08, 6.169688029066965e-10, -2.499531546171249e-11, 8.760001143977853e-13};
// In 2 (8 / x)^2 - 1: what cosine and sine are multiplied with, the latter by x / 8
static const double p0_large[] = {
    0.9994572757882519,    -0.0005363673192129672,  6.137416080109497e-06,  -2.0527448261170675e-07,
    1.280376144080092e-08, -1.2121098178951377e-09, 1.5500565496632596e-10, -2.491146535471666e-11,
    4.786995821368028e-12, -1.0157485021065676e-12, 2.4531772967345006e-13, -1.0251790052831013e-13,
    3.339452259070809e-14};
static const double q0_large[] = {
    -0.015555113879513518,   6.833149099344083e-05,  -1.477138832650122e-06, 7.106214852192226e-08,
    -5.668716046704292e-09,  6.432789503382007e-10,  -9.4704131236215e-11,   1.7029372022291316e-11,
    -3.5884013838881433e-12, 8.689732394690306e-13,  -2.34205092942912e-13,  5.756325587995953e-14,
    -1.642189437353317e-14,  1.2731367623367943e-14, -5.071762053003792e-15};
static const double p1_large[] = {
    1.0009070262780821,     0.0008988049416705183,   -7.9596946984383e-06,
    2.453676633366693e-07,  -1.4708512991275258e-08, 1.3602969253877949e-09,
    -1.713107485294131e-10, 2.72345126828134e-11,    -5.191158004646548e-12,
    1.0954826479277623e-12, -2.6335760672461096e-13, 1.0923713653079462e-13,
    -3.5455617466606254e-14};
static const double q1_large[] = {
    0.04677687402744898,    -9.621458822054632e-05,  1.8212018512314264e-06,
    -8.291960701313517e-08, 6.420132496338991e-09,   -7.151113611051071e-10,
    1.0395096687547827e-10, -1.8520736145988993e-11, 3.875456046538219e-12,
    -9.33138059712287e-13,  2.503410968458231e-13,   -6.144675787095688e-14,
    1.7495330566839966e-14, -1.3449019339973269e-14, 5.344527277743522e-15};

enum { EDGE = 8 };

static sc_x inside(sc_trace *t, sc_x x) {
    return sc_f_add_number(t, sc_f_mul_number(t, sc_f_mul(t, x, x), 1.0 / 32), -1);
}

// sqrt(2 / (pi x)) (p cos(x - shift) - q sin(x - shift)), or (p sin + q cos) for the second kind.
// The shifts are odd eighths of a circle: sums and differences of sine and cosine. NaN of infinity,
// as in PyTorch.
static sc_x outside(sc_trace *t, sc_x x, int order, bool is_second) {
    sc_x near = sc_f_number_over(t, EDGE, x), sine = CALL(t, sin, x), cosine = CALL(t, cos, x);
    sc_x place = sc_f_add_number(t, sc_f_mul_number(t, sc_f_mul(t, near, near), 2), -1);
    sc_x p = order ? POLYNOMIAL(t, place, p1_large) : POLYNOMIAL(t, place, p0_large);
    sc_x q = order ? POLYNOMIAL(t, place, q1_large) : POLYNOMIAL(t, place, q0_large);
    sc_x both = sc_f_add(t, sine, cosine), difference = sc_f_sub(t, sine, cosine);
    sc_x rotated = order ? difference : both;
    sc_x other = order ? CALL(t, neg, both) : difference;
    q = sc_f_mul(t, q, near);
    sc_x sum;
    if (is_second) {
        sc_x first = sc_f_mul(t, p, other);
        sum = sc_f_add(t, first, sc_f_mul(t, q, rotated));
    } else {
        sc_x first = sc_f_mul(t, p, rotated);
        sum = sc_f_sub(t, first, sc_f_mul(t, q, other));
    }
    sum = sc_f_div(t, sum, CALL(t, sqrt, x));
    return sc_f_mul_number(t, sum, sqrt(1 / SC_PI));
}

// (self)
sc_x sc_official_j0(sc_trace *t, const sc_x *a) {
    sc_x x = CALL(t, abs, sc_f_double(t, a[0]));
    sc_x near = POLYNOMIAL(t, inside(t, x), j0_near), large = outside(t, x, 0, false);
    return sc_official_rounded(t, sc_f_where(t, sc_f_lt_number(t, x, EDGE), near, large));
}

// (self)
sc_x sc_official_j1(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]), size = CALL(t, abs, x);
    sc_x near = POLYNOMIAL(t, inside(t, x), j1_near), large = outside(t, size, 1, false);
    sc_x is_less = sc_f_lt_number(t, x, 0), is_near = sc_f_lt_number(t, size, EDGE);
    large = sc_f_where(t, is_less, CALL(t, neg, large), large);
    return sc_official_rounded(t, sc_f_where(t, is_near, sc_f_mul(t, near, x), large));
}

// (self)
sc_x sc_official_y0(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]), place = inside(t, x), large = outside(t, x, 0, true);
    sc_x bend = CALL(t, log, x);
    bend = sc_f_mul(t, bend, POLYNOMIAL(t, place, j0_near));
    sc_x near = POLYNOMIAL(t, place, y0_near);
    near = sc_f_add(t, near, sc_f_mul_number(t, bend, 2 / SC_PI));
    return sc_official_rounded(t, sc_f_where(t, sc_f_lt_number(t, x, EDGE), near, large));
}

// (self)
sc_x sc_official_y1(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]), place = inside(t, x), large = outside(t, x, 1, true);
    sc_x bend = CALL(t, log, x);
    bend = sc_f_mul(t, bend, POLYNOMIAL(t, place, j1_near));
    bend = sc_f_mul(t, bend, x);
    bend = sc_f_mul_number(t, sc_f_sub(t, bend, CALL(t, reciprocal, x)), 2 / SC_PI);
    sc_x near = sc_f_mul(t, POLYNOMIAL(t, place, y1_near), x);
    near = sc_f_add(t, near, bend);
    sc_x y = sc_f_where(t, sc_f_lt_number(t, x, EDGE), near, large);
    return sc_official_rounded(t, sc_f_where_number(t, sc_f_eq_number(t, x, 0), -INFINITY, y));
}

// (self): sin(x) / x
sc_x sc_official_spherical_j0(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]);
    sc_x small = sc_f_add_number(t, sc_f_mul_number(t, sc_f_mul(t, x, x), -1.0 / 6), 1);
    sc_x y = sc_f_div(t, CALL(t, sin, x), x);
    y = sc_f_where(t, sc_f_lt_number(t, CALL(t, abs, x), 1e-4), small, y);
    return sc_official_rounded(t, sc_f_where_number(t, CALL(t, isinf, x), 0, y));
}
