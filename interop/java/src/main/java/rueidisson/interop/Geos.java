package rueidisson.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.redisson.api.*; // GeoUnit and its like, up to 3
import org.redisson.api.geo.*; // and since 4

/** The operations of {@link RGeo}: members are words as {@link Values} reads them, degrees and metres are decimals. */
final class Geos {
    private Geos() {
    }

    static Object run(Request r, RGeo<Object> geo) {
        return switch (r.operation()) {
            case "add" -> geo.add(number(r, 0), number(r, 1), Values.of(r, 2));
            case "tryAdd" -> geo.tryAdd(number(r, 0), number(r, 1), Values.of(r, 2));
            case "addIfExists" -> geo.addIfExists(number(r, 0), number(r, 1), Values.of(r, 2));
            case "dist" -> String.valueOf(geo.dist(Values.of(r, 0), Values.of(r, 1), GeoUnit.METERS));
            case "hash" -> geo.hash(Values.of(r, 0)).get(Values.of(r, 0));
            case "pos" -> position(geo.pos(Values.of(r, 0)).get(Values.of(r, 0)));
            case "circle" -> distances(geo.searchWithDistance(
                GeoSearchArgs.from(number(r, 0), number(r, 1)).radius(number(r, 2), GeoUnit.METERS).order(GeoOrder.ASC)));
            case "box" -> distances(geo.searchWithDistance(
                GeoSearchArgs.from(number(r, 0), number(r, 1)).box(number(r, 2), number(r, 3), GeoUnit.METERS).order(GeoOrder.DESC)));
            case "nearest" -> Values.words(geo.search(
                GeoSearchArgs.from(Values.of(r, 0)).radius(number(r, 1), GeoUnit.METERS).order(GeoOrder.ASC).count(Integer.parseInt(r.text(2)))));
            case "storeSearchTo" -> geo.storeSearchTo(r.text(0), GeoSearchArgs.from(Values.of(r, 1)).radius(number(r, 2), GeoUnit.METERS));
            case "storeSortedSearchTo" ->
                geo.storeSortedSearchTo(r.text(0), GeoSearchArgs.from(Values.of(r, 1)).radius(number(r, 2), GeoUnit.METERS));
            case "remove" -> geo.remove(Values.of(r, 0));
            case "readAll" -> Values.words(geo.readAll());
            default -> throw r.unknown();
        };
    }

    private static double number(Request r, int i) {
        return Double.parseDouble(r.text(i));
    }

    /** Longitude and latitude as texts; none of a member that is not there. */
    private static Object position(GeoPosition at) {
        return Values.words(at == null ? List.of() : List.of(String.valueOf(at.getLongitude()), String.valueOf(at.getLatitude())));
    }

    /** Members, and their distances as texts, by turns. */
    private static Object distances(Map<Object, Double> found) {
        List<Object> words = new ArrayList<>();
        found.forEach((member, metres) -> {
            words.add(member);
            words.add(String.valueOf(metres));
        });
        return Values.words(words);
    }
}
