package rueidisson.interop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RMapCache;
import org.redisson.api.map.event.EntryCreatedListener;
import org.redisson.api.map.event.EntryEvent;
import org.redisson.api.map.event.EntryExpiredListener;
import org.redisson.api.map.event.EntryRemovedListener;
import org.redisson.api.map.event.EntryUpdatedListener;
import org.redisson.api.map.event.MapEntryListener;

/** What listeners of a map were told, kept until somebody asks. */
final class MapEvents {
    private final ConcurrentHashMap<String, Told> listeners = new ConcurrentHashMap<>();

    private record Told(BlockingQueue<List<byte[]>> events, List<Integer> ids) {
    }

    boolean knows(Request r) {
        return List.of("listen", "events", "unlisten").contains(r.operation());
    }

    Object run(Request r, RMapCache<Object, Object> map) throws InterruptedException {
        return switch (r.operation()) {
            case "listen" -> listen(r, map);
            case "events" -> events(r);
            default -> unlisten(r, map);
        };
    }

    private static String key(Request r) {
        return r.object() + " " + r.name();
    }

    /** Of all four kinds, once for each map. */
    private Object listen(Request r, RMapCache<Object, Object> map) {
        Told told = new Told(new LinkedBlockingQueue<>(), new ArrayList<>());
        if (listeners.putIfAbsent(key(r), told) == null) {
            for (MapEntryListener listener : all(told.events)) {
                told.ids.add(map.addListener(listener));
            }
        }
        return Answers.DONE;
    }

    private static List<MapEntryListener> all(BlockingQueue<List<byte[]>> events) {
        EntryCreatedListener<Object, Object> created = e -> events.add(words(e));
        EntryUpdatedListener<Object, Object> updated = e -> events.add(words(e));
        EntryRemovedListener<Object, Object> removed = e -> events.add(words(e));
        EntryExpiredListener<Object, Object> expired = e -> events.add(words(e));
        return List.of(created, updated, removed, expired);
    }

    private static List<byte[]> words(EntryEvent<Object, Object> e) {
        List<byte[]> words = new ArrayList<>();
        words.add(e.getType().name().getBytes(java.nio.charset.StandardCharsets.US_ASCII));
        words.addAll(Values.words(Arrays.asList(e.getKey(), e.getValue(), e.getOldValue())));
        return words;
    }

    /** COUNT WAIT: four words for each event, in the order of their arrival; fewer if the wait is over. */
    private Object events(Request r) throws InterruptedException {
        Told told = listeners.get(key(r));
        if (told == null) {
            throw new IllegalStateException("nobody listens to " + r.name());
        }
        List<byte[]> words = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(r.number(1));
        for (long i = 0; i < r.number(0); i++) {
            List<byte[]> event = told.events.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (event == null) {
                break;
            }
            words.addAll(event);
        }
        return words;
    }

    private Object unlisten(Request r, RMapCache<Object, Object> map) {
        Told told = listeners.remove(key(r));
        if (told != null) {
            told.ids.forEach(map::removeListener);
        }
        return Answers.DONE;
    }
}
