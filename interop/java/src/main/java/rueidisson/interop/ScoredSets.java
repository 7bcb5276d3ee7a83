package rueidisson.interop;

import org.redisson.api.RScoredSortedSet;

/** The operations of {@link RScoredSortedSet}: elements are words as {@link Values} reads them, scores are decimals. */
final class ScoredSets {
    private ScoredSets() {
    }

    static Object run(Request r, RScoredSortedSet<Object> set) throws InterruptedException {
        return switch (r.operation()) {
            case "add" -> set.add(Double.parseDouble(r.text(0)), Values.of(r, 1));
            case "tryAdd" -> set.tryAdd(Double.parseDouble(r.text(0)), Values.of(r, 1));
            case "getScore" -> String.valueOf(set.getScore(Values.of(r, 0)));
            case "remove" -> set.remove(Values.of(r, 0));
            case "pollFirst" -> Values.word(set.pollFirst());
            case "pollLast" -> Values.word(set.pollLast());
            case "takeFirst" -> Values.word(set.takeFirst());
            case "takeLast" -> Values.word(set.takeLast());
            case "first" -> Values.word(set.first());
            case "last" -> Values.word(set.last());
            case "readAll" -> Values.words(set.readAll());
            case "size" -> set.size();
            default -> throw r.unknown();
        };
    }
}
