package rueidisson.interop;

import org.redisson.api.RRingBuffer;

/** The operations of {@link RRingBuffer} beside those that it has as a queue. */
final class RingBuffers {
    private RingBuffers() {
    }

    static Object run(Request r, RRingBuffer<Object> ring) throws InterruptedException {
        return switch (r.operation()) {
            case "trySetCapacity" -> ring.trySetCapacity(Math.toIntExact(r.number(0)));
            case "setCapacity" -> Maps.done(() -> ring.setCapacity(Math.toIntExact(r.number(0))));
            case "capacity" -> ring.capacity();
            case "remainingCapacity" -> ring.remainingCapacity();
            default -> Queues.run(r, ring);
        };
    }
}
