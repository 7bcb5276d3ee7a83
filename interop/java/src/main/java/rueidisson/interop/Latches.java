package rueidisson.interop;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;

/** The operations of {@link RCountDownLatch}. Times are milliseconds. */
final class Latches {
    private Latches() {
    }

    static Object run(Request r, RCountDownLatch latch) throws InterruptedException {
        return switch (r.operation()) {
            case "trySetCount" -> latch.trySetCount(r.number(0));
            case "countDown" -> countDown(latch);
            case "getCount" -> latch.getCount();
            case "await" -> await(r, latch);
            case "delete" -> latch.delete();
            default -> throw r.unknown();
        };
    }

    private static Object countDown(RCountDownLatch latch) {
        latch.countDown();
        return Answers.DONE;
    }

    /** [WAIT]; whether the latch has opened. */
    private static boolean await(Request r, RCountDownLatch latch) throws InterruptedException {
        if (r.has(0)) {
            return latch.await(r.number(0), TimeUnit.MILLISECONDS);
        }
        latch.await();
        return true;
    }
}
