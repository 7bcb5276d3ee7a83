package rueidisson.interop;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The operations of {@link RLock}, whichever kind of lock it is. Times are milliseconds. */
final class Locks {
    private final RedissonClient redisson;
    private final Threads threads;

    Locks(RedissonClient redisson, Threads threads) {
        this.redisson = redisson;
        this.threads = threads;
    }

    Object run(Request r, RLock lock) throws Exception {
        return switch (r.operation()) {
            case "lock" -> lock(r, lock);
            case "lockInterruptibly" -> lockInterruptibly(r, lock);
            case "tryLock" -> tryLock(r, lock);
            case "unlock" -> done(lock::unlock);
            case "forceUnlock" -> lock.forceUnlock();
            case "isLocked" -> lock.isLocked();
            case "isHeldByThread" -> lock.isHeldByThread(threadId(r.text(0)));
            case "isHeldByCurrentThread" -> lock.isHeldByCurrentThread();
            case "getHoldCount" -> lock.getHoldCount();
            case "remainTimeToLive" -> lock.remainTimeToLive();
            case "contend" -> contend(r, lock);
            case "lockAndGetToken" -> fenced(lock).lockAndGetToken();
            case "getToken" -> fenced(lock).getToken();
            default -> throw r.unknown();
        };
    }

    private static RFencedLock fenced(RLock lock) {
        return (RFencedLock) lock;
    }

    private static Object lock(Request r, RLock lock) {
        return done(r.has(0) ? () -> lock.lock(r.number(0), TimeUnit.MILLISECONDS) : lock::lock);
    }

    private static Object lockInterruptibly(Request r, RLock lock) throws InterruptedException {
        if (r.has(0)) {
            lock.lockInterruptibly(r.number(0), TimeUnit.MILLISECONDS);
        } else {
            lock.lockInterruptibly();
        }
        return Answers.DONE;
    }

    /** No argument, a wait, or a wait and a lease: Redisson's three forms. */
    private static boolean tryLock(Request r, RLock lock) throws InterruptedException {
        return switch (r.count()) {
            case 0 -> lock.tryLock();
            case 1 -> lock.tryLock(r.number(0), TimeUnit.MILLISECONDS);
            default -> lock.tryLock(r.number(0), r.number(1), TimeUnit.MILLISECONDS);
        };
    }

    private List<Long> contend(Request r, RLock lock) throws Exception {
        return new Contention(redisson, lock, r.text(0)).run((int) r.number(1), r.number(2), r.number(3, -1));
    }

    /** A number is a thread id of Java, another word the name of a thread of ours. */
    private long threadId(String word) {
        return word.matches("-?\\d+") ? Long.parseLong(word) : threads.id(word);
    }

    private static Object done(Runnable step) {
        step.run();
        return Answers.DONE;
    }
}
