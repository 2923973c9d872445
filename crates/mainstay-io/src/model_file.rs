//! Fitted models as files; the format is described in `docs/model-file.md`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use mainstay::data::{Cells, Classes, Column, Encoded, Encoder, Missing, Table};
use mainstay::linalg::Matrix;
use mainstay::model::Fitted;
use mainstay::{Error as CoreError, methods};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::atomic::write_file;
use crate::error::{Error, Result};
use crate::reading::Input;

/// What the field `format` of every model file says.
pub const FORMAT: &str = "mainstay-model";
/// The newest version this library reads. Files that need nothing of it are written as version 1.
pub const VERSION: u32 = 3;
/// Larger files are refused unread.
pub const MAX_BYTES: u64 = 1 << 30;

/// A fitted model and everything needed to predict from raw rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// The method, by its name on the command line.
    pub method: String,
    /// Its parameters, as [`methods::Method::estimator`] takes them.
    pub params: Value,
    /// What the classes are called.
    pub classes: Classes,
    /// The column that held the labels, if they came from a table.
    pub target: Option<String>,
    /// Names of the features, if they had any.
    pub feature_names: Option<Vec<String>>,
    /// How raw columns become features, if they were raw.
    pub encoder: Option<Encoder>,
    /// The model and what its fit had to say. The certificates of a loaded file are claims: nothing has recomputed them.
    pub fitted: Fitted,
}

#[derive(Deserialize)]
struct Heading {
    format: String,
    version: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u32,
    model: ModelFile,
    #[serde(rename = "checksum")]
    _checksum: String,
}

fn bad(what: impl Into<String>) -> CoreError {
    CoreError::BadModel(format!("model file: {}", what.into()))
}

/// The last bytes of a file whose other bytes are `content`.
fn ending(content: &[u8]) -> String {
    format!(",\"checksum\":\"crc32:{:08x}\"}}\n", crc32fast::hash(content))
}

impl ModelFile {
    /// The content of the file; an error if the model is not one that could be read back.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.validate()?;
        let version = self.version();
        let mut bytes =
            format!("{{\"format\":\"{FORMAT}\",\"version\":{version},\"model\":").into_bytes();
        serde_json::to_writer(&mut bytes, self).map_err(|e| bad(e.to_string()))?;
        let ending = ending(&bytes);
        bytes.extend(ending.as_bytes());
        Ok(bytes)
    }

    /// The oldest version that can hold this model.
    fn version(&self) -> u32 {
        let plain = self.encoder.as_ref().is_none_or(Encoder::is_plain);
        if self.fitted.model.is_calibrated() {
            3
        } else if plain {
            1
        } else {
            2
        }
    }

    /// Reads the content of a file and checks all of it. Runs no code from it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let size = ending(b"").len();
        let damaged =
            || bad("its checksum is wrong; it was damaged or edited: fit or copy it again");
        let heading: Heading = match serde_json::from_slice(bytes) {
            Ok(heading) => heading,
            Err(_) if bytes.starts_with(format!("{{\"format\":\"{FORMAT}\"").as_bytes()) => {
                return Err(damaged().into());
            }
            Err(_) => return Err(bad("this is not a mainstay model").into()),
        };
        if heading.format != FORMAT {
            return Err(bad("this is not a mainstay model").into());
        }
        if heading.version > VERSION {
            return Err(bad(format!(
                "it has version {}, this program knows versions up to {VERSION}; update mainstay",
                heading.version
            ))
            .into());
        }
        let (content, end) = bytes.split_at(bytes.len().saturating_sub(size));
        if end != ending(content).as_bytes() {
            return Err(damaged().into());
        }
        let document: Document = serde_json::from_slice(bytes).map_err(|e| bad(e.to_string()))?;
        document.model.validate()?;
        Ok(document.model)
    }

    /// Writes the file, completely or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes()?;
        write_file(path, |out| out.write_all(&bytes))
    }

    /// Reads and checks a file.
    pub fn load(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let failed = |source| Error::Read { name: name.clone(), source };
        let file = File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Error::file(&name, "larger than 1 GB; this is not a mainstay model"));
        }
        Self::from_bytes(&bytes).map_err(|error| match error {
            Error::Core(source) => Error::Content { name, source },
            other => other,
        })
    }

    /// Checks that the parts fit together.
    pub fn validate(&self) -> Result<()> {
        let model = &self.fitted.model;
        methods::find(&self.method)
            .and_then(|method| method.estimator(&self.params))
            .map_err(|e| bad(e.to_string()))?;
        model.validate()?;
        let (p, k) = (model.n_features(), model.n_classes());
        Classes::new(self.classes.names().to_vec())?;
        let classes = self.classes.names().len();
        if classes != k {
            return Err(bad(format!("{classes} class names for a model of {k} classes")).into());
        }
        if let Some(names) = &self.feature_names
            && names.len() != p
        {
            let n = names.len();
            return Err(bad(format!("{n} feature names for a model of {p} features")).into());
        }
        if let Some(encoder) = &self.encoder {
            encoder.validate()?;
            let n = encoder.n_features();
            if n != p {
                return Err(bad(format!("an encoder to {n} features, a model of {p}")).into());
            }
        }
        Ok(())
    }

    /// What the features are called: `x0`, `x1`, ... where they have no names.
    pub fn names_of_features(&self) -> Vec<String> {
        let count = self.fitted.model.n_features();
        self.feature_names.clone().unwrap_or_else(|| (0..count).map(|j| format!("x{j}")).collect())
    }

    /// The features of raw rows, as the model needs them.
    ///
    /// With an encoder or feature names, columns are found by name. Without, a table must hold the
    /// features in order, beside the target; sparse rows may have fewer columns than the model.
    /// Where the method allows missing values they count as 0, unless it makes its own sense of them.
    pub fn encode(&self, input: &Input) -> Result<Encoded> {
        let mut encoded = self.encode_as_given(input)?;
        if !self.fitted.model.fills_cells() {
            encoded.features = methods::find(&self.method)?.nan.apply(encoded.features);
        }
        Ok(encoded)
    }

    fn encode_as_given(&self, input: &Input) -> Result<Encoded> {
        let plain = |features| Encoded { features, kept: None, unseen: Vec::new() };
        match (input, &self.encoder, &self.feature_names) {
            (Input::Table(table), Some(encoder), _) => Ok(encoder.encode_new(table)?),
            (Input::Table(table), None, names) => {
                let columns = self.numeric_columns(table, names.as_deref())?;
                let rows = Table::new(columns)?;
                let keep =
                    self.fitted.model.fills_cells() || methods::find(&self.method)?.allows_nan();
                let missing = if keep { Missing::Keep } else { Missing::Refuse };
                let encoder = Encoder::learn(&rows, missing)?.dense();
                Ok(encoder.encode_new(&rows).map_err(|e| table.at_place(e))?)
            }
            (Input::Sparse(_), Some(_), _) => Err(CoreError::Mismatch(
                "the model was fitted on named columns; sparse rows have no names".into(),
            )
            .into()),
            (Input::Sparse(rows), None, _) => {
                let (p, found) = (self.fitted.model.n_features(), rows.features.ncols());
                let wide = |_| {
                    let what =
                        format!("the data have {found} features, the model was fitted on {p}");
                    CoreError::Mismatch(what)
                };
                let features = rows.features.clone().with_ncols(p).map_err(wide)?;
                Ok(plain(Matrix::Sparse(features)))
            }
        }
    }

    /// Columns of numbers for a model without encoder.
    fn numeric_columns(&self, table: &Table, names: Option<&[String]>) -> Result<Vec<Column>> {
        let target = self.target.as_deref();
        let columns: Vec<&Column> = if let Some(names) = names {
            let index = table.index();
            let find = |name: &String| match index.get(name.as_str()) {
                Some(&j) => Ok(&table.columns()[j]),
                None => table.column_or_id(name),
            };
            names.iter().map(find).collect::<Result<_, _>>()?
        } else {
            table.columns().iter().filter(|c| Some(c.name.as_str()) != target).collect()
        };
        if let Some(text) = columns.iter().find(|c| matches!(c.cells, Cells::Words(_))) {
            return Err(CoreError::Mismatch(format!(
                "column `{}` holds text, but the model was fitted on numbers",
                text.name
            ))
            .into());
        }
        Ok(columns.into_iter().cloned().collect())
    }

    /// The true class of every row, from the column `target` or the one the model was fitted on.
    pub fn labels(&self, input: &Input, target: Option<&str>) -> Result<Vec<usize>> {
        match input {
            Input::Sparse(rows) => Ok(self.classes.codes(&rows.labels)?),
            Input::Table(table) => {
                let name = target.or(self.target.as_deref()).ok_or_else(|| {
                    CoreError::BadParams(
                        "the model does not know the target's name; give it".into(),
                    )
                })?;
                let column = table.column_or_id(name)?;
                Ok(self.classes.codes(column).map_err(|e| table.at_place(e))?)
            }
        }
    }
}
