package rueidisson.interop;

import java.time.Duration;
import java.util.List;
import org.redisson.api.RJsonBucket;
import org.redisson.api.RedissonClient;
import org.redisson.codec.JacksonCodec;
import org.redisson.codec.JsonCodec;

/** The operations of {@link RJsonBucket}, with and without a path. Values are as {@link Values} reads them. */
final class Documents {
    private Documents() {
    }

    /** The document of that name, of the class that the request names as its codec. Codecs of older versions have a type. */
    @SuppressWarnings({"rawtypes", "unchecked"})
    static RJsonBucket<Object> named(RedissonClient redisson, String name, String type) {
        JsonCodec codec = new JacksonCodec<>(Since.type(type));
        return redisson.getJsonBucket(name, codec);
    }

    static Object run(Request r, RJsonBucket<Object> bucket) {
        return switch (r.operation()) {
            case "get" -> Values.word(bucket.get());
            case "set" -> Maps.done(() -> set(r, bucket));
            case "setIfAbsent" -> bucket.setIfAbsent(Values.of(r, 0));
            case "setIfExists" -> bucket.setIfExists(Values.of(r, 0));
            case "getAndSet" -> Values.word(bucket.getAndSet(Values.of(r, 0)));
            case "getAndDelete" -> Values.word(bucket.getAndDelete());
            case "compareAndSet" -> bucket.compareAndSet(Values.of(r, 0), Values.of(r, 1));
            case "remainTimeToLive" -> bucket.remainTimeToLive();
            case "getAt" -> Values.word(at(bucket, r.text(0)));
            case "setAt" -> Maps.done(() -> bucket.set(r.text(0), Values.of(r, 1)));
            case "compareAndSetAt" -> bucket.compareAndSet(r.text(0), Values.of(r, 1), Values.of(r, 2));
            case "add" -> bucket.incrementAndGet(r.text(0), r.number(1));
            case "stringAppend" -> bucket.stringAppend(r.text(0), Values.of(r, 1));
            case "arrayAppend" -> bucket.arrayAppend(r.text(0), Values.from(r, 1).toArray());
            case "arrayInsert" -> bucket.arrayInsert(r.text(0), r.number(1), Values.of(r, 2));
            case "arraySize" -> bucket.arraySize(r.text(0));
            case "toggleMulti" -> bucket.toggleMulti(r.text(0)).get(0);
            case "merge" -> Maps.done(() -> Since.call(RJsonBucket.class, bucket, "merge", List.of(String.class, Object.class), r.text(0), Values.of(r, 1)));
            case "deleteAt" -> bucket.delete(r.text(0));
            default -> throw r.unknown();
        };
    }

    private static void set(Request r, RJsonBucket<Object> bucket) {
        if (r.has(1)) {
            bucket.set(Values.of(r, 0), Duration.ofMillis(r.number(1)));
        } else {
            bucket.set(Values.of(r, 0));
        }
    }

    /** What is at a path: a list for one with $. */
    @SuppressWarnings({"rawtypes", "unchecked"})
    private static Object at(RJsonBucket<Object> bucket, String path) {
        JsonCodec codec = new JacksonCodec<>(Object.class);
        return bucket.get(codec, path);
    }
}
