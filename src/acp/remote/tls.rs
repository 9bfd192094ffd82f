//! Encryption: whom to trust is what the system says.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// Reads the system's certificates, which blocks. The error is fit after "couldn't start far: ".
pub fn config() -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    // Some systems list what nobody can read; the rest is as good.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(
            "this system has no certificates to trust others by; install them (ca-certificates), or name \
                    their file in $SSL_CERT_FILE"
                .to_owned(),
        );
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
