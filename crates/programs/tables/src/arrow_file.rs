//! A table as an Arrow IPC file, not compressed: readers map it, and copy nothing.
//!
//! Layout: the batches, then one dictionary for each column of texts, then the footer with the
//! places of all of them. The words of a table are known at its end, and not every reader takes a
//! dictionary in parts. The format demands no order, since readers begin with the footer.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::{
    Block, FooterBuilder, MetadataVersion,
    convert::{IpcSchemaEncoder, metadata_to_fb},
    writer::{
        DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, IpcWriteOptions,
        write_message,
    },
};
use arrow_schema::{Metadata, SchemaRef};
use flatbuffers::FlatBufferBuilder;

use crate::{BatchSink, TableError};

const MAGIC: &[u8; 6] = b"ARROW1";

/// Parts of a file begin at multiples of this, as the default of the library has it.
const ALIGNMENT: usize = 64;

/// The end of the messages.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// An Arrow file that takes batches.
pub struct ArrowFile<W: Write> {
    output: W,
    schema: SchemaRef,
    options: IpcWriteOptions,
    generator: IpcDataGenerator,
    context: IpcWriteContext,
    /// Those of the batches, which are not written with them.
    tracker: DictionaryTracker,
    /// The last batch without its rows: it has all words so far.
    words: RecordBatch,
    offset: usize,
    batches: Vec<Block>,
}

impl<W: Write> std::fmt::Debug for ArrowFile<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowFile").field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl<W: Write> ArrowFile<W> {
    /// Begins a file.
    pub fn new(mut output: W, schema: SchemaRef) -> Result<Self, TableError> {
        let mut magic = [0; ALIGNMENT];
        magic[..MAGIC.len()].copy_from_slice(MAGIC);
        output.write_all(&magic)?;
        let (options, generator) = (IpcWriteOptions::default(), IpcDataGenerator::default());
        let mut tracker = DictionaryTracker::new(false);
        let message =
            generator.schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &options);
        let mut file = Self {
            output,
            words: RecordBatch::new_empty(schema.clone()),
            schema,
            options,
            generator,
            context: IpcWriteContext::default(),
            tracker,
            offset: magic.len(),
            batches: Vec::new(),
        };
        file.message(message)?;
        Ok(file)
    }

    /// Completes the file with entries of its metadata, and returns the output.
    pub fn finish(mut self, metadata: &[(String, String)]) -> Result<W, TableError> {
        let mut tracker = DictionaryTracker::new(false);
        // It gives the columns their numbers.
        self.generator.schema_to_bytes_with_dictionary_tracker(
            &self.schema,
            &mut tracker,
            &self.options,
        );
        let Self { generator, words, options, context, .. } = &mut self;
        let (dictionaries, _) = generator.encode(words, &mut tracker, options, context)?;
        let dictionaries = dictionaries.into_iter().map(|words| self.message(words));
        let dictionaries = dictionaries.collect::<Result<Vec<_>, _>>()?;
        self.output.write_all(&END)?;
        let footer = self.footer(&dictionaries, metadata);
        self.output.write_all(&footer)?;
        // A footer has some bytes for each batch.
        self.output.write_all(&(footer.len() as i32).to_le_bytes())?;
        self.output.write_all(MAGIC)?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// Writes a message, and returns its place.
    fn message(&mut self, message: EncodedData) -> Result<Block, TableError> {
        let (head, body) = write_message(&mut self.output, message, &self.options)?;
        let block = Block::new(self.offset as i64, head as i32, body as i64);
        self.offset += head + body;
        Ok(block)
    }

    fn footer(&self, dictionaries: &[Block], metadata: &[(String, String)]) -> Vec<u8> {
        let mut builder = FlatBufferBuilder::new();
        let dictionaries = builder.create_vector(dictionaries);
        let batches = builder.create_vector(&self.batches);
        let mut tracker = DictionaryTracker::new(false);
        let schema = IpcSchemaEncoder::new()
            .with_dictionary_tracker(&mut tracker)
            .schema_to_fb_offset(&mut builder, &self.schema);
        let mut entries = Metadata::default();
        for (key, value) in metadata {
            entries.insert(key.clone(), value.clone());
        }
        let entries = metadata_to_fb(&mut builder, &entries);
        let mut footer = FooterBuilder::new(&mut builder);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(batches);
        footer.add_custom_metadata(entries);
        let footer = footer.finish();
        builder.finish(footer, None);
        builder.finished_data().to_vec()
    }
}

impl<W: Write> BatchSink for ArrowFile<W> {
    fn batch(&mut self, batch: RecordBatch) -> Result<(), TableError> {
        let Self { generator, tracker, options, context, .. } = self;
        let (_, message) = generator.encode(&batch, tracker, options, context)?;
        let block = self.message(message)?;
        self.batches.push(block);
        self.words = batch.slice(0, 0);
        Ok(())
    }
}
