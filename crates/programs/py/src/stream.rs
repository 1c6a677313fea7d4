//! The batches of a reading, which pass from its thread to one reader.
//!
//! Protocol: the thread sends batches, then one message that is the end or an error. A channel that
//! closes without it belonged to a thread that panicked: its rows are not all of them.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::Duration,
};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use nanotape_tables::{BatchSink, TableError};

/// Batches that wait for a slow reader.
const WAITING: usize = 4;

/// The error of a reading whose thread ended before its last message.
pub(crate) const WITHOUT_A_RESULT: &str = "the reading ended without a result";

/// What a reading sends.
enum Message {
    Batch(RecordBatch),
    /// The last message of a reading that failed.
    Failed(String),
    /// The last message of any other reading.
    End,
}

/// The batches of a thread, for the reader.
pub(crate) struct ToReader(SyncSender<Message>);

impl BatchSink for ToReader {
    fn batch(&mut self, batch: RecordBatch) -> Result<(), TableError> {
        self.0.send(Message::Batch(batch)).map_err(|_| TableError::Gone)
    }
}

/// The batches of a reading.
pub(crate) struct BatchReader {
    schema: SchemaRef,
    receiver: Receiver<Message>,
    /// The reading, before its thread begins.
    reading: Option<Box<dyn FnOnce() + Send>>,
    is_over: bool,
}

/// The end of a wait for a batch.
pub(crate) enum Waited {
    Over(Result<Option<RecordBatch>, String>),
    Longer,
}

impl BatchReader {
    /// Batches of this schema, from a reading that gives the text of its error. Its thread begins
    /// with the first batch that is wanted.
    pub(crate) fn new(
        schema: SchemaRef,
        reading: impl FnOnce(ToReader) -> Result<(), String> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        let reading = move || {
            let last = match reading(ToReader(sender.clone())) {
                Ok(()) => Message::End,
                Err(line) => Message::Failed(line),
            };
            // A reader that is gone needs no end.
            let _ = sender.send(last);
        };
        Self { schema, receiver, reading: Some(Box::new(reading)), is_over: false }
    }

    /// The next batch; `None` at the end. An error has its text; the reading has kept it.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, String> {
        loop {
            if let Waited::Over(batch) = self.wait_for_batch(Duration::MAX) {
                return batch;
            }
        }
    }

    /// The same within a time.
    pub(crate) fn wait_for_batch(&mut self, wait: Duration) -> Waited {
        if self.is_over {
            return Waited::Over(Ok(None));
        }
        if let Some(reading) = self.reading.take() {
            thread::spawn(reading);
        }
        let received = match wait {
            Duration::MAX => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            wait => self.receiver.recv_timeout(wait),
        };
        let end = match received {
            Ok(Message::Batch(batch)) => return Waited::Over(Ok(Some(batch))),
            Err(RecvTimeoutError::Timeout) => return Waited::Longer,
            Ok(Message::Failed(line)) => Err(line),
            Ok(Message::End) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(WITHOUT_A_RESULT.to_owned()),
        };
        self.is_over = true;
        Waited::Over(end)
    }
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map_err(|line| ArrowError::ExternalError(line.into())).transpose()
    }
}

impl RecordBatchReader for BatchReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
