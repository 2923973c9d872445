//! Generators and oracles for the tests. On plain slices, and without a dependency on `mainstay`, so
//! that nothing here can share a mistake with the code under test.

pub mod cone;
pub mod exact;
pub mod generate;
pub mod hostile;
pub mod nasty;
pub mod objective;
pub mod rolin;
