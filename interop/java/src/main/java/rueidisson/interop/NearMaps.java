package rueidisson.interop;

import java.util.List;
import org.redisson.api.LocalCachedMapOptions;
import org.redisson.api.LocalCachedMapOptions.ReconnectionStrategy;
import org.redisson.api.LocalCachedMapOptions.SyncStrategy;
import org.redisson.api.RLocalCachedMap;
import org.redisson.api.RMap;
import org.redisson.api.RTransaction;
import org.redisson.api.RedissonClient;
import org.redisson.api.TransactionOptions;
import org.redisson.client.codec.Codec;

/** The operations of {@link RLocalCachedMap} that no plain map has. */
final class NearMaps {
    private NearMaps() {
    }

    /** The kind says how it is kept in step: nearinvalidate, nearupdate, nearload, nearsilent; nearmisses keeps misses. */
    static RLocalCachedMap<Object, Object> of(RedissonClient redisson, String kind, String name, Codec codec) {
        LocalCachedMapOptions<Object, Object> options = LocalCachedMapOptions.<Object, Object>defaults();
        switch (kind) {
            case "nearupdate" -> options.syncStrategy(SyncStrategy.UPDATE);
            case "nearload" -> options.syncStrategy(SyncStrategy.INVALIDATE).reconnectionStrategy(ReconnectionStrategy.LOAD);
            case "nearmisses" -> options.syncStrategy(SyncStrategy.INVALIDATE).storeCacheMiss(true);
            case "nearsilent" -> options.syncStrategy(SyncStrategy.NONE);
            default -> options.syncStrategy(SyncStrategy.INVALIDATE);
        }
        return redisson.getLocalCachedMap(name, codec, options);
    }

    static Object run(Request r, RedissonClient redisson, RLocalCachedMap<Object, Object> map) throws Exception {
        return switch (r.operation()) {
            case "cached" -> map.getCachedMap().containsKey(Values.of(r, 0));
            case "clearLocalCache" -> clear(map);
            case "putInTransaction" -> transaction(r, redisson, map);
            default -> Maps.run(r, map);
        };
    }

    private static Object clear(RLocalCachedMap<Object, Object> map) {
        map.clearLocalCache();
        return List.of();
    }

    private static Object transaction(Request r, RedissonClient redisson, RLocalCachedMap<Object, Object> map) {
        RTransaction transaction = redisson.createTransaction(TransactionOptions.defaults());
        RMap<Object, Object> mine = transaction.getLocalCachedMap(map);
        mine.fastPut(Values.of(r, 0), Values.of(r, 1));
        transaction.commit();
        return List.of();
    }
}
