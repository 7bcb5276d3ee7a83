package rueidisson.interop;

import java.time.Duration;
import java.util.List;
import org.redisson.api.RBloomFilter;

/** The operations of {@link RBloomFilter}. */
final class Blooms {
    private Blooms() {
    }

    static Object run(Request r, RBloomFilter<Object> filter) {
        return switch (r.operation()) {
            case "tryInit" -> filter.tryInit(r.number(0), Double.parseDouble(r.text(1)));
            case "add" -> filter.add(Values.of(r, 0));
            case "addEach" -> Values.from(r, 0).stream().filter(filter::add).count();
            case "contains" -> filter.contains(Values.of(r, 0));
            case "containsEach" -> Values.from(r, 0).stream().filter(filter::contains).count();
            case "count" -> filter.count();
            case "shape" -> List.of(filter.getSize(), (long) filter.getHashIterations(), filter.getExpectedInsertions());
            case "falseProbability" -> Double.toString(filter.getFalseProbability());
            case "expire" -> filter.expire(Duration.ofMillis(r.number(0)));
            case "isExists" -> filter.isExists();
            case "delete" -> filter.delete();
            default -> throw r.unknown();
        };
    }
}
