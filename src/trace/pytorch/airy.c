// Expansion of Airy's function Ai: its power series around 0, and for large numbers on either side
// the asymptotic forms with Cephes' rational functions, as PyTorch has them; all in float64.
#include <math.h>

#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

// The power of the lowest is first.
static const double decay_above[] = {1.0,
                                     14.026469116338967,
                                     70.53609068404442,
                                     159.75639135016442,
                                     168.08922493463058,
                                     76.27960536152345,
                                     12.007595273964581,
                                     0.346538101525629};
static const double decay_below[] = {1.0,
                                     14.095913560783403,
                                     71.47784008255756,
                                     164.2346928715297,
                                     177.31808814540045,
                                     84.51389701414746,
                                     14.75625625848472,
                                     0.5675945326387702};
static const double sine_above[] = {
    -1.6778769848911465e-08, -2.776491081552329e-06, -0.0001592764962392621,
    -0.004062659235948854,   -0.04919001326095003,   -0.2797799815451191,
    -0.6931580360369335,     -0.6264565444319123,    -0.1316963234183318};
static const double sine_below[] = {
    4.5185009297058035e-07, 7.547203482874142e-05, 0.004402916416152112,
    0.11568717379518804,    1.4752914677166642,    9.187074029072596,
    26.736704094149957,     32.682503279522464,    13.356042070655324};
static const double cosine_above[] = {
    3.415517847659236e-10, 8.117892395543892e-08, 6.98793669997261e-06, 0.000282851600836737,
    0.005858041130483885,  0.06338889196289255,   0.35146565610554764,  0.9391692298166502,
    1.0657989759959559,    0.39110302961568827,   0.01973399320916857};
static const double cosine_below[] = {
    4.9183457006293e-09, 1.1716673321441352e-06, 0.00010125908511650914, 0.004126565238242226,
    0.08645808263523921, 0.9542936116189619,     5.476860694229755,      15.564662893286462,
    19.835292871831214,  9.30892908077442};

static const double root_of_pi = 0.5641895835477563;  // its reciprocal

// 2/3 x^(3/2) of x >= 0
static sc_x zeta_of(sc_trace *t, sc_x x) {
    return sc_f_mul_number(t, sc_f_mul(t, x, CALL(t, sqrt, x)), 2.0 / 3);
}

static sc_x fourth_root(sc_trace *t, sc_x x) { return CALL(t, sqrt, CALL(t, sqrt, x)); }

// Ai(0) f - Ai'(0) g, in powers of x^3.
static sc_x near(sc_trace *t, sc_x x) {
    enum { TERMS = 15 };
    double f[TERMS] = {0.355028053887817239260}, g[TERMS] = {0.258819403792806798405};
    for (int k = 1; k < TERMS; k++) {
        f[k] = f[k - 1] / ((3.0 * k - 1) * (3.0 * k));
        g[k] = g[k - 1] / ((3.0 * k) * (3.0 * k + 1));
    }
    sc_x cube = sc_f_mul(t, sc_f_mul(t, x, x), x);
    sc_x odd = sc_f_mul(t, x, POLYNOMIAL(t, cube, g));
    return sc_f_sub(t, POLYNOMIAL(t, cube, f), odd);
}

// Falling: x >= 2.09
static sc_x falling(sc_trace *t, sc_x x) {
    sc_x zeta = zeta_of(t, x), z = CALL(t, reciprocal, zeta);
    sc_x above = POLYNOMIAL(t, z, decay_above), below = POLYNOMIAL(t, z, decay_below);
    sc_x size = fourth_root(t, x);
    size = sc_f_mul(t, size, CALL(t, exp, zeta));
    return sc_f_div(t, sc_f_mul_number(t, sc_f_div(t, above, below), root_of_pi / 2), size);
}

// Swinging, of -x > 2.09
static sc_x swinging(sc_trace *t, sc_x x) {
    sc_x zeta = zeta_of(t, x), z = CALL(t, reciprocal, zeta), square = sc_f_mul(t, z, z);
    sc_x f = POLYNOMIAL(t, square, sine_above);
    f = sc_f_div(t, f, POLYNOMIAL(t, square, sine_below));
    sc_x g = POLYNOMIAL(t, square, cosine_above);
    g = sc_f_div(t, g, POLYNOMIAL(t, square, cosine_below));
    sc_x angle = sc_f_add_number(t, zeta, SC_PI / 4);
    f = sc_f_add_number(t, sc_f_mul(t, square, f), 1);
    f = sc_f_mul(t, f, CALL(t, sin, angle));
    g = sc_f_mul(t, z, g);
    g = sc_f_mul(t, g, CALL(t, cos, angle));
    sc_x both = sc_f_mul_number(t, sc_f_sub(t, f, g), root_of_pi);
    return sc_f_div(t, both, fourth_root(t, x));
}

// (x): each form gets what it is for, and the others 3
sc_x sc_expand_airy_ai(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = sc_x_is_float(a[0]) ? sc_x_dtype_of(a[0]) : SC_DTYPE_F32;
    sc_x x = sc_f_to(t, a[0], SC_DTYPE_F64), limit = sc_x_float(t, 2.09);
    sc_x left = sc_f_lt_number(t, x, -2.09), right = CALL(t, ge_Scalar, x, limit);
    sc_x inside = sc_f_where_number(t, sc_f_or(t, left, right), 0, x);
    sc_x ahead = sc_f_where_number(t, sc_f_not(t, right), 3, x), back = CALL(t, neg, x);
    back = sc_f_where_number(t, sc_f_not(t, left), 3, back);
    sc_x y = near(t, inside);
    y = sc_f_where(t, right, falling(t, ahead), y);
    y = sc_f_where(t, left, swinging(t, back), y);
    y = sc_f_where_number(t, CALL(t, gt_Scalar, x, sc_x_float(t, 103.892)), 0, y);
    return sc_f_to(t, sc_f_where_number(t, CALL(t, isinf, x), NAN, y), dtype);
}
