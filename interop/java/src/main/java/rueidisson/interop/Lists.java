package rueidisson.interop;

import org.redisson.api.RList;

/** The operations of {@link RList}. Values are as {@link Values} reads them. */
final class Lists {
    private Lists() {
    }

    static Object run(Request r, RList<Object> list) {
        return switch (r.operation()) {
            case "add" -> list.add(Values.of(r, 0));
            case "addAt" -> Maps.done(() -> list.add((int) r.number(0), Values.of(r, 1)));
            case "addAllAt" -> list.addAll((int) r.number(0), Values.from(r, 1));
            case "get" -> Values.word(list.get((int) r.number(0)));
            case "set" -> Values.word(list.set((int) r.number(0), Values.of(r, 1)));
            case "removeAt" -> Values.word(list.remove((int) r.number(0)));
            case "remove" -> list.remove(Values.of(r, 0), (int) r.number(1));
            case "indexOf" -> list.indexOf(Values.of(r, 0));
            case "lastIndexOf" -> list.lastIndexOf(Values.of(r, 0));
            case "range" -> Values.words(list.range((int) r.number(0), (int) r.number(1)));
            case "readAll" -> Values.words(list.readAll());
            case "trim" -> Maps.done(() -> list.trim((int) r.number(0), (int) r.number(1)));
            case "size" -> list.size();
            default -> throw r.unknown();
        };
    }
}
