package nanotape.rivals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** Threads that are each pinned to a processor. Java cannot pin, so each thread runs taskset. */
public final class PinnedThreads {
    private volatile boolean allPinned = true;

    /** Starts a thread on a processor. */
    public <T> FutureTask<T> start(int cpu, Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(() -> {
            if (!pin(cpu)) {
                allPinned = false;
            }
            return work.call();
        });
        new Thread(task, "work-" + cpu).start();
        return task;
    }

    /** Waits for a thread. Throws what its work threw. */
    public static <T> T result(FutureTask<T> task) throws Exception {
        try {
            return task.get();
        } catch (ExecutionException failure) {
            throw failure.getCause() instanceof Exception cause ? cause : failure;
        }
    }

    public boolean allPinned() {
        return allPinned;
    }

    private static boolean pin(int cpu) {
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
