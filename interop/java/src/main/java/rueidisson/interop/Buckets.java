package rueidisson.interop;

import org.redisson.api.RBucket;

/** The operations of {@link RBucket}: one plain value, as {@link Values} reads it. */
final class Buckets {
    private Buckets() {
    }

    static Object run(Request r, RBucket<Object> bucket) {
        return switch (r.operation()) {
            case "get" -> Values.word(bucket.get());
            case "set" -> Maps.done(() -> bucket.set(Values.of(r, 0)));
            default -> throw r.unknown();
        };
    }
}
