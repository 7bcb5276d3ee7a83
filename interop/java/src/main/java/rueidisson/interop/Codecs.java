package rueidisson.interop;

import org.redisson.client.codec.ByteArrayCodec;
import org.redisson.client.codec.Codec;
import org.redisson.client.codec.DoubleCodec;
import org.redisson.client.codec.IntegerCodec;
import org.redisson.client.codec.LongCodec;
import org.redisson.client.codec.StringCodec;
import org.redisson.codec.CompositeCodec;
import org.redisson.codec.JsonJacksonCodec;
import org.redisson.codec.Kryo5Codec;
import org.redisson.codec.MsgPackJacksonCodec;
import org.redisson.codec.TypedJsonJacksonCodec;

/** Codecs by the names that the command line uses. */
final class Codecs {
    private static final String TYPED = "TypedJson";

    private Codecs() {
    }

    /**
     * Two names with a comma between are the codec of keys and that of values. {@code TypedJson:java.lang.Long} reads
     * values as that class, {@code TypedJson:java.lang.String/java.lang.Long} reads the keys and values of a map;
     * TypedJson alone as what the JSON suggests.
     */
    static Codec named(String name) {
        int comma = name.indexOf(',');
        if (comma >= 0) {
            return new CompositeCodec(named(name.substring(0, comma)), named(name.substring(comma + 1)));
        }
        if (name.startsWith(TYPED + ":")) {
            return typed(name.substring(TYPED.length() + 1).split("/"));
        }
        return switch (name) {
            case "String" -> StringCodec.INSTANCE;
            case "Long" -> LongCodec.INSTANCE;
            case "Integer" -> IntegerCodec.INSTANCE;
            case "Double" -> DoubleCodec.INSTANCE;
            case "ByteArray" -> ByteArrayCodec.INSTANCE;
            case "JsonJackson" -> new JsonJacksonCodec();
            case TYPED -> new TypedJsonJacksonCodec(Object.class);
            case "MsgPackJackson" -> new MsgPackJacksonCodec();
            case "Kryo5" -> new Kryo5Codec();
            default -> throw new IllegalArgumentException("unknown codec " + name
                    + ": String, Long, Integer, Double, ByteArray, JsonJackson, TypedJson[:CLASS[/CLASS]], MsgPackJackson, Kryo5");
        };
    }

    private static Codec typed(String[] classes) {
        if (classes.length == 1) {
            return new TypedJsonJacksonCodec(Since.type(classes[0]));
        }
        return new TypedJsonJacksonCodec(Since.type(classes[0]), Since.type(classes[1]));
    }
}
