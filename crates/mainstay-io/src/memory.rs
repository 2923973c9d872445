//! How much memory there is to read into: a small file may unpack to more than the machine has.

use std::fs;

use crate::error::{Error, Result};

/// Part of the available memory that read data may take; the fit needs some too.
const SHARE: f64 = 0.7;

/// What reading may still take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    left: Option<u64>,
}

impl Allowance {
    /// A share of the memory that is available now; no limit where the system does not tell.
    pub(crate) fn now() -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size")]
        let share = |bytes: u64| (bytes as f64 * SHARE) as u64;
        Self { left: available_memory().map(share) }
    }

    #[cfg(test)]
    pub(crate) fn of(bytes: u64) -> Self {
        Self { left: Some(bytes) }
    }

    /// Bytes that may still be taken.
    pub(crate) fn left(self) -> Option<u64> {
        self.left
    }

    /// Takes `bytes`; an error that names the source if there is not so much.
    pub(crate) fn take(&mut self, bytes: u64, name: &str) -> Result<()> {
        let Some(left) = &mut self.left else { return Ok(()) };
        match left.checked_sub(bytes) {
            Some(rest) => {
                *left = rest;
                Ok(())
            }
            None => Err(too_large(name)),
        }
    }
}

/// The source holds more than there is memory for.
pub(crate) fn too_large(name: &str) -> Error {
    Error::file(name, "unpacked, the data need more memory than this machine has free")
}

/// Bytes that can be had without pushing other programs out, within the limit of a container and of the environment
/// variable `MAINSTAY_MEMORY` (bytes); `None` where nobody tells.
pub fn available_memory() -> Option<u64> {
    match (stated_memory(), system_memory()) {
        (Some(asked), Some(free)) => Some(u64::min(asked, free)),
        (asked, free) => asked.or(free),
    }
}

/// The limit of the environment variable `MAINSTAY_MEMORY` (bytes), if there is one.
pub fn stated_memory() -> Option<u64> {
    std::env::var("MAINSTAY_MEMORY").ok().and_then(|text| text.trim().parse().ok())
}

fn system_memory() -> Option<u64> {
    let free = meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let limit = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current");
    Some(match (limit, used) {
        (Some(limit), Some(used)) => free.min(limit.saturating_sub(used)),
        _ => free,
    })
}

fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        assert_eq!(meminfo("MemTotal: 5 kB\nMemAvailable:     12 kB\n"), Some(12 * 1024));
        assert_eq!(meminfo("MemTotal: 5 kB\n"), None);
    }

    #[test]
    fn an_allowance_ends() {
        let mut allowance = Allowance::of(10);
        assert!(allowance.take(6, "t").is_ok() && allowance.take(4, "t").is_ok());
        let message = allowance.take(1, "t").unwrap_err().to_string();
        assert!(message.starts_with("t: unpacked, the data need more memory"), "{message}");
    }
}
