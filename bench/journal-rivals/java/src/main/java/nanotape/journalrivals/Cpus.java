package nanotape.journalrivals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Pinning threads. Java cannot, so that each thread has the program taskset do it to itself. */
final class Cpus {
    private Cpus() {}

    /** Keeps the calling thread on one processor; says whether that worked. */
    static boolean pin(int cpu) {
        try {
            // PROCESS/task/THREAD
            Path thread = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName();
            List<String> command = List.of("taskset", "-p", "-c", String.valueOf(cpu), thread.toString());
            Process taskset = new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
            return taskset.waitFor() == 0;
        } catch (IOException | InterruptedException failure) {
            return false;
        }
    }
}
