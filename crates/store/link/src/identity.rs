//! Who a side is, by certificates: its own, and the authority that signs those of all sides.
//!
//! A folder has `ca.pem`, and for each side `NAME.pem` and `NAME.key`. A side accepts only a
//! certificate that this authority has signed, and only for the name that it states in its hello.
//! Only TLS 1.3 is accepted.

use std::{
    fs::File,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    client::verify_server_name,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
    server::{ParsedCertificate, WebPkiClientVerifier},
    version::TLS13,
};

/// The file of the authority's certificate.
pub const AUTHORITY_FILE: &str = "ca.pem";

/// The longest file of a certificate or a key, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The certificates of one side.
#[derive(Clone, Debug)]
pub struct Identity {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file cannot be read.
    #[error("{}: cannot read it: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file has something else.
    #[error("{}: not {what} in the format PEM: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What it should have.
        what: &'static str,
        /// Why it has not.
        reason: String,
    },
    /// A key that other users can read.
    #[error("{}: other users can read the key; run chmod 600 {0}", path.display())]
    Permissions {
        /// The file of the key.
        path: PathBuf,
    },
    /// The certificates do not belong together.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// The file of the certificate.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl Identity {
    /// Reads the certificates of the side with this name from a folder. Refuses what every other
    /// side would refuse: a certificate for another name, of another authority, or whose time is
    /// over.
    pub fn read(folder: &Path, name: &str) -> Result<Self, IdentityError> {
        let [authority, own, key] = [
            folder.join(AUTHORITY_FILE),
            folder.join(format!("{name}.pem")),
            folder.join(format!("{name}.key")),
        ];
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&authority)? {
            let added = roots.add(certificate);
            added.map_err(|error| refused(&authority, &error))?;
        }
        let roots = Arc::new(roots);
        let chain = certificates(&own)?;
        let key = private_key(&key)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        let verifier = verifier.build().map_err(|error| refused(&authority, &error))?;
        if let Some((first, others)) = chain.split_first() {
            let verified = verifier.verify_client_cert(first, others, UnixTime::now());
            let others_refuse = |error| format!("every other side refuses it: {error}");
            verified.map_err(|error| refused(&own, &others_refuse(error)))?;
            if !is_for(first, name) {
                let reason = format_args!("the certificate is not for the name `{name}`");
                return Err(refused(&own, &reason));
            }
        }
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| refused(&own, &error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key());
        let mut server = server.map_err(|error| refused(&own, &error))?;
        // A connection lasts for days, so that resumption is worth nothing.
        server.send_tls13_tickets = 0;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| refused(&own, &error))?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key);
        let mut client = client.map_err(|error| refused(&own, &error))?;
        client.resumption = rustls::client::Resumption::disabled();
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// Whether a certificate is for a name.
pub(crate) fn is_for(certificate: &CertificateDer<'_>, name: &str) -> bool {
    let Ok(certificate) = ParsedCertificate::try_from(certificate) else { return false };
    let Ok(name) = ServerName::try_from(name) else { return false };
    verify_server_name(&certificate, &name).is_ok()
}

fn refused(path: &Path, error: &dyn std::fmt::Display) -> IdentityError {
    IdentityError::Refused { path: path.to_owned(), reason: error.to_string() }
}

fn bytes(path: &Path) -> Result<Vec<u8>, IdentityError> {
    let failed = |source| IdentityError::File { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let bytes = bytes(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let wrong = |reason: String| IdentityError::Format {
        path: path.to_owned(),
        what: "a certificate",
        reason,
    };
    let found = found.map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() { Err(wrong("it has none".to_owned())) } else { Ok(found) }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, IdentityError> {
    let bytes = bytes(path)?;
    let failed = |source| IdentityError::File { path: path.to_owned(), source };
    let mode = std::fs::metadata(path).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(IdentityError::Permissions { path: path.to_owned() });
    }
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| IdentityError::Format {
        path: path.to_owned(),
        what: "a private key",
        reason: error.to_string(),
    })
}
