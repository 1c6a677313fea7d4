//! LMDB through heed: a tree in a mapped file, one update in a transaction, never synced.

use std::{fs, path::Path};

use heed::{
    CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, PutFlags, WithoutTls,
    byteorder::BigEndian, types::U64,
};
use rivals_measure::Failure;
use serde_json::Value;

use crate::{options::Options, processes, work::Map};

type Number = U64<BigEndian>;

struct Side {
    env: &'static Env<WithoutTls>,
    values: Database<'static, Number, Number>,
}

pub(super) fn run(options: &Options) -> Result<Option<Value>, Failure> {
    processes::run(options, open, open)
}

/// Opens the map in a folder, or creates it.
#[allow(unsafe_code, reason = "heed has no other way to open a map without syncs")]
fn open(path: &Path, entries: u64) -> Result<Side, Failure> {
    fs::create_dir_all(path)?;
    let flags =
        EnvFlags::NO_SYNC | EnvFlags::NO_META_SYNC | EnvFlags::WRITE_MAP | EnvFlags::MAP_ASYNC;
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    // Pages of a tree are half full at worst, and changed pages are copied.
    options.map_size(((256 << 20) + 128 * entries as usize).next_multiple_of(1 << 20));
    // SAFETY: the flags give up what a power loss would need, and no thread or program changes the
    // file except through LMDB: the folder belongs to this run.
    let env = unsafe { options.flags(flags).open(path)? };
    // Until the process ends: `values` borrows it.
    let env: &'static Env<WithoutTls> = Box::leak(Box::new(env));
    let transaction = env.write_txn()?;
    let created = env.create_databases_and_commit(transaction, |opener, transaction| {
        let values = opener.create_database::<Number, Number>(transaction, None)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(values))
    })?;
    Ok(Side { env, values: created.unwrap_commit() })
}

impl Map for Side {
    fn insert(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        let mut transaction = self.env.write_txn()?;
        self.values.put(&mut transaction, &key, &value)?;
        Ok(transaction.commit()?)
    }

    fn fill(&mut self, keys: &[u64]) -> Result<(), Failure> {
        for part in keys.chunks(100_000) {
            let mut transaction = self.env.write_txn()?;
            for key in part {
                self.values.put_with_flags(&mut transaction, PutFlags::APPEND, key, &0)?;
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn add(&mut self, key: u64) -> Result<bool, Failure> {
        let mut transaction = self.env.write_txn()?;
        let Some(value) = self.values.get(&transaction, &key)? else { return Ok(false) };
        self.values.put(&mut transaction, &key, &(value + 1))?;
        transaction.commit()?;
        Ok(true)
    }

    fn get(&mut self, key: u64) -> Result<Option<u64>, Failure> {
        let transaction = self.env.read_txn()?;
        Ok(self.values.get(&transaction, &key)?)
    }
}
