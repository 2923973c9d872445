//! Metrics of the order in which scores put the rows.

use super::side::Side;
use super::undefined::Undefined;

/// Chance that a positive row scores above a negative one, ties counting half; `None` if one kind is absent.
pub fn auc(scores: &[f64], positive: &[bool]) -> Option<f64> {
    let mut rows: Vec<Row> = scores
        .iter()
        .zip(positive)
        .map(|(&score, &positive)| Row { score, positive, weight: 1.0 })
        .collect();
    area(&mut rows)
}

struct Row {
    score: f64,
    positive: bool,
    weight: f64,
}

fn rows(side: &Side<'_>) -> Result<Vec<Row>, Undefined> {
    side.both_sizes()?;
    let scores = side.scores()?;
    let row = |(i, score)| Row { score, positive: side.positive(i), weight: side.weight(i) };
    Ok(scores.into_iter().enumerate().map(row).filter(|row| row.weight > 0.0).collect())
}

/// Weight of the positive and of the negative rows.
fn weigh(rows: &[Row]) -> (f64, f64) {
    rows.iter().fold((0.0, 0.0), |(p, n), row| {
        if row.positive { (p + row.weight, n) } else { (p, n + row.weight) }
    })
}

fn area(rows: &mut [Row]) -> Option<f64> {
    let (positives, negatives) = weigh(rows);
    if positives <= 0.0 || negatives <= 0.0 {
        return None;
    }
    rows.sort_unstable_by(|a, b| a.score.total_cmp(&b.score));
    let (mut below, mut wins) = (0.0, 0.0);
    for tie in rows.chunk_by(|a, b| a.score == b.score) {
        let (here, others) = weigh(tie);
        wins += here * (below + others / 2.0);
        below += others;
    }
    Some(wins / (positives * negatives))
}

pub(super) fn roc(side: &Side<'_>) -> Result<f64, Undefined> {
    area(&mut rows(side)?).ok_or(Undefined::OneClass)
}

/// `$\sum_t (R_t - R_{t-1}) P_t$` over the distinct scores, from above.
pub(super) fn average_precision(side: &Side<'_>) -> Result<f64, Undefined> {
    let mut rows = rows(side)?;
    let (positives, _) = weigh(&rows);
    rows.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
    let (mut hits, mut called, mut sum) = (0.0, 0.0, 0.0);
    for tie in rows.chunk_by(|a, b| a.score == b.score) {
        let (here, others) = weigh(tie);
        hits += here;
        called += here + others;
        sum += here / positives * hits / called;
    }
    Ok(sum)
}
