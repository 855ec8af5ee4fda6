"""Operators that PyTorch's own tests call and that few models have. Core graphs are ours, as in
decomp_numeric.py."""

import torch
import torch.nn.functional as F

from decomp_case import section
from decomp_numeric import number

section("operators")
A, ROW, FLAGS = (4, 6), torch.tensor([1, 3, 1]), torch.tensor([[[True]], [[False]]])
GIVEN = torch.tensor([[1.0, 2.0, 4.0, 7.0], [0.5, -1.0, 3.0, 3.5]])
ODDS = torch.tensor([[1, -2, 7], [100, 3, 50]])
aten = torch.ops.aten

number("block_diag", lambda x, y: torch.block_diag(x, y, x[0]), (2, 3), (1, 2))
number("atleast", lambda x, y: (*torch.atleast_1d(x, y), *torch.atleast_2d(x, y),
                                *torch.atleast_3d(x, y)), (3,), A)
number("sum_to_size", lambda x: (x.sum_to_size(1, 6), x.sum_to_size(6), x.sum_to_size(4, 6) + 1), A)
number("linspace_tensors", lambda x, y: torch.linspace(x, y, 7), (), ())
number("linspace_ends", lambda x: (torch.linspace(x, 3, 4), torch.linspace(0.5, x, 1)), ())
number("logspace", lambda x: torch.logspace(-1, 2, 5) + torch.logspace(0, 1, 5, base=2) * x, ())
number("logspace_ends", lambda x: torch.logspace(x, 1.5, 4, base=3), ())
number("index_reduce", lambda x, i, y: (x.index_reduce(0, i, y, "amax"),
                                        x.index_reduce(0, i, y, "mean", include_self=False),
                                        x.index_reduce(0, i, y, "prod")), A, ROW, (3, 6))
number("masked_index", lambda x, m, i: aten._unsafe_masked_index(x, m, [None, i], 7),
       (2, 6), FLAGS, ODDS)
number("masked_index_put",
       lambda x, m, i, y: aten._unsafe_masked_index_put_accumulate(x, m, [None, i], y),
       (2, 6), FLAGS, ODDS, (2, 2, 3))
number("max_pool1d_indices", lambda x: F.max_pool1d(x, 3, 2, 1, return_indices=True), (2, 3, 8))
number("copysign_number", lambda x, n: (x.copysign(-0.5), n.copysign(-0.5)), A, ("i", 3))
number("heaviside_bool", lambda x, y: torch.heaviside(x > 0, y > 0), A, A)
number("addr_bool", lambda x, a, b: (torch.addr(x > 0, a > 0, b > 0),
                                     torch.addr(x > 0, a > 0, b > 0, beta=0)), (2, 3), (2,), (3,))
number("masked_scatter_wide", lambda x, y: x.masked_scatter(y > 0, y), (3,), (2, 3))
number("gather_nothing", lambda x: x.gather(0, torch.zeros(2, 0, dtype=torch.int64)), (5,))
number("pinverse_nothing", lambda x: torch.linalg.pinv(x[:, :0]), (3, 2))
LOWER = torch.tensor([[2.0, 9.0, -5.0], [1.0, 3.0, 7.0], [0.5, -1.0, 4.0]])
number("pinv_symmetric", lambda x: torch.linalg.pinv(x, hermitian=True), LOWER)
number("pinv_rcond", lambda x: torch.linalg.pinv(x, 1e-3, hermitian=True), LOWER)
number("rank_symmetric", lambda x: torch.linalg.matrix_rank(x, hermitian=True), LOWER.triu())
number("rank_float", lambda x: torch.linalg.matrix_rank(x, atol=1.0, rtol=0.1), LOWER)
number("rank_nothing", lambda x: torch.linalg.matrix_rank(x[:, :0]), (3, 2))
number("qr_old", lambda x: torch.qr(x)[0].abs(), (4, 3))
number("softmax_backward", lambda g, x: (aten._softmax_backward_data(g, x.softmax(1), 1, g.dtype),
       aten._log_softmax_backward_data(g, x.log_softmax(0), 0, g.dtype)), A, A)
number("trapz", lambda x: torch.trapz(x, dx=0.5), A)
number("trapz_x", lambda y, x: torch.trapz(y, x), A, (6,))
number("gradient", lambda x: torch.gradient(x), A)
number("gradient_ends", lambda x: torch.gradient(x, spacing=0.5, dim=1, edge_order=2), GIVEN)
number("gradient_spacings", lambda x: torch.gradient(x, spacing=[0.5, 2.0], dim=[1, 0]), A)
number("gradient_whole", lambda x: torch.gradient(x, spacing=2, dim=0), ("i", 4, 2))
COMPLEX = torch.randn(2, 3, dtype=torch.complex64)
number("adjoint_complex", lambda x: x.mH.contiguous().imag, COMPLEX)
number("H_complex", lambda x: x.H.contiguous().imag, COMPLEX)
number("conj_physical", lambda x: x.conj_physical() + 1, A)
