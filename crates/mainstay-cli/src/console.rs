//! Standard output, progress on a terminal, and Ctrl-C.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mainstay::{Control, Error};
use mainstay_io::CsvText;
use serde::Serialize;

use crate::args::Global;
use crate::failure::{self, Failure, Outcome};

/// How long cancelled work may take to notice, in the middle of a large factorisation, say.
const GRACE: Duration = Duration::from_millis(700);

/// Where results go and how work is watched.
pub(crate) struct Console {
    json: bool,
    quiet: bool,
    threads: usize,
    /// How text is written to CSV.
    pub(crate) csv: CsvText,
    /// Whether a result goes to standard output, so that the text for people must not.
    diverted: AtomicBool,
    /// Seed of everything random, if one was given.
    pub(crate) seed: Option<u64>,
}

impl Console {
    pub(crate) fn new(global: &Global) -> Self {
        end_on_signals();
        Self {
            json: global.json,
            quiet: global.quiet,
            threads: global.threads,
            csv: if global.safe_csv { CsvText::Safe } else { CsvText::Plain },
            diverted: AtomicBool::new(false),
            seed: global.seed,
        }
    }

    /// Sends the text for people to standard error if one of the files of results is standard output.
    pub(crate) fn make_way(&self, results: &[Option<&Path>]) {
        let taken = results.iter().flatten().any(|path| path.as_os_str() == "-");
        self.diverted.store(taken, Ordering::Relaxed);
    }

    /// Whether machines read the output.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Prints text for people, or `value` as one JSON object with `--json`.
    pub(crate) fn print(&self, text: &str, value: &impl Serialize) -> Outcome<()> {
        self.print_as(false, text, value)
    }

    /// The same; `json` asks for it as `--json` does.
    pub(crate) fn print_as(&self, json: bool, text: &str, value: &impl Serialize) -> Outcome<()> {
        let mut out: Box<dyn Write> = if self.diverted.load(Ordering::Relaxed) {
            Box::new(io::stderr().lock())
        } else {
            Box::new(io::stdout().lock())
        };
        if self.json || json {
            let json =
                serde_json::to_string_pretty(value).map_err(|e| Failure::say(e.to_string()))?;
            writeln!(out, "{json}")?;
        } else {
            write!(out, "{}", failure::harmless(text))?;
        }
        Ok(out.flush()?)
    }

    /// Tells people something beside the result, on standard error.
    #[expect(clippy::print_stderr, reason = "notes must not mix with results")]
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            eprintln!("note: {}", failure::harmless(text));
        }
    }

    /// A bar with the time left, on a terminal.
    pub(crate) fn bar(&self, what: String) -> Option<ProgressBar> {
        if self.quiet || !io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {elapsed} (left {eta})");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        Some(bar)
    }

    /// Rows counted on a terminal, with their number per second.
    pub(crate) fn row_bar(&self, what: &str) -> Option<RowBar> {
        self.bar(what.to_owned()).map(RowBar)
    }

    /// A control that Ctrl-C cancels and that draws a bar on a terminal.
    pub(crate) fn control(&self, what: &'static str) -> Control {
        let mut control = self.silent_control();
        if let Some(bar) = self.bar(what.to_owned()) {
            let bar = Arc::new(bar);
            control = control.with_progress(move |done, total| {
                bar.set_length(total);
                bar.set_position(done);
                if done >= total {
                    bar.finish_and_clear();
                }
            });
        }
        control
    }

    /// A control that Ctrl-C cancels and that draws nothing.
    pub(crate) fn silent_control(&self) -> Control {
        let start = Instant::now();
        let mut control = Control::new()
            .with_threads(self.threads)
            .with_clock(move || start.elapsed().as_secs_f64());
        if let Some(bytes) = mainstay_io::available_memory() {
            control = control.with_memory(bytes);
        }
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(control.clone());
        control
    }
}

/// Rows that were read, as they are counted on a terminal.
pub(crate) struct RowBar(ProgressBar);

impl RowBar {
    /// Shows how many rows there were so far, of how many if that is known.
    pub(crate) fn show(&self, rows: u64, expected: Option<u64>) {
        let template = match expected {
            Some(_) => "{msg} {bar:30} {human_pos}/{human_len} rows, {per_sec} (left {eta})",
            None => "{msg} {human_pos} rows, {per_sec}, {elapsed}",
        };
        // Whether the total is known may turn out late.
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
        if let Some(expected) = expected {
            self.0.set_length(expected);
        }
        self.0.set_position(rows);
    }

    /// What is being done now.
    pub(crate) fn say(&self, what: &str) {
        self.0.reset();
        self.0.set_message(what.to_owned());
    }

    /// A line that stays.
    pub(crate) fn line(&self, text: &str) {
        self.0.println(text);
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// The work that a signal stops.
static CURRENT: Mutex<Option<Control>> = Mutex::new(None);

/// Ctrl-C and a request to end: the first lets work that is under way end by itself for a moment, the second does
/// not. Ending at once loses nothing: files are written under another name and renamed when they are complete.
fn end_on_signals() {
    // There is one console; were there two, the first one's handler would serve both.
    let _ = ctrlc::set_handler(|| {
        let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match current {
            Some(control) if control.check().is_ok() => {
                control.cancel();
                std::thread::spawn(|| {
                    std::thread::sleep(GRACE);
                    failure::exit(&Error::Interrupted.into());
                });
            }
            _ => failure::exit(&Error::Interrupted.into()),
        }
    });
}
