//! Open any input: you will see the best prices of a day file, a capture, a journal or a DBN file
//! after each change, and whether everything was there.
//!
//! ```sh
//! cargo run --example 13_any_input -- day.gz
//! ```

use std::ops::ControlFlow;

use nanotape::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args_os().nth(1).ok_or("give an INPUT: a day, a journal, a DBN file")?;
    let opening = Input::open(name, InputOptions::default())?.within(Span::default(), &[])?;
    let mut rows = BookRows::new(&[], |row: &BookRow<'_>| {
        println!("{row}");
        ControlFlow::Continue(())
    });
    let session = opening.run(&mut rows, |_| ())?;
    println!("everything was there and could be read: {}", session.report.is_whole());
    Ok(())
}
