//! The build settings of this crate, from its build script.

/// The compiler, its flags and the profile. They are those of this crate. They are also those of
/// the benchmark only if one run of cargo built both, as in a workspace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BuildInfo {
    /// The output of `rustc -V`.
    pub compiler: Option<String>,
    /// External flags, the target, and the enabled processor features.
    pub flags: Option<String>,
    /// The profile, its optimisation, debug information and assertions. A custom profile has the
    /// name of the one it inherits from; link-time optimisation is not known.
    pub profile: Option<String>,
}

impl BuildInfo {
    /// The settings that the build script recorded.
    pub fn from_env_of_build() -> Self {
        Self {
            compiler: super::known(env!("NANOTAPE_LAB_COMPILER")),
            flags: flags(
                env!("NANOTAPE_LAB_RUSTFLAGS"),
                env!("NANOTAPE_LAB_TARGET"),
                env!("NANOTAPE_LAB_TARGET_FEATURES"),
            ),
            profile: profile(
                env!("NANOTAPE_LAB_PROFILE"),
                env!("NANOTAPE_LAB_OPT_LEVEL"),
                env!("NANOTAPE_LAB_DEBUG"),
                cfg!(debug_assertions),
            ),
        }
    }
}

fn flags(rustflags: &str, target: &str, features: &str) -> Option<String> {
    let target = super::known(target)?;
    let given = if rustflags.is_empty() { "no flags" } else { rustflags };
    let features = if features.is_empty() { "none" } else { features };
    Some(format!("{given}; target {target}; features {features}"))
}

fn profile(name: &str, optimisation: &str, debug: &str, assertions: bool) -> Option<String> {
    let name = super::known(name)?;
    let mut text = format!("{name}, opt-level {optimisation}");
    if debug != "false" && debug != "0" {
        text.push_str(", debug information");
    }
    if assertions {
        text.push_str(", assertions on");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_script_left_its_notes() {
        let build = BuildInfo::from_env_of_build();
        assert!(build.compiler.is_some_and(|compiler| compiler.starts_with("rustc ")));
        assert!(build.flags.is_some_and(|flags| flags.contains("target ")));
        assert!(build.profile.is_some_and(|profile| profile.contains("opt-level")));
    }

    #[test]
    fn flags_and_profiles_read_as_text() {
        assert_eq!(
            flags("", "x86_64-unknown-linux-gnu", "sse,sse2").as_deref(),
            Some("no flags; target x86_64-unknown-linux-gnu; features sse,sse2")
        );
        assert_eq!(flags("-C target-cpu=native", "", ""), None);
        assert_eq!(
            profile("release", "3", "false", false).as_deref(),
            Some("release, opt-level 3")
        );
        assert_eq!(
            profile("debug", "2", "true", true).as_deref(),
            Some("debug, opt-level 2, debug information, assertions on")
        );
        assert_eq!(profile("", "", "", true), None);
    }
}
