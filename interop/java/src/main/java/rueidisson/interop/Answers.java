package rueidisson.interop;

import java.io.PrintStream;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;

/** Turns what a command returned or threw into the words of an answer. */
final class Answers {
    /** The result of a command that has none: the answer is "ok" alone. */
    static final Object DONE = List.of();

    private Answers() {
    }

    /** One value is one word, a collection one word per element. */
    static String ok(Object result) {
        if (result instanceof Collection<?> values) {
            return values.isEmpty() ? "ok" : "ok " + words(values.toArray());
        }
        return "ok " + Wire.encode(result);
    }

    static String err(Throwable e) {
        return "err " + failure(e);
    }

    static String failure(Throwable e) {
        Throwable cause = e;
        while ((cause instanceof ExecutionException || cause instanceof CompletionException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return words(cause.getClass().getName(), cause.getMessage());
    }

    static String words(Object... values) {
        return Arrays.stream(values).map(Wire::encode).collect(Collectors.joining(" "));
    }

    /** Lines of several threads must not mix, and nobody waits for a full buffer. */
    static void write(PrintStream out, String tag, String words) {
        synchronized (out) {
            out.print(tag + " " + words + "\n");
            out.flush();
        }
    }
}
