//! Xanthopoulos, Guarracino, Pardalos: ReGEC and its robust form under ellipsoidal noise.

mod accuracy;
mod case_study;
mod setup;

use crate::experiment::{Experiment, Paper};

const HEAT: &str = "90 % of the rows train, 10 % are tested after a random move on the surface of their ellipsoids (semi-axes 0.1, \
                    alpha along one feature); accuracy of ReGEC and of Algorithm 1 for every xi and alpha; 50 repetitions.";

pub(crate) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "regec-figure-2",
        paper: Paper::Regec,
        title: "Section 4.1 and Figure 2: three points per class",
        what: "The two classes of Eq. (33), three points each, with ellipses of semi-axes alpha and beta; the objective of the \
               nominal and of the robust planes over 1000 random realisations of the points.",
        run: case_study::figure_2,
    },
    Experiment {
        id: "regec-figure-3",
        paper: Paper::Regec,
        title: "Figure 3: Pima Indians, accuracy over xi and alpha",
        what: HEAT,
        run: |context| accuracy::heat(context, "pima"),
    },
    Experiment {
        id: "regec-figure-4",
        paper: Paper::Regec,
        title: "Figure 4: Iris, accuracy over xi and alpha",
        what: HEAT,
        run: |context| accuracy::heat(context, "iris"),
    },
    Experiment {
        id: "regec-figure-5",
        paper: Paper::Regec,
        title: "Figure 5: Wine, accuracy over xi and alpha",
        what: HEAT,
        run: |context| accuracy::heat(context, "wine"),
    },
    Experiment {
        id: "regec-figure-6",
        paper: Paper::Regec,
        title: "Figure 6: NDC, accuracy over xi and alpha",
        what: HEAT,
        run: |context| accuracy::heat(context, "ndc"),
    },
    Experiment {
        id: "regec-figure-7",
        paper: Paper::Regec,
        title: "Figure 7: against the support vector machine and its robust form",
        what: "The splits and the noise of Figures 3 to 6; nominal ReGEC and SVM against robust ReGEC (xi chosen in training) and the \
               robust SVM (its constant chosen on held-out rows), over alpha.",
        run: accuracy::figure_7,
    },
];
