package rueidisson.interop;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.redisson.api.RMapCache;

/** The leases of who loads an entry of {@link RMapCache}, which Redisson 4.6 or later has. */
final class Leases {
    private static final String TYPE = "org.redisson.api.RLeasedMap";
    private static final String RESULT = "org.redisson.api.LeaseGetResult";

    private Leases() {
    }

    /** KEY LEASE: the value, whether the lease was acquired, its token. */
    static Object get(Request r, RMapCache<Object, Object> map) {
        Object got = Since.call(Since.type(TYPE), map, "getWithLease", List.of(Object.class, Duration.class), Values.of(r, 0), Duration.ofMillis(r.number(1)));
        return Arrays.asList(Values.word(of(got, "getValue")), of(got, "isLeaseAcquired"), of(got, "getLeaseToken"));
    }

    /** KEY VALUE TOKEN */
    static Object put(Request r, RMapCache<Object, Object> map) {
        return Since.call(Since.type(TYPE), map, "putWithLease", List.of(Object.class, Object.class, String.class), Values.of(r, 0), Values.of(r, 1), r.text(2));
    }

    private static Object of(Object result, String part) {
        return Since.call(Since.type(RESULT), result, part, List.of());
    }
}
