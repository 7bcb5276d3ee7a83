package rueidisson.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.redisson.api.RTimeSeries;
import org.redisson.api.TimeSeriesEntry;

/** The operations of {@link RTimeSeries}. Values and labels are as {@link Values} reads them. */
final class TimeSeries {
    private TimeSeries() {
    }

    static Object run(Request r, RTimeSeries<Object, Object> series) {
        return switch (r.operation()) {
            case "add" -> add(r, series);
            case "get" -> Values.word(series.get(r.number(0)));
            case "getEntry" -> entries(Arrays.asList(series.getEntry(r.number(0))));
            case "getAndRemove" -> Values.word(series.getAndRemove(r.number(0)));
            case "remove" -> series.remove(r.number(0));
            case "removeRange" -> series.removeRange(r.number(0), r.number(1));
            case "range" -> Values.words(series.range(r.number(0), r.number(1)));
            case "rangeReversed" -> Values.words(series.rangeReversed(r.number(0), r.number(1)));
            case "entryRange" -> entries(series.entryRange(r.number(0), r.number(1)));
            case "first" -> Values.words(series.first((int) r.number(0)));
            case "last" -> Values.words(series.last((int) r.number(0)));
            case "pollFirst" -> Values.words(series.pollFirst((int) r.number(0)));
            case "pollLast" -> Values.words(series.pollLast((int) r.number(0)));
            case "size" -> series.size();
            case "rename" -> Maps.done(() -> series.rename(r.text(0)));
            case "expire" -> series.expire(Duration.ofMillis(r.number(0)));
            case "delete" -> series.delete();
            case "destroy" -> Maps.done(series::destroy);
            default -> throw r.unknown();
        };
    }

    private static Object add(Request r, RTimeSeries<Object, Object> series) {
        long time = r.number(0);
        Object value = Values.of(r, 1);
        Object label = r.has(2) ? Values.of(r, 2) : null;
        return Maps.done(() -> {
            if (!r.has(3)) {
                if (label == null) {
                    series.add(time, value);
                } else {
                    series.add(time, value, label);
                }
            } else if (label == null) {
                series.add(time, value, Duration.ofMillis(r.number(3)));
            } else {
                series.add(time, value, label, Duration.ofMillis(r.number(3)));
            }
        });
    }

    /** Times, values and labels by turns. */
    private static Object entries(Collection<TimeSeriesEntry<Object, Object>> entries) {
        List<Object> words = new ArrayList<>();
        for (TimeSeriesEntry<Object, Object> entry : entries) {
            if (entry != null) {
                words.add(entry.getTimestamp());
                words.add(entry.getValue());
                words.add(entry.getLabel());
            }
        }
        return Values.words(words);
    }
}
