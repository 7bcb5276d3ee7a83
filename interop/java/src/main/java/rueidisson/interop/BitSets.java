package rueidisson.interop;

import java.util.BitSet;
import org.redisson.api.RBitSet;

/** The operations of {@link RBitSet}. */
final class BitSets {
    private BitSets() {
    }

    static Object run(Request r, RBitSet bits) {
        return switch (r.operation()) {
            case "get" -> bits.get(r.number(0));
            case "set" -> bits.set(r.number(0), truth(r, 1));
            case "setRange" -> Maps.done(() -> bits.set(r.number(0), r.number(1), truth(r, 2)));
            case "setAll" -> Maps.done(() -> bits.set(BitSet.valueOf((byte[]) Values.of(r, 0))));
            case "cardinality" -> bits.cardinality();
            case "length" -> bits.length();
            case "size" -> bits.size();
            case "toByteArray" -> Values.word(bits.toByteArray());
            case "and" -> Maps.done(() -> bits.and(names(r)));
            case "or" -> Maps.done(() -> bits.or(names(r)));
            case "xor" -> Maps.done(() -> bits.xor(names(r)));
            case "not" -> Maps.done(bits::not);
            case "getSigned" -> bits.getSigned((int) r.number(0), r.number(1));
            case "setSigned" -> bits.setSigned((int) r.number(0), r.number(1), r.number(2));
            case "incrementAndGetSigned" -> bits.incrementAndGetSigned((int) r.number(0), r.number(1), r.number(2));
            case "getUnsigned" -> bits.getUnsigned((int) r.number(0), r.number(1));
            case "setUnsigned" -> bits.setUnsigned((int) r.number(0), r.number(1), r.number(2));
            case "incrementAndGetUnsigned" -> bits.incrementAndGetUnsigned((int) r.number(0), r.number(1), r.number(2));
            case "remainTimeToLive" -> bits.remainTimeToLive();
            default -> throw r.unknown();
        };
    }

    private static boolean truth(Request r, int arg) {
        return Boolean.parseBoolean(r.text(arg));
    }

    private static String[] names(Request r) {
        String[] names = new String[r.count()];
        for (int i = 0; i < names.length; i++) {
            names[i] = r.text(i);
        }
        return names;
    }
}
