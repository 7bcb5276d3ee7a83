package rueidisson.interop;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateIntervalUnit;
import org.redisson.api.RateLimiterConfig;
import org.redisson.api.RateType;

/** The operations of {@link RRateLimiter}. Times are milliseconds. */
final class RateLimiters {
    private RateLimiters() {
    }

    static Object run(Request r, RRateLimiter limiter) {
        return switch (r.operation()) {
            case "trySetRate" -> rate(r, limiter);
            case "setRate" -> rate(r, limiter);
            case "setRateArgs" -> change(r, limiter, "setRate");
            case "updateRate" -> change(r, limiter, "updateRate");
            case "acquire" -> acquire(r, limiter);
            case "tryAcquire" -> tryAcquire(r, limiter);
            case "release" -> release(r, limiter);
            case "availablePermits" -> limiter.availablePermits();
            case "getConfig" -> config(limiter.getConfig());
            case "delete" -> limiter.delete();
            default -> throw r.unknown();
        };
    }

    /** TYPE RATE INTERVAL [KEEP-ALIVE] for both ways to set it; only trySetRate has a result. */
    private static Object rate(Request r, RRateLimiter limiter) {
        RateType type = RateType.valueOf(r.text(0).toUpperCase(Locale.ROOT));
        if (r.has(3)) {
            return rateKeptAlive(r, limiter, type);
        }
        if (r.operation().equals("trySetRate")) {
            return limiter.trySetRate(type, r.number(1), r.number(2), RateIntervalUnit.MILLISECONDS);
        }
        limiter.setRate(type, r.number(1), r.number(2), RateIntervalUnit.MILLISECONDS);
        return Answers.DONE;
    }

    private static Object rateKeptAlive(Request r, RRateLimiter limiter, RateType type) {
        Object set = Since.call(RRateLimiter.class, limiter, r.operation(),
                List.of(RateType.class, long.class, Duration.class, Duration.class),
                type, r.number(1), Duration.ofMillis(r.number(2)), Duration.ofMillis(r.number(3)));
        return set == null ? Answers.DONE : set;
    }

    /** TYPE RATE INTERVAL KEEP-STATE [KEEP-ALIVE] for both ways to change it; only updateRate has a result. */
    private static Object change(Request r, RRateLimiter limiter, String method) {
        Class<?> type = Since.type("org.redisson.api.ratelimiter.RateLimiterArgs");
        Object args = Since.call(type, null, "of", List.of(RateType.class, long.class, Duration.class),
                RateType.valueOf(r.text(0).toUpperCase(Locale.ROOT)), r.number(1), Duration.ofMillis(r.number(2)));
        args = Since.call(type, args, "keepState", List.of(boolean.class), Boolean.valueOf(r.text(3)));
        if (r.has(4)) {
            args = Since.call(type, args, "keepAliveTime", List.of(Duration.class), Duration.ofMillis(r.number(4)));
        }
        Object changed = Since.call(RRateLimiter.class, limiter, method, List.of(type), args);
        return changed == null ? Answers.DONE : changed;
    }

    private static Object acquire(Request r, RRateLimiter limiter) {
        limiter.acquire(r.number(0, 1));
        return Answers.DONE;
    }

    /** [PERMITS [WAIT]] */
    private static boolean tryAcquire(Request r, RRateLimiter limiter) {
        if (r.has(1)) {
            return limiter.tryAcquire(r.number(0), r.number(1), TimeUnit.MILLISECONDS);
        }
        return limiter.tryAcquire(r.number(0, 1));
    }

    private static Object release(Request r, RRateLimiter limiter) {
        Since.call(RRateLimiter.class, limiter, "release", List.of(long.class), r.number(0, 1));
        return Answers.DONE;
    }

    private static List<Object> config(RateLimiterConfig config) {
        return List.of(config.getRateType().name(), config.getRate(), config.getRateInterval());
    }
}
