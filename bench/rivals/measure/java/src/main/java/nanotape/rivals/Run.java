package nanotape.rivals;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;

/** The command line of a run, and its end: one line of JSON or of failure, and the exit status. */
public final class Run {
    /** A rival delivered something that was not sent. */
    public static final class Wrong extends RuntimeException {
        private static final long serialVersionUID = 1;

        public Wrong(String what) {
            super(what);
        }
    }

    private final Map<String, String> options = new HashMap<>();

    /** Reads the pairs of `--name value` from word `first` on. */
    public Run(String[] words, int first, String... known) {
        for (int at = first; at < words.length; at += 2) {
            if (!Arrays.asList(known).contains(words[at]) || at + 1 == words.length) {
                throw new IllegalArgumentException(
                    words[at] + ": needs a value, and must be one of " + String.join(", ", known));
            }
            options.put(words[at], words[at + 1]);
        }
    }

    public String text(String name, String otherwise) {
        return options.getOrDefault(name, otherwise);
    }

    /** A number from 1. */
    public int number(String name, int otherwise) {
        String value = text(name, String.valueOf(otherwise));
        if (!value.matches("0*[1-9][0-9]{0,8}")) {
            throw new IllegalArgumentException(name + " " + value + ": needs a number from 1");
        }
        return Integer.parseInt(value);
    }

    /** The writer's processor, then those of the readers. */
    public int[] cpus() {
        return Arrays.stream(text("--cpus", "0,1").split(",")).mapToInt(Integer::parseInt).toArray();
    }

    /**
     * Prints the line that `work` returns, or its failure after `name`, and ends the process: status 0
     * good, 1 a message arrived out of order or damaged, 2 usage or environment.
     */
    public static void exitWith(String name, Callable<String> work) {
        int status = 2;
        try {
            System.out.println(work.call());
            status = 0;
        } catch (Wrong wrong) {
            System.err.println(name + ": " + wrong.getMessage());
            status = 1;
        } catch (IllegalArgumentException mistake) {
            System.err.println(name + ": " + mistake.getMessage());
        } catch (Exception failure) {
            System.err.println(name + ": " + failure);
        }
        // A thread that waits for a lost message must not keep the process alive.
        System.exit(status);
    }
}
