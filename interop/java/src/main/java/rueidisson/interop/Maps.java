package rueidisson.interop;

import java.time.Instant;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RMap;
import org.redisson.api.RObject;

/**
 * The operations of {@link RMap}, which those of {@link MapCaches} and {@link NativeMaps} stand on. Keys and values are
 * words as {@link Values} reads them; times are milliseconds.
 */
final class Maps {
    private Maps() {
    }

    static Object run(Request r, RMap<Object, Object> map) throws Exception {
        return switch (r.operation()) {
            case "get" -> Values.word(map.get(Values.of(r, 0)));
            case "getAll" -> Values.words(map.getAll(new HashSet<>(Values.from(r, 0))));
            case "containsKey" -> map.containsKey(Values.of(r, 0));
            case "containsValue" -> map.containsValue(Values.of(r, 0));
            case "valueSize" -> map.valueSize(Values.of(r, 0));
            case "size" -> map.size();
            case "readAllKeySet" -> Values.words(map.readAllKeySet());
            case "readAllValues" -> Values.words(map.readAllValues());
            case "readAllMap" -> Values.words(map.readAllMap());
            case "delete" -> map.delete();
            case "clear" -> done(map::clear);
            case "isExists" -> map.isExists();
            case "expire" -> map.expire(r.number(0), TimeUnit.MILLISECONDS);
            case "clearExpire" -> map.clearExpire();
            case "expireAt" -> map.expire(Instant.ofEpochMilli(r.number(0)));
            case "remainTimeToLive" -> map.remainTimeToLive();
            case "randomKeys" -> Values.words(map.randomKeys((int) r.number(0)));
            case "randomEntries" -> Values.words(map.randomEntries((int) r.number(0)));
            case "sizeInMemory" -> map.sizeInMemory();
            case "renamenx" -> map.renamenx(r.text(0));
            case "copy" -> Since.call(RObject.class, map, "copy", List.of(String.class), r.text(0));
            default -> write(r, map);
        };
    }

    private static Object write(Request r, RMap<Object, Object> map) throws Exception {
        return switch (r.operation()) {
            case "put" -> Values.word(map.put(Values.of(r, 0), Values.of(r, 1)));
            case "putAll" -> putAll(r, map);
            case "fastPut" -> map.fastPut(Values.of(r, 0), Values.of(r, 1));
            case "putIfAbsent" -> Values.word(map.putIfAbsent(Values.of(r, 0), Values.of(r, 1)));
            case "fastPutIfAbsent" -> map.fastPutIfAbsent(Values.of(r, 0), Values.of(r, 1));
            case "putIfExists" -> Values.word(map.putIfExists(Values.of(r, 0), Values.of(r, 1)));
            case "fastPutIfExists" -> map.fastPutIfExists(Values.of(r, 0), Values.of(r, 1));
            case "replace" -> replace(r, map);
            case "fastReplace" -> map.fastReplace(Values.of(r, 0), Values.of(r, 1));
            case "remove" -> remove(r, map);
            case "fastRemove" -> map.fastRemove(Values.from(r, 0).toArray());
            case "addAndGet" -> Values.word(map.addAndGet(Values.of(r, 0), (Number) Values.of(r, 1)));
            default -> locked(r, map);
        };
    }

    /** What takes the lock of an entry. */
    private static Object locked(Request r, RMap<Object, Object> map) throws Exception {
        return switch (r.operation()) {
            case "compute" -> compute(r, map);
            case "computeIfAbsent" -> Values.word(map.computeIfAbsent(Values.of(r, 0), key -> Values.of(r, 1)));
            case "merge" -> Values.word(map.merge(Values.of(r, 0), Values.of(r, 1), (old, more) -> plus(old, ((Number) more).longValue())));
            case "increment" -> increment(r, map);
            case "lockEntry" -> done(map.getLock(Values.of(r, 0))::lock);
            case "unlockEntry" -> done(map.getLock(Values.of(r, 0))::unlock);
            case "isEntryLocked" -> entry(r, map).isLocked();
            case "nameOfEntryLock" -> entry(r, map).getName();
            case "nameOfEntryObject" -> nameOfEntryObject(r, RMap.class, map);
            default -> throw r.unknown();
        };
    }

    private static RLock entry(Request r, RMap<Object, Object> map) {
        return map.getLock(Values.of(r, 0));
    }

    /** GETTER KEY: the name of what that method of a map, or of a multimap, returns for the key. */
    static String nameOfEntryObject(Request r, Class<?> type, Object map) {
        return ((RObject) Since.call(type, map, r.text(0), List.of(Object.class), Values.of(r, 1))).getName();
    }

    /** KEY VALUE..., one behind the other. */
    static Map<Object, Object> pairs(Request r, int first) {
        List<Object> words = Values.from(r, first);
        Map<Object, Object> pairs = new LinkedHashMap<>();
        for (int i = 0; i + 1 < words.size(); i += 2) {
            pairs.put(words.get(i), words.get(i + 1));
        }
        return pairs;
    }

    private static Object putAll(Request r, RMap<Object, Object> map) {
        map.putAll(pairs(r, 0));
        return Answers.DONE;
    }

    /** KEY VALUE, or KEY OLD VALUE */
    private static Object replace(Request r, RMap<Object, Object> map) {
        if (r.has(2)) {
            return map.replace(Values.of(r, 0), Values.of(r, 1), Values.of(r, 2));
        }
        return Values.word(map.replace(Values.of(r, 0), Values.of(r, 1)));
    }

    /** KEY, or KEY OLD */
    private static Object remove(Request r, RMap<Object, Object> map) {
        return r.has(1) ? (Object) map.remove(Values.of(r, 0), Values.of(r, 1)) : Values.word(map.remove(Values.of(r, 0)));
    }

    /** KEY VALUE [PAUSE]: the function takes that long; a null value removes the entry. */
    private static Object compute(Request r, RMap<Object, Object> map) {
        return Values.word(map.compute(Values.of(r, 0), (key, old) -> {
            pause(r.number(2, 0));
            return Values.of(r, 1);
        }));
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** KEY TIMES: that many computes, each of which adds one. */
    private static Object increment(Request r, RMap<Object, Object> map) {
        Object key = Values.of(r, 0);
        Object now = null;
        for (long i = 0; i < r.number(1); i++) {
            now = map.compute(key, (k, old) -> plus(old, 1));
        }
        return Values.word(now);
    }

    /** A value stays of the class that the codec gives it. */
    private static Object plus(Object old, long more) {
        if (old instanceof String text) {
            return Long.toString(Long.parseLong(text) + more);
        }
        if (old instanceof Integer number) {
            return Math.toIntExact(number + more);
        }
        return old == null ? (Object) more : (Object) (((Number) old).longValue() + more);
    }

    static Object done(Runnable step) {
        step.run();
        return Answers.DONE;
    }
}
