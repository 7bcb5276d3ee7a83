package rueidisson.interop;

import java.time.Duration;
import java.util.HashSet;
import java.util.concurrent.TimeUnit;
import org.redisson.api.EvictionMode;
import org.redisson.api.RMapCache;

/** The operations of {@link RMapCache} that no plain map has: [TTL [IDLE]] behind what is put, in milliseconds. */
final class MapCaches {
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;

    private final MapEvents events;

    MapCaches(MapEvents events) {
        this.events = events;
    }

    Object run(Request r, RMapCache<Object, Object> map) throws Exception {
        return switch (r.operation()) {
            case "put" -> r.has(2) ? Values.word(map.put(key(r), value(r), r.number(2), MS, r.number(3, 0), MS)) : Maps.run(r, map);
            case "fastPut" -> r.has(2) ? map.fastPut(key(r), value(r), r.number(2), MS, r.number(3, 0), MS) : Maps.run(r, map);
            case "putIfAbsent" -> r.has(2) ? Values.word(map.putIfAbsent(key(r), value(r), r.number(2), MS, r.number(3, 0), MS)) : Maps.run(r, map);
            case "fastPutIfAbsent" -> r.has(2) ? map.fastPutIfAbsent(key(r), value(r), r.number(2), MS, r.number(3, 0), MS) : Maps.run(r, map);
            case "putAllFor" -> Maps.done(() -> map.putAll(Maps.pairs(r, 1), r.number(0), MS));
            case "getWithTTLOnly" -> Values.word(map.getWithTTLOnly(key(r)));
            case "remainTimeToLive" -> r.has(0) ? map.remainTimeToLive(key(r)) : map.remainTimeToLive();
            case "expireEntry" -> map.expireEntry(key(r), Duration.ofMillis(r.number(1)), Duration.ofMillis(r.number(2, 0)));
            case "expireEntries" -> map.expireEntries(new HashSet<>(Values.from(r, 1)), Duration.ofMillis(r.number(0)), Duration.ZERO);
            case "expireEntriesIfNotSet" -> map.expireEntriesIfNotSet(new HashSet<>(Values.from(r, 1)), Duration.ofMillis(r.number(0)), Duration.ZERO);
            case "setMaxSize" -> Maps.done(() -> map.setMaxSize((int) r.number(0), mode(r)));
            case "trySetMaxSize" -> map.trySetMaxSize((int) r.number(0), mode(r));
            case "getWithLease" -> Leases.get(r, map);
            case "putWithLease" -> Leases.put(r, map);
            case "destroy" -> Maps.done(map::destroy);
            default -> events.knows(r) ? events.run(r, map) : Maps.run(r, map);
        };
    }

    private static Object key(Request r) {
        return Values.of(r, 0);
    }

    private static Object value(Request r) {
        return Values.of(r, 1);
    }

    private static EvictionMode mode(Request r) {
        return r.has(1) ? EvictionMode.valueOf(r.text(1)) : EvictionMode.LRU;
    }
}
