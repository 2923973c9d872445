//! The numbers of a matrix: its own, or lent by whoever keeps them alive.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

#[derive(Clone)]
pub(super) enum Storage {
    Own(Vec<f64>),
    /// Memory of somebody else (an array of Python, say), valid for as long as `owner` lives.
    Lent {
        data: &'static [f64],
        owner: Arc<dyn Any + Send + Sync>,
    },
}

impl Storage {
    /// The numbers, to be changed; lent ones are copied first.
    #[inline]
    pub(super) fn make_own(&mut self) -> &mut [f64] {
        if let Self::Lent { data, .. } = self {
            *self = Self::Own(data.to_vec());
        }
        match self {
            Self::Own(values) => values,
            // Not reached: it was copied above.
            Self::Lent { .. } => &mut [],
        }
    }

    pub(super) fn into_own(self) -> Vec<f64> {
        match self {
            Self::Own(values) => values,
            Self::Lent { data, owner } => {
                let copy = data.to_vec();
                drop(owner);
                copy
            }
        }
    }
}

impl Deref for Storage {
    type Target = [f64];

    #[inline]
    fn deref(&self) -> &[f64] {
        match self {
            Self::Own(values) => values,
            Self::Lent { data, .. } => data,
        }
    }
}

impl From<Vec<f64>> for Storage {
    fn from(values: Vec<f64>) -> Self {
        Self::Own(values)
    }
}

impl Default for Storage {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl PartialEq for Storage {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
