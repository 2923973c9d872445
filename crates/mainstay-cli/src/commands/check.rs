//! `mainstay check`: a look at a table before it is fitted.

use std::fmt::Write as _;

use mainstay::data::{ColumnSurvey, Missing, Survey, Treatment, shell_word, visible};
use mainstay_io::Input;
use serde_json::json;

use crate::args::Check;
use crate::console::Console;
use crate::data_args::Reading;
use crate::failure::{Ending, Failure, Outcome};
use crate::input;

pub(crate) fn run(args: &Check, console: &Console) -> Outcome {
    let (loaded, notes) = input::read(args.data.as_deref(), &args.reading, std::iter::empty())?;
    let Input::Table(mut table) = loaded else {
        return Err(Failure::say("check looks at columns; a LIBSVM file has none"));
    };
    table.set_ids(&args.encoding.id)?;
    for name in input::dropped(&table, &args.encoding.drop) {
        table.take(&name)?;
    }
    let demo = args.data.is_none().then_some(input::DEMO_TARGET);
    let target = args.target.as_deref().or(demo);
    let options = input::encoder_options(&args.encoding, &args.reading, Missing::Keep)?;
    let survey = Survey::new(&table, target, &options)?;
    let command = command(args, &survey);
    let mut value = json!(survey);
    value["notes"] = json!(notes);
    value["command"] = json!(command);
    console.print(&text(&survey, &notes, &command), &value)?;
    Ok(Ending::Done)
}

fn text(survey: &Survey, notes: &[String], command: &str) -> String {
    let mut text = format!("{} rows, {} columns\n\n", survey.rows, survey.columns.len());
    let length = |c: &ColumnSurvey| visible(&c.name).chars().count();
    let width = survey.columns.iter().map(length).max().unwrap_or(0).clamp(6, 30);
    let _ = writeln!(
        text,
        "{:<width$}  {:<8} {:>7} {:>8}  {:<34} fit",
        "column", "holds", "missing", "distinct", "range or top categories"
    );
    for column in &survey.columns {
        let _ = writeln!(
            text,
            "{:<width$}  {:<8} {:>7} {:>8}  {:<34} {}",
            visible(&column.name),
            column.kind,
            column.missing,
            column.distinct,
            content(column),
            visible(&becomes(column))
        );
    }
    if let Some(target) = &survey.target {
        let classes: Vec<String> =
            target.classes.iter().map(|c| format!("{} ({})", c.label, c.rows)).collect();
        let line = format!("classes of `{}`: {}", target.name, classes.join(", "));
        let _ = writeln!(text, "\n{}", visible(&line));
    }
    for note in notes {
        let _ = writeln!(text, "note: {}", visible(note));
    }
    if !survey.remarks.is_empty() {
        text.push_str("\nLook at:\n");
        for remark in &survey.remarks {
            let _ = writeln!(text, "- {}", visible(remark));
        }
    }
    let _ = writeln!(text, "\nnext: {command}");
    text
}

fn content(column: &ColumnSurvey) -> String {
    if let Some((low, high)) = column.range {
        return format!("{low} to {high}");
    }
    let top: Vec<String> = column.top.iter().map(|(word, n)| format!("{word} ({n})")).collect();
    let line = top.join(", ");
    let line = visible(&line);
    if line.chars().count() <= 34 {
        line.into_owned()
    } else {
        line.chars().take(33).collect::<String>() + "…"
    }
}

fn becomes(column: &ColumnSurvey) -> String {
    let Some(plan) = &column.plan else { return "stops: see below".into() };
    match plan.treatment {
        Treatment::Number | Treatment::Indicators(1) => "1 feature".into(),
        Treatment::Days => format!("1 feature: {}", plan.why),
        Treatment::Indicators(count) => format!("{count} features"),
        Treatment::LeftOut => format!("left out: {}", plan.why),
    }
}

/// The `fit` command that follows from what was found.
fn command(args: &Check, survey: &Survey) -> String {
    let mut words = vec!["mainstay".to_owned(), "fit".into()];
    words.extend(args.data.as_ref().map(|path| path.to_string_lossy().into_owned()));
    if args.data.is_some() {
        let target = survey.target.as_ref().map_or("COLUMN", |t| t.name.as_str());
        words.extend(["--target".into(), target.to_owned()]);
    }
    words.extend(input::encoding_flags(&args.encoding));
    let strays = survey.columns.iter().filter_map(|c| c.stray_word.clone());
    let known = args.reading.na.clone();
    let mut gaps: Vec<String> = known.into_iter().chain(strays).collect();
    gaps.sort();
    gaps.dedup();
    let na = Some(gaps.join(",")).filter(|gaps| !gaps.is_empty());
    words.extend(input::reading_flags(&Reading { na, ..args.reading.clone() }));
    // What stops `fit` is left out too, so that the command runs as it stands; the remarks say how to mend it instead.
    let stops = |c: &ColumnSurvey| c.problem.is_some() && c.stray_word.is_none();
    let useless = |c: &ColumnSurvey| stops(c) || c.constant || c.leak;
    let spares = !survey.columns.iter().all(useless);
    let dropped = survey.columns.iter().filter(|c| if spares { useless(c) } else { stops(c) });
    let dropped: Vec<&str> = dropped.map(|c| c.name.as_str()).collect();
    // One list where no name holds what separates them, otherwise one flag for each.
    let apart = if dropped.iter().any(|name| name.contains(',')) { 1 } else { dropped.len() };
    for names in dropped.chunks(apart.max(1)) {
        words.extend(["--drop".into(), names.join(",")]);
    }
    let kept =
        |c: &&ColumnSurvey| c.plan.as_ref().is_some_and(|p| p.treatment != Treatment::LeftOut);
    let has_gaps = |c: &ColumnSurvey| c.stray_word.is_some();
    if survey.columns.iter().any(has_gaps)
        || survey.columns.iter().filter(kept).any(|c| c.missing > 0)
    {
        words.extend(["--impute".into(), "median".into()]);
    }
    if survey.target.as_ref().is_some_and(|t| t.missing > 0) && !args.encoding.drop_unlabelled {
        words.push("--drop-unlabelled".into());
    }
    words.extend(["-o".into(), "model.json".into()]);
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}
