package rueidisson.interop;

import java.io.PrintStream;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.redisson.api.RAtomicDouble;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RBinaryStream;
import org.redisson.api.RBloomFilter;
import org.redisson.api.RBucket;
import org.redisson.api.RBuckets;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RGeo;
import org.redisson.api.RHyperLogLog;
import org.redisson.api.RIdGenerator;
import org.redisson.api.RJsonBucket;
import org.redisson.api.RLexSortedSet;
import org.redisson.api.RBitSet;
import org.redisson.api.RBucket;
import org.redisson.api.RBuckets;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RList;
import org.redisson.api.RLock;
import org.redisson.api.RMap;
import org.redisson.api.RLocalCachedMap;
import org.redisson.api.RMapCache;
import org.redisson.api.RMultimap;
import org.redisson.api.RPatternTopic;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RQueue;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RReliableTopic;
import org.redisson.api.RRingBuffer;
import org.redisson.api.RScoredSortedSet;
import org.redisson.api.RSemaphore;
import org.redisson.api.RSet;
import org.redisson.api.RSetCache;
import org.redisson.api.RShardedTopic;
import org.redisson.api.RStream;
import org.redisson.api.RTimeSeries;
import org.redisson.api.RTopic;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;

/** Runs requests against one Redisson client. */
final class Peer {
    private final RedissonClient redisson;
    private final Options options;
    private final PrintStream out;
    private final Threads threads = new Threads();
    private final ConcurrentHashMap<String, Object> objects = new ConcurrentHashMap<>();
    private final MapCaches caches = new MapCaches(new MapEvents());
    private final Sets sets = new Sets();
    private final Topics topics = new Topics();

    Peer(RedissonClient redisson, Options options, PrintStream out) {
        this.redisson = redisson;
        this.options = options;
        this.out = out;
    }

    void accept(String line) {
        Request request;
        try {
            request = Request.parse(line);
        } catch (RuntimeException e) {
            Answers.write(out, line.split(" ", 2)[0], Answers.err(e));
            return;
        }
        if (request.object().equals("peer")) {
            answer(request); // about the thread, which may be waiting just now: not on it
        } else {
            threads.run(request.thread(), () -> answer(request));
        }
    }

    private void answer(Request request) {
        String words;
        try {
            words = Answers.ok(run(request));
        } catch (Throwable e) {
            words = Answers.err(e);
        }
        Answers.write(out, request.id(), words);
    }

    /** A new object is one new arm. */
    private Object run(Request r) throws Exception {
        return switch (r.kind()) {
            case "peer" -> aboutPeer(r);
            case "lock" -> lock(r, redisson::getLock);
            case "fairlock" -> lock(r, redisson::getFairLock);
            case "spinlock" -> lock(r, redisson::getSpinLock);
            case "fencedlock" -> lock(r, redisson::getFencedLock);
            case "multilock" -> lock(r, this::multiLock);
            case "lockgroup" -> lock(r, this::lockGroup);
            case "readlock" -> lock(r, name -> redisson.getReadWriteLock(name).readLock());
            case "writelock" -> lock(r, name -> redisson.getReadWriteLock(name).writeLock());
            case "ratelimiter" -> RateLimiters.run(r, object(r, RRateLimiter.class, redisson::getRateLimiter));
            case "latch" -> Latches.run(r, object(r, RCountDownLatch.class, redisson::getCountDownLatch));
            case "semaphore" -> Semaphores.run(r, object(r, RSemaphore.class, redisson::getSemaphore));
            case "permitsemaphore" -> PermitSemaphores.run(r,
                    object(r, RPermitExpirableSemaphore.class, redisson::getPermitExpirableSemaphore));
            case "bloomfilter" -> Blooms.run(r, bloomFilter(r));
            case "bitset" -> BitSets.run(r, object(r, RBitSet.class, redisson::getBitSet));
            case "list" -> Lists.run(r, list(r));
            case "bucket" -> Buckets.run(r, bucket(r));
            case "atomiclong" -> Counters.run(r, object(r, RAtomicLong.class, redisson::getAtomicLong));
            case "atomicdouble" -> Counters.run(r, object(r, RAtomicDouble.class, redisson::getAtomicDouble));
            case "idgenerator" -> Counters.run(r, object(r, RIdGenerator.class, redisson::getIdGenerator));
            case "hyperloglog" -> Counters.run(r, hyperLogLog(r));
            case "buckets" -> Buckets.many(r, object(r, RBuckets.class, name -> redisson.getBuckets(codec(r))));
            case "document" -> Documents.run(r, document(r));
            case "binarystream" -> Buckets.bytes(r, object(r, RBinaryStream.class, redisson::getBinaryStream));
            case "set" -> Sets.run(r, set(r));
            case "setcache" -> sets.cache(r, setCache(r));
            case "map" -> Maps.run(r, map(r));
            case "mapcache" -> caches.run(r, cache(r));
            case "mapcachenative" -> NativeMaps.run(r, nativeMap(r));
            case "nearinvalidate", "nearupdate", "nearload", "nearsilent", "nearmisses" -> NearMaps.run(r, redisson, nearMap(r));
            case "loadedmap", "loadedcache", "writtenmap", "behindmap" -> Stored.run(r, stored(r));
            case "listmultimap", "setmultimap", "listmultimapcache", "setmultimapcache", "listmultimapcachenative", "setmultimapcachenative" ->
                Multimaps.run(r, multimap(r));
            case "queue" -> Queues.run(r, queue(r, redisson::getQueue));
            case "deque" -> Queues.run(r, queue(r, redisson::getDeque));
            case "blockingqueue" -> Queues.run(r, queue(r, redisson::getBlockingQueue));
            case "blockingdeque" -> Queues.run(r, queue(r, redisson::getBlockingDeque));
            case "boundedqueue" -> Queues.run(r, queue(r, redisson::getBoundedBlockingQueue));
            case "delayedqueue" -> Queues.run(r, queue(r, (name, codec) -> redisson.getDelayedQueue(redisson.getQueue(name, codec))));
            case "topic" -> topics.run(r, object(r, RTopic.class, name -> redisson.getTopic(name, codec(r))));
            case "shardedtopic" -> topics.run(r, object(r, RShardedTopic.class, name -> redisson.getShardedTopic(name, codec(r))));
            case "patterntopic" -> topics.run(r, object(r, RPatternTopic.class, name -> redisson.getPatternTopic(name, codec(r))));
            case "reliabletopic" -> topics.run(r, object(r, RReliableTopic.class, name -> redisson.getReliableTopic(name, codec(r))));
            case "ringbuffer" -> RingBuffers.run(r, ring(r));
            case "scoredsortedset" -> ScoredSets.run(r, scored(r));
            case "lexsortedset" -> ScoredSets.texts(r, object(r, RLexSortedSet.class, redisson::getLexSortedSet));
            case "geo" -> Geos.run(r, geo(r));
            case "keys" -> Keyspace.run(r, redisson.getKeys());
            case "timeseries" -> TimeSeries.run(r, timeSeries(r));
            case "stream" -> Streams.run(r, stream(r));
            case "bench" -> Benchmarks.run(r, redisson);
            default -> throw new UnsupportedOperationException("the peer knows no object " + r.object());
        };
    }

    /** The name is those of the members, with bars between. */
    private RLock multiLock(String names) {
        return redisson.getMultiLock(Stream.of(names.split("\\|")).map(redisson::getLock).toArray(RLock[]::new));
    }

    /** The name is that of the group and the values, with bars between. */
    private RLock lockGroup(String nameAndValues) {
        List<String> words = List.of(nameAndValues.split("\\|"));
        return (RLock) Since.call(RedissonClient.class, redisson, "getMultiLock", List.of(String.class, Collection.class),
                words.get(0), words.subList(1, words.size()));
    }

    @SuppressWarnings("unchecked")
    private RBucket<Object> bucket(Request r) {
        return object(r, RBucket.class, name -> redisson.getBucket(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RJsonBucket<Object> document(Request r) {
        return object(r, RJsonBucket.class, name -> Documents.named(redisson, name, r.codec()));
    }

    @SuppressWarnings("unchecked")
    private RHyperLogLog<Object> hyperLogLog(Request r) {
        return object(r, RHyperLogLog.class, name -> redisson.getHyperLogLog(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RBloomFilter<Object> bloomFilter(Request r) {
        return object(r, RBloomFilter.class, name -> redisson.getBloomFilter(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RSet<Object> set(Request r) {
        return object(r, RSet.class, name -> redisson.getSet(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RSetCache<Object> setCache(Request r) {
        return object(r, RSetCache.class, name -> redisson.getSetCache(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RList<Object> list(Request r) {
        return object(r, RList.class, name -> redisson.getList(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RMap<Object, Object> map(Request r) {
        return object(r, RMap.class, name -> redisson.getMap(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RMapCache<Object, Object> cache(Request r) {
        return object(r, RMapCache.class, name -> redisson.getMapCache(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RMap<Object, Object> nativeMap(Request r) {
        return object(r, RMap.class, name -> NativeMaps.of(redisson, name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RLocalCachedMap<Object, Object> nearMap(Request r) {
        return object(r, RLocalCachedMap.class, name -> NearMaps.of(redisson, r.kind(), name, codec(r)));
    }

    private Stored stored(Request r) {
        return object(r, Stored.class, name -> new Stored(redisson, r.kind(), name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RMultimap<Object, Object> multimap(Request r) {
        return object(r, RMultimap.class, name -> Multimaps.of(redisson, r.kind(), name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RQueue<Object> queue(Request r, BiFunction<String, Codec, RQueue<Object>> maker) {
        return object(r, RQueue.class, name -> maker.apply(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RRingBuffer<Object> ring(Request r) {
        return object(r, RRingBuffer.class, name -> redisson.getRingBuffer(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RScoredSortedSet<Object> scored(Request r) {
        return object(r, RScoredSortedSet.class, name -> redisson.getScoredSortedSet(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RGeo<Object> geo(Request r) {
        return object(r, RGeo.class, name -> redisson.getGeo(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RTimeSeries<Object, Object> timeSeries(Request r) {
        return object(r, RTimeSeries.class, name -> redisson.getTimeSeries(name, codec(r)));
    }

    @SuppressWarnings("unchecked")
    private RStream<Object, Object> stream(Request r) {
        return object(r, RStream.class, name -> redisson.getStream(name, codec(r)));
    }

    private Codec codec(Request r) {
        return r.codec() == null ? options.config().getCodec() : Codecs.named(r.codec());
    }

    private Object lock(Request r, Function<String, RLock> maker) throws Exception {
        return new Locks(redisson, threads).run(r, object(r, RLock.class, maker));
    }

    /**
     * One Java object per kind and name, as in a program that keeps it in a field. It matters: a lock
     * object remembers the last lease asked of it, and its unlock writes that to Redis.
     */
    private <T> T object(Request r, Class<T> type, Function<String, T> maker) {
        return type.cast(objects.computeIfAbsent(r.object() + " " + r.name(), key -> maker.apply(r.name())));
    }

    private Object aboutPeer(Request r) {
        return switch (r.operation()) {
            case "owner" -> redisson.getId() + ":" + threads.id(r.thread());
            case "threadId" -> threads.id(r.thread());
            case "interrupt" -> threads.interrupt(r.thread());
            case "echo" -> IntStream.range(0, r.count()).mapToObj(r::bytes).toList();
            case "codec" -> options.config().getCodec().getClass().getName();
            default -> throw r.unknown();
        };
    }
}
