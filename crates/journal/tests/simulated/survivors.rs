//! Calls that can be left out without a test that fails, each with the reason.

use crate::sites::What;

/// End of the file's path, what is left out, the line, and why nothing fails without it.
pub(crate) const SURVIVORS: &[(&str, What, &str, &str)] = &[];
