package rueidisson.interop;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.api.MapCacheOptions;
import org.redisson.api.MapOptions;
import org.redisson.api.RMap;
import org.redisson.api.RedissonClient;
import org.redisson.api.map.MapLoader;
import org.redisson.api.map.MapWriter;
import org.redisson.client.codec.Codec;

/** A map, or a cache, in front of a store: what is loaded is let through one by one, and what is written is noted. */
final class Stored implements MapLoader<Object, Object>, MapWriter<Object, Object> {
    private static final int DELAY = 50;
    private static final int BATCH = 10;

    private final RMap<Object, Object> map;
    private final AtomicInteger loads = new AtomicInteger();
    private final Semaphore gate = new Semaphore(0);
    private final List<byte[]> written = new ArrayList<>();

    /** The kind says what it has: loadedmap, loadedcache, writtenmap, behindmap. */
    Stored(RedissonClient redisson, String kind, String name, Codec codec) {
        map = switch (kind) {
            case "loadedcache" -> redisson.getMapCache(name, codec, MapCacheOptions.<Object, Object>defaults().loader(this));
            case "loadedmap" -> redisson.getMap(name, codec, MapOptions.<Object, Object>defaults().loader(this));
            case "writtenmap" -> redisson.getMap(name, codec, MapOptions.<Object, Object>defaults().writer(this));
            default -> redisson.getMap(name, codec, MapOptions.<Object, Object>defaults().writer(this)
                    .writeMode(MapOptions.WriteMode.WRITE_BEHIND).writeBehindDelay(DELAY).writeBehindBatchSize(BATCH));
        };
    }

    static Object run(Request r, Stored stored) throws Exception {
        return switch (r.operation()) {
            case "loads" -> stored.loads.get();
            case "letLoad" -> Maps.done(stored.gate::release);
            case "written" -> stored.written();
            default -> Maps.run(r, stored.map);
        };
    }

    @Override
    public Object load(Object key) {
        loads.incrementAndGet();
        gate.acquireUninterruptibly();
        return "java";
    }

    @Override
    public Iterable<Object> loadAllKeys() {
        return List.of();
    }

    @Override
    public synchronized void write(Map<Object, Object> entries) {
        written.addAll(Values.words(entries));
    }

    @Override
    public synchronized void delete(Collection<Object> keys) {
        for (Object key : keys) {
            written.add(Values.word(key));
            written.add(null);
        }
    }

    private synchronized List<byte[]> written() {
        return new ArrayList<>(written);
    }
}
