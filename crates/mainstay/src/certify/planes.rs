//! Two classes, each near a plane of its own.
//!
//! With `$f_k(x) = (w_k^\top x - \gamma_k)/r_k$` a row is in class 1 where `$|f_0| > |f_1|$`, that is where
//! `$u v > 0$` for the linear forms `$u = f_0 + f_1$` and `$v = f_0 - f_1$`: the boundary is two hyperplanes.
//! The least change that flips a row therefore uses up the lead `$|u|$` or `$|v|$`, whichever is nearer, as in the linear
//! case; the two can only fail to flip together if `$u = -c v$` with `$c \ge 0$`, where every row is in class 0.
//! A deletion moves both forms at once and must turn the sign of exactly one: [`twin_cover`](super::twin_cover).

use super::twin_cover::{self, Twin};
use super::{Attack, Cover, Lead, Options, RowCertificates, RowResult, check, gather};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix, Row, vector};
use crate::model::{Planes, choose};

/// A linear form `$g^\top x - c$` and what is needed to use it up from either side.
struct Form {
    /// `$g$` and `$-g$`.
    directions: [Vec<f64>; 2],
    offset: f64,
    /// Dual norms of L2, L1 and Linf.
    norms: [f64; 3],
}

impl Form {
    fn new(model: &Planes, sign: f64) -> Self {
        let reach = |k: usize| model.reach.get(k).copied().unwrap_or(1.0);
        let parts = model.planes[0].iter().zip(&model.planes[1]);
        let g: Vec<f64> = parts.map(|(a, b)| a / reach(0) + sign * b / reach(1)).collect();
        let offset = model.offsets[0] / reach(0) + sign * model.offsets[1] / reach(1);
        let norms = [vector::norm(&g), vector::norm_inf(&g), vector::norm_1(&g)];
        let minus = g.iter().map(|v| -v).collect();
        Self { directions: [g, minus], offset, norms }
    }

    /// The lead of one sign of the form.
    fn lead(&self, value: f64, negative: bool, strict: bool) -> Lead<'_> {
        let score = if negative { -value } else { value };
        let direction = &self.directions[usize::from(negative)];
        Lead { direction, score: score.max(0.0), strict }
    }
}

pub(super) fn certify(
    model: &Planes,
    x: &Matrix,
    options: &Options<'_>,
    control: &Control,
) -> Result<RowCertificates> {
    check(model.n_features(), x, options)?;
    let forms = [Form::new(model, 1.0), Form::new(model, -1.0)];
    let one_sided = always_the_first(&forms);
    let scores = model.decision(x);
    let predicted = choose(&scores);
    gather(x, options, control, predicted.clone(), |i| {
        let row = PlanesQuery {
            model,
            forms: &forms,
            x: x.row(i),
            i,
            predicted: predicted[i],
            options,
            control,
        };
        let mut result =
            if one_sided && predicted[i] == 0 { RowResult::never() } else { row.answer()? };
        result.margin = scores[(i, 0)];
        Ok(result)
    })
}

/// Whether `$u = -c v$` for some `$c \ge 0$`, or one of them is 0: then `$u v \le 0$` everywhere.
fn always_the_first([u, v]: &[Form; 2]) -> bool {
    let whole =
        |f: &Form| -> Vec<f64> { f.directions[0].iter().copied().chain([f.offset]).collect() };
    let (a, b) = (whole(u), whole(v));
    let (size_a, size_b) = (vector::norm(&a), vector::norm(&b));
    if size_a == 0.0 || size_b == 0.0 {
        return true;
    }
    a.iter().zip(&b).all(|(a, b)| (a / size_a + b / size_b).abs() <= 1e-15)
}

/// One row and the two forms.
struct PlanesQuery<'a> {
    model: &'a Planes,
    forms: &'a [Form; 2],
    x: Row<'a>,
    i: usize,
    predicted: usize,
    options: &'a Options<'a>,
    control: &'a Control,
}

impl PlanesQuery<'_> {
    /// The lead of either form; class 0 holds the boundary, so it must be crossed to leave it.
    ///
    /// The prediction fixes the sign of the product, the larger form its own sign; so a form that is 0, or that
    /// rounding put on the wrong side of 0, still knows which way flips.
    fn leads(&self) -> [Lead<'_>; 2] {
        let strict = self.predicted == 0;
        let [u, v] = self.forms;
        let [a, b] = self.forms.each_ref().map(|f| self.x.dot(&f.directions[0]) - f.offset);
        let (minus_a, minus_b) = if a.abs() >= b.abs() {
            (a < 0.0, (a < 0.0) == (self.predicted == 1))
        } else {
            ((b < 0.0) == (self.predicted == 1), b < 0.0)
        };
        [u.lead(a, minus_a, strict), v.lead(b, minus_b, strict)]
    }

    fn answer(&self) -> Result<RowResult> {
        let mut result = RowResult::never();
        for (form, lead) in self.forms.iter().zip(self.leads()) {
            for (radius, norm) in result.norms.iter_mut().zip(form.norms) {
                *radius = radius.min(lead.radius(norm));
            }
            if self.options.ellipsoid.is_some() {
                result.ellipsoid = result.ellipsoid.min(self.size(Attack::Ellipsoid, form, &lead));
            }
        }
        let fewest = self.cover(None)?;
        result.deletions = fewest.as_ref().map_or(f64::INFINITY, |c| c.cost);
        let cheapest = match self.options.values {
            Some(values) => self.cover(Some(values))?,
            None => fewest.clone(),
        };
        result.deletion_value = cheapest.as_ref().map_or(f64::INFINITY, |c| c.cost);
        result.deletion_value_upper = result.deletion_value;
        result.witness = match self.options.witness {
            None => None,
            Some(Attack::Deletions) => fewest.map(|c| self.deleted(&c)),
            Some(Attack::DeletionValue) => cheapest.map(|c| self.deleted(&c)),
            Some(attack) => self.moved(attack),
        };
        Ok(result)
    }

    fn size(&self, attack: Attack, form: &Form, lead: &Lead<'_>) -> f64 {
        match attack {
            Attack::L1 => lead.radius(form.norms[1]),
            Attack::Linf => lead.radius(form.norms[2]),
            Attack::Ellipsoid => self.options.ellipsoid.map_or(f64::INFINITY, |shape| {
                let squared = vector::dot(&shape(self.i, lead.direction), lead.direction);
                lead.radius(squared.max(0.0).sqrt())
            }),
            _ => lead.radius(form.norms[0]),
        }
    }

    /// The least deletion that turns the sign of exactly one form.
    fn cover(&self, values: Option<&[f64]>) -> Result<Option<Cover>> {
        let [u, v] = self.leads();
        let twin = Twin {
            items: (self.x.entries())
                .map(|(j, value)| twin_cover::Item {
                    feature: j,
                    gains: [u.direction[j] * value, v.direction[j] * value],
                    cost: values.map_or(1.0, |values| values[j]),
                })
                .collect(),
            need: [u.score, v.score],
            strict: self.predicted == 0,
            whole: values.is_none(),
        };
        match twin.solve(self.control)? {
            twin_cover::CoverSearch::Cover(cover) => Ok(Some(cover)),
            twin_cover::CoverSearch::Never => Ok(None),
            twin_cover::CoverSearch::TooHard => Err(Error::Numerical(format!(
                "row {}: the least deletion was not found within {} steps; certify on fewer features",
                self.i,
                twin_cover::STEPS
            ))),
        }
    }

    fn row(&self) -> Vec<f64> {
        let mut x = vec![0.0; self.model.n_features()];
        self.x.add_scaled_to(1.0, &mut x);
        x
    }

    fn deleted(&self, cover: &Cover) -> Vec<f64> {
        let mut out = self.row();
        cover.features.iter().for_each(|&j| out[j] = 0.0);
        out
    }

    /// A row just across the nearer boundary. Where both boundaries are met at once, only a small step
    /// aside from their crossing gets to the other class.
    fn moved(&self, attack: Attack) -> Option<Vec<f64>> {
        let x = self.row();
        let mut leads: Vec<(f64, Lead<'_>)> = (self.forms.iter().zip(self.leads()))
            .map(|(form, lead)| (self.size(attack, form, &lead), lead))
            .filter(|(size, _)| size.is_finite())
            .collect();
        leads.sort_by(|a, b| a.0.total_cmp(&b.0));
        leads.iter().find_map(|(_, lead)| {
            let step = lead.step(attack, self.options, self.i)?;
            let slope = vector::dot(lead.direction, &step);
            if slope.is_nan() || slope <= 0.0 {
                return None;
            }
            let needed = lead.score / slope;
            let room = (1.0 + vector::norm(&x)) / vector::norm(&step);
            let asides = self.asides();
            (0..13).find_map(|k| {
                let over = if k == 0 { 0.0 } else { 1e-13 * 10f64.powi(k) };
                let length = needed * (1.0 + over) + over * room;
                let ahead: Vec<f64> = x.iter().zip(&step).map(|(v, s)| v - length * s).collect();
                let aside = |d: &Vec<f64>| -> Vec<f64> {
                    let size = over * (1.0 + vector::norm(&x));
                    x.iter()
                        .zip(&step)
                        .zip(d)
                        .map(|((v, s), d)| v - needed * s + size * d)
                        .collect()
                };
                let tries = std::iter::once(ahead).chain(asides.iter().map(aside));
                tries.into_iter().find(|row| self.flips(row))
            })
        })
    }

    /// Unit-like directions into the four sectors between the two boundaries.
    fn asides(&self) -> Vec<Vec<f64>> {
        let [u, v] = self.forms;
        let unit = |f: &Form| -> Vec<f64> {
            let size = if f.norms[0] > 0.0 { f.norms[0] } else { 1.0 };
            f.directions[0].iter().map(|g| g / size).collect()
        };
        let (u, v) = (unit(u), unit(v));
        let mix = |a: f64, b: f64| u.iter().zip(&v).map(|(u, v)| a * u + b * v).collect();
        vec![mix(1.0, 1.0), mix(-1.0, -1.0), mix(1.0, -1.0), mix(-1.0, 1.0)]
    }

    fn flips(&self, row: &[f64]) -> bool {
        let row = Matrix::from(Dense::from_rows(1, row.len(), row.to_vec()));
        choose(&self.model.decision(&row))[0] != self.predicted
    }
}
