package rueidisson.interop;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Keys and values whose class matters: a word is {@code CLASS:TEXT}. The class is its simple name where that is listed
 * here, else the full one; the text is what the class prints, JSON for what has fields or elements, the bytes
 * themselves for {@code bytes}.
 */
final class Values {
    private static final ObjectMapper JSON = JsonMapper.builder().configure(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY, true)
            .defaultPropertyInclusion(JsonInclude.Value.construct(JsonInclude.Include.NON_NULL, JsonInclude.Include.NON_NULL)).build();

    /** What is read from, and shown as, JSON. */
    private static final Map<String, Class<?>> WITH_PARTS = Map.of("ArrayList", ArrayList.class, "HashMap", HashMap.class,
            "Person", Person.class, "Point", Point.class);

    private Values() {
    }

    /** The argument as a value, null for the word "-". */
    static Object of(Request r, int arg) {
        byte[] word = r.bytes(arg);
        return word == null ? null : parse(word);
    }

    /** All arguments from one on. */
    static List<Object> from(Request r, int first) {
        List<Object> all = new ArrayList<>();
        for (int i = first; i < r.count(); i++) {
            all.add(of(r, i));
        }
        return all;
    }

    private static Object parse(byte[] word) {
        int colon = new String(word, StandardCharsets.ISO_8859_1).indexOf(':');
        if (colon < 0) {
            throw new IllegalArgumentException("a value is CLASS:TEXT");
        }
        String kind = new String(word, 0, colon, StandardCharsets.UTF_8);
        byte[] rest = Arrays.copyOfRange(word, colon + 1, word.length);
        return kind.equals("bytes") ? rest : parse(kind, new String(rest, StandardCharsets.UTF_8));
    }

    private static Object parse(String kind, String text) {
        return switch (kind) {
            case "null" -> null;
            case "String" -> text;
            case "Integer" -> Integer.valueOf(text);
            case "Long" -> Long.valueOf(text);
            case "Short" -> Short.valueOf(text);
            case "Byte" -> Byte.valueOf(text);
            case "Double" -> Double.valueOf(text);
            case "Float" -> Float.valueOf(text);
            case "Boolean" -> Boolean.valueOf(text);
            case "BigDecimal" -> new BigDecimal(text);
            case "UUID" -> UUID.fromString(text);
            case "Date" -> new Date(Long.parseLong(text));
            default -> json(kind, text);
        };
    }

    private static Object json(String kind, String text) {
        Class<?> type = WITH_PARTS.containsKey(kind) ? WITH_PARTS.get(kind) : Since.type(kind);
        try {
            return JSON.readValue(text, type);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e);
        }
    }

    /** The word of a value, null for null. */
    static byte[] word(Object value) {
        if (value == null) {
            return null;
        }
        if (value instanceof byte[] bytes) {
            return join("bytes", bytes);
        }
        return join(kind(value.getClass()), text(value).getBytes(StandardCharsets.UTF_8));
    }

    static List<byte[]> words(Collection<?> values) {
        List<byte[]> all = new ArrayList<>();
        values.forEach(value -> all.add(word(value)));
        return all;
    }

    /** Key and value of each entry, one behind the other. */
    static List<byte[]> words(Map<?, ?> entries) {
        List<byte[]> all = new ArrayList<>();
        entries.forEach((key, value) -> all.addAll(words(Arrays.asList(key, value))));
        return all;
    }

    private static byte[] join(String kind, byte[] text) {
        byte[] head = (kind + ":").getBytes(StandardCharsets.UTF_8);
        byte[] all = Arrays.copyOf(head, head.length + text.length);
        System.arraycopy(text, 0, all, head.length, text.length);
        return all;
    }

    private static String kind(Class<?> type) {
        boolean listed = WITH_PARTS.containsValue(type) || type.getPackageName().equals("java.lang")
                || type == BigDecimal.class || type == UUID.class || type == Date.class;
        return listed ? type.getSimpleName() : type.getName();
    }

    private static String text(Object value) {
        if (value instanceof Date date) {
            return Long.toString(date.getTime());
        }
        if (value instanceof Map || value instanceof Collection || WITH_PARTS.containsValue(value.getClass())) {
            try {
                return JSON.writeValueAsString(value);
            } catch (JsonProcessingException e) {
                throw new IllegalArgumentException(e);
            }
        }
        return value.toString();
    }
}
