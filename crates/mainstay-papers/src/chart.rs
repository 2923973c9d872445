use serde::{Deserialize, Serialize};

/// How a panel is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Lines with points.
    Lines,
    /// Groups of bars; x counts the groups.
    Bars,
    /// A grid of coloured cells: one series per row, the last on top.
    Heat,
}

/// A curve, a set of bars or a row of cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// (x, y).
    pub points: Vec<(f64, Option<f64>)>,
}

impl Series {
    /// A named curve; values that are not finite are gaps.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let gap = |(x, y): (f64, f64)| (x, y.is_finite().then_some(y));
        Self { name: name.into(), points: points.into_iter().map(gap).collect() }
    }

    /// The points that are there.
    pub(crate) fn known(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().filter_map(|&(x, y)| Some((x, y?)))
    }
}

/// One panel of a plot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// How it is drawn.
    pub kind: Kind,
    /// What x is.
    pub x: String,
    /// What y is (the colour, in a grid of cells).
    pub y: String,
    /// Names of x where it counts groups.
    pub groups: Vec<String>,
    /// Logarithmic y.
    pub log: bool,
    /// The data.
    pub series: Vec<Series>,
}

impl Chart {
    /// Lines over numbers.
    pub fn lines(
        title: impl Into<String>,
        x: impl Into<String>,
        y: impl Into<String>,
        series: Vec<Series>,
    ) -> Self {
        Self {
            title: title.into(),
            kind: Kind::Lines,
            x: x.into(),
            y: y.into(),
            groups: Vec::new(),
            log: false,
            series,
        }
    }

    /// Bars in named groups.
    pub fn bars(
        title: impl Into<String>,
        y: impl Into<String>,
        groups: Vec<String>,
        series: Vec<Series>,
    ) -> Self {
        let kind = Kind::Bars;
        Self {
            title: title.into(),
            kind,
            x: String::new(),
            y: y.into(),
            groups,
            log: false,
            series,
        }
    }

    /// The same with evenly spaced x that has names.
    #[must_use]
    pub fn over(mut self, groups: Vec<String>) -> Self {
        self.groups = groups;
        self
    }

    /// The same as a grid of cells.
    #[must_use]
    pub fn heat(mut self) -> Self {
        self.kind = Kind::Heat;
        self
    }

    /// The same with a logarithmic y.
    #[must_use]
    pub fn log(mut self) -> Self {
        self.log = true;
        self
    }
}
