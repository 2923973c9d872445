//! What an adversary, or plain measurement error, may do to a row; support functions and worst cases.

pub mod ellipsoid;
