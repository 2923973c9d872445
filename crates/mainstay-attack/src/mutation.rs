//! Damage done to bytes, and the way back to the least damage that still fails.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Bytes that mean something to a reader.
const TELLING: &[u8] = b"\",;\n\r\t|:#?-+.e019\0\xff{}[] =@'\x1b";

/// One to five changes: a bit flipped, a byte replaced or put in, bytes removed, repeated, swapped or cut off.
pub fn mutate(rng: &mut ChaCha8Rng, bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..rng.random_range(1..=5) {
        if out.is_empty() {
            return out;
        }
        let at = rng.random_range(0..out.len());
        let end = (at + rng.random_range(1..=24)).min(out.len());
        let telling = TELLING[rng.random_range(0..TELLING.len())];
        match rng.random_range(0..8) {
            0 => out[at] ^= 1 << rng.random_range(0..8),
            1 => out[at] = telling,
            2 => out.insert(at, telling),
            3 => drop(out.drain(at..end)),
            4 => {
                let repeated = out[at..end].repeat(rng.random_range(1..=40));
                out.splice(at..at, repeated);
            }
            5 => {
                let other = rng.random_range(0..out.len());
                out.swap(at, other);
            }
            6 => out[at..end].fill(0xff),
            _ => out.truncate(at),
        }
    }
    out
}

/// Fewer bytes that still fail: parts are left out, half of them first, as long as `fails` agrees and `tries` last.
pub fn shrink(bytes: &[u8], mut tries: u32, mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut best = bytes.to_vec();
    let mut part = best.len() / 2;
    while part > 0 && tries > 0 {
        let mut at = 0;
        while at < best.len() && tries > 0 {
            let mut fewer = best.clone();
            fewer.drain(at..(at + part).min(best.len()));
            tries -= 1;
            if fails(&fewer) {
                best = fewer;
            } else {
                at += part;
            }
        }
        part /= 2;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_testkit::generate::rng;

    #[test]
    fn what_fails_for_one_byte_shrinks_to_that_byte() {
        let bytes = b"a,b,c\n1,2,!\n3,4,5\n";
        let least = shrink(bytes, 1000, |bytes| bytes.contains(&b'!'));
        assert_eq!(least, b"!");
    }

    #[test]
    fn the_same_seed_does_the_same_damage() {
        let damage = || mutate(&mut rng(3), b"a,b,c\n1,2,3\n");
        assert_eq!(damage(), damage());
        assert_ne!(damage(), b"a,b,c\n1,2,3\n");
    }
}
