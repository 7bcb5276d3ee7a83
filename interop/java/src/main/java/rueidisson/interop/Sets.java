package rueidisson.interop;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.redisson.api.ObjectListener;
import org.redisson.api.RSet;
import org.redisson.api.RSetCache;

/** The operations of {@link RSet} and {@link RSetCache}. Members are as {@link Values} reads them. */
final class Sets {
    private final Map<String, Collection<Object>> heard = new ConcurrentHashMap<>();

    static Object run(Request r, RSet<Object> set) {
        return switch (r.operation()) {
            case "add" -> set.add(Values.of(r, 0));
            case "tryAdd" -> set.tryAdd(Values.from(r, 0).toArray());
            case "remove" -> set.remove(Values.of(r, 0));
            case "contains" -> set.contains(Values.of(r, 0));
            case "containsAll" -> set.containsAll(Values.from(r, 0));
            case "retainAll" -> set.retainAll(Values.from(r, 0));
            case "move" -> set.move(r.text(0), Values.of(r, 1));
            case "size" -> set.size();
            case "readAll" -> Values.words(set.readAll());
            case "removeRandom" -> Values.words(set.removeRandom((int) r.number(0)));
            case "readUnion" -> Values.words(set.readUnion(names(r)));
            case "readIntersection" -> Values.words(set.readIntersection(names(r)));
            case "readDiff" -> Values.words(set.readDiff(names(r)));
            case "delete" -> set.delete();
            default -> throw r.unknown();
        };
    }

    Object cache(Request r, RSetCache<Object> set) {
        return switch (r.operation()) {
            case "add" -> r.has(1) ? set.add(Values.of(r, 0), r.number(1), TimeUnit.MILLISECONDS) : set.add(Values.of(r, 0));
            case "tryAdd" -> set.tryAdd(Values.from(r, 0).toArray());
            case "addAll" -> set.addAll(Values.from(r, 0));
            case "remove" -> set.remove(Values.of(r, 0));
            case "contains" -> set.contains(Values.of(r, 0));
            case "size" -> set.size();
            case "readAll" -> Values.words(set.readAll());
            case "retainAll" -> set.retainAll(Values.from(r, 0));
            case "listen" -> set.addListener(listener(r));
            case "heard" -> Values.words(new ArrayList<>(heard(r.name())));
            case "delete" -> set.delete();
            default -> throw r.unknown();
        };
    }

    private Collection<Object> heard(String name) {
        return heard.computeIfAbsent(name, n -> new ConcurrentLinkedQueue<>());
    }

    /** A listener by a proxy, as older versions of Redisson have no such class. */
    private ObjectListener listener(Request r) {
        Class<?> type = Since.type("org.redisson.api.listener.SetExpiredListener");
        return (ObjectListener) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, args) -> switch (method.getName()) {
            case "onExpired" -> heard(r.name()).add(args[0]);
            case "hashCode" -> System.identityHashCode(proxy);
            case "equals" -> proxy == args[0];
            default -> "a listener of " + r.name();
        });
    }

    private static String[] names(Request r) {
        return Values.from(r, 0).toArray(new String[0]);
    }
}
