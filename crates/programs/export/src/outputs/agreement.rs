//! What a dataset has must agree with what a command is to write there: input, options, format,
//! layout. Readers take the files of a table for one.

use std::{fs, path::PathBuf};

use anyhow::{bail, ensure};
use nanotape_answers::Table;
use nanotape_console::output::FileFormat as _;

use super::{Outputs, TableFormat};
use crate::{
    complete::Completed,
    input_files::InputFiles,
    paths::{dates_in, stocks_in},
    stated::{Stated, option_in, stated_of_part},
};

impl Outputs {
    /// Refuses a table of a day that exists, and is of another input or has other options.
    pub(crate) fn require_same(
        &mut self,
        table: Table,
        input: &InputFiles<'_>,
        options: &str,
    ) -> anyhow::Result<()> {
        let path = self.path_of(table);
        let stated = match self.by_symbol {
            Some(_) => Completed::read(&self.completed(table))?.stated,
            None if self.format == TableFormat::Parquet && path.exists() => {
                Stated::of_file(&path, table)?
            }
            None => None,
        };
        let Some(stated) = stated else {
            self.is_strict = false;
            return Ok(());
        };
        self.is_damaged |= stated.is_damaged;
        self.is_strict &= stated.is_strict;
        let shown = if self.by_symbol.is_some() { path.parent().unwrap_or(&path) } else { &path };
        stated.require_same(shown, input, options)
    }

    /// Refuses a selection of stocks beside files of other stocks of the day that are of another
    /// input or have other options: readers of the dataset would find rows of both.
    pub(crate) fn require_same_of_others(
        &self,
        table: Table,
        input: &InputFiles<'_>,
        options: &str,
    ) -> anyhow::Result<()> {
        let Some(symbols) = &self.by_symbol else { return Ok(()) };
        let mut first = None;
        for (stock, path) in self.parts_of_others(table, symbols)? {
            let stated = stated_of_part(&path, table).ok().flatten();
            let stated = stated.filter(|(_, of)| *of == stock).map(|(stated, _)| stated);
            let is_same = |stated: &Stated| match &first {
                Some(first) => stated.is_of_same(first),
                None => stated.require_same(&path, input, options).is_ok(),
            };
            ensure!(
                stated.as_ref().is_some_and(is_same),
                "{}: is damaged, of another input or with other options: leave out --symbols and give \
                 --force, or give another folder",
                path.display()
            );
            first = first.or(stated);
        }
        Ok(())
    }

    /// Refuses a table of a day that exists in the other layout, with a file for each stock or with
    /// one for all: readers of the dataset would find its rows twice.
    pub(crate) fn require_one_layout(&self, table: Table) -> anyhow::Result<()> {
        let (layout, other) = match self.by_symbol {
            Some(_) => ("without", Some(self.path_of(table)).filter(|path| path.exists())),
            None => {
                let mut parts = self.existing_parts(table)?.into_iter().map(|(_, path)| path);
                ("with", parts.next())
            }
        };
        let Some(path) = other else { return Ok(()) };
        bail!(
            "{}: exists, of an export {layout} --partition symbol; both have the same rows: give \
             another folder, or remove the day from this one",
            path.display()
        )
    }

    /// Refuses a dataset whose days have another format: readers take the files of a folder as one
    /// table.
    pub(crate) fn require_one_format(&self, table: Table) -> anyhow::Result<()> {
        let is_other = |path: &PathBuf| {
            let suffix = path.extension().and_then(|suffix| suffix.to_str());
            let format = suffix.and_then(TableFormat::of_suffix);
            format.is_some_and(|format| format != self.format)
        };
        let of_table = self.path.join(table.name());
        let files =
            dates_in(&of_table).flat_map(|date| fs::read_dir(date).into_iter().flatten().flatten());
        let other = files.map(|file| file.path()).find(is_other);
        let Some(path) = other else { return Ok(()) };
        bail!(
            "{}: has another format, and a dataset has one: give --format, or another folder",
            path.display()
        )
    }

    /// Refuses a day whose columns would not be those of another day. Not for `--force`, with which
    /// all days may be about to change.
    pub(crate) fn require_one_form(&self, table: Table, options: &str) -> anyhow::Result<()> {
        let (whole, of_table) = (self.path_of(table), self.path.join(table.name()));
        let days = dates_in(&of_table).filter(|date| !whole.starts_with(date));
        let files = days.flat_map(|date| {
            let parts = stocks_in(&date).unwrap_or_default().into_iter().map(|(_, folder)| folder);
            let folders: Vec<_> = [date].into_iter().chain(parts.take(1)).collect();
            folders
                .into_iter()
                .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        });
        let stated = |path: &PathBuf| Stated::of_file(path, table).ok().flatten();
        let mut files =
            files.map(|file| file.path()).filter_map(|path| Some((stated(&path)?, path)));
        // The days agree, so one of them is enough.
        let Some((other, path)) = files.next() else { return Ok(()) };
        for option in ["--prices", "--levels"] {
            let (there, here) = (option_in(&other.options, option), option_in(options, option));
            ensure!(
                there == here,
                "{}: has {option} {}, and a dataset has one form: give that, or another folder",
                path.display(),
                there.unwrap_or_default()
            );
        }
        Ok(())
    }
}
