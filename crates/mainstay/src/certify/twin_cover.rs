//! The least deletion that uses up exactly one of two leads: a knapsack with two constraints, exactly.
//!
//! Deleting feature `$j$` takes `$a_j$` from the lead `$u \ge 0$` and `$b_j$` from the lead `$v \ge 0$`. Wanted is the cheapest set
//! `$S$` with `$a(S) \ge u$` and `$b(S) \le v$`, or the other way round (strict where the boundary belongs to the class the
//! row is in). For every `$\lambda \ge 0$` such a set satisfies `$a(S) - \lambda b(S) \ge u - \lambda v$`, one covering
//! constraint whose fractional relaxation bounds the cost from below. Branch and bound with the best few `$\lambda$`; at the
//! right one the bound is that of the linear program, which is less than two features away from the answer.

use super::Cover;
use crate::control::Control;
use crate::error::Result;

/// Nodes visited before giving up on a row.
pub(super) const STEPS: usize = 2_000_000;

/// What a deletion takes from the two leads, and what it costs.
pub(super) struct Item {
    pub(super) feature: usize,
    pub(super) gains: [f64; 2],
    pub(super) cost: f64,
}

/// The problem of one row.
pub(super) struct Twin {
    pub(super) items: Vec<Item>,
    pub(super) need: [f64; 2],
    pub(super) strict: bool,
    /// Whether costs are counts: then bounds are rounded up.
    pub(super) whole: bool,
}

pub(super) enum CoverSearch {
    Cover(Cover),
    Never,
    TooHard,
}

impl Twin {
    pub(super) fn solve(&self, control: &Control) -> Result<CoverSearch> {
        let mut best: Option<Cover> = None;
        let mut steps = 0;
        // The side with the lower bound first: it often rules the other one out.
        let mut sides = [Side::new(self, 0), Side::new(self, 1)];
        if sides[1].root < sides[0].root {
            sides.swap(0, 1);
        }
        for side in &mut sides {
            if !side.search(&mut best, &mut steps, control)? {
                return Ok(CoverSearch::TooHard);
            }
        }
        Ok(best.map_or(CoverSearch::Never, |mut cover| {
            cover.features.sort_unstable();
            CoverSearch::Cover(cover)
        }))
    }
}

/// One covering constraint `$\sum g_j \ge n$` that every answer satisfies.
struct Relaxation {
    /// (position of the item, gain, cost), by falling gain for its cost; gains are positive.
    items: Vec<(usize, f64, f64)>,
    mix: [f64; 2],
    need: f64,
}

/// One of the two ways to flip: lead `hit` is used up, the other is kept.
struct Side<'a> {
    twin: &'a Twin,
    /// (gain on the lead to use up, gain on the lead to keep, cost, feature), in the order of branching.
    items: Vec<(f64, f64, f64, usize)>,
    /// (lead to use up, lead to keep).
    need: (f64, f64),
    relaxations: Vec<Relaxation>,
    /// Bound before any choice.
    root: f64,
    /// What the items from here on can take from the lead to use up at most, and from the other at least.
    tails: Vec<(f64, f64)>,
}

/// A partial choice: items before `k` are decided.
struct Node {
    k: usize,
    cost: f64,
    hit: f64,
    kept: f64,
    taken: Vec<usize>,
}

impl<'a> Side<'a> {
    fn new(twin: &'a Twin, hit: usize) -> Self {
        let need = (twin.need[hit], twin.need[1 - hit]);
        let mut items: Vec<(f64, f64, f64, usize)> = (twin.items.iter())
            .map(|i| (i.gains[hit], i.gains[1 - hit], i.cost, i.feature))
            // What gains nothing and loosens nothing is never deleted.
            .filter(|i| i.0 > 0.0 || i.1 < 0.0)
            .collect();
        items.sort_by(|a, b| {
            let size = |i: &(f64, f64, f64, usize)| i.0.abs() + i.1.abs();
            size(b).total_cmp(&size(a)).then(a.3.cmp(&b.3))
        });
        let mut tails = vec![(0.0, 0.0); items.len() + 1];
        for k in (0..items.len()).rev() {
            let (hit, kept): (f64, f64) = tails[k + 1];
            tails[k] = (hit + items[k].0.max(0.0), kept + items[k].1.min(0.0));
        }
        let mut side = Self { twin, items, need, relaxations: Vec::new(), root: 0.0, tails };
        let angles = (0..32).map(|k| std::f64::consts::FRAC_PI_2 * f64::from(k) / 32.0);
        let mut tried: Vec<(f64, Relaxation)> = angles
            .map(|angle| {
                let relaxation = side.relax([angle.cos(), angle.sin()]);
                (side.fractional(&relaxation, 0, 0.0, 0.0), relaxation)
            })
            .collect();
        tried.sort_by(|a, b| b.0.total_cmp(&a.0));
        tried.truncate(3);
        side.root = tried.first().map_or(0.0, |t| t.0);
        side.relaxations = tried.into_iter().map(|t| t.1).collect();
        side
    }

    fn relax(&self, mix: [f64; 2]) -> Relaxation {
        let gain = |i: &(f64, f64, f64, usize)| mix[0] * i.0 - mix[1] * i.1;
        let mut items: Vec<(usize, f64, f64)> = (self.items.iter().enumerate())
            .map(|(k, i)| (k, gain(i), i.2))
            .filter(|i| i.1 > 0.0)
            .collect();
        items.sort_by(|a, b| (b.1 * a.2).total_cmp(&(a.1 * b.2)).then(a.0.cmp(&b.0)));
        Relaxation { items, mix, need: mix[0] * self.need.0 - mix[1] * self.need.1 }
    }

    /// Least cost, fractions allowed, of what a relaxation still lacks, with items from `k` on.
    fn fractional(&self, relaxation: &Relaxation, k: usize, hit: f64, kept: f64) -> f64 {
        let [a, b] = relaxation.mix;
        let mut lacking = relaxation.need - (a * hit - b * kept);
        let slack = 1e-12 * (a * self.need.0 + b * self.need.1 + hit.abs() + kept.abs());
        let mut cost = 0.0;
        for &(position, gain, price) in &relaxation.items {
            if lacking <= slack {
                return cost;
            }
            if position >= k {
                if gain >= lacking {
                    return cost + price * (lacking / gain);
                }
                lacking -= gain;
                cost += price;
            }
        }
        if lacking <= slack { cost } else { f64::INFINITY }
    }

    /// Whether a choice flips the prediction.
    fn done(&self, hit: f64, kept: f64) -> bool {
        if self.twin.strict {
            hit > self.need.0 && kept < self.need.1
        } else {
            hit >= self.need.0 && kept <= self.need.1
        }
    }

    /// Improves `best`; false if the steps ran out.
    fn search(
        &mut self,
        best: &mut Option<Cover>,
        steps: &mut usize,
        control: &Control,
    ) -> Result<bool> {
        let mut stack = vec![Node { k: 0, cost: 0.0, hit: 0.0, kept: 0.0, taken: Vec::new() }];
        while let Some(node) = stack.pop() {
            *steps += 1;
            if *steps > STEPS {
                return Ok(false);
            }
            if steps.is_multiple_of(4096) {
                control.check()?;
            }
            if best.as_ref().is_some_and(|b| node.cost >= b.cost) {
                continue;
            }
            if self.done(node.hit, node.kept) {
                let features = node.taken.iter().map(|&k| self.items[k].3).collect();
                *best = Some(Cover { cost: node.cost, features });
                continue;
            }
            if node.k == self.items.len() || self.hopeless(&node, best.as_ref()) {
                continue;
            }
            stack.extend(self.branches(node));
        }
        Ok(true)
    }

    /// The choices with and without the next feature. The last one pushed is looked at first: take what helps the lead to
    /// be used up.
    fn branches(&self, node: Node) -> [Node; 2] {
        let (hit, kept, cost, _) = self.items[node.k];
        let mut taken = node.taken.clone();
        taken.push(node.k);
        let next = node.k + 1;
        let with = Node {
            k: next,
            cost: node.cost + cost,
            hit: node.hit + hit,
            kept: node.kept + kept,
            taken,
        };
        let without = Node { k: next, ..node };
        if hit > 0.0 { [without, with] } else { [with, without] }
    }

    fn hopeless(&self, node: &Node, best: Option<&Cover>) -> bool {
        let (most, least) = self.tails[node.k];
        let slack = 1e-12 * (self.need.0 + self.need.1);
        if node.hit + most < self.need.0 - slack || node.kept + least > self.need.1 + slack {
            return true;
        }
        let limit = best.map_or(f64::INFINITY, |b| b.cost);
        self.relaxations.iter().any(|r| {
            let more = self.fractional(r, node.k, node.hit, node.kept);
            let bound = node.cost + if self.twin.whole { (more - 1e-9).ceil() } else { more };
            bound >= limit * (1.0 - 1e-13) || bound == f64::INFINITY
        })
    }
}
