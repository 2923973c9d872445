//! Cross-validation that starts near a choice that is known from similar data.

use super::grid::{Scores, TIE};
use crate::control::Control;
use crate::error::Result;
use crate::folds::Split;

/// Candidates along one parameter, and where to look first.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    count: usize,
    start: Option<usize>,
}

impl Search {
    /// Candidates in the order of their `values`, which are positive and rise or fall; the search begins at the one nearest to
    /// `known`, by their ratio.
    pub fn along(values: &[f64], known: Option<f64>) -> Self {
        Self { count: values.len(), start: known.and_then(|known| nearest(values, known)) }
    }

    /// Scores of the candidates, and the one that `take` takes. `judge` gives the scores on a split of the candidates it is asked
    /// for, or `None` where the split cannot judge them: a split that cannot judge the first ones has no say at all, and a candidate
    /// that a split with a say cannot judge is not taken.
    ///
    /// Without a start all are asked for. With one, it and its neighbours are, and then, as long as the best one (or one
    /// that ties with it) has neighbours that were not looked at, these: where the scores rise to one plateau and fall again the
    /// choice is that of the full search. Candidates that were not looked at have scores that are not numbers.
    pub fn run(
        &self,
        splits: &[Split],
        control: &Control,
        judge: impl Fn(&Split, &[usize]) -> Result<Option<Vec<f64>>> + Sync,
        take: impl Fn(&Scores) -> Result<usize>,
    ) -> Result<(Scores, usize)> {
        let mut seen = vec![false; self.count];
        let mut known: Vec<Option<Vec<f64>>> = vec![Some(vec![f64::NAN; self.count]); splits.len()];
        let mut wanted: Vec<usize> = match self.start {
            Some(start) => around(&[start], &seen),
            None => (0..self.count).collect(),
        };
        loop {
            let found = Scores::on(splits, control, |split| judge(split, &wanted))?;
            let first = !seen.contains(&true);
            for (known, found) in known.iter_mut().zip(found) {
                match (known.as_mut(), found) {
                    (Some(row), Some(found)) => {
                        wanted.iter().zip(found).for_each(|(&k, score)| row[k] = score);
                    }
                    // What it said of others before still holds.
                    (Some(_), None) if !first => {}
                    _ => *known = None,
                }
            }
            for &k in &wanted {
                seen[k] = true;
            }
            let scores = Scores::from_splits(known.iter().flatten().cloned().collect())?;
            let best = take(&scores)?;
            wanted = around(&tied(&scores, best), &seen);
            if wanted.is_empty() {
                return Ok((scores, best));
            }
        }
    }
}

/// The candidates and those beside them that were not `seen`, ascending.
fn around(candidates: &[usize], seen: &[bool]) -> Vec<usize> {
    let near = |k: &usize| candidates.iter().any(|&other| other.abs_diff(*k) <= 1);
    (0..seen.len()).filter(|k| !seen[*k] && near(k)).collect()
}

/// The candidate `best` and those with the same score.
fn tied(scores: &Scores, best: usize) -> Vec<usize> {
    let means = scores.means();
    let alike = |k: &usize| (means[*k] - means[best]).abs() <= TIE * means[best].abs();
    (0..means.len()).filter(|k| *k == best || alike(k)).collect()
}

/// The position of the value nearest to `known` by their ratio; none if `known` is not positive.
fn nearest(values: &[f64], known: f64) -> Option<usize> {
    let away = |k: &usize| (values[*k] / known).ln().abs();
    let usable = known > 0.0 && known.is_finite();
    (0..values.len()).filter(|_| usable).min_by(|a, b| away(a).total_cmp(&away(b)))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// One split whose scores are `curve`: the choice, and what was looked at.
    fn search(curve: &[f64], start: Option<usize>) -> (usize, Vec<usize>) {
        let asked = Mutex::new(Vec::new());
        let values: Vec<f64> = (1..=curve.len()).map(|k| k as f64).collect();
        let search = Search::along(&values, start.map(|k| values[k]));
        let judge = |_: &Split, wanted: &[usize]| {
            asked.lock().map_err(|_| crate::Error::Interrupted)?.extend_from_slice(wanted);
            Ok(Some(wanted.iter().map(|&k| curve[k]).collect()))
        };
        let split = [Split { train: vec![0], holdout: vec![1] }];
        let take = |scores: &Scores| scores.best(|a, b| b.cmp(&a));
        let (_, best) = search.run(&split, &Control::new(), judge, take).unwrap();
        let mut asked = asked.into_inner().unwrap();
        asked.sort_unstable();
        (best, asked)
    }

    /// From every start, over plateaus at the top as well, and nothing is judged twice.
    #[test]
    fn where_scores_rise_and_fall_once_the_choice_is_that_of_the_full_search() {
        let curves: [&[f64]; 5] = [
            &[0.1, 0.2, 0.5, 0.7, 0.6, 0.3],
            &[0.9, 0.8, 0.7, 0.6, 0.5, 0.4],
            &[0.1, 0.2, 0.3, 0.4, 0.5, 0.9],
            &[0.1, 0.8, 0.8, 0.8, 0.8, 0.3],
            &[0.5],
        ];
        for curve in curves {
            let (full, all) = search(curve, None);
            assert_eq!(all, (0..curve.len()).collect::<Vec<_>>());
            for start in 0..curve.len() {
                let (best, asked) = search(curve, Some(start));
                assert_eq!(best, full, "{curve:?} from {start}");
                assert!(asked.windows(2).all(|pair| pair[0] < pair[1]), "{asked:?}");
            }
        }
    }

    /// The first split would take the last candidate, which the second cannot judge: what it said of the others still counts.
    #[test]
    fn a_candidate_that_a_split_cannot_judge_is_not_taken() {
        let splits = [0, 1].map(|k| Split { train: vec![k], holdout: vec![2] });
        let curves = [[0.1, 0.2, 0.3, 0.9], [0.1, 0.6, 0.5, f64::NAN]];
        let judge = |split: &Split, wanted: &[usize]| {
            let curve = curves[split.train[0]];
            let found = wanted.iter().map(|&k| curve[k]).collect::<Vec<f64>>();
            Ok(Some(found).filter(|found| !found.iter().any(|score| score.is_nan())))
        };
        let search = Search::along(&[1.0, 2.0, 3.0, 4.0], Some(2.0));
        let take = |scores: &Scores| scores.best(|a, b| b.cmp(&a));
        let (scores, best) = search.run(&splits, &Control::new(), judge, take).unwrap();
        assert_eq!(best, 1);
        assert_eq!(scores.means()[..3], [0.1, 0.4, 0.4]);
        assert!(scores.means()[3].is_nan());
    }

    #[test]
    fn a_start_at_the_best_looks_at_its_neighbours_alone() {
        assert_eq!(search(&[0.1, 0.2, 0.5, 0.7, 0.6, 0.3], Some(3)), (3, vec![2, 3, 4]));
        assert_eq!(search(&[0.9, 0.8, 0.7, 0.6], Some(0)), (0, vec![0, 1]));
    }

    #[test]
    fn the_start_is_the_nearest_by_ratio() {
        assert_eq!(nearest(&[100.0, 10.0, 1.0], 29.0), Some(1));
        assert_eq!(nearest(&[100.0, 10.0, 1.0], 35.0), Some(0));
        assert_eq!(nearest(&[1.0], 0.0), None);
        assert_eq!(nearest(&[], 1.0), None);
    }
}
