//! Makes certificates: an authority, and one for each side.
//!
//! The key of the authority is not kept: a set is made once, as a whole, and another side needs
//! another set.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::{AUTHORITY_FILE, Hello};

/// Why no certificates were made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificatesError {
    /// A name that a side cannot have.
    #[error(
        "invalid name `{name}`: use 1 to 63 letters, digits or dashes, not `ca`, and each name once"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A file exists already.
    #[error("{}: exists already; give another folder, or --replace", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("{}: cannot write it: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {reason}")]
    Made {
        /// The reason.
        reason: String,
    },
}

/// What to make.
#[derive(Clone, Copy, Debug)]
pub struct CertificateOptions {
    /// The first and the last year in which they are valid.
    pub years: (i32, i32),
    /// Whether files that exist are replaced.
    pub replaces: bool,
}

/// Makes an authority and a certificate with a key for each name; returns the files.
pub fn make_certificates(
    folder: &Path,
    names: &[String],
    options: CertificateOptions,
) -> Result<Vec<PathBuf>, CertificatesError> {
    for name in names {
        let is_label = name.len() <= 63 && !name.contains(['.', '_']) && Hello::is_name(name);
        // `ca` is the name of the authority's file.
        let is_taken = name == "ca" || names.iter().filter(|other| *other == name).count() > 1;
        if !is_label || is_taken || name.starts_with('-') || name.ends_with('-') {
            return Err(CertificatesError::Name { name: name.clone() });
        }
    }
    let made = |error: rcgen::Error| CertificatesError::Made { reason: error.to_string() };
    let params = |name: &str| {
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        let (from, to) = options.years;
        (params.not_before, params.not_after) =
            (date_time_ymd(from, 1, 1), date_time_ymd(to, 12, 31));
        params.distinguished_name.push(DnType::CommonName, name);
        Ok(params)
    };
    let mut authority = params("nanotape-authority").map_err(made)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().map_err(made)?);
    let authority = authority.map_err(made)?;
    let mut files = vec![(folder.join(AUTHORITY_FILE), authority.pem(), 0o644)];
    for name in names {
        let mut own = params(name).map_err(made)?;
        own.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        own.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(made)?;
        let certificate = own.signed_by(&key, &authority).map_err(made)?;
        files.push((folder.join(format!("{name}.pem")), certificate.pem(), 0o644));
        files.push((folder.join(format!("{name}.key")), key.serialize_pem(), 0o600));
    }
    if let Some((path, ..)) = files.iter().find(|(path, ..)| !options.replaces && path.exists()) {
        return Err(CertificatesError::Exists { path: path.clone() });
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| CertificatesError::File { path, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    for (path, text, mode) in &files {
        // A new file: one that exists would keep its mode.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(path)(error));
            }
            _ => {}
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(*mode).open(path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(failed(path))?;
    }
    Ok(files.into_iter().map(|(path, ..)| path).collect())
}
