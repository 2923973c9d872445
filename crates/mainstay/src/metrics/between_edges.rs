//! Rows counted by their scores, for areas under ROC curves in bounded memory.

/// Weights of rows by where their score lies among the edges: at edge `i` (place `2 i + 1`) or before it (place `2 i`).
#[derive(Debug)]
pub(super) struct BetweenEdges {
    class: usize,
    edges: Vec<f64>,
    /// Of the class, and of the others.
    counts: Vec<[f64; 2]>,
}

impl BetweenEdges {
    /// Edges that cut the given scores into about `count` equal shares.
    pub(super) fn new(scores: &[f64], class: usize, count: usize) -> Self {
        let mut sorted: Vec<f64> = scores.iter().map(|s| s + 0.0).collect();
        sorted.sort_by(f64::total_cmp);
        let step = sorted.len().div_ceil(count.max(1)).max(1);
        let mut edges: Vec<f64> = sorted.iter().copied().step_by(step).collect();
        edges.dedup();
        let counts = vec![[0.0; 2]; 2 * edges.len() + 1];
        Self { class, edges, counts }
    }

    pub(super) fn add(&mut self, truth: &[usize], scores: &[f64], weight: &dyn Fn(usize) -> f64) {
        for (i, (&t, s)) in truth.iter().zip(scores).enumerate() {
            let place = match self.edges.binary_search_by(|e| e.total_cmp(&(s + 0.0))) {
                Ok(i) => 2 * i + 1,
                Err(i) => 2 * i,
            };
            self.counts[place][usize::from(t != self.class)] += weight(i);
        }
    }

    /// Pairs within one place count half: right at an edge, where scores are equal, and at most so much off between.
    pub(super) fn area(&self) -> Option<(f64, f64)> {
        let (mut below, mut wins, mut unsure) = (0.0, 0.0, 0.0);
        let (mut positives, mut negatives) = (0.0, 0.0);
        for (place, &[here, others]) in self.counts.iter().enumerate() {
            wins += here * (below + others / 2.0);
            unsure += if place % 2 == 0 { here * others / 2.0 } else { 0.0 };
            below += others;
            positives += here;
            negatives += others;
        }
        let pairs = positives * negatives;
        (pairs > 0.0).then(|| (wins / pairs, unsure / pairs))
    }
}
