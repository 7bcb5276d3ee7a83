package rueidisson.interop;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RSemaphore;

/** The operations of {@link RSemaphore}. Times are milliseconds. */
final class Semaphores {
    private Semaphores() {
    }

    static Object run(Request r, RSemaphore semaphore) throws InterruptedException {
        return switch (r.operation()) {
            case "trySetPermits" -> trySetPermits(r, semaphore);
            case "acquire" -> acquire(r, semaphore);
            case "tryAcquire" -> tryAcquire(r, semaphore);
            case "release" -> done(() -> semaphore.release((int) r.number(0, 1)));
            case "addPermits" -> done(() -> semaphore.addPermits((int) r.number(0)));
            case "drainPermits" -> semaphore.drainPermits();
            case "availablePermits" -> semaphore.availablePermits();
            case "delete" -> semaphore.delete();
            default -> throw r.unknown();
        };
    }

    /** PERMITS [TIME-TO-LIVE] */
    private static Object trySetPermits(Request r, RSemaphore semaphore) {
        int permits = (int) r.number(0);
        if (!r.has(1)) {
            return semaphore.trySetPermits(permits);
        }
        return Since.call(RSemaphore.class, semaphore, "trySetPermits", List.of(int.class, Duration.class),
                permits, Duration.ofMillis(r.number(1)));
    }

    private static Object acquire(Request r, RSemaphore semaphore) throws InterruptedException {
        semaphore.acquire((int) r.number(0, 1));
        return Answers.DONE;
    }

    /** PERMITS [WAIT] */
    private static boolean tryAcquire(Request r, RSemaphore semaphore) throws InterruptedException {
        if (r.has(1)) {
            return semaphore.tryAcquire((int) r.number(0), r.number(1), TimeUnit.MILLISECONDS);
        }
        return semaphore.tryAcquire((int) r.number(0, 1));
    }

    private static Object done(Runnable step) {
        step.run();
        return Answers.DONE;
    }
}
