package rueidisson.interop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RBinaryStream;
import org.redisson.api.RBucket;
import org.redisson.api.RBuckets;

/** The operations of {@link RBucket}, {@link RBuckets} and {@link RBinaryStream}. Values are as {@link Values} reads them. */
final class Buckets {
    private Buckets() {
    }

    static Object run(Request r, RBucket<Object> bucket) {
        return switch (r.operation()) {
            case "get" -> Values.word(bucket.get());
            case "set" -> Maps.done(() -> set(r, bucket));
            case "setAndKeepTTL" -> Maps.done(() -> bucket.setAndKeepTTL(Values.of(r, 0)));
            case "setIfAbsent" -> r.has(1) ? bucket.setIfAbsent(Values.of(r, 0), ttl(r, 1)) : bucket.setIfAbsent(Values.of(r, 0));
            case "setIfExists" -> r.has(1) ? bucket.setIfExists(Values.of(r, 0), ttl(r, 1)) : bucket.setIfExists(Values.of(r, 0));
            case "getAndSet" -> Values.word(r.has(1) ? bucket.getAndSet(Values.of(r, 0), ttl(r, 1)) : bucket.getAndSet(Values.of(r, 0)));
            case "getAndDelete" -> Values.word(bucket.getAndDelete());
            case "getAndExpire" -> Values.word(bucket.getAndExpire(ttl(r, 0)));
            case "getAndClearExpire" -> Values.word(bucket.getAndClearExpire());
            case "compareAndSet" -> bucket.compareAndSet(Values.of(r, 0), Values.of(r, 1));
            case "increment" -> Maps.done(() -> increment(r, bucket));
            case "size" -> bucket.size();
            case "delete" -> bucket.delete();
            case "isExists" -> bucket.isExists();
            case "expire" -> bucket.expire(r.number(0), TimeUnit.MILLISECONDS);
            case "clearExpire" -> bucket.clearExpire();
            case "remainTimeToLive" -> bucket.remainTimeToLive();
            default -> throw r.unknown();
        };
    }

    private static Duration ttl(Request r, int arg) {
        return Duration.ofMillis(r.number(arg));
    }

    private static void set(Request r, RBucket<Object> bucket) {
        if (r.has(1)) {
            bucket.set(Values.of(r, 0), ttl(r, 1));
        } else {
            bucket.set(Values.of(r, 0));
        }
    }

    /** TIMES: adds one to a text so often, each time until no other was faster. */
    private static void increment(Request r, RBucket<Object> bucket) {
        for (long i = 0; i < r.number(0); i++) {
            Object old;
            String more;
            do {
                old = bucket.get();
                more = Long.toString((old == null ? 0 : Long.parseLong((String) old)) + 1);
            } while (!bucket.compareAndSet(old, more));
        }
    }

    /** Names and values, one behind the other. */
    static Object many(Request r, RBuckets buckets) {
        return switch (r.operation()) {
            case "get" -> Values.words(buckets.get(names(r)));
            case "set" -> Maps.done(() -> buckets.set(pairs(r)));
            case "trySet" -> buckets.trySet(pairs(r));
            default -> throw r.unknown();
        };
    }

    private static String[] names(Request r) {
        String[] names = new String[r.count()];
        for (int i = 0; i < names.length; i++) {
            names[i] = r.text(i);
        }
        return names;
    }

    private static Map<String, Object> pairs(Request r) {
        Map<String, Object> pairs = new LinkedHashMap<>();
        for (int i = 0; i + 1 < r.count(); i += 2) {
            pairs.put(r.text(i), Values.of(r, i + 1));
        }
        return pairs;
    }

    static Object bytes(Request r, RBinaryStream stream) throws IOException {
        return switch (r.operation()) {
            case "read" -> Values.word(stream.getInputStream().readAllBytes());
            case "write" -> write(r, stream);
            case "writeAt" -> writeAt(r, stream);
            case "readAt" -> readAt(r, stream);
            case "truncate" -> truncate(r, stream);
            case "size" -> stream.size();
            default -> throw r.unknown();
        };
    }

    private static Object write(Request r, RBinaryStream stream) throws IOException {
        stream.getOutputStream().write((byte[]) Values.of(r, 0));
        return Answers.DONE;
    }

    /** OFFSET BYTES */
    private static Object writeAt(Request r, RBinaryStream stream) throws IOException {
        SeekableByteChannel channel = stream.getChannel();
        channel.position(r.number(0));
        return channel.write(ByteBuffer.wrap((byte[]) Values.of(r, 1)));
    }

    /** OFFSET LENGTH */
    private static Object readAt(Request r, RBinaryStream stream) throws IOException {
        SeekableByteChannel channel = stream.getChannel();
        channel.position(r.number(0));
        ByteBuffer to = ByteBuffer.allocate((int) r.number(1));
        channel.read(to);
        byte[] got = new byte[to.position()];
        to.flip();
        to.get(got);
        return Values.word(got);
    }

    private static Object truncate(Request r, RBinaryStream stream) throws IOException {
        stream.getChannel().truncate(r.number(0));
        return Answers.DONE;
    }
}
