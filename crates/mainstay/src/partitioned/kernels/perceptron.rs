//! The perceptron against deletions, which learns row by row: one block after the other takes its state on.

use rand::seq::SliceRandom;

use super::super::block::Block;
use super::super::drawn::draw;
use super::super::wire::{damaged, wire};
use crate::error::{Error, Result};
use crate::folds::generator;
use crate::optim::perceptron::{Learner, UpdateRule, learn_row};
use crate::uncertainty::Deletions;

/// What a block needs to go on where the block before it was.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PerceptronAsk {
    /// Value of every feature.
    pub values: Vec<f64>,
    /// Total value of the features that may go missing.
    pub budget: f64,
    /// Margin asked for.
    pub margin: f64,
    /// Half the side of the box around the weights.
    pub c: f64,
    pub intercept: bool,
    pub classes: usize,
    /// `$\tau$`.
    pub step: f64,
    /// The rows of every block are taken in an order of this seed; none is as they come.
    pub shuffle: Option<u64>,
    pub state: PerceptronStep,
}

wire!(PerceptronAsk { values, budget, margin, c, intercept, classes, step, shuffle, state });

/// Where the learners are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PerceptronStep {
    pub learners: Vec<Learner>,
    /// Rows so far, every pass counted.
    pub rounds: f64,
}

wire!(PerceptronStep { learners, rounds });
wire!(Learner { weights, intercept, changes, intercept_changes });

impl PerceptronAsk {
    /// The learners after the rows of `block`.
    pub(super) fn look(&self, block: &Block<'_>) -> Result<PerceptronStep> {
        let p = self.values.len();
        block.check_known(p, self.classes)?;
        if (0..block.len()).any(|i| block.weight(i) != 1.0) {
            return Err(Error::BadData(
                "the perceptron takes no sample weights over partitions; repeat rows, or use partial_fit with sample_weight".into(),
            ));
        }
        let mut state = self.state.clone();
        if state.learners.iter().any(|l| l.weights.len() != p || l.changes.len() != p) {
            return Err(damaged("weights of another length"));
        }
        let set = Deletions::leaving_something(self.values.clone(), self.budget)?;
        let rule = UpdateRule::new(&set, self.margin, self.c, self.intercept);
        let mut order: Vec<usize> = (0..block.len()).collect();
        if let Some(seed) = self.shuffle {
            order.shuffle(&mut generator(seed ^ draw(block.partition, 0)));
        }
        let mut items = Vec::new();
        for i in order {
            let row = block.x.row(block.rows.start + i);
            if let Some((column, value)) = row.entries().find(|(_, v)| !v.is_finite()) {
                return Err(Error::BadData(format!(
                    "partition {}, row {i}, column {column}: {value} is not a finite number; did the data change between \
                     passes?",
                    block.partition
                )));
            }
            let round = (self.step, state.rounds + 1.0);
            learn_row(&mut state.learners, (row, block.labels[i]), round, &rule, &mut items);
            state.rounds += 1.0;
        }
        Ok(state)
    }
}
