//! `mainstay verify`: is the fit of a model proved?

use std::fmt::Write as _;

use mainstay::data::Dataset;
use mainstay_io::{ModelFile, ProofReport};
use serde_json::{Value, json};

use crate::console::Console;
use crate::failure::{Ending, Outcome};
use crate::refit::{self, Asked};
use crate::trust_args::Verify;

pub(crate) fn run(args: &Verify, console: &Console) -> Outcome {
    let file = ModelFile::load(&args.model)?;
    let asked = Asked {
        path: &args.data,
        target: args.target.as_deref(),
        weights: args.weights.as_deref(),
        reading: &args.reading,
    };
    let data = refit::training_rows(&file, &asked, console)?;
    let found = file.verify(&data, args.tol)?;
    console.print(&text(&file, &data, &found), &json(&file, &data, &found))?;
    Ok(if found.proved() { Ending::Done } else { Ending::NotCertified })
}

fn text(file: &ModelFile, data: &Dataset, found: &ProofReport) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line("method", file.method.clone());
    line("data", format!("{} rows, {} features", data.len(), data.n_features()));
    let classes = file.classes.names();
    for (k, one) in found.problems.iter().enumerate() {
        if found.problems.len() > 1 {
            line("class", format!("{} against the rest", classes[k]));
        }
        let claimed = format!("(the file claims {:.12})", one.claimed_objective);
        line("objective", format!("{:.12} {claimed}", one.objective));
        line("lower bound", format!("{:.12}", one.bound));
        line("proven gap", format!("{:.1e} (the file claims {:.1e})", one.gap, one.claimed_gap));
    }
    if !found.objectives_as_claimed() {
        line("note", "the objective is not the one that the file claims".into());
    }
    let (gap, tol) = (found.gap(), found.tol);
    if found.proved() {
        line(
            "proved",
            format!("no weights lower the objective by more than {gap:.1e} (asked: {tol:.1e})"),
        );
    } else {
        line("not proved", format!("the gap is {gap:.1e}, above {tol:.1e}"));
    }
    text
}

fn json(file: &ModelFile, data: &Dataset, found: &ProofReport) -> Value {
    json!({
        "method": file.method,
        "rows": data.len(),
        "features": data.n_features(),
        "proved": found.proved(),
        "gap": found.gap(),
        "tol": found.tol,
        "objectives_as_claimed": found.objectives_as_claimed(),
        "problems": found.problems,
    })
}
