// Modified Bessel functions: polynomials near zero, and in the reciprocal for large x.
#include <math.h>

#include "trace/official/official.h"

// exp(-x) I_0(x) and exp(-x) I_1(x) / x in x / 4 - 1, up to 8
static const double i0_near[] = {
    0.2070019212239867,    -0.11300432688620549,    0.09451562853995103,    -0.08904344136075962,
    0.08734341617552313,   -0.08496338091616305,    0.07927522590716347,    -0.06954119561719381,
    0.05677703201991695,   -0.04298594945479612,    0.030177912022978357,   -0.01968265469059234,
    0.011960077907026221,  -0.0067923998730731695,  0.003617126448897043,   -0.001811886793937724,
    0.0008563152748272306, -0.00038290209550065975, 0.00016240542162878106, -6.550861389620851e-05,
    2.520232727107692e-05, -9.251680584432654e-06,  3.2293390826404927e-06, -1.0883393970072518e-06,
    3.675842926555429e-07, -1.1384114641747256e-07, 2.6265363151970112e-08, -7.723094556846333e-09,
    4.470516727511741e-09, -1.1852342482684723e-09};
static const double i1_near[] = {
    0.044687709875608835,  -0.061124338029666284,   0.0680575999095116,     -0.06848260620582691,
    0.06376740371340721,   -0.055280039226991644,   0.04467457262125467,    -0.03367135552108536,
    0.023686016957729535,  -0.015571309243980052,   0.009583962150731578,   -0.005534567847563678,
    0.0030057624197775295, -0.00153887456203039,    0.0007445123445061157,  -0.0003411760289073331,
    0.0001484212433475852, -6.142360299099794e-05,  2.4233753149624307e-05, -9.136543922789093e-06,
    3.293899139003749e-06, -1.1327072698408053e-06, 3.759367306404118e-07,  -1.2424759932738304e-07,
    3.802984785138283e-08, -8.984420960424589e-09,  2.603206542331157e-09,  -1.41695079121077e-09,
    3.7284532079392345e-10};
// sqrt(x) exp(-x) I(x) in 16 / x - 1
static const double i0_large[] = {
    0.4021765094450081,      0.0033605519836678614,   0.0001362160743919305,
    1.1143033790932038e-05,  1.4838475658279249e-06,  2.9735985885673923e-07,
    8.872219737904059e-08,   3.932584334552951e-08,   2.1548377974791112e-08,
    7.554691881248854e-09,   -6.747657956104836e-09,  -1.340891754008996e-08,
    -5.4047715675894285e-09, 7.552583062124036e-09,   7.430464650347439e-09,
    -3.5059665308805554e-09, -5.9535694382990935e-09, 1.5200816953938937e-09,
    3.637954635936275e-09,   -5.715843864213651e-10,  -1.6189806836476387e-09,
    1.5279202695027498e-10,  4.577087631729844e-10,   -2.0260604287496793e-11,
    -6.06763157074485e-11};
static const double i1_large[] = {
    0.38939845902587233,     -0.009749577193235737,   -0.00021923576383388928,
    -1.5038547200567216e-05, -1.8349101326980946e-06, -3.483855761044295e-07,
    -1.0001288294864889e-07, -4.312917729178348e-08,  -2.3373928208142152e-08,
    -8.42776609373524e-09,   6.734464815298894e-09,   1.4034238782067446e-08,
    5.9744376080497635e-09,  -7.642394134364322e-09,  -7.88835150788415e-09,
    3.426234149009206e-09,   6.2427412198207276e-09,  -1.43872505330578e-09,
    -3.7946708962435706e-09, 5.29562544117366e-10,    1.6848984479935108e-09,
    -1.4011625179822362e-10, -4.758818838790199e-10,  1.851511882894619e-11,
    6.30596519729207e-11};
// Up to 2, in x^2 / 2 - 1: I_0(x), I_1(x) / x, and what is left of K without its logarithm
static const double i0_small[] = {
    1.5660829297563506,     0.6358617281560686,     0.07358986836105334,   0.0039285651056368085,
    0.0001198206858163441,  2.3575789878938216e-06, 3.236227352376538e-08, 3.27324784353647e-10,
    2.5398791970311194e-12, 1.5591722255510926e-14};
static const double i1_small[] = {
    0.6358617281560686,     0.14717973672210669,    0.011785695316910426,
    0.00047928274326549763, 1.1787894939469932e-05, 1.9417364085156806e-07,
    2.291273488938041e-09,  2.031922759238477e-11,  1.4032637886429537e-13};
static const double k0_near[] = {
    -0.30362077291575545,  0.3404973210133806,    0.07177701034240509,   0.005053392643196092,
    0.0001828055582791554, 4.054506619949891e-06, 6.093361894172114e-08, 6.623013272794453e-10,
    5.452564662772586e-12, 3.518631515854722e-14};
static const double k1_near[] = {
    0.8850882877295894,     -0.3322409552403131,    -0.2438385288677433,    -0.02785423521977184,
    -0.001383168846618116,  -3.891869064371633e-05, -7.081133691517408e-07, -9.032127501740678e-09,
    -8.533634168575142e-11, -6.214271617329577e-13};
// sqrt(x) exp(x) K(x) in 4 / x - 1
static const double k0_large[] = {
    1.2185953385133905,      -0.03107146182488952,   0.0030328918102753206,
    -0.0004797690567662314,  9.95605474202942e-05,   -2.4735204561466906e-05,
    7.002245645755651e-06,   -2.191177788015528e-06, 7.427801232190096e-07,
    -2.6890662472901614e-07, 1.02954317593912e-07,   -4.133923052104385e-08,
    1.7047535884249698e-08,  -7.286380907337665e-09, 3.808399859919043e-09,
    -1.9309444875845705e-09, 4.757544705776374e-11,  1.7887095838476482e-10,
    8.133913205464114e-10,   -5.541051446065683e-10, -3.119936129682105e-10,
    2.213758097591008e-10,   1.0926983537268735e-10, -6.910453875670571e-11};
static const double k1_large[] = {
    1.363151890371342,       0.10334973775386523,     -0.005566729880074588,
    0.0007357241549081501,   -0.00013959021956272223, 3.284386555825453e-05,
    -8.961207387750025e-06,  2.730041433569803e-06,   -9.067087633371393e-07,
    3.2298119177151824e-07,  -1.2203186351938403e-07, 4.8461952200091865e-08,
    -1.9817577141591116e-08, 8.40938756536177e-09,    -4.331939985658629e-09,
    2.1757782025837176e-09,  -8.336227195991456e-11,  -1.7982138496175016e-10,
    -8.908596710923906e-10,  6.042482293782838e-10,   3.3867804167808003e-10,
    -2.399376595899464e-10,  -1.1931668393112158e-10, 7.52479548635394e-11};

// --- I -------------------------------------------------------------------------------------------

static sc_x scaled_i0(sc_trace *t, sc_x size) {
    sc_x near = POLYNOMIAL(t, sc_f_add_number(t, sc_f_mul_number(t, size, 0.25), -1), i0_near);
    sc_x large = POLYNOMIAL(t, sc_f_add_number(t, sc_f_number_over(t, 16, size), -1), i0_large);
    large = sc_f_div(t, large, CALL(t, sqrt, size));
    return sc_f_where(t, sc_f_lt_number(t, size, 8), near, large);
}

static sc_x scaled_i1(sc_trace *t, sc_x x, sc_x size) {
    sc_x near = POLYNOMIAL(t, sc_f_add_number(t, sc_f_mul_number(t, size, 0.25), -1), i1_near);
    sc_x large = POLYNOMIAL(t, sc_f_add_number(t, sc_f_number_over(t, 16, size), -1), i1_large);
    large = sc_f_div(t, large, CALL(t, sqrt, size));
    sc_x is_less = sc_f_lt_number(t, x, 0), is_near = sc_f_lt_number(t, size, 8);
    large = sc_f_where(t, is_less, CALL(t, neg, large), large);
    return sc_f_where(t, is_near, sc_f_mul(t, near, x), large);
}

// Times exp(size), by halves that do not overflow before the product does. Infinity times the zero
// of infinity is NaN in PyTorch, too.
static sc_x grown(sc_trace *t, sc_x y, sc_x size) {
    sc_x half = CALL(t, exp, sc_f_mul_number(t, size, 0.5));
    return sc_f_mul(t, sc_f_mul(t, y, half), half);
}

// (self)
sc_x sc_official_i0e(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]);
    return sc_official_rounded(t, scaled_i0(t, CALL(t, abs, x)));
}

sc_x sc_official_i1e(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]);
    return sc_official_rounded(t, scaled_i1(t, x, CALL(t, abs, x)));
}

sc_x sc_official_i0(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]), size = CALL(t, abs, x);
    return sc_official_rounded(t, grown(t, scaled_i0(t, size), size));
}

sc_x sc_official_i1(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]), size = CALL(t, abs, x);
    return sc_official_rounded(t, grown(t, scaled_i1(t, x, size), size));
}

// --- K -------------------------------------------------------------------------------------------

typedef struct pieces {
    sc_x x, near, large;  // large: with exp(x) as a factor
} pieces;

static sc_x inside(sc_trace *t, sc_x x) {
    return sc_f_add_number(t, sc_f_mul_number(t, sc_f_mul(t, x, x), 0.5), -1);
}

static sc_x outside(sc_trace *t, sc_x x) {
    return sc_f_add_number(t, sc_f_number_over(t, 4, x), -1);
}
static sc_x log_of_half(sc_trace *t, sc_x x) { return CALL(t, log, sc_f_mul_number(t, x, 0.5)); }

static pieces k0(sc_trace *t, sc_x self) {
    pieces p = {.x = sc_f_double(t, self)};
    sc_x place = inside(t, p.x), bend = log_of_half(t, p.x);
    bend = sc_f_mul(t, bend, POLYNOMIAL(t, place, i0_small));
    p.near = sc_f_sub(t, POLYNOMIAL(t, place, k0_near), bend);
    p.large = POLYNOMIAL(t, outside(t, p.x), k0_large);
    p.large = sc_f_div(t, p.large, CALL(t, sqrt, p.x));
    return p;
}

static pieces k1(sc_trace *t, sc_x self) {
    pieces p = {.x = sc_f_double(t, self)};
    sc_x place = inside(t, p.x), bend = sc_f_mul(t, log_of_half(t, p.x), p.x);
    bend = sc_f_mul(t, bend, POLYNOMIAL(t, place, i1_small));
    p.near = sc_f_add(t, sc_f_div(t, POLYNOMIAL(t, place, k1_near), p.x), bend);
    p.large = POLYNOMIAL(t, outside(t, p.x), k1_large);
    p.large = sc_f_div(t, p.large, CALL(t, sqrt, p.x));
    return p;
}

static sc_x joined(sc_trace *t, const pieces *p, bool is_scaled) {
    sc_x near = p->near, large = p->large;
    if (is_scaled)
        near = sc_f_mul(t, near, CALL(t, exp, p->x));
    else
        large = sc_f_mul(t, large, CALL(t, exp, CALL(t, neg, p->x)));
    sc_x y = sc_f_where(t, sc_f_lt_number(t, p->x, 2), near, large);
    return sc_official_rounded(t, sc_f_where_number(t, sc_f_eq_number(t, p->x, 0), INFINITY, y));
}

// (self)
sc_x sc_official_k0(sc_trace *t, const sc_x *a) {
    const pieces p = k0(t, a[0]);
    return joined(t, &p, false);
}

sc_x sc_official_k0e(sc_trace *t, const sc_x *a) {
    const pieces p = k0(t, a[0]);
    return joined(t, &p, true);
}

sc_x sc_official_k1(sc_trace *t, const sc_x *a) {
    const pieces p = k1(t, a[0]);
    return joined(t, &p, false);
}

sc_x sc_official_k1e(sc_trace *t, const sc_x *a) {
    const pieces p = k1(t, a[0]);
    return joined(t, &p, true);
}
