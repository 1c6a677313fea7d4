"""What the programs of Chronicle need to start."""

# Without these exports and opens Chronicle's libraries do not start on a JDK from 17.
JAVA_FLAGS = [
    *(
        word
        for name in [
            "java.base/jdk.internal.ref", "java.base/sun.nio.ch", "jdk.unsupported/sun.misc",
            "jdk.compiler/com.sun.tools.javac.file",
        ]
        for word in ("--add-exports", f"{name}=ALL-UNNAMED")
    ),
    *(
        word
        for name in [
            "jdk.compiler/com.sun.tools.javac", "java.base/java.lang", "java.base/java.lang.reflect",
            "java.base/java.io", "java.base/java.util", "java.base/sun.nio.ch", "java.base/java.nio",
            "java.base/jdk.internal.misc",
        ]
        for word in ("--add-opens", f"{name}=ALL-UNNAMED")
    ),
    "-Dchronicle.analytics.disable=true",
]
