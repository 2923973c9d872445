//! The perceptron over partitions of rows, which are taken one after the other.

use super::estimator::{MissingPerceptron, MissingPerceptronParams, PerceptronState};
use crate::data::ClassWeight;
use crate::error::{Error, Result};
use crate::missing::values::{ValueRule, Values};
use crate::model::Fitted;
use crate::optim::perceptron::Learner;
use crate::partitioned::kernels::perceptron::{PerceptronAsk, PerceptronStep};
use crate::partitioned::{FirstLook, KernelAsk, KernelSums, Place, Task};

impl MissingPerceptronParams {
    /// The fit over partitions: one pass for each of `n_passes` after the first look, with the step of `fit`. Rows are shuffled
    /// within their partition.
    pub(crate) fn partitioned(self) -> Result<Box<dyn Task>> {
        if matches!(self.values, Values::Rule(ValueRule::MutualInfo)) {
            return Err(Error::param(
                "values",
                "mutual_info",
                "uniform or an array for data in partitions: mutual information needs all rows; learn it from a sample of them",
            ));
        }
        if self.class_weight != ClassWeight::None {
            return Err(Error::param(
                "class_weight",
                "given",
                "none for data in partitions: the perceptron takes their rows one by one and as they are",
            ));
        }
        let task = PerceptronTask {
            perceptron: self.check()?,
            state: None,
            done: 0,
            step: 0.0,
            classes: 0,
        };
        Ok(Box::new(task))
    }
}

#[derive(Debug)]
struct PerceptronTask {
    perceptron: MissingPerceptron,
    state: Option<PerceptronState>,
    /// Passes so far.
    done: usize,
    step: f64,
    classes: usize,
}

impl Task for PerceptronTask {
    fn settle(&mut self, look: &FirstLook, resume: Option<&[Place]>) -> Result<()> {
        let params = self.perceptron.params();
        self.classes = look.names.len();
        let mut state = self.perceptron.start(look.columns, self.classes)?;
        let rounds = (look.rows() * params.n_passes) as f64;
        self.step = self.perceptron.step_scale(look.columns) / rounds.sqrt();
        self.done = 0;
        if let Some(places) = resume.filter(|places| places.len() == 2 * state.learners.len()) {
            for (learner, place) in state.learners.iter_mut().zip(places.chunks_exact(2)) {
                *learner = Learner {
                    weights: place[0].point.v.clone(),
                    intercept: place[0].point.b,
                    changes: place[1].point.v.clone(),
                    intercept_changes: place[1].point.b,
                };
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a count of passes"
                )]
                let done = place[0].point.theta as usize;
                self.done = done.min(params.n_passes);
            }
            state.rounds = (look.rows() * self.done) as f64;
        }
        self.state = Some(state);
        Ok(())
    }

    fn ask(&self) -> Option<KernelAsk> {
        let (params, state) = (self.perceptron.params(), self.state.as_ref()?);
        (self.done < params.n_passes).then(|| {
            // Another order in every pass.
            let seed = params.random_state.unwrap_or(0).wrapping_add((self.done as u64) << 32);
            KernelAsk::Perceptron(PerceptronAsk {
                values: state.values.clone(),
                budget: params.budget,
                margin: params.margin,
                c: params.c,
                intercept: params.fit_intercept,
                classes: self.classes,
                step: self.step,
                shuffle: params.shuffle.then_some(seed),
                state: PerceptronStep { learners: state.learners.clone(), rounds: state.rounds },
            })
        })
    }

    fn absorb(&mut self, answer: KernelSums) -> Result<()> {
        let (KernelSums::Perceptron(answer), Some(state)) = (answer, &mut self.state) else {
            return Err(Error::Mismatch("an answer to a question that was not asked".into()));
        };
        state.learners = answer.learners;
        state.rounds = answer.rounds;
        self.done += 1;
        Ok(())
    }

    fn gap(&self) -> f64 {
        f64::INFINITY
    }

    /// Weights and changes of every learner, the passes so far in place of a threshold.
    fn places(&self) -> Vec<Place> {
        let learners = self.state.iter().flat_map(|state| &state.learners);
        let both = |l: &Learner| {
            let mut weights = Place::at(l.weights.clone(), l.intercept);
            weights.point.theta = self.done as f64;
            [weights, Place::at(l.changes.clone(), l.intercept_changes)]
        };
        learners.flat_map(both).collect()
    }

    fn finish(&self, passes: usize) -> Result<Fitted> {
        let Some(state) = &self.state else {
            return Err(Error::Numerical("a fit without rows".into()));
        };
        let mut fitted = state.fitted(passes)?;
        fitted.route = vec!["partitions".into()];
        Ok(fitted)
    }
}
