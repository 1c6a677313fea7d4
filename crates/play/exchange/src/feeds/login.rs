//! The sessions of a server of PITCH: their names and passwords, and which are in use.

use std::str::FromStr;

use nanotape_types::Alpha;
use nanotape_wire::pitch_tcp::{LoginRequest, LoginStatus};

/// A session that a client can log in to, as text `SESSION:USERNAME:PASSWORD`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PitchLogin {
    /// The session sub id.
    pub session_sub_id: Alpha<4>,
    /// The username.
    pub username: Alpha<4>,
    /// The password.
    pub password: Alpha<10>,
}

/// Why a text is not a login.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "expected SESSION:USERNAME:PASSWORD of up to 4, 4 and 10 printable characters, as in \
     0001:USER:PASSWORD"
)]
pub struct ParsePitchLoginError;

impl FromStr for PitchLogin {
    type Err = ParsePitchLoginError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, ':');
        let mut next = || parts.next().ok_or(ParsePitchLoginError);
        let (session, username, password) = (next()?, next()?, next()?);
        Ok(Self {
            session_sub_id: padded(session)?,
            username: padded(username)?,
            password: padded(password)?,
        })
    }
}

/// A text of graphic characters, with spaces after it.
fn padded<const N: usize>(text: &str) -> Result<Alpha<N>, ParsePitchLoginError> {
    let mut bytes = [b' '; N];
    let is_name = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let place = bytes.get_mut(..text.len()).filter(|_| is_name).ok_or(ParsePitchLoginError)?;
    place.copy_from_slice(text.as_bytes());
    Ok(Alpha::new(bytes))
}

/// The sessions of one server. Without any, every login is accepted.
#[derive(Debug)]
pub(super) struct Logins {
    known: Vec<PitchLogin>,
    in_use: Vec<bool>,
}

impl Logins {
    pub(super) fn new(known: Vec<PitchLogin>) -> Self {
        let in_use = vec![false; known.len()];
        Self { known, in_use }
    }

    /// The answer to a login, and which session it uses from now on.
    pub(super) fn login(&mut self, request: LoginRequest<'_>) -> (LoginStatus, Option<usize>) {
        if self.known.is_empty() {
            return (LoginStatus::Accepted, None);
        }
        let of_session = |login: &PitchLogin| login.session_sub_id == request.session_sub_id();
        let Some(index) = self.known.iter().position(of_session) else {
            return (LoginStatus::InvalidSession, None);
        };
        let PitchLogin { username, password, .. } = self.known[index];
        if username != request.username() || password != request.password() {
            return (LoginStatus::NotAuthorised, None);
        }
        if self.in_use[index] {
            return (LoginStatus::InUse, None);
        }
        self.in_use[index] = true;
        (LoginStatus::Accepted, Some(index))
    }

    /// The client of a session left.
    pub(super) fn logout(&mut self, index: usize) {
        self.in_use[index] = false;
    }
}

#[cfg(test)]
mod tests {
    use nanotape_wire::pitch_tcp::LoginRequestFields;

    use super::*;

    #[test]
    fn each_wrong_login_has_its_status() {
        let known = ["0001:USER:PASSWORD", "2:ME:a:b"].map(|text| text.parse().unwrap());
        let mut logins = Logins::new(known.to_vec());
        let request = |session: &[u8; 4], username: &[u8; 4], password: &[u8; 10]| {
            LoginRequestFields {
                session_sub_id: Alpha::new(*session),
                username: Alpha::new(*username),
                filler: Alpha::new(*b"  "),
                password: Alpha::new(*password),
            }
            .encode()
        };
        let mut status = |bytes: &[u8]| logins.login(LoginRequest::wrap(bytes).unwrap());
        let right = request(b"0001", b"USER", b"PASSWORD  ");
        assert_eq!(status(&right), (LoginStatus::Accepted, Some(0)));
        assert_eq!(status(&right), (LoginStatus::InUse, None));
        let other = request(b"2   ", b"ME  ", b"a:b       ");
        assert_eq!(status(&other), (LoginStatus::Accepted, Some(1)));
        for (bytes, expected) in [
            (request(b"0002", b"USER", b"PASSWORD  "), LoginStatus::InvalidSession),
            (request(b"0001", b"USEX", b"PASSWORD  "), LoginStatus::NotAuthorised),
            (request(b"0001", b"USER", b"password  "), LoginStatus::NotAuthorised),
        ] {
            assert_eq!(status(&bytes), (expected, None));
        }
        logins.logout(0);
        assert_eq!(logins.login(LoginRequest::wrap(&right).unwrap()).0, LoginStatus::Accepted);
        let open = Logins::new(Vec::new()).login(LoginRequest::wrap(&right).unwrap());
        assert_eq!(open, (LoginStatus::Accepted, None));
    }

    #[test]
    fn a_text_that_is_no_login_is_refused() {
        for text in
            ["", "0001", "0001:USER", "00001:USER:P", "1::P", "1:U:12345678901", "1:\u{dc}:P"]
        {
            assert_eq!(text.parse::<PitchLogin>(), Err(ParsePitchLoginError), "{text}");
        }
    }
}
