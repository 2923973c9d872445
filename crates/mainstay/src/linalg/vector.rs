//! Operations on plain slices.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

/// Runs `work`, whose loops are compiled once for each family of vector instructions, with the widest
/// the processor has. Pays for loops that are long or heavy.
///
/// Only what is inlined into the call is: see the macro of the same name, which sees to it.
pub fn vectorized<T>(work: impl FnOnce() -> T) -> T {
    pulp::Arch::new().dispatch(work)
}

/// The macro; the function has the same name.
mod inlined {
    /// Evaluates an expression by the function of the same name, inlined whatever its size: a closure that the compiler
    /// leaves alone is compiled once, for the oldest processor of the family (decision 0080). Functions that it calls need
    /// `#[inline(always)]` for the same reason.
    macro_rules! vectorized {
        ($work:expr) => {
            $crate::linalg::vector::vectorized(
                #[inline(always)]
                || $work,
            )
        };
    }
    pub(crate) use vectorized;
}
pub(crate) use inlined::vectorized;

/// Whether code run by [`vectorized`] has an instruction that multiplies and adds with one rounding.
pub fn has_fused() -> bool {
    let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    known && !matches!(pulp::Arch::new(), pulp::Arch::Scalar)
}

/// Inner product. Eight accumulators let the compiler use vector registers.
///
/// Here and below places are counted: a `zip`, a `map` of an array or a sum of an iterator is a call where the library is not
/// inlined into this unit, and with rows as short as ours such calls show in a profile (decision 0080).
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let n = if a.len() < b.len() { a.len() } else { b.len() };
    let (a_chunks, a_rest) = a[..n].as_chunks::<8>();
    let (b_chunks, b_rest) = b[..n].as_chunks::<8>();
    let mut acc = [0.0; 8];
    for (c, x) in a_chunks.iter().enumerate() {
        let y = &b_chunks[c];
        for k in 0..8 {
            acc[k] += x[k] * y[k];
        }
    }
    total(&acc) + rest_dot(a_rest, b_rest)
}

/// The sum of eight accumulators.
#[inline(always)]
fn total(acc: &[f64; 8]) -> f64 {
    ((acc[0] + acc[4]) + (acc[1] + acc[5])) + ((acc[2] + acc[6]) + (acc[3] + acc[7]))
}

/// Inner product of what is left of vectors after chunks of eight, one entry after the other.
#[inline(always)]
fn rest_dot(a: &[f64], b: &[f64]) -> f64 {
    let b = &b[..a.len()];
    let mut sum = 0.0;
    for (k, x) in a.iter().enumerate() {
        sum += x * b[k];
    }
    sum
}

/// Sum of the entries, with eight accumulators as [`dot`].
#[inline(always)]
pub fn sum(a: &[f64]) -> f64 {
    let mut acc = [0.0_f64; 8];
    let (chunks, rest) = a.as_chunks::<8>();
    for chunk in chunks {
        for k in 0..8 {
            acc[k] += chunk[k];
        }
    }
    let mut tail = 0.0;
    for x in rest {
        tail += x;
    }
    total(&acc) + tail
}

/// Inner products of four vectors with `b`, each summed as by [`dot`]: together they do not wait for each
/// other's additions.
#[inline(always)]
pub fn four_dots(a: [&[f64]; 4], b: &[f64]) -> [f64; 4] {
    let n = if a[0].len() < b.len() { a[0].len() } else { b.len() };
    let (p, p_rest) = a[0][..n].as_chunks::<8>();
    let (q, q_rest) = a[1][..n].as_chunks::<8>();
    let (r, r_rest) = a[2][..n].as_chunks::<8>();
    let (s, s_rest) = a[3][..n].as_chunks::<8>();
    let (chunks, rest) = b[..n].as_chunks::<8>();
    let mut acc = [[0.0; 8]; 4];
    for (c, y) in chunks.iter().enumerate() {
        let (p, q, r, s) = (&p[c], &q[c], &r[c], &s[c]);
        for k in 0..8 {
            acc[0][k] += p[k] * y[k];
            acc[1][k] += q[k] * y[k];
            acc[2][k] += r[k] * y[k];
            acc[3][k] += s[k] * y[k];
        }
    }
    let mut tails = [0.0; 4];
    for (k, y) in rest.iter().enumerate() {
        tails[0] += p_rest[k] * y;
        tails[1] += q_rest[k] * y;
        tails[2] += r_rest[k] * y;
        tails[3] += s_rest[k] * y;
    }
    [
        total(&acc[0]) + tails[0],
        total(&acc[1]) + tails[1],
        total(&acc[2]) + tails[2],
        total(&acc[3]) + tails[3],
    ]
}

/// Adds the squared distances of some rows from `centre`, each times its weight, to `sums`.
#[inline(always)]
pub fn add_squares<const N: usize>(
    rows: [&[f64]; N],
    centre: &[f64],
    weights: [f64; N],
    sums: &mut [f64],
) {
    let p = sums.len();
    let centre = &centre[..p];
    // Never: it tells the compiler that no index is out of range.
    if rows.iter().any(|row| row.len() != p) {
        return;
    }
    for j in 0..p {
        let mut sum = sums[j];
        for (row, weight) in rows.iter().zip(weights) {
            let apart = row[j] - centre[j];
            sum += weight * apart * apart;
        }
        sums[j] = sum;
    }
}

/// `$\sum_j w_j a_j^2$`.
#[inline(always)]
pub fn weighted_norm_sq(a: &[f64], w: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), w.len());
    let mut acc = [0.0; 8];
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (w_chunks, w_rest) = w.as_chunks::<8>();
    for (x, y) in a_chunks.iter().zip(w_chunks) {
        for k in 0..8 {
            acc[k] += x[k] * x[k] * y[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(w_rest).map(|(x, y)| x * x * y).sum();
    acc.iter().sum::<f64>() + rest
}

/// `y += scale * x`.
#[inline(always)]
pub fn axpy(scale: f64, x: &[f64], y: &mut [f64]) {
    debug_assert_eq!(x.len(), y.len());
    let n = if x.len() < y.len() { x.len() } else { y.len() };
    let x = &x[..n];
    for (k, y) in y[..n].iter_mut().enumerate() {
        *y += scale * x[k];
    }
}

/// Squared Euclidean norm.
pub fn norm_sq(a: &[f64]) -> f64 {
    dot(a, a)
}

/// Euclidean norm, without overflow or underflow of the squares.
pub fn norm(a: &[f64]) -> f64 {
    let largest = norm_inf(a);
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    if (1e-140..1e140).contains(&largest) {
        return norm_sq(a).sqrt();
    }
    largest * a.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt()
}

/// `v` clipped to `[0, top]`; 0 if it is not a number. Unlike the library's own it takes any `top`.
pub fn clip(v: f64, top: f64) -> f64 {
    if v > 0.0 { v.min(top) } else { 0.0 }
}

/// Largest absolute entry; 0 for an empty slice.
pub fn norm_inf(a: &[f64]) -> f64 {
    let larger = |m: f64, v: f64| if v > m { v } else { m };
    vectorized!({
        let (chunks, rest) = a.as_chunks::<8>();
        let mut most = [0.0; 8];
        for chunk in chunks {
            for k in 0..8 {
                most[k] = larger(most[k], chunk[k].abs());
            }
        }
        let mut all = 0.0;
        for value in &most {
            all = larger(all, *value);
        }
        for value in rest {
            all = larger(all, value.abs());
        }
        all
    })
}

/// Whether no entry is NaN or infinite.
pub fn all_finite(a: &[f64]) -> bool {
    // Their exponent has all bits set: one more carries into the sign. No branches, any vector unit.
    const EXPONENT: u64 = 0x7FF0_0000_0000_0000;
    const ONE_MORE: u64 = 0x0010_0000_0000_0000;
    let carried = vectorized!(a.iter().fold(0, |m, v| m | ((v.to_bits() & EXPONENT) + ONE_MORE)));
    carried >> 63 == 0
}

/// Sum of absolute entries.
pub fn norm_1(a: &[f64]) -> f64 {
    a.iter().map(|v| v.abs()).sum()
}

/// Multiplies every entry by `scale`.
pub fn scale(a: &mut [f64], scale: f64) {
    for v in a {
        *v *= scale;
    }
}
