package rueidisson.interop;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.redisson.api.RPermitExpirableSemaphore;

/** The operations of {@link RPermitExpirableSemaphore}. Times are milliseconds. */
final class PermitSemaphores {
    private PermitSemaphores() {
    }

    static Object run(Request r, RPermitExpirableSemaphore semaphore) throws InterruptedException {
        return switch (r.operation()) {
            case "trySetPermits" -> semaphore.trySetPermits((int) r.number(0));
            case "setPermits" -> setPermits(r, semaphore);
            case "addPermits" -> done(() -> semaphore.addPermits((int) r.number(0)));
            case "acquire" -> acquire(r, semaphore);
            case "tryAcquire" -> tryAcquire(r, semaphore);
            case "acquireSome" -> some(semaphore, "acquire", List.of(int.class, long.class, TimeUnit.class),
                    (int) r.number(0), r.number(1), TimeUnit.MILLISECONDS);
            case "tryAcquireSome" -> some(semaphore, "tryAcquire", List.of(int.class, long.class, long.class, TimeUnit.class),
                    (int) r.number(0), r.number(1), r.number(2), TimeUnit.MILLISECONDS);
            case "releaseSome" -> releaseSome(r, semaphore);
            case "tryRelease" -> semaphore.tryRelease(r.text(0));
            case "updateLeaseTime" -> semaphore.updateLeaseTime(r.text(0), r.number(1), TimeUnit.MILLISECONDS);
            case "getLeaseTime" -> Since.call(RPermitExpirableSemaphore.class, semaphore, "getLeaseTime", List.of(String.class), r.text(0));
            case "availablePermits" -> semaphore.availablePermits();
            case "delete" -> semaphore.delete();
            default -> throw r.unknown();
        };
    }

    private static Object setPermits(Request r, RPermitExpirableSemaphore semaphore) {
        Since.call(RPermitExpirableSemaphore.class, semaphore, "setPermits", List.of(int.class), (int) r.number(0));
        return Answers.DONE;
    }

    /** [LEASE] */
    private static String acquire(Request r, RPermitExpirableSemaphore semaphore) throws InterruptedException {
        return r.has(0) ? semaphore.acquire(r.number(0), TimeUnit.MILLISECONDS) : semaphore.acquire();
    }

    /** [WAIT LEASE]; without, it has no end. Null if there was none. */
    private static String tryAcquire(Request r, RPermitExpirableSemaphore semaphore) throws InterruptedException {
        if (r.has(0)) {
            return semaphore.tryAcquire(r.number(0), r.number(1), TimeUnit.MILLISECONDS);
        }
        return semaphore.tryAcquire();
    }

    private static Object some(RPermitExpirableSemaphore semaphore, String method, List<Class<?>> types, Object... args) {
        return Since.call(RPermitExpirableSemaphore.class, semaphore, method, types, args);
    }

    /** ID... */
    private static Object releaseSome(Request r, RPermitExpirableSemaphore semaphore) {
        List<String> ids = IntStream.range(0, r.count()).mapToObj(r::text).toList();
        Since.call(RPermitExpirableSemaphore.class, semaphore, "release", List.of(List.class), ids);
        return Answers.DONE;
    }

    private static Object done(Runnable step) {
        step.run();
        return Answers.DONE;
    }
}
