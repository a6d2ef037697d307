//! Column chunks of Parquet files: a column of a piece of a table, encoded and compressed.

use bytes::Bytes;
use farlink_sim::{Column, Holds, TraceColumn};
use farlink_wire::parquet::{Encoded, Numbers, flags, indices, limits, reals, seconds, wholes};
use parquet::basic::{
    Compression, Encoding, EncodingMask, LogicalType, Repetition, Type as Physical,
};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type, TypePtr};
use std::ops::Range;
use std::sync::Arc;

/// Chunk with its description.
pub(crate) struct Chunk {
    pub(crate) bytes: Bytes,
    pub(crate) closed: ColumnCloseResult,
}

/// Rows of a column.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    Whole(Numbers<'a>),
    Real(&'a [f64]),
}

impl<'a> Part<'a> {
    pub(crate) fn of(column: &'a Column, rows: Range<usize>) -> Self {
        Self::Whole(match column {
            Column::F64(numbers) => return Self::Real(&numbers[rows]),
            Column::I64(numbers) => Numbers::I64(&numbers[rows]),
            Column::U64(numbers) => Numbers::U64(&numbers[rows]),
            Column::U32(numbers) => Numbers::U32(&numbers[rows]),
            Column::U8(numbers) => Numbers::U8(&numbers[rows]),
        })
    }
}

/// Returns the type of a column in the schema.
pub(crate) fn field(known: &TraceColumn) -> Result<Type> {
    let (physical, logical, is_optional) = match known.holds {
        Holds::Flow | Holds::Link | Holds::Name(_) | Holds::NameOrNone(_) => {
            (Physical::BYTE_ARRAY, Some(LogicalType::String), false)
        }
        Holds::Flag => (Physical::BOOLEAN, None, false),
        Holds::Whole => (Physical::INT64, None, false),
        Holds::WholeOrNone => (Physical::INT64, None, true),
        _ => (Physical::DOUBLE, None, true),
    };
    let repetition = if is_optional {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    Type::primitive_type_builder(known.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
}

/// Encodes rows of a column.
pub(crate) fn encode(
    known: &TraceColumn,
    field: &TypePtr,
    texts: &[String],
    part: Part<'_>,
) -> Result<Chunk> {
    const NONE: u64 = u64::MAX;
    let mut pages = Pages::new();
    let numbers = match part {
        Part::Whole(numbers) => numbers,
        Part::Real(numbers) => {
            pages.reals(numbers.len(), &reals(numbers))?;
            return pages.close(field);
        }
    };
    let rows = numbers.len();
    match known.holds {
        Holds::Time => pages.reals(rows, &seconds(numbers, None))?,
        Holds::TimeOrNone => pages.reals(rows, &seconds(numbers, Some(0)))?,
        Holds::TimeOrNever => pages.reals(rows, &seconds(numbers, Some(NONE)))?,
        Holds::Window | Holds::Real => pages.reals(rows, &limits(numbers, NONE))?,
        Holds::Whole => pages.wholes(rows, &wholes(numbers, None))?,
        Holds::WholeOrNone => pages.wholes(rows, &wholes(numbers, Some(NONE)))?,
        Holds::Flag => pages.flags(rows, &flags(numbers))?,
        Holds::Flow | Holds::Link | Holds::Name(_) | Holds::NameOrNone(_) => {
            pages.texts(texts, numbers)?;
        }
    }
    pages.close(field)
}

/// Encodes rows of a column of texts, which are indices into `texts`.
pub(crate) fn encode_texts(
    field: &TypePtr,
    texts: &[String],
    numbers: Numbers<'_>,
) -> Result<Chunk> {
    let mut pages = Pages::new();
    pages.texts(texts, numbers)?;
    pages.close(field)
}

/// Encodes rows of a column of real numbers, where NaN is no value.
pub(crate) fn encode_reals(field: &TypePtr, numbers: &[f64]) -> Result<Chunk> {
    let mut pages = Pages::new();
    pages.reals(numbers.len(), &reals(numbers))?;
    pages.close(field)
}

/// Pages of a chunk.
struct Pages {
    out: TrackedWrite<Vec<u8>>,
    rows: usize,
    /// Length of the page of the dictionary.
    dictionary: Option<u64>,
    /// Length before compression, with the heads of pages.
    uncompressed: usize,
    encodings: Vec<Encoding>,
    statistics: Option<Statistics>,
}

impl Pages {
    fn new() -> Self {
        Self {
            out: TrackedWrite::new(Vec::new()),
            rows: 0,
            dictionary: None,
            uncompressed: 0,
            encodings: vec![Encoding::RLE],
            statistics: None,
        }
    }

    fn reals(&mut self, rows: usize, encoded: &Encoded<f64>) -> Result<()> {
        let (least, greatest) = encoded.bounds.unzip();
        let nulls = Some(encoded.nulls as u64);
        self.statistics = Some(Statistics::double(least, greatest, None, nulls, false));
        self.data(rows, Encoding::BYTE_STREAM_SPLIT, &encoded.page)
    }

    fn wholes(&mut self, rows: usize, encoded: &Encoded<i64>) -> Result<()> {
        let (least, greatest) = encoded.bounds.unzip();
        let nulls = Some(encoded.nulls as u64);
        self.statistics = Some(Statistics::int64(least, greatest, None, nulls, false));
        self.data(rows, Encoding::DELTA_BINARY_PACKED, &encoded.page)
    }

    fn flags(&mut self, rows: usize, encoded: &Encoded<bool>) -> Result<()> {
        let (least, greatest) = encoded.bounds.unzip();
        self.statistics = Some(Statistics::boolean(least, greatest, None, Some(0), false));
        self.data(rows, Encoding::PLAIN, &encoded.page)
    }

    fn texts(&mut self, texts: &[String], numbers: Numbers<'_>) -> Result<()> {
        let (encoded, used) = indices(numbers, texts.len());
        let used: Vec<&str> = used.iter().map(|&at| texts[at].as_str()).collect();
        let mut dictionary = Vec::new();
        for text in &used {
            dictionary.extend_from_slice(&(text.len() as u32).to_le_bytes());
            dictionary.extend_from_slice(text.as_bytes());
        }
        let bound = |text: Option<&&str>| text.map(|&text| ByteArray::from(text));
        let (least, greatest) = (bound(used.iter().min()), bound(used.iter().max()));
        self.statistics = Some(Statistics::byte_array(
            least,
            greatest,
            None,
            Some(0),
            false,
        ));
        let page = Page::DictionaryPage {
            buf: compressed(&dictionary)?,
            num_values: used.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.encodings.push(Encoding::PLAIN);
        self.dictionary = Some(self.add(CompressedPage::new(page, dictionary.len()))?);
        self.data(numbers.len(), Encoding::RLE_DICTIONARY, &encoded.page)
    }

    fn data(&mut self, rows: usize, encoding: Encoding, values: &[u8]) -> Result<()> {
        self.encodings.push(encoding);
        self.rows = rows;
        let page = Page::DataPage {
            buf: compressed(values)?,
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        self.add(CompressedPage::new(page, values.len()))
            .map(|_| ())
    }

    /// Appends a page, and returns its length.
    fn add(&mut self, page: CompressedPage) -> Result<u64> {
        let written = SerializedPageWriter::new(&mut self.out).write_page(page)?;
        self.uncompressed += written.uncompressed_size;
        Ok(written.bytes_written)
    }

    fn close(self, field: &TypePtr) -> Result<Chunk> {
        let level = i16::from(field.is_optional());
        let path = ColumnPath::from(field.name());
        let descriptor = ColumnDescriptor::new(Arc::clone(field), level, 0, path);
        let bytes = Bytes::from(self.out.into_inner()?);
        let metadata = ColumnChunkMetaData::builder(Arc::new(descriptor))
            .set_compression(Compression::SNAPPY)
            .set_encodings_mask(EncodingMask::new_from_encodings(self.encodings.iter()))
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_num_values(self.rows as i64)
            .set_dictionary_page_offset(self.dictionary.map(|_| 0))
            .set_data_page_offset(self.dictionary.unwrap_or_default() as i64);
        let metadata = match self.statistics {
            Some(statistics) => metadata.set_statistics(statistics),
            None => metadata,
        };
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok(Chunk { bytes, closed })
    }
}

fn compressed(page: &[u8]) -> Result<Bytes> {
    let compressed = snap::raw::Encoder::new().compress_vec(page);
    let compressed = compressed.map_err(|error| ParquetError::External(Box::new(error)))?;
    Ok(compressed.into())
}
