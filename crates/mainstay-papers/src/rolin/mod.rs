//! Chakrabarti: ROLIN against regularisation and principal components, from few rows.

mod compare;
mod curves;
mod runs;
mod sensitivity;
mod zero_one;

use crate::experiment::{Experiment, Paper};

const DRAWS: &str = "n random training rows, the mean loss on the other rows, the mean over draws without the best and the worst \
                     tenth; strengths, components and scaling chosen by cross-validation on the training rows.";

pub(crate) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "rolin-figure-2",
        paper: Paper::Rolin,
        title: "Figure 2: wins and loss ratios",
        what: DRAWS,
        run: compare::figure_2,
    },
    Experiment {
        id: "rolin-figure-3",
        paper: Paper::Rolin,
        title: "Figure 3: wins among the competitors alone",
        what: DRAWS,
        run: compare::figure_3,
    },
    Experiment {
        id: "rolin-figure-4",
        paper: Paper::Rolin,
        title: "Figure 4: Top PCs against ROLIN",
        what: DRAWS,
        run: compare::figure_4,
    },
    Experiment {
        id: "rolin-figure-5",
        paper: Paper::Rolin,
        title: "Figure 5: three data sets up to n = 1500",
        what: DRAWS,
        run: curves::figure_5,
    },
    Experiment {
        id: "rolin-figure-6",
        paper: Paper::Rolin,
        title: "Figure 6: RobustCV against CV and CV-1-SD",
        what: "ROLIN with robust cross-validation, with the plain one, and with the one-standard-deviation rule, on the draws of \
               Figure 2.",
        run: compare::figure_6,
    },
    Experiment {
        id: "rolin-figure-7",
        paper: Paper::Rolin,
        title: "Figure 7: sensitivity to the thresholds of RobustCV",
        what: "Ten data sets, logistic loss: one of the three thresholds is changed, the others keep their defaults (5, 0.1, 0.05); \
               relative change of the trimmed mean of the test loss.",
        run: sensitivity::figure_7,
    },
    Experiment {
        id: "rolin-figure-8",
        paper: Paper::Rolin,
        title: "Figure 8: misclassification with zero-one cross-validation",
        what: "Weights by the logistic loss, hyper-parameters by the zero-one loss in cross-validation; misclassification of the others \
               less that of ROLIN.",
        run: zero_one::figure_8,
    },
    Experiment {
        id: "rolin-figure-9",
        paper: Paper::Rolin,
        title: "Figure 9: what zero-one cross-validation does to the logistic loss",
        what: "Relative change of the logistic test loss when cross-validation judges by the zero-one loss.",
        run: zero_one::figure_9,
    },
    Experiment {
        id: "rolin-figure-10",
        paper: Paper::Rolin,
        title: "Figure 10: every data set",
        what: DRAWS,
        run: curves::figure_10,
    },
];
