//! Tazi Bouardi, Ramirez: support vector machines and logistic regression on the worst rows.

mod logistic;
mod split;
mod svm;

use crate::experiment::{Experiment, Paper};

pub(crate) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "stable-table-1",
        paper: Paper::Stable,
        title: "Table 1: SVM with all training rows (k = n)",
        what: "90 % training, 10 % test; the classical SVM and the stable one with k = n; accuracy, true and false positive rate.",
        run: svm::table_1,
    },
    Experiment {
        id: "stable-table-2",
        paper: Paper::Stable,
        title: "Table 2: stable SVM over k",
        what: "The splits of Table 1; the stable SVM with k = 0.2 n, 0.4 n and 0.6 n.",
        run: svm::table_2,
    },
    Experiment {
        id: "stable-table-3",
        paper: Paper::Stable,
        title: "Table 3: variability of the SVM's coefficients",
        what: "Root mean square over features of the standard deviation of the coefficients over k = 0.2 n, 0.3 n, ..., n: the \
               classical SVM on nine random subsets of these sizes, the stable one with these k on one training set. Beside it the \
               fair comparison: both on the same nine random halves.",
        run: svm::table_3,
    },
    Experiment {
        id: "stable-table-4",
        paper: Paper::Stable,
        title: "Table 4: logistic regression, k = n/2",
        what: "90 % training, 10 % test; L1, L2 and elastic-net logistic regression against the stable one, strengths by 10-fold \
               cross-validation on the training rows.",
        run: logistic::table_4,
    },
    Experiment {
        id: "stable-table-5",
        paper: Paper::Stable,
        title: "Table 5: stable logistic regression over k (Adult)",
        what: "The splits of Table 4, lambda = 0.1, k = 0.5 n, 0.6 n and 0.7 n. (The caption says SVM.)",
        run: logistic::table_5,
    },
    Experiment {
        id: "stable-table-6",
        paper: Paper::Stable,
        title: "Table 6: variability of the logistic regression's coefficients",
        what: "As Table 3 for the logistic regression, lambda = 0.1.",
        run: logistic::table_6,
    },
];
