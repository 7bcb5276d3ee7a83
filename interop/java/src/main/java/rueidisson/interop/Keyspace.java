package rueidisson.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RKeys;

/** The operations of {@link RKeys}. The name of a request is no object's: keys are arguments. */
final class Keyspace {
    private Keyspace() {
    }

    static Object run(Request r, RKeys keys) {
        return switch (r.operation()) {
            case "getKeysByPattern" -> all(keys.getKeysByPattern(r.text(0)));
            case "getKeys" -> all(keys.getKeys());
            case "count" -> keys.count();
            case "countExists" -> keys.countExists(names(r));
            case "touch" -> keys.touch(names(r));
            case "delete" -> keys.delete(names(r));
            case "unlink" -> keys.unlink(names(r));
            case "deleteByPattern" -> keys.deleteByPattern(r.text(0));
            case "getType" -> String.valueOf(keys.getType(r.text(0)));
            case "expire" -> keys.expire(r.text(0), Long.parseLong(r.text(1)), TimeUnit.MILLISECONDS);
            case "clearExpire" -> keys.clearExpire(r.text(0));
            case "remainTimeToLive" -> keys.remainTimeToLive(r.text(0));
            default -> throw r.unknown();
        };
    }

    private static Object all(Iterable<String> keys) {
        List<Object> words = new ArrayList<>();
        keys.forEach(words::add);
        return Values.words(words);
    }

    private static String[] names(Request r) {
        String[] names = new String[r.count()];
        for (int i = 0; i < names.length; i++) {
            names[i] = r.text(i);
        }
        return names;
    }
}
