//! `mainstay show`: what a model says.

use mainstay::methods;
use mainstay::trust::{Described, ModelSummary, bootstrap};
use mainstay_io::ModelFile;

use crate::console::Console;
use crate::failure::{Ending, Outcome};
use crate::refit::{self, Asked};
use crate::trust_args::{Show, SummaryFormat};

pub(crate) fn run(args: &Show, console: &Console) -> Outcome {
    let file = ModelFile::load(&args.model)?;
    let mut refits = Vec::new();
    if let (Some(count), Some(path)) = (args.bootstrap, &args.data) {
        let count = refit::check_count("--bootstrap", count)?;
        let target = args.target.as_deref();
        let weights = args.weights.as_deref();
        let asked = Asked { path, target, weights, reading: &args.reading };
        let data = refit::training_rows(&file, &asked, console)?;
        let control = console.control("fitting again");
        refits =
            bootstrap(refit::refit(&file)?, &data, count, console.seed.unwrap_or(0), &control)?;
    }
    let summary = summary(&file, &refits)?;
    let json = args.format == SummaryFormat::Json;
    let text = match args.format {
        SummaryFormat::Markdown => summary.markdown(),
        _ => summary.text(),
    };
    console.print_as(json, &text, &summary)?;
    Ok(Ending::Done)
}

fn summary(file: &ModelFile, refits: &[mainstay::model::Model]) -> Outcome<ModelSummary> {
    let classes: Vec<String> = file.classes.names().iter().map(ToString::to_string).collect();
    let described = Described {
        method: methods::find(&file.method)?,
        params: &file.params,
        classes: &classes,
        features: &file.names_of_features(),
        target: file.target.as_deref(),
        encoder: file.encoder.as_ref(),
        fitted: &file.fitted,
        claimed: true,
    };
    Ok(ModelSummary::new(&described, refits))
}
