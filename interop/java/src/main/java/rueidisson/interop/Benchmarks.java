package rueidisson.interop;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RLock;
import org.redisson.api.RMap;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RSemaphore;
import org.redisson.api.RateIntervalUnit;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;

/** Repeats one operation on many threads for a time, and counts. */
final class Benchmarks {
    /** A rate that nobody reaches, so that each decision writes. */
    private static final long AMPLE = 100_000_000;
    private static final int PERMITS = 8;

    /** One operation of one thread. */
    private interface Step {
        void run() throws Exception;
    }

    private Benchmarks() {
    }

    /** THREADS MS; how many operations were done. The operation of the request is the scenario. */
    static Object run(Request r, RedissonClient redisson) throws Exception {
        int threads = (int) r.number(0);
        long nanos = TimeUnit.MILLISECONDS.toNanos(r.number(1));
        Step[] steps = new Step[threads];
        for (int i = 0; i < threads; i++) {
            steps[i] = step(r, redisson, i);
        }
        return count(steps, nanos);
    }

    private static Step step(Request r, RedissonClient redisson, int thread) {
        String name = r.name();
        return switch (r.operation()) {
            case "own" -> pair(redisson.getLock(name + "-" + thread));
            case "hot" -> pair(redisson.getLock(name));
            case "fair" -> pair(redisson.getFairLock(name + "-" + thread));
            case "semaphore" -> permits(redisson.getSemaphore(name));
            case "limiter" -> decisions(redisson.getRateLimiter(name));
            case "get" -> gets(redisson.getMap(name), thread);
            case "put" -> puts(redisson.getMap(name), thread);
            case "queue" -> elements(redisson.getBlockingQueue(name));
            default -> throw r.unknown();
        };
    }

    private static Step pair(RLock lock) {
        return () -> {
            lock.lock();
            lock.unlock();
        };
    }

    private static Step permits(RSemaphore semaphore) {
        semaphore.trySetPermits(PERMITS);
        return () -> {
            semaphore.acquire();
            semaphore.release();
        };
    }

    private static Step decisions(RRateLimiter limiter) {
        limiter.trySetRate(RateType.OVERALL, AMPLE, 1, RateIntervalUnit.SECONDS);
        return limiter::tryAcquire;
    }

    private static Step gets(RMap<String, String> map, int thread) {
        map.fastPut("key-" + thread, "value");
        return () -> map.get("key-" + thread);
    }

    private static Step puts(RMap<String, String> map, int thread) {
        return () -> map.fastPut("key-" + thread, "value");
    }

    private static Step elements(RBlockingQueue<String> queue) {
        return () -> {
            queue.add("element");
            queue.take();
        };
    }

    /** All threads begin at the same time. An exception of one is that of the run. */
    private static long count(Step[] steps, long nanos) throws Exception {
        AtomicLong done = new AtomicLong();
        AtomicReference<Exception> failed = new AtomicReference<>();
        CountDownLatch begin = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(steps.length);
        for (Step step : steps) {
            Thread thread = new Thread(() -> {
                try {
                    begin.await();
                    long n = 0;
                    for (long until = System.nanoTime() + nanos; System.nanoTime() < until; n++) {
                        step.run();
                    }
                    done.addAndGet(n);
                } catch (Exception e) {
                    failed.set(e);
                } finally {
                    end.countDown();
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        begin.countDown();
        end.await();
        if (failed.get() != null) {
            throw failed.get();
        }
        return done.get();
    }
}
