package rueidisson.interop;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RListMultimap;
import org.redisson.api.RMultimap;
import org.redisson.api.RMultimapCache;
import org.redisson.api.RSetMultimap;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;

/** The operations of {@link RMultimap}, of lists and of sets, and of those whose keys end. Times are milliseconds. */
final class Multimaps {
    private Multimaps() {
    }

    @SuppressWarnings("unchecked")
    static RMultimap<Object, Object> of(RedissonClient redisson, String kind, String name, Codec codec) {
        return switch (kind) {
            case "listmultimap" -> redisson.getListMultimap(name, codec);
            case "setmultimap" -> redisson.getSetMultimap(name, codec);
            case "listmultimapcache" -> redisson.getListMultimapCache(name, codec);
            case "setmultimapcache" -> redisson.getSetMultimapCache(name, codec);
            case "listmultimapcachenative" -> (RMultimap<Object, Object>) natively(redisson, "getListMultimapCacheNative", name, codec);
            default -> (RMultimap<Object, Object>) natively(redisson, "getSetMultimapCacheNative", name, codec);
        };
    }

    private static Object natively(RedissonClient redisson, String getter, String name, Codec codec) {
        return Since.call(RedissonClient.class, redisson, getter, List.of(String.class, Codec.class), name, codec);
    }

    static Object run(Request r, RMultimap<Object, Object> map) throws Exception {
        return switch (r.operation()) {
            case "put" -> map.put(Values.of(r, 0), Values.of(r, 1));
            case "putAll" -> map.putAll(Values.of(r, 0), Values.from(r, 1));
            case "getAll" -> Values.words(map.getAll(Values.of(r, 0)));
            case "containsKey" -> map.containsKey(Values.of(r, 0));
            case "containsEntry" -> map.containsEntry(Values.of(r, 0), Values.of(r, 1));
            case "remove" -> map.remove(Values.of(r, 0), Values.of(r, 1));
            case "removeAll" -> Values.words(map.removeAll(Values.of(r, 0)));
            case "replaceValues" -> Values.words(replace(r, map));
            case "fastRemove" -> map.fastRemove(Values.from(r, 0).toArray());
            case "fastRemoveValue" -> Since.call(RMultimap.class, map, "fastRemoveValue", List.of(Object[].class), (Object) Values.from(r, 0).toArray());
            case "keySize" -> map.keySize();
            case "size" -> map.size();
            case "readAllKeySet" -> Values.words(map.readAllKeySet());
            case "values" -> Values.words(map.values());
            case "containsValue" -> map.containsValue(Values.of(r, 0));
            case "range" -> Values.words(((RListMultimap<Object, Object>) map).get(Values.of(r, 0)).range((int) r.number(1), (int) r.number(2)));
            case "nameOfEntryObject" -> Maps.nameOfEntryObject(r, RMultimap.class, map);
            case "expireKey" -> ((RMultimapCache<Object, Object>) map).expireKey(Values.of(r, 0), r.number(1), TimeUnit.MILLISECONDS);
            case "isEntryLocked" -> map.getLock(Values.of(r, 0)).isLocked();
            case "delete" -> map.delete();
            default -> throw r.unknown();
        };
    }

    private static java.util.Collection<Object> replace(Request r, RMultimap<Object, Object> map) {
        return map instanceof RListMultimap<Object, Object> list
                ? list.replaceValues(Values.of(r, 0), Values.from(r, 1))
                : ((RSetMultimap<Object, Object>) map).replaceValues(Values.of(r, 0), Values.from(r, 1));
    }
}
