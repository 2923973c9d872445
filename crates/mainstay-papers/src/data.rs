//! Data sets by name: where the original is, and how a file becomes rows.

use std::path::{Path, PathBuf};

use mainstay::data::{Classes, Dataset, Encoder, Missing};
use mainstay_io::{Input, ReadOptions, Source};

use crate::error::{Error, Result};

/// A data set of the papers: `NAME.csv.gz` or `NAME.csv`, a header, the class in the column `target`.
#[derive(Debug, Clone, Copy)]
pub struct Set {
    /// Name of the file without its extension.
    pub name: &'static str,
    /// What it is called where it comes from.
    pub title: &'static str,
    /// Where to get the original.
    pub source: &'static str,
    /// What is done about missing cells.
    missing: Missing,
    /// Columns left out.
    drop: &'static [&'static str],
    /// The class that is told from the rest in a two-class task; none is the largest.
    positive: Option<&'static str>,
}

const fn set(name: &'static str, title: &'static str, source: &'static str) -> Set {
    Set { name, title, source, missing: Missing::Refuse, drop: &[], positive: None }
}

const fn mending(set: Set, missing: Missing) -> Set {
    Set { missing, ..set }
}

/// Every data set that an experiment may ask for.
pub const SETS: &[Set] = &[
    mending(set("adult", "Adult", "https://archive.ics.uci.edu/dataset/2"), Missing::Drop),
    set("arcene", "Arcene", "https://archive.ics.uci.edu/dataset/167"),
    set(
        "australian",
        "Statlog (Australian Credit Approval)",
        "https://archive.ics.uci.edu/dataset/143",
    ),
    set("bank_marketing", "Bank Marketing, bank.csv", "https://archive.ics.uci.edu/dataset/222"),
    set("banknote", "Banknote Authentication", "https://archive.ics.uci.edu/dataset/267"),
    mending(
        set(
            "breast_cancer_ljubljana",
            "Breast Cancer (Ljubljana)",
            "https://archive.ics.uci.edu/dataset/14",
        ),
        Missing::Drop,
    ),
    set(
        "climate_crashes",
        "Climate Model Simulation Crashes",
        "https://archive.ics.uci.edu/dataset/252",
    ),
    set(
        "credit_default",
        "Default of Credit Card Clients",
        "https://archive.ics.uci.edu/dataset/350",
    ),
    Set {
        drop: &["cluster_ID", "game_mode", "game_type"],
        ..set("dota2", "Dota2 Games Results", "https://archive.ics.uci.edu/dataset/367")
    },
    set("eeg_eye_state", "EEG Eye State", "https://archive.ics.uci.edu/dataset/264"),
    set("facial", "Grammatical Facial Expressions", "https://archive.ics.uci.edu/dataset/317"),
    set("gas_drift", "Gas Sensor Array Drift", "https://archive.ics.uci.edu/dataset/224"),
    set(
        "german_numeric",
        "Statlog (German Credit), numeric",
        "https://archive.ics.uci.edu/dataset/144",
    ),
    set("glass", "Glass Identification", "https://archive.ics.uci.edu/dataset/42"),
    set("heart_statlog", "Statlog (Heart)", "https://archive.ics.uci.edu/dataset/145"),
    set(
        "hydraulic_ts",
        "Condition Monitoring of Hydraulic Systems",
        "https://archive.ics.uci.edu/dataset/447",
    ),
    mending(
        set("ilpd", "Indian Liver Patient", "https://archive.ics.uci.edu/dataset/225"),
        Missing::Mean,
    ),
    set("immunotherapy", "Immunotherapy", "https://archive.ics.uci.edu/dataset/428"),
    set("ionosphere", "Ionosphere", "https://archive.ics.uci.edu/dataset/52"),
    set("iris", "Iris", "https://archive.ics.uci.edu/dataset/53"),
    set("isolet5", "ISOLET", "https://archive.ics.uci.edu/dataset/54"),
    set("kr_vs_kp", "Chess (King-Rook vs. King-Pawn)", "https://archive.ics.uci.edu/dataset/22"),
    set("madelon", "Madelon", "https://archive.ics.uci.edu/dataset/171"),
    set("magic", "MAGIC Gamma Telescope", "https://archive.ics.uci.edu/dataset/159"),
    set("mnist_4v7", "MNIST, the digits 4 and 7", "http://yann.lecun.com/exdb/mnist"),
    // A missing category leaves all its indicators 0.
    mending(set("mushroom", "Mushroom", "https://archive.ics.uci.edu/dataset/73"), Missing::Keep),
    set("musk1", "Musk (Version 1)", "https://archive.ics.uci.edu/dataset/74"),
    set("musk2", "Musk (Version 2)", "https://archive.ics.uci.edu/dataset/75"),
    set("occupancy", "Occupancy Detection", "https://archive.ics.uci.edu/dataset/357"),
    set("parkinsons", "Parkinsons", "https://archive.ics.uci.edu/dataset/174"),
    set("pima", "Pima Indians Diabetes (formerly at UCI)", "https://www.openml.org/d/37"),
    set("qsar_biodeg", "QSAR Biodegradation", "https://archive.ics.uci.edu/dataset/254"),
    Set {
        positive: Some("1"),
        ..set("seizure", "Epileptic Seizure Recognition", "https://archive.ics.uci.edu/dataset/388")
    },
    set("sonar", "Connectionist Bench (Sonar)", "https://archive.ics.uci.edu/dataset/151"),
    set("spambase", "Spambase", "https://archive.ics.uci.edu/dataset/94"),
    set("wdbc", "Breast Cancer Wisconsin (Diagnostic)", "https://archive.ics.uci.edu/dataset/17"),
    set("wine", "Wine", "https://archive.ics.uci.edu/dataset/109"),
    mending(
        set(
            "wpbc",
            "Breast Cancer Wisconsin (Prognostic)",
            "https://archive.ics.uci.edu/dataset/16",
        ),
        Missing::Mean,
    ),
];

impl Set {
    /// The set called `name`; a name that no table knows has no file anywhere.
    pub(crate) fn find(name: &'static str) -> Self {
        let unknown = set(name, name, "not known");
        SETS.iter().find(|set| set.name == name).copied().unwrap_or(unknown)
    }

    /// Its file in `folder`.
    pub(crate) fn path(self, folder: &Path) -> Option<PathBuf> {
        let with = |end: &str| folder.join(format!("{}.{end}", self.name));
        [with("csv.gz"), with("csv")].into_iter().find(|path| path.is_file())
    }
}

/// A data set in memory.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// Features (categories as indicators) and classes, in the order of their names.
    pub data: Dataset,
    /// Class index that a two-class task tells from the rest.
    positive: usize,
}

impl Named {
    /// As it is if there are two classes; otherwise one class (the largest, if none is named) against the rest.
    pub fn binary(&self) -> Result<Dataset> {
        if self.data.n_classes() == 2 {
            return Ok(self.data.clone());
        }
        let labels = self.data.labels().iter().map(|&l| usize::from(l == self.positive)).collect();
        Ok(Dataset::new(self.data.features().clone(), labels, 2)?)
    }
}

/// Reads a file; categorical columns become indicators.
pub(crate) fn load(set: Set, path: &Path) -> Result<Named> {
    let name = path.display().to_string();
    let content = |source| Error::Io(mainstay_io::Error::Content { name: name.clone(), source });
    let Input::Table(mut table) = mainstay_io::read(&Source::new(path), &ReadOptions::default())?
    else {
        let source = mainstay::Error::BadData("a table with a header is needed".into());
        return Err(content(source));
    };
    let mut labels = table.take("target").map_err(content)?;
    for column in set.drop {
        table.take(column).map_err(content)?;
    }
    let encoder = Encoder::learn(&table, set.missing).map_err(content)?;
    let encoded = encoder.encode(&table).map_err(content)?;
    if let Some(rows) = &encoded.kept {
        labels = labels.select_rows(rows);
    }
    let classes = Classes::learn(&labels).map_err(content)?;
    let codes = classes.codes(&labels).map_err(content)?;
    let mut counts = vec![0; classes.names().len()];
    for &code in &codes {
        counts[code] += 1;
    }
    let named = |word: &str| classes.names().iter().position(|n| n.to_string() == word);
    let largest = (0..counts.len()).max_by_key(|&k| (counts[k], counts.len() - k));
    let positive = set.positive.and_then(named).or(largest).unwrap_or(0);
    let data = Dataset::new(encoded.features, codes, counts.len()).map_err(content)?;
    Ok(Named { name: set.name, data, positive })
}
