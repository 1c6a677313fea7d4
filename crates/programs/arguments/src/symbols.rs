//! `--symbols`: the stocks that a command selects.

use std::fs;

use anyhow::bail;
use clap::Args;
use nanotape_types::Symbol;

/// `--symbols`.
#[derive(Args, Clone, Debug, Default)]
pub struct SymbolArguments {
    /// Only these stocks: symbols, patterns such as 'BRK*', and @FILE with any of them in each line
    #[arg(long, value_name = "A,B", visible_alias = "symbol", value_parser = listed)]
    symbols: Vec<Listed>,
}

/// The value of one `--symbols`.
#[derive(Clone, Debug)]
struct Listed(Vec<Symbol>);

fn listed(text: &str) -> Result<Listed, String> {
    let mut symbols = Vec::new();
    for part in text.split(',') {
        match part.strip_prefix('@') {
            Some(path) => symbols.extend(of_file(path)?),
            None => symbols.push(part.parse().map_err(|error| format!("{part:?}: {error}"))?),
        }
    }
    Ok(Listed(symbols))
}

/// The symbols in a file: some in each line, separated by commas or spaces.
fn of_file(path: &str) -> Result<Vec<Symbol>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let mut symbols = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let words = content.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        for word in words {
            let symbol = word.parse().map_err(|error| format!("{path}, line {line}: {error}"))?;
            symbols.push(symbol);
        }
    }
    // Without a symbol, every stock would be selected.
    if symbols.is_empty() { Err(format!("{path}: has no symbol")) } else { Ok(symbols) }
}

impl SymbolArguments {
    /// A selection of these symbols; none selects every stock.
    pub fn of(symbols: &[Symbol]) -> Self {
        match symbols {
            [] => Self::default(),
            symbols => Self { symbols: vec![Listed(symbols.to_vec())] },
        }
    }

    /// The symbols and patterns; empty selects every stock.
    pub fn list(&self) -> Vec<Symbol> {
        self.symbols.iter().flat_map(|listed| &listed.0).copied().collect()
    }

    /// The same for a command that needs each stock by its name.
    pub fn list_without_patterns(&self, command: &str) -> anyhow::Result<Vec<Symbol>> {
        let symbols = self.list();
        if let Some(pattern) = symbols.iter().find(|symbol| symbol.is_pattern()) {
            bail!("--symbols {pattern}: {command} needs each symbol, and takes no pattern");
        }
        Ok(symbols)
    }
}
