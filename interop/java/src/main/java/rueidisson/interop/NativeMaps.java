package rueidisson.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.redisson.api.RMap;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;

/** The operations of RMapCacheNative that no plain map has: [TTL] behind what is put, in milliseconds. */
final class NativeMaps {
    private static final String TYPE = "org.redisson.api.RMapCacheNative";

    private NativeMaps() {
    }

    @SuppressWarnings("unchecked")
    static RMap<Object, Object> of(RedissonClient redisson, String name, Codec codec) {
        return (RMap<Object, Object>) Since.call(RedissonClient.class, redisson, "getMapCacheNative", List.of(String.class, Codec.class), name, codec);
    }

    static Object run(Request r, RMap<Object, Object> map) throws Exception {
        return switch (r.operation()) {
            case "put", "putIfAbsent" -> r.has(2) ? Values.word(timed(r, map)) : Maps.run(r, map);
            case "fastPut", "fastPutIfAbsent" -> r.has(2) ? timed(r, map) : Maps.run(r, map);
            case "remainTimeToLive" -> r.has(0) ? call(map, "remainTimeToLive", List.of(Object.class), Values.of(r, 0)) : map.remainTimeToLive();
            case "expireEntry" -> call(map, "expireEntry", List.of(Object.class, Duration.class), Values.of(r, 0), Duration.ofMillis(r.number(1)));
            case "expireEntries", "expireEntriesIfNotSet", "expireEntriesIfGreater", "expireEntriesIfLess" ->
                call(map, r.operation(), List.of(Set.class, Duration.class), new HashSet<>(Values.from(r, 1)), Duration.ofMillis(r.number(0)));
            case "clearExpireEntry" -> call(map, "clearExpire", List.of(Object.class), Values.of(r, 0));
            default -> Maps.run(r, map);
        };
    }

    private static Object timed(Request r, RMap<Object, Object> map) {
        return call(map, r.operation(), List.of(Object.class, Object.class, Duration.class), Values.of(r, 0), Values.of(r, 1), Duration.ofMillis(r.number(2)));
    }

    private static Object call(RMap<Object, Object> map, String method, List<Class<?>> types, Object... args) {
        return Since.call(Since.type(TYPE), map, method, new ArrayList<>(types), args);
    }
}
