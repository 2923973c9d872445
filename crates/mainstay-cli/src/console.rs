//! Standard output, progress on a terminal, and Ctrl-C.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mainstay::{Control, Error};
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
    /// Seed of everything random, if one was given.
    pub(crate) seed: Option<u64>,
}

impl Console {
    pub(crate) fn new(global: &Global) -> Self {
        Self { json: global.json, quiet: global.quiet, threads: global.threads, seed: global.seed }
    }

    /// Whether machines read the output.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Prints text for people, or `value` as one JSON object with `--json`.
    pub(crate) fn print(&self, text: &str, value: &impl Serialize) -> Outcome<()> {
        let mut out = io::stdout().lock();
        if self.json {
            let json =
                serde_json::to_string_pretty(value).map_err(|e| Failure::say(e.to_string()))?;
            writeln!(out, "{json}")?;
        } else {
            write!(out, "{text}")?;
        }
        Ok(out.flush()?)
    }

    /// Tells people something beside the result, on standard error.
    #[expect(clippy::print_stderr, reason = "notes must not mix with results")]
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            eprintln!("note: {text}");
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

    /// A control that Ctrl-C cancels and that draws a bar on a terminal.
    pub(crate) fn control(&self, what: &'static str) -> Control {
        let start = Instant::now();
        let mut control = Control::new()
            .with_threads(self.threads)
            .with_clock(move || start.elapsed().as_secs_f64());
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
        let stop = control.clone();
        // The first Ctrl-C lets the work end by itself for a moment, the second does not. Ending at once
        // loses nothing: files are written under another name and renamed when they are complete. A
        // second handler cannot be set; the first one's control then stays the one that stops.
        let _ = ctrlc::set_handler(move || {
            if stop.check().is_err() {
                failure::exit(&Error::Interrupted.into());
            }
            stop.cancel();
            std::thread::spawn(|| {
                std::thread::sleep(GRACE);
                failure::exit(&Error::Interrupted.into());
            });
        });
        control
    }
}
