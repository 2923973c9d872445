//! From the names and numbers of a model file to the problems of its method.

use serde_json::Value;

use crate::claim::{Claim, DualPoint};
use crate::ellipsoid::{Ellipsoid, Shape};
use crate::error::{Error, Result};
use crate::exact::Exact;
use crate::interval::{Interval, sum};
use crate::loss::Loss;
use crate::margin::{Margins, Penalty};
use crate::missing::Missing;
use crate::rows::{Data, Rows};
use crate::softmax::Softmax;

/// The objective and a lower bound on it.
type Ends = (Interval, f64);

/// Both ends of every problem of the claim.
pub(crate) fn ends(claim: &Claim<'_>, data: &Data<'_>) -> Result<Vec<Ends>> {
    match claim.method {
        "l1" | "l2" | "elasticnet" => each(claim, data, penalised),
        "stable-svm" | "stable-svm-cv" if claim.classes > 2 => Ok(vec![stable_svm(
            claim,
            data,
            signs(claim, data),
            (&claim.coef, &claim.intercept),
            &claim.proof[0],
        )?]),
        "stable-svm" | "stable-svm-cv" => each(claim, data, |claim, data, one| {
            let point = (std::slice::from_ref(one.w), std::slice::from_ref(&one.b));
            stable_svm(claim, data, vec![one.y], point, one.dual)
        }),
        "stable-logistic" | "stable-logistic-cv"
            if claim.classes > 2 && claim.word("multi_class")? == "joint" =>
        {
            Ok(vec![softmax(claim, data)?])
        }
        "stable-logistic" | "stable-logistic-cv" => each(claim, data, stable_logistic),
        "ellipsoid-svm" => each(claim, data, ellipsoid),
        "missing-lp" => each(claim, data, missing),
        other => Err(Error::Unavailable(format!("there is no checker for `{other}` yet"))),
    }
}

/// One of the binary problems of a fit.
struct Binary<'a> {
    y: Vec<f64>,
    w: &'a Vec<f64>,
    b: f64,
    dual: &'a DualPoint,
}

/// The problem of every hyperplane: the second class against the first, or each against the rest.
fn each(
    claim: &Claim<'_>,
    data: &Data<'_>,
    judge: impl Fn(&Claim<'_>, &Data<'_>, Binary<'_>) -> Result<Ends>,
) -> Result<Vec<Ends>> {
    let all = signs(claim, data).into_iter().enumerate();
    all.map(|(k, y)| {
        let missing = || Error::File("a hyperplane is missing".into());
        let w = claim.coef.get(k).ok_or_else(missing)?;
        let (b, dual) = (claim.intercept[k], claim.proof.get(k).ok_or_else(missing)?);
        judge(claim, data, Binary { y, w, b, dual })
    })
    .collect()
}

/// +1 for rows of the class, -1 for others; one list per hyperplane.
fn signs(claim: &Claim<'_>, data: &Data<'_>) -> Vec<Vec<f64>> {
    let positive = if claim.classes == 2 { 1..2 } else { 0..claim.classes };
    let of = |class: usize| {
        data.labels.iter().map(|label| if *label == class { 1.0 } else { -1.0 }).collect()
    };
    positive.map(of).collect()
}

fn loss(claim: &Claim<'_>) -> Result<Loss> {
    let name = claim.word("loss")?;
    Loss::named(name)
        .ok_or_else(|| Error::Unavailable(format!("the loss `{name}` is unknown here")))
}

fn total(weights: &[f64]) -> Interval {
    sum(weights.iter().map(|w| Interval::point(*w)))
}

fn penalised(claim: &Claim<'_>, data: &Data<'_>, one: Binary<'_>) -> Result<Ends> {
    let weights = claim.weights(data)?;
    let alpha = Interval::point(claim.number("alpha")?);
    let ratio = match claim.method {
        "l2" => Interval::point(0.0),
        "l1" => Interval::point(1.0),
        _ => Interval::point(claim.number("l1_ratio")?),
    };
    let rest = if ratio == Interval::point(1.0) {
        Interval::point(0.0)
    } else {
        Interval::point(1.0) - ratio
    };
    let all = total(&weights);
    let units = if claim.flag("normalize")? {
        deviations(data.rows, &weights, all)
    } else {
        vec![1.0; data.rows.columns()]
    };
    let problem = Margins {
        rows: data.rows,
        y: vec![one.y],
        weights,
        loss: loss(claim)?,
        k: None,
        scale: Interval::point(1.0) / all,
        penalty: Penalty { l1: alpha * ratio, l2: alpha * rest, units },
        fit_intercept: true,
    };
    let multipliers = Claim::dual(one.dual, "multipliers", &problem.weights, |_| 1)?;
    let objective = problem.objective(std::slice::from_ref(one.w), std::slice::from_ref(&one.b));
    Ok((objective, problem.bound(&multipliers, None)))
}

/// Largest absolute entry of every column.
fn largest_entries(rows: Rows<'_>) -> Vec<f64> {
    let mut largest = vec![0.0_f64; rows.columns()];
    for (j, x) in (0..rows.count()).flat_map(|i| rows.row(i)) {
        largest[j] = largest[j].max(x.abs());
    }
    largest
}

/// Standard deviations of the columns; 1 for a column whose deviation is at most 1e-12 of its largest entry.
fn deviations(rows: Rows<'_>, weights: &[f64], all: Interval) -> Vec<f64> {
    let largest = largest_entries(rows);
    // In units of the largest entry, as a weight times an entry may be no float. Rounding does no harm: what it leaves of
    // the mean is taken off below.
    let mut means = vec![0.0_f64; rows.columns()];
    for (i, w) in weights.iter().enumerate() {
        for (j, x) in rows.row(i).filter(|(j, _)| largest[*j] > 0.0) {
            means[j] += w / all.high * (x / largest[j]);
        }
    }
    means.iter_mut().zip(&largest).for_each(|(mean, largest)| *mean *= largest);
    let mut squares = vec![Exact::default(); rows.columns()];
    let mut sums = vec![Exact::default(); rows.columns()];
    let mut present = vec![Exact::default(); rows.columns()];
    let mut count = vec![0_usize; rows.columns()];
    for (i, w) in weights.iter().enumerate() {
        for (j, x) in rows.row(i) {
            // Squares of tiny or huge numbers are no floats, and no difference of halves is too large.
            let apart = 0.5 * x - 0.5 * means[j];
            let apart = if largest[j] > 0.0 { apart / (0.5 * largest[j]) } else { 0.0 };
            squares[j].add_product(w * apart, apart);
            sums[j].add_product(*w, apart);
            present[j].add(*w);
            count[j] += 1;
        }
    }
    let deviation = |j: usize| {
        let some = count[j] < rows.count();
        let absent = if some { (all - present[j].enclosed()).positive_part().high } else { 0.0 };
        let mean = if largest[j] > 0.0 { means[j] / largest[j] } else { 0.0 };
        // The mean was rounded: the squares are those about another point, and grow by the square of the way there.
        let missed = (sums[j].enclosed().high - absent * mean) / all.high;
        let square = (squares[j].enclosed().high + absent * mean * mean) / all.high;
        let found = (square - missed * missed).max(0.0).sqrt();
        if found <= 1e-12 { 1.0 } else { found * largest[j] }
    };
    (0..rows.columns()).map(deviation).collect()
}

/// The weight of the worst rows.
fn resolved_k(claim: &Claim<'_>, weights: &[f64]) -> Result<Interval> {
    let all = total(weights);
    let (k, is_count) = claim.k()?;
    Ok(if is_count {
        Interval::new(k.min(all.low), k.min(all.high))
    } else {
        Interval::point(k) * all
    })
}

fn stable_svm(
    claim: &Claim<'_>,
    data: &Data<'_>,
    y: Vec<Vec<f64>>,
    (coef, intercept): (&[Vec<f64>], &[f64]),
    dual: &DualPoint,
) -> Result<Ends> {
    let weights = claim.weights(data)?;
    let k = resolved_k(claim, &weights)?;
    let problem = Margins {
        rows: data.rows,
        loss: loss(claim)?,
        k: Some(k),
        scale: Interval::point(claim.number("C")?),
        penalty: Penalty::ridge(1.0, data.rows.columns()),
        fit_intercept: claim.flag("fit_intercept")?,
        y,
        weights,
    };
    let multipliers = Claim::dual(dual, "multipliers", &problem.weights, |_| problem.y.len())?;
    let shares = Claim::dual(dual, "shares", &problem.weights, |_| 1)?;
    Ok((problem.objective(coef, intercept), problem.bound(&multipliers, Some(&shares))))
}

fn stable_logistic(claim: &Claim<'_>, data: &Data<'_>, one: Binary<'_>) -> Result<Ends> {
    let weights = claim.weights(data)?;
    let k = resolved_k(claim, &weights)?;
    let problem = Margins {
        rows: data.rows,
        y: vec![one.y],
        loss: Loss::Logistic,
        k: Some(k),
        scale: Interval::point(1.0) / k,
        penalty: Penalty::ridge(claim.number("alpha")?, data.rows.columns()),
        fit_intercept: claim.flag("fit_intercept")?,
        weights,
    };
    let multipliers = Claim::dual(one.dual, "multipliers", &problem.weights, |_| 1)?;
    let shares = Claim::dual(one.dual, "shares", &problem.weights, |_| 1)?;
    let objective = problem.objective(std::slice::from_ref(one.w), std::slice::from_ref(&one.b));
    Ok((objective, problem.bound(&multipliers, Some(&shares))))
}

fn softmax(claim: &Claim<'_>, data: &Data<'_>) -> Result<Ends> {
    let weights = claim.weights(data)?;
    let problem = Softmax {
        rows: data.rows,
        labels: data.labels,
        classes: claim.classes,
        k: resolved_k(claim, &weights)?,
        alpha: claim.number("alpha")?,
        fit_intercept: claim.flag("fit_intercept")?,
        weights,
    };
    let dual = &claim.proof[0];
    let multipliers = Claim::dual(dual, "multipliers", &problem.weights, |_| claim.classes)?;
    let shares = Claim::dual(dual, "shares", &problem.weights, |_| 1)?;
    let objective = problem.objective(&claim.coef, &claim.intercept);
    Ok((objective, problem.bound(&multipliers, &shares)))
}

fn ellipsoid(claim: &Claim<'_>, data: &Data<'_>, one: Binary<'_>) -> Result<Ends> {
    let c = claim.number("C")?;
    let numbers = |value: &Value| -> Option<Vec<f64>> {
        value.as_array()?.iter().map(Value::as_f64).collect()
    };
    let given = claim.param("uncertainty");
    let rows = |value: &Value| value.as_array()?.iter().map(numbers).collect::<Option<Vec<_>>>();
    let shape = given
        .as_f64()
        .map(Shape::Ball)
        .or_else(|| numbers(given).map(Shape::Axes))
        .or_else(|| rows(given).map(Shape::Full))
        .ok_or_else(|| Error::File("`uncertainty` is no shape".into()))?;
    let p = data.rows.columns();
    let fits = match &shape {
        Shape::Ball(_) => true,
        Shape::Axes(axes) => axes.len() == p,
        Shape::Full(rows) => rows.len() == p && rows.iter().all(|row| row.len() == p),
    };
    if !fits {
        return Err(Error::File(format!("`uncertainty` is no shape of {p} features")));
    }
    let caps = claim.weights(data)?.iter().map(|w| c * w).collect();
    let problem = Ellipsoid { rows: data.rows, y: one.y, caps, shape };
    let shares = Claim::dual(one.dual, "multipliers", &problem.caps, |_| 1)?;
    Ok((problem.objective(one.w, one.b), problem.bound(&shares, one.w)))
}

fn missing(claim: &Claim<'_>, data: &Data<'_>, one: Binary<'_>) -> Result<Ends> {
    let values = claim.vector("values")?;
    if values.len() != data.rows.columns() {
        return Err(Error::File("`values` has not one number per feature".into()));
    }
    let problem = Missing {
        rows: data.rows,
        y: one.y,
        weights: claim.weights(data)?,
        values,
        budget: claim.number("budget")?,
        margin: claim.number("margin")?,
        c: claim.number("C")?,
        fit_intercept: claim.flag("fit_intercept")?,
    };
    let nonzeros = |i: usize| data.rows.row(i).filter(|(_, x)| *x != 0.0).count();
    let sigma = Claim::dual(one.dual, "multipliers", &problem.weights, |_| 1)?;
    let parts = Claim::dual(one.dual, "parts", &problem.weights, nonzeros)?;
    Ok((problem.objective(one.w, one.b), problem.bound(&sigma, &parts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns (u, 0, 0) and (-u, u, 0) with equal weights: deviations sqrt(2)/3 and sqrt(2/3) of u, although weights times
    /// entries are beyond all floats.
    #[test]
    fn deviations_follow_the_units_of_rows_and_weights() {
        for (u, weight) in [(1.0, 1.0), (1e300, 1e80), (1e-300, 1e-20), (1e300, 1e-200)] {
            let values = [u, -u, 0.0, u, 0.0, 0.0];
            let rows = Rows::Dense { values: &values, columns: 2 };
            let weights = [weight; 3];
            let found = deviations(rows, &weights, total(&weights));
            for (found, wanted) in found.iter().zip([2.0_f64.sqrt() / 3.0, (2.0_f64 / 3.0).sqrt()])
            {
                assert!((found / u / wanted - 1.0).abs() < 1e-14, "{u} {weight}: {found}");
            }
        }
    }
}
