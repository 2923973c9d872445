//! Numbers, lists and structures as bytes and back: what travels between machines and into checkpoints.
//!
//! Little-endian, without padding. A reader trusts no length: what is claimed beyond the end of the bytes is refused
//! before memory is asked for.

use crate::error::{Error, Result};
use crate::linalg::Dense;

/// A value that can be written as bytes and read back.
pub(super) trait Wire: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads what [`Wire::put`] wrote.
    fn get(from: &mut Reader<'_>) -> Result<Self>;

    /// Appends values one after the other.
    fn put_all(values: &[Self], out: &mut Vec<u8>) {
        for value in values {
            value.put(out);
        }
    }

    /// Reads so many values.
    fn get_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>> {
        // Asked for at once: what grows is held twice while it does.
        let mut out = Vec::with_capacity(count.min(from.0.len() / size_of::<Self>().max(1)));
        for _ in 0..count {
            out.push(Self::get(from)?);
        }
        Ok(out)
    }
}

/// Bytes that are read from the front.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, tail) =
            self.0.split_at_checked(count).ok_or_else(|| damaged("it ends early"))?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    /// An error unless everything was read.
    pub(super) fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(damaged("there are bytes behind its end")) }
    }
}

pub(super) fn damaged(what: &str) -> Error {
    Error::BadModel(format!("a message of a partitioned fit is damaged: {what}"))
}

/// `value` behind a tag that says what it is and in which version.
pub(super) fn tagged(tag: [u8; 8], value: &impl Wire) -> Vec<u8> {
    let mut out = tag.to_vec();
    value.put(&mut out);
    out
}

/// What [`tagged`] wrote under the same tag.
pub(super) fn untagged<T: Wire>(tag: [u8; 8], bytes: &[u8], what: &str) -> Result<T> {
    let mut reader = Reader::new(bytes);
    if reader.array::<8>().ok() != Some(tag) {
        return Err(Error::BadModel(format!(
            "not {what}, or one written by another version of mainstay"
        )));
    }
    let value = T::get(&mut reader)?;
    reader.end()?;
    Ok(value)
}

impl Wire for f64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Self::from_le_bytes(from.array()?))
    }

    fn put_all(values: &[Self], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + size_of_val(values), 0);
        let (places, _) = out[start..].as_chunks_mut();
        for (place, value) in places.iter_mut().zip(values) {
            *place = value.to_le_bytes();
        }
    }

    fn get_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>> {
        let bytes = from.take(count.saturating_mul(size_of::<Self>()))?;
        Ok(bytes.as_chunks().0.iter().map(|value| Self::from_le_bytes(*value)).collect())
    }
}

impl Wire for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Self::from_le_bytes(from.array()?))
    }
}

impl Wire for usize {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u64).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Self::try_from(u64::get(from)?).map_err(|_| damaged("a count is too large"))
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        match from.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(damaged("neither yes nor no")),
        }
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend(self.as_bytes());
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let length = usize::get(from)?;
        let bytes = from.take(length)?.to_vec();
        Self::from_utf8(bytes).map_err(|_| damaged("a name is not text"))
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        T::put_all(self, out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let length = usize::get(from)?;
        // Every element takes at least a byte.
        if length > from.0.len() {
            return Err(damaged("a list is longer than the message"));
        }
        T::get_all(length, from)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(v) = self {
            v.put(out);
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        if bool::get(from)? { Ok(Some(T::get(from)?)) } else { Ok(None) }
    }
}

impl<T: Wire, const N: usize> Wire for [T; N] {
    fn put(&self, out: &mut Vec<u8>) {
        for v in self {
            v.put(out);
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let parts = (0..N).map(|_| T::get(from)).collect::<Result<Vec<T>>>()?;
        Self::try_from(parts).map_err(|_| damaged("too few parts"))
    }
}

/// A symmetric matrix, of which the lower triangle travels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Symmetric(pub Dense);

impl Wire for Symmetric {
    fn put(&self, out: &mut Vec<u8>) {
        let order = self.0.nrows();
        order.put(out);
        for i in 0..order {
            f64::put_all(&self.0.row(i)[..=i], out);
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let order = usize::get(from)?;
        if order.saturating_mul(order.saturating_add(1)) / 2 > from.0.len() / 8 {
            return Err(damaged("a matrix is larger than the message"));
        }
        let mut matrix = Dense::zeros(order, order);
        for i in 0..order {
            for j in 0..=i {
                matrix[(i, j)] = f64::get(from)?;
            }
        }
        matrix.mirror_lower();
        Ok(Self(matrix))
    }
}

/// Writes and reads the fields of a structure in the order given.
macro_rules! wire {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::partitioned::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::partitioned::wire::Wire::put(&self.$field, out);)*
            }

            fn get(from: &mut $crate::partitioned::wire::Reader<'_>) -> $crate::error::Result<Self> {
                Ok(Self { $($field: $crate::partitioned::wire::Wire::get(from)?,)* })
            }
        }
    };
}
pub(super) use wire;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Pair {
        name: String,
        values: Vec<Option<f64>>,
        matrix: Symmetric,
    }

    wire!(Pair { name, values, matrix });

    fn pair() -> Pair {
        let matrix = Dense::from_rows(2, 2, vec![1.0, 0.5, 0.5, -3.0]);
        let values = vec![Some(0.1), None, Some(f64::NEG_INFINITY)];
        Pair { name: "größe".into(), values, matrix: Symmetric(matrix) }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let bytes = tagged(*b"testpair", &pair());
        assert_eq!(untagged::<Pair>(*b"testpair", &bytes, "a pair").unwrap(), pair());
        assert!(untagged::<Pair>(*b"testpare", &bytes, "a pair").is_err());
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = tagged(*b"testpair", &pair());
        for cut in 0..bytes.len() {
            assert!(untagged::<Pair>(*b"testpair", &bytes[..cut], "a pair").is_err(), "{cut}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(untagged::<Pair>(*b"testpair", &longer, "a pair").is_err());
        // A length that no memory could hold.
        let mut huge = bytes;
        huge[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(untagged::<Pair>(*b"testpair", &huge, "a pair").is_err());
    }
}
