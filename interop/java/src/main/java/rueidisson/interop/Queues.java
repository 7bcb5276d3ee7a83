package rueidisson.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RBlockingDeque;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RBoundedBlockingQueue;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RDeque;
import org.redisson.api.RQueue;

/**
 * The operations of {@link RQueue} and, where the queue is one, of {@link RDeque}, {@link RBlockingQueue},
 * {@link RBlockingDeque}, {@link RBoundedBlockingQueue} and {@link RDelayedQueue}. Elements are words as {@link Values} reads them; times are
 * milliseconds.
 */
final class Queues {
    private Queues() {
    }

    static Object run(Request r, RQueue<Object> queue) throws InterruptedException {
        return switch (r.operation()) {
            case "add" -> queue.add(Values.of(r, 0));
            case "offer" -> queue.offer(Values.of(r, 0));
            case "poll" -> Values.word(queue.poll());
            case "peek" -> Values.word(queue.peek());
            case "remove" -> queue.remove(Values.of(r, 0));
            case "readAll" -> Values.words(queue.readAll());
            case "size" -> queue.size();
            case "isExists" -> queue.isExists();
            case "delete" -> queue.delete();
            default -> blocking(r, queue);
        };
    }

    private static Object blocking(Request r, RQueue<Object> queue) throws InterruptedException {
        if (!(queue instanceof RBlockingQueue<Object> blocking)) {
            return deque(r, queue);
        }
        return switch (r.operation()) {
            case "put" -> put(r, blocking);
            case "take" -> Values.word(blocking.take());
            case "pollFor" -> Values.word(blocking.poll(r.number(0), TimeUnit.MILLISECONDS));
            case "offerFor" -> blocking.offer(Values.of(r, 1), r.number(0), TimeUnit.MILLISECONDS);
            case "drainTo" -> drain(blocking);
            case "takeMany" -> takeMany(r, blocking);
            case "putMany" -> putMany(r, blocking);
            default -> bounded(r, blocking);
        };
    }

    private static Object bounded(Request r, RQueue<Object> queue) throws InterruptedException {
        if (!(queue instanceof RBoundedBlockingQueue<Object> bounded)) {
            return deque(r, queue);
        }
        return switch (r.operation()) {
            case "trySetCapacity" -> bounded.trySetCapacity(Math.toIntExact(r.number(0)));
            case "remainingCapacity" -> bounded.remainingCapacity();
            default -> throw r.unknown();
        };
    }

    private static Object deque(Request r, RQueue<Object> queue) throws InterruptedException {
        if (!(queue instanceof RDeque<Object> deque)) {
            return delayed(r, queue);
        }
        return switch (r.operation()) {
            case "addFirst" -> Maps.done(() -> deque.addFirst(Values.of(r, 0)));
            case "addLast" -> Maps.done(() -> deque.addLast(Values.of(r, 0)));
            case "pollLast" -> Values.word(deque.pollLast());
            case "peekLast" -> Values.word(deque.peekLast());
            case "removeLastOccurrence" -> deque.removeLastOccurrence(Values.of(r, 0));
            case "takeLast" -> Values.word(((RBlockingDeque<Object>) deque).takeLast());
            default -> throw r.unknown();
        };
    }

    private static Object delayed(Request r, RQueue<Object> queue) {
        if (!(queue instanceof RDelayedQueue<Object> delayed)) {
            throw r.unknown();
        }
        return switch (r.operation()) {
            case "offerIn" -> Maps.done(() -> delayed.offer(Values.of(r, 1), r.number(0), TimeUnit.MILLISECONDS));
            case "offerMany" -> offerMany(r, delayed);
            default -> throw r.unknown();
        };
    }

    private static Object put(Request r, RBlockingQueue<Object> queue) throws InterruptedException {
        queue.put(Values.of(r, 0));
        return Answers.DONE;
    }

    private static List<byte[]> drain(RBlockingQueue<Object> queue) {
        List<Object> all = new ArrayList<>();
        queue.drainTo(all);
        return Values.words(all);
    }

    /** COUNT WAIT: so many, one after the other, and no more when one has not come for so long. */
    private static List<byte[]> takeMany(Request r, RBlockingQueue<Object> queue) throws InterruptedException {
        List<Object> all = new ArrayList<>();
        for (Object one; all.size() < r.number(0) && (one = queue.poll(r.number(1), TimeUnit.MILLISECONDS)) != null;) {
            all.add(one);
        }
        return Values.words(all);
    }

    /** PREFIX COUNT: texts, with a number behind. */
    private static Object putMany(Request r, RBlockingQueue<Object> queue) throws InterruptedException {
        for (long i = 0; i < r.number(1); i++) {
            queue.put(r.text(0) + i);
        }
        return Answers.DONE;
    }

    /** PREFIX COUNT SPREAD: texts, with a number behind, due at times from now to the spread. */
    private static Object offerMany(Request r, RDelayedQueue<Object> queue) {
        for (long i = 0; i < r.number(1); i++) {
            queue.offer(r.text(0) + i, i * 37 % r.number(2), TimeUnit.MILLISECONDS);
        }
        return Answers.DONE;
    }
}
