package rueidisson.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.*; // StreamMessageId is in one of the two, as the version will have it
import org.redisson.api.stream.*;

/** The operations of {@link RStream}: ids are texts, fields and values are words as {@link Values} reads them. */
final class Streams {
    private Streams() {
    }

    static Object run(Request r, RStream<Object, Object> stream) {
        return switch (r.operation()) {
            case "add" -> stream.add(StreamAddArgs.entries(fields(r, 0))).toString();
            case "size" -> stream.size();
            case "range" -> words(stream.range(StreamMessageId.MIN, StreamMessageId.MAX));
            case "createGroup" -> Maps.done(() -> stream.createGroup(StreamCreateGroupArgs.name(r.text(0)).id(StreamMessageId.ALL).makeStream()));
            case "readGroup" -> words(stream.readGroup(r.text(0), r.text(1),
                    StreamReadGroupArgs.neverDelivered().count(Math.toIntExact(r.number(2))).timeout(Duration.ofMillis(r.number(3)))));
            case "ack" -> stream.ack(r.text(0), id(r.text(1)));
            case "autoClaim" -> words(stream.autoClaim(r.text(0), r.text(1), r.number(2), TimeUnit.MILLISECONDS, StreamMessageId.MIN,
                    100).getMessages());
            case "remove" -> stream.remove(id(r.text(0)));
            case "delete" -> stream.delete();
            default -> throw r.unknown();
        };
    }

    private static Map<Object, Object> fields(Request r, int first) {
        Map<Object, Object> all = new LinkedHashMap<>();
        for (int i = first; i < r.count(); i += 2) {
            all.put(Values.of(r, i), Values.of(r, i + 1));
        }
        return all;
    }

    private static StreamMessageId id(String text) {
        String[] parts = text.split("-");
        return new StreamMessageId(Long.parseLong(parts[0]), Long.parseLong(parts[1]));
    }

    /** Of each entry its id, as a text, and then its fields, as one map. */
    private static List<byte[]> words(Map<StreamMessageId, Map<Object, Object>> entries) {
        List<Object> all = new ArrayList<>();
        entries.forEach((id, fields) -> {
            all.add(id.toString());
            all.add(new HashMap<>(fields));
        });
        return Values.words(all);
    }
}
