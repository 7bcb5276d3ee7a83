package rueidisson.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * Many threads add to one counter under one lock. The counter is read, incremented here and written
 * back, so a single moment with two holders loses an update and the sum shows it. And each holder counts
 * itself in, so that a second one at the same time is seen at once.
 */
final class Contention {
    /** How long after the end a waiter may still be waiting for somebody else's release. */
    private static final long GRACE_MS = 30_000;

    private final RLock lock;
    private final RBucket<String> counter;
    private final RAtomicLong inside;

    Contention(RedissonClient redisson, RLock lock, String counterKey) {
        this.lock = lock;
        this.counter = redisson.getBucket(counterKey, StringCodec.INSTANCE);
        this.inside = redisson.getAtomicLong(counterKey + ":inside");
    }

    /** The total, then the count of each thread. A negative lease leaves the lock to the watchdog. */
    List<Long> run(int threads, long durationMs, long leaseMs) throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(durationMs);
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<Long>> counts = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                counts.add(pool.submit(() -> addUntil(end, leaseMs)));
            }
            return collect(counts, end);
        } finally {
            pool.shutdownNow(); // interrupts whoever still waits
        }
    }

    private long addUntil(long end, long leaseMs) throws InterruptedException {
        long added = 0;
        while (System.nanoTime() < end) {
            lock.lockInterruptibly(leaseMs, TimeUnit.MILLISECONDS);
            try {
                if (System.nanoTime() < end) {
                    addOne();
                    added++;
                }
            } finally {
                lock.unlock();
            }
        }
        return added;
    }

    /** Counts itself in and out on the master, which does not depend on what a read returns. */
    private void addOne() {
        long now = inside.incrementAndGet();
        if (now != 1) {
            throw new IllegalStateException(now + " holders at once");
        }
        String before = counter.get();
        counter.set(Long.toString(before == null ? 1 : Long.parseLong(before) + 1));
        inside.decrementAndGet();
    }

    private static List<Long> collect(List<Future<Long>> counts, long end)
            throws InterruptedException, ExecutionException, TimeoutException {
        List<Long> all = new ArrayList<>(List.of(0L));
        for (Future<Long> count : counts) {
            long left = end - System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GRACE_MS);
            long added = count.get(left, TimeUnit.NANOSECONDS);
            all.add(added);
            all.set(0, all.get(0) + added);
        }
        return all;
    }
}
