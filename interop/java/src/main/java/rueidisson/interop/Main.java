package rueidisson.interop;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;

/**
 * A Redisson client that is driven by lines on standard input.
 *
 * <pre>
 * request   ID THREAD OBJECT OPERATION [NAME [ARG...]]
 * answer    ID ok [VALUE...]
 *           ID err CLASS MESSAGE
 * at start  ready CLIENT-ID VERSION        or, and then it exits:
 *           fatal CLASS MESSAGE
 * </pre>
 *
 * The request runs on the Java thread of that name, which is made at its first use: for Redisson the
 * thread is the owner. Requests of one thread run one after the other, those of different threads at the
 * same time, so answers come in any order. The words of a line are written as {@link Wire} says. The
 * program ends when its input does. README.md, beside the pom, lists the objects and their operations.
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = takeStdout();
        RedissonClient redisson;
        Options options;
        try {
            options = Options.parse(args);
            redisson = Redisson.create(options.config());
        } catch (Throwable e) {
            e.printStackTrace();
            Answers.write(out, "fatal", Answers.failure(e));
            System.exit(1);
            return;
        }
        Answers.write(out, "ready", Answers.words(redisson.getId(), Since.version()));
        serve(new Peer(redisson, options, out));
        redisson.shutdown(0, 1, TimeUnit.SECONDS);
        System.exit(0);
    }

    /** A library that prints must not end up between the answers. */
    private static PrintStream takeStdout() {
        System.setOut(System.err);
        return new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.US_ASCII);
    }

    private static void serve(Peer peer) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isBlank()) {
                peer.accept(line);
            }
        }
    }
}
