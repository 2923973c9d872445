//! `cargo xtask attack`: all areas one after the other, each for its share of the time.

use crate::{Outcome, root, run, venv};

const USAGE: &str = "usage: cargo xtask attack [--minutes N] [--seed S]";
/// Areas of the Rust program; the fourth is Python's.
const AREAS: [&str; 3] = ["problems", "files", "processes"];

/// Builds the attack and what it attacks, and runs every area to its end, also after a failure.
pub(crate) fn attack(args: &[&str]) -> Outcome {
    let (minutes, seed) = parsed(args)?;
    let python = venv()?;
    run("cargo", &["build", "--package", "mainstay-attack", "--package", "mainstay-cli"])?;
    run(&python, &["-m", "pip", "install", "--quiet", "."])?;
    let folder =
        std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root().join("target"), Into::into);
    let program = |name: &str| folder.join("debug").join(name).to_string_lossy().into_owned();
    let (attack, binary) = (program("mainstay-attack"), program("mainstay"));
    let (seconds, seed) = ((minutes * 60.0 / 4.0).ceil().to_string(), seed.to_string());
    let mut ends: Vec<Outcome> =
        AREAS.iter().map(|area| run(&attack, &[area, &seconds, &seed, &binary])).collect();
    ends.push(run(&python, &["python/tools/attack.py", &seconds, &seed]));
    ends.into_iter().collect()
}

fn parsed(args: &[&str]) -> Result<(f64, u64), String> {
    let (mut minutes, mut seed) = (60.0, 1);
    for pair in args.chunks(2) {
        match pair {
            ["--minutes", value] => minutes = value.parse().map_err(|_| USAGE.to_owned())?,
            ["--seed", value] => seed = value.parse().map_err(|_| USAGE.to_owned())?,
            _ => return Err(USAGE.into()),
        }
    }
    if minutes > 0.0 && minutes < 1e6 { Ok((minutes, seed)) } else { Err(USAGE.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_and_seed_are_read_in_any_order() {
        assert_eq!(parsed(&[]), Ok((60.0, 1)));
        assert_eq!(parsed(&["--seed", "7", "--minutes", "0.5"]), Ok((0.5, 7)));
        assert!(parsed(&["--minutes"]).is_err());
        assert!(parsed(&["--minutes", "-1"]).is_err());
    }
}
