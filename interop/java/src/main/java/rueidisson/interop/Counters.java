package rueidisson.interop;

import java.util.List;
import java.util.stream.LongStream;
import org.redisson.api.RAtomicDouble;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RHyperLogLog;
import org.redisson.api.RIdGenerator;

/** The operations of {@link RAtomicLong}, {@link RAtomicDouble}, {@link RIdGenerator} and {@link RHyperLogLog}. */
final class Counters {
    private Counters() {
    }

    static Object run(Request r, RAtomicLong counter) {
        return switch (r.operation()) {
            case "get" -> counter.get();
            case "set" -> Maps.done(() -> counter.set(r.number(0)));
            case "addAndGet" -> counter.addAndGet(r.number(0));
            case "getAndAdd" -> counter.getAndAdd(r.number(0));
            case "incrementAndGet" -> counter.incrementAndGet();
            case "decrementAndGet" -> counter.decrementAndGet();
            case "getAndSet" -> counter.getAndSet(r.number(0));
            case "getAndDelete" -> counter.getAndDelete();
            case "compareAndSet" -> counter.compareAndSet(r.number(0), r.number(1));
            case "setIfLess" -> later(r, counter);
            case "setIfGreater" -> later(r, counter);
            case "delete" -> counter.delete();
            default -> throw r.unknown();
        };
    }

    /** What came later than the oldest Redisson. */
    private static Object later(Request r, RAtomicLong counter) {
        return Since.call(RAtomicLong.class, counter, r.operation(), List.of(long.class, long.class), r.number(0), r.number(1));
    }

    static Object run(Request r, RAtomicDouble counter) {
        return switch (r.operation()) {
            case "get" -> counter.get();
            case "set" -> Maps.done(() -> counter.set(Double.parseDouble(r.text(0))));
            case "addAndGet" -> counter.addAndGet(Double.parseDouble(r.text(0)));
            case "getAndSet" -> counter.getAndSet(Double.parseDouble(r.text(0)));
            case "compareAndSet" -> counter.compareAndSet(Double.parseDouble(r.text(0)), Double.parseDouble(r.text(1)));
            case "delete" -> counter.delete();
            default -> throw r.unknown();
        };
    }

    static Object run(Request r, RIdGenerator ids) {
        return switch (r.operation()) {
            case "tryInit" -> ids.tryInit(r.number(0), r.number(1));
            case "nextId" -> ids.nextId();
            case "nextIds" -> LongStream.range(0, r.number(0)).mapToObj(i -> ids.nextId()).toList();
            case "delete" -> ids.delete();
            default -> throw r.unknown();
        };
    }

    static Object run(Request r, RHyperLogLog<Object> values) {
        return switch (r.operation()) {
            case "add" -> values.add(Values.of(r, 0));
            case "addAll" -> values.addAll(Values.from(r, 0));
            case "count" -> values.count();
            case "countWith" -> values.countWith(names(r));
            case "mergeWith" -> Maps.done(() -> values.mergeWith(names(r)));
            case "delete" -> values.delete();
            default -> throw r.unknown();
        };
    }

    private static String[] names(Request r) {
        List<String> all = LongStream.range(0, r.count()).mapToObj(i -> r.text((int) i)).toList();
        return all.toArray(String[]::new);
    }
}
