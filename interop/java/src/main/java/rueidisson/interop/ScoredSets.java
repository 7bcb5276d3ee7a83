package rueidisson.interop;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.redisson.api.RLexSortedSet;
import org.redisson.api.RScoredSortedSet;
import org.redisson.client.protocol.ScoredEntry;

/** The operations of {@link RScoredSortedSet}: elements are words as {@link Values} reads them, scores are decimals. */
final class ScoredSets {
    private ScoredSets() {
    }

    static Object run(Request r, RScoredSortedSet<Object> set) throws InterruptedException {
        return switch (r.operation()) {
            case "add" -> set.add(Double.parseDouble(r.text(0)), Values.of(r, 1));
            case "addAll" -> set.addAll(scored(r));
            case "tryAdd" -> set.tryAdd(Double.parseDouble(r.text(0)), Values.of(r, 1));
            case "addIfExists" -> set.addIfExists(Double.parseDouble(r.text(0)), Values.of(r, 1));
            case "addIfLess" -> set.addIfLess(Double.parseDouble(r.text(0)), Values.of(r, 1));
            case "addIfGreater" -> set.addIfGreater(Double.parseDouble(r.text(0)), Values.of(r, 1));
            case "addScore" -> String.valueOf(set.addScore(Values.of(r, 1), Double.parseDouble(r.text(0))));
            case "getScore" -> String.valueOf(set.getScore(Values.of(r, 0)));
            case "rank" -> set.rank(Values.of(r, 0));
            case "revRank" -> set.revRank(Values.of(r, 0));
            case "count" -> set.count(Double.parseDouble(r.text(0)), true, Double.parseDouble(r.text(1)), false);
            case "remove" -> set.remove(Values.of(r, 0));
            case "removeRangeByRank" -> set.removeRangeByRank(Integer.parseInt(r.text(0)), Integer.parseInt(r.text(1)));
            case "removeRangeByScore" ->
                set.removeRangeByScore(Double.parseDouble(r.text(0)), true, Double.parseDouble(r.text(1)), false);
            case "pollFirst" -> Values.word(set.pollFirst());
            case "pollLast" -> Values.word(set.pollLast());
            case "pollFirstOf" -> Values.words(set.pollFirst(Integer.parseInt(r.text(0))));
            case "takeFirst" -> Values.word(set.takeFirst());
            case "takeLast" -> Values.word(set.takeLast());
            case "first" -> Values.word(set.first());
            case "last" -> Values.word(set.last());
            case "readAll" -> Values.words(set.readAll());
            case "entryRange" -> entries(set.entryRange(Integer.parseInt(r.text(0)), Integer.parseInt(r.text(1))));
            case "entryRangeByScore" ->
                entries(set.entryRange(Double.parseDouble(r.text(0)), true, Double.parseDouble(r.text(1)), false));
            case "union" -> set.union(names(r));
            case "intersection" -> set.intersection(names(r));
            case "diff" -> set.diff(names(r));
            case "size" -> set.size();
            default -> throw r.unknown();
        };
    }

    /** The operations of {@link RLexSortedSet}, whose elements are texts. */
    static Object texts(Request r, RLexSortedSet set) {
        return switch (r.operation()) {
            case "addAll" -> set.addAll(List.of(names(r)));
            case "range" -> Values.words(set.range(r.text(0), true, r.text(1), false));
            case "rangeTail" -> Values.words(set.rangeTail(r.text(0), false));
            case "count" -> set.count(r.text(0), true, r.text(1), false);
            case "removeRange" -> set.removeRange(r.text(0), true, r.text(1), false);
            case "rank" -> set.rank(r.text(0));
            case "remove" -> set.remove(r.text(0));
            case "pollFirst" -> Values.word(set.pollFirst());
            default -> throw r.unknown();
        };
    }

    /** Scores and elements by turns. */
    private static Map<Object, Double> scored(Request r) {
        Map<Object, Double> all = new LinkedHashMap<>();
        for (int i = 0; i < r.count(); i += 2) {
            all.put(Values.of(r, i + 1), Double.parseDouble(r.text(i)));
        }
        return all;
    }

    private static String[] names(Request r) {
        String[] names = new String[r.count()];
        for (int i = 0; i < names.length; i++) {
            names[i] = r.text(i);
        }
        return names;
    }

    /** Elements, and their scores as texts, by turns. */
    private static Object entries(Collection<ScoredEntry<Object>> entries) {
        List<Object> words = new ArrayList<>();
        for (ScoredEntry<Object> entry : entries) {
            words.add(entry.getValue());
            words.add(String.valueOf(entry.getScore()));
        }
        return Values.words(words);
    }
}
