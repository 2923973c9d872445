use super::interior::{Limits, Solution};
use super::problem::Problem;
use super::reduce::Reduced;
use crate::error::Result;
pub(super) fn solve(p: &Problem<'_>, r: &Reduced<'_>, limits: Limits<'_>) -> Result<Solution> {
    super::interior::solve(p, r, None, limits)
}
