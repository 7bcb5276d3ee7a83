package rueidisson.interop;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.redisson.api.RPatternTopic;
import org.redisson.api.RReliableTopic;
import org.redisson.api.RTopic;

/** What listeners of topics of all kinds were told, kept until somebody asks. */
final class Topics {
    private final ConcurrentHashMap<String, BlockingQueue<List<byte[]>>> heard = new ConcurrentHashMap<>();

    Object run(Request r, RTopic topic) throws Exception {
        return switch (r.operation()) {
            case "publish" -> topic.publish(Values.of(r, 0));
            case "countSubscribers" -> topic.countSubscribers();
            case "listen" -> listen(r, told -> topic.addListener(Object.class,
                    (channel, message) -> told.add(words(channel.toString(), message))));
            case "unlisten" -> unlisten(r, topic::removeAllListeners);
            default -> hears(r);
        };
    }

    Object run(Request r, RPatternTopic topic) throws Exception {
        return switch (r.operation()) {
            case "listen" -> listen(r, told -> topic.addListener(Object.class,
                    (pattern, channel, message) -> told.add(words(channel.toString(), message))));
            case "unlisten" -> unlisten(r, topic::removeAllListeners);
            default -> hears(r);
        };
    }

    Object run(Request r, RReliableTopic topic) throws Exception {
        return switch (r.operation()) {
            case "publish" -> topic.publish(Values.of(r, 0));
            case "countSubscribers" -> topic.countSubscribers();
            case "size" -> topic.size();
            case "delete" -> topic.delete();
            case "listen" -> listen(r, told -> topic.addListener(Object.class,
                    (channel, message) -> told.add(words(channel.toString(), message))));
            case "unlisten" -> unlisten(r, topic::removeAllListeners);
            default -> hears(r);
        };
    }

    private static String key(Request r) {
        return r.object() + " " + r.name();
    }

    private static List<byte[]> words(String channel, Object message) {
        List<byte[]> words = new ArrayList<>();
        words.add(channel.getBytes(StandardCharsets.UTF_8));
        words.addAll(Values.words(List.of(message)));
        return words;
    }

    private Object listen(Request r, Consumer<BlockingQueue<List<byte[]>>> add) {
        BlockingQueue<List<byte[]>> told = new LinkedBlockingQueue<>();
        if (heard.putIfAbsent(key(r), told) == null) {
            add.accept(told);
        }
        return Answers.DONE;
    }

    private Object unlisten(Request r, Runnable remove) {
        if (heard.remove(key(r)) != null) {
            remove.run();
        }
        return Answers.DONE;
    }

    /** hears WAIT: the channel and the message that came next; nothing if the wait is over. */
    private Object hears(Request r) throws InterruptedException {
        if (!r.operation().equals("hears")) {
            throw r.unknown();
        }
        List<byte[]> next = heard.get(key(r)).poll(r.number(0), TimeUnit.MILLISECONDS);
        return next == null ? List.of() : next;
    }
}
