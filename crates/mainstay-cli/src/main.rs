//! The binary `mainstay`: everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(mainstay_cli::main_from(std::env::args_os()))
}
