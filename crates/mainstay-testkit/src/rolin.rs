//! ROLIN, word by word: Algorithms 1 and 2 with nothing shared, warm-started or skipped. Slow on
//! purpose; its linear algebra is its own.

/// The losses of Eq. (2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Base-2 logistic.
    Logistic,
    /// max(0, 1 - m)^2.
    SquaredHinge,
    /// Squared hinge with a linear tail.
    ModifiedHuber,
}

impl Loss {
    /// Value, slope and curvature at a margin.
    pub fn at(self, m: f64) -> (f64, f64, f64) {
        match self {
            Self::Logistic => {
                let scale = 1.0 / 2.0_f64.ln();
                let value = if m > 0.0 { (-m).exp().ln_1p() } else { m.exp().ln_1p() - m };
                let p =
                    if m > 0.0 { (-m).exp() / (1.0 + (-m).exp()) } else { 1.0 / (1.0 + m.exp()) };
                (scale * value, -scale * p, scale * p * (1.0 - p))
            }
            Self::SquaredHinge => {
                let h = (1.0 - m).max(0.0);
                (h * h, -2.0 * h, if h > 0.0 { 2.0 } else { 0.0 })
            }
            Self::ModifiedHuber if m < -1.0 => (-4.0 * m, -4.0, 0.0),
            Self::ModifiedHuber => Self::SquaredHinge.at(m),
        }
    }

    fn mean(self, margins: &[f64]) -> f64 {
        margins.iter().map(|&m| self.at(m).0).sum::<f64>() / margins.len() as f64
    }
}

/// A setting and whether the features are z-scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Psi {
    /// Number of top components.
    pub k: usize,
    /// Ratio behind sigma_bound; 0 for the top alone.
    pub sigma_ratio: f64,
    /// Bound on the tail; 0 for the top alone.
    pub b_max: f64,
    /// z-scores?
    pub normalize: bool,
}

/// Intercept and weights.
pub type Beta = (f64, Vec<f64>);

/// Rows of numbers.
pub type Rows = Vec<Vec<f64>>;

/// What Algorithm 2 needs beside the data.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Which loss.
    pub loss: Loss,
    /// (training rows, holdout rows).
    pub splits: Vec<(Vec<usize>, Vec<usize>)>,
    /// Theta: ratio, slack, gain.
    pub theta: (f64, f64, f64),
    /// Grid of sigma ratios, ascending.
    pub sigma_ratios: Vec<f64>,
    /// Grid of bounds, ascending.
    pub b_maxs: Vec<f64>,
    /// Ridge of the fit on the top.
    pub ridge: f64,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Turns columns `i` and `j` of both sets by the angle that makes them orthogonal; `tau` is the cotangent of twice the angle.
fn rotate(sets: [&mut Rows; 2], (i, j): (usize, usize), tau: f64) {
    let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
    let t = if tau == 0.0 { 1.0 } else { t };
    let c = 1.0 / (1.0 + t * t).sqrt();
    for set in sets {
        for r in 0..set[i].len() {
            let (p, q) = (set[i][r], set[j][r]);
            set[i][r] = c * (p - t * q);
            set[j][r] = c * (q + t * p);
        }
    }
}

/// Thin singular value decomposition by one-sided Jacobi rotations: (u columns, d, v columns),
/// descending.
pub fn svd(rows: &[Vec<f64>]) -> (Rows, Vec<f64>, Rows) {
    let (n, p) = (rows.len(), rows[0].len());
    if p > n {
        let transposed: Rows = (0..p).map(|j| rows.iter().map(|r| r[j]).collect()).collect();
        let (u, d, v) = svd(&transposed);
        return (v, d, u);
    }
    let mut a: Rows = (0..p).map(|j| rows.iter().map(|r| r[j]).collect()).collect();
    let mut v: Rows =
        (0..p).map(|j| (0..p).map(|i| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..60 {
        let mut off: f64 = 0.0;
        for i in 0..p {
            for j in i + 1..p {
                let (x, y, z) = (dot(&a[i], &a[i]), dot(&a[j], &a[j]), dot(&a[i], &a[j]));
                if z.abs() <= 1e-16 * (x * y).sqrt() || z == 0.0 {
                    continue;
                }
                off = off.max(z.abs() / (x * y).sqrt());
                let tau = (y - x) / (2.0 * z);
                rotate([&mut a, &mut v], (i, j), tau);
            }
        }
        if off <= 1e-15 {
            break;
        }
    }
    let d: Vec<f64> = a.iter().map(|c| dot(c, c).sqrt()).collect();
    let mut order: Vec<usize> = (0..p).collect();
    order.sort_by(|&i, &j| d[j].total_cmp(&d[i]));
    let unit = |j: usize| a[j].iter().map(|x| if d[j] > 0.0 { x / d[j] } else { 0.0 }).collect();
    (
        order.iter().map(|&j| unit(j)).collect(),
        order.iter().map(|&j| d[j]).collect(),
        order.iter().map(|&j| v[j].clone()).collect(),
    )
}

/// Gaussian elimination with partial pivoting.
fn solve(mut a: Rows, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for c in 0..n {
        let pivot = (c..n).max_by(|&i, &j| a[i][c].abs().total_cmp(&a[j][c].abs())).unwrap_or(c);
        a.swap(c, pivot);
        b.swap(c, pivot);
        for r in c + 1..n {
            let factor = a[r][c] / a[c][c];
            let above = a[c].clone();
            for (v, above) in a[r].iter_mut().zip(above).skip(c) {
                *v -= factor * above;
            }
            b[r] -= factor * b[c];
        }
    }
    for c in (0..n).rev() {
        let known: f64 = (c + 1..n).map(|j| a[c][j] * b[j]).sum();
        b[c] = (b[c] - known) / a[c][c];
    }
    b
}

/// mean loss(rows theta) + ridge/2 |theta|^2 by damped Newton steps from zero.
fn newton(loss: Loss, rows: &[Vec<f64>], ridge: f64) -> Vec<f64> {
    let (n, q) = (rows.len(), rows[0].len());
    let mut theta = vec![0.0; q];
    let value = |theta: &[f64]| {
        let margins: Vec<f64> = rows.iter().map(|r| dot(r, theta)).collect();
        loss.mean(&margins) + 0.5 * ridge * dot(theta, theta)
    };
    for _ in 0..500 {
        let mut gradient: Vec<f64> = theta.iter().map(|t| ridge * t).collect();
        let mut hessian: Rows =
            (0..q).map(|i| (0..q).map(|j| if i == j { ridge } else { 0.0 }).collect()).collect();
        for r in rows {
            let (_, slope, curvature) = loss.at(dot(r, &theta));
            for i in 0..q {
                gradient[i] += slope * r[i] / n as f64;
                for j in 0..q {
                    hessian[i][j] += curvature * r[i] * r[j] / n as f64;
                }
            }
        }
        let step = solve(hessian, gradient.clone());
        let decrease = dot(&gradient, &step);
        let mut length = 1.0;
        let now = value(&theta);
        let moved = |length: f64| -> Vec<f64> {
            theta.iter().zip(&step).map(|(t, s)| t - length * s).collect()
        };
        while decrease > 1e-12 && value(&moved(length)) > now - 1e-4 * length * decrease {
            length *= 0.5;
        }
        theta = moved(length);
        if decrease <= 1e-24 {
            break;
        }
    }
    theta
}

/// The unit direction of the components after the k-th in Algorithm 1; none where they vanish.
fn tail_direction(z: &Rows, d: &[f64], v: &Rows, psi: Psi, floor: f64) -> Option<Vec<f64>> {
    let p = z[0].len();
    let bound = psi.sigma_ratio * d[psi.k] * d[psi.k];
    let total: Vec<f64> = (0..p).map(|j| z.iter().map(|r| r[j]).sum()).collect();
    let mut eta = vec![0.0; p];
    for j in (psi.k..d.len()).filter(|&j| d[j] > floor) {
        let nu = dot(&v[j], &total) / (d[j] * d[j] + bound);
        for (e, v) in eta.iter_mut().zip(&v[j]) {
            *e += nu * v;
        }
    }
    let length = dot(&eta, &eta).sqrt();
    (length > 0.0).then(|| eta.iter().map(|e| e / length).collect())
}

/// Where an increasing slope changes its sign between 0 and `most`, by bisection to the last digit.
fn least_along(slope: impl Fn(f64) -> f64, most: f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    if slope(0.0) >= 0.0 {
        high = 0.0;
    } else if slope(most) < 0.0 {
        low = most;
    }
    while high - low > 1e-16 * high && low < f64::midpoint(low, high) {
        let middle = f64::midpoint(low, high);
        if middle >= high {
            break;
        }
        if slope(middle) < 0.0 { low = middle } else { high = middle }
    }
    high
}

/// Algorithm 1 on rows `x` with labels `y`.
pub fn calc_beta(loss: Loss, x: &[Vec<f64>], y: &[f64], psi: Psi, ridge: f64) -> Beta {
    let z: Rows = x.iter().zip(y).map(|(r, y)| r.iter().map(|v| v * y).collect()).collect();
    let (u, d, v) = svd(&z);
    let (n, p) = (x.len(), x[0].len());
    let root = (n as f64).sqrt();
    // Line 8 with the ridge of R4: columns y and sqrt(n) u_j.
    let rows: Rows = (0..n)
        .map(|i| std::iter::once(y[i]).chain((0..psi.k).map(|j| root * u[j][i])).collect())
        .collect();
    let theta = newton(loss, &rows, ridge);
    let mut beta = vec![0.0; p];
    for j in 0..psi.k {
        for (b, v) in beta.iter_mut().zip(&v[j]) {
            *b += theta[1 + j] * root / d[j] * v;
        }
    }
    let floor = d[0] * f64::EPSILON * n.max(p) as f64;
    let tail = psi.b_max > 0.0 && psi.k < d.len() && d[psi.k] > floor;
    if let Some(eta) = tail.then(|| tail_direction(&z, &d, &v, psi, floor)).flatten() {
        let base: Vec<f64> = (0..n).map(|i| theta[0] * y[i] + dot(&beta, &z[i])).collect();
        let along: Vec<f64> = z.iter().map(|r| dot(r, &eta)).collect();
        let slope = |c: f64| -> f64 {
            base.iter().zip(&along).map(|(b, a)| a * loss.at(b + c * a).1).sum()
        };
        let length = least_along(slope, psi.b_max);
        for (b, e) in beta.iter_mut().zip(&eta) {
            *b += length * e;
        }
    }
    (theta[0], beta)
}

struct Score {
    psi: Psi,
    cost: f64,
    max: f64,
    ratio: f64,
}

fn normalized(x: &[Vec<f64>]) -> Rows {
    let (n, p) = (x.len() as f64, x[0].len());
    let mut out = x.to_vec();
    for j in 0..p {
        let mean = x.iter().map(|r| r[j]).sum::<f64>() / n;
        let sd = (x.iter().map(|r| (r[j] - mean).powi(2)).sum::<f64>() / n).sqrt();
        let scale = if sd <= 1e-12 * mean.abs().max(1.0) { 1.0 } else { sd };
        for r in &mut out {
            r[j] = (r[j] - mean) / scale;
        }
    }
    out
}

impl Problem {
    fn cost(&self, x: &[Vec<f64>], y: &[f64], psi: Psi) -> Score {
        let (mut holdout, mut ratios) = (Vec::new(), Vec::new());
        for (train, hold) in &self.splits {
            let pick = |rows: &[usize]| -> (Rows, Vec<f64>) {
                rows.iter().map(|&i| (x[i].clone(), y[i])).unzip()
            };
            let ((xt, yt), (xh, yh)) = (pick(train), pick(hold));
            let (b, w) = calc_beta(self.loss, &xt, &yt, psi, self.ridge);
            let loss = |x: &Rows, y: &[f64]| {
                let margins: Vec<f64> =
                    x.iter().zip(y).map(|(r, y)| y * (b + dot(r, &w))).collect();
                self.loss.mean(&margins)
            };
            let (tr, ho) = (loss(&xt, &yt), loss(&xh, &yh));
            holdout.push(ho);
            ratios.push(match (tr <= 1e-12, ho <= 1e-12) {
                (true, true) => 1.0,
                (true, false) => f64::INFINITY,
                _ => ho / tr,
            });
        }
        let count = holdout.len() as f64;
        let average = holdout.iter().sum::<f64>() / count;
        let max = holdout.iter().copied().fold(0.0, f64::max);
        let ratio = ratios.iter().sum::<f64>() / count;
        Score { psi, cost: if ratio <= self.theta.0 { average } else { max }, max, ratio }
    }

    /// Values within rounding of each other are ties; the first wins (R8).
    fn robust<'a>(&self, scores: &'a [Score]) -> &'a Score {
        let least = scores.iter().map(|s| s.cost).fold(f64::INFINITY, f64::min);
        let near: Vec<&Score> =
            scores.iter().filter(|s| s.cost <= (1.0 + self.theta.1) * least).collect();
        let best = near.iter().map(|s| s.cost + s.max).fold(f64::INFINITY, f64::min);
        near.into_iter().find(|s| s.cost + s.max <= best * (1.0 + 1e-11)).unwrap_or(&scores[0])
    }

    /// Algorithm 2 over both normalisations: the setting, its cost, and CALCBETA on all rows (in the
    /// units of the normalised features).
    pub fn robust_cv(&self, x: &[Vec<f64>], y: &[f64], limit: usize) -> (Psi, f64, Beta) {
        let views = [x.to_vec(), normalized(x)];
        let (mut tops, mut all) = (Vec::new(), Vec::new());
        for (normalize, view) in [false, true].into_iter().zip(&views) {
            let top = |k| Psi { k, sigma_ratio: 0.0, b_max: 0.0, normalize };
            let scores: Vec<Score> = (1..=limit).map(|k| self.cost(view, y, top(k))).collect();
            let reliable = scores.iter().take_while(|s| s.ratio <= self.theta.0).count();
            let k_max = reliable.max(1);
            tops.extend(scores.into_iter().take(k_max));
            for k in 1..=k_max {
                for &b_max in &self.b_maxs {
                    for &sigma_ratio in self.sigma_ratios.iter().rev() {
                        let psi = Psi { k, sigma_ratio, b_max, normalize };
                        all.push(self.cost(view, y, psi));
                    }
                }
            }
        }
        let (general, top) = (self.robust(&all), self.robust(&tops));
        let chosen = if general.cost >= (1.0 - self.theta.2) * top.cost { top } else { general };
        let view = &views[usize::from(chosen.psi.normalize)];
        (chosen.psi, chosen.cost, calc_beta(self.loss, view, y, chosen.psi, self.ridge))
    }
}
