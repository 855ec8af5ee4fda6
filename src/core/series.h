// Numbers for series that kernels and expansions share.
// Prefix: sc_zeta_, the series of Hurwitz's zeta function.
#ifndef SC_SERIES_H
#define SC_SERIES_H

// (2k)! / B_2k, k from 1: for the Euler-Maclaurin formula of Hurwitz's zeta function.
enum { SC_ZETA_TERMS = 10 };
extern const double sc_zeta_terms[SC_ZETA_TERMS];

#endif
