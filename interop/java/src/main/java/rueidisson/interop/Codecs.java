package rueidisson.interop;

import org.redisson.client.codec.ByteArrayCodec;
import org.redisson.client.codec.Codec;
import org.redisson.client.codec.StringCodec;
import org.redisson.codec.JsonJacksonCodec;
import org.redisson.codec.MsgPackJacksonCodec;
import org.redisson.codec.TypedJsonJacksonCodec;

/** Codecs by the names that the command line uses. */
final class Codecs {
    private static final String TYPED = "TypedJson";

    private Codecs() {
    }

    /** {@code TypedJson:java.lang.Long} reads values as that class; TypedJson alone as what the JSON suggests. */
    static Codec named(String name) {
        if (name.startsWith(TYPED + ":")) {
            return new TypedJsonJacksonCodec(Since.type(name.substring(TYPED.length() + 1)));
        }
        return switch (name) {
            case "String" -> StringCodec.INSTANCE;
            case "ByteArray" -> ByteArrayCodec.INSTANCE;
            case "JsonJackson" -> new JsonJacksonCodec();
            case TYPED -> new TypedJsonJacksonCodec(Object.class);
            case "MsgPackJackson" -> new MsgPackJacksonCodec();
            default -> throw new IllegalArgumentException("unknown codec " + name
                    + ": String, ByteArray, JsonJackson, TypedJson[:CLASS], MsgPackJackson");
        };
    }
}
