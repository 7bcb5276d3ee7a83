package rueidisson.interop;

import java.nio.charset.StandardCharsets;

/** One line, taken apart. Arguments are counted from 0, after the name of the object. */
record Request(String id, String thread, String object, String operation, String[] words) {
    private static final int HEAD = 4;

    static Request parse(String line) {
        String[] words = line.split(" ", -1);
        if (words.length < HEAD) {
            throw new IllegalArgumentException("a request is ID THREAD OBJECT OPERATION [NAME [ARG...]]");
        }
        return new Request(words[0], text(words[1]), text(words[2]), text(words[3]), words);
    }

    /** What comes before the @ of an object that is given a codec: {@code map@Kryo5}. */
    String kind() {
        return object.split("@", 2)[0];
    }

    /** What comes behind it, null for none. */
    String codec() {
        String[] parts = object.split("@", 2);
        return parts.length == 1 ? null : parts[1];
    }

    String name() {
        return text(word(HEAD, "the name of the object"));
    }

    int count() {
        return Math.max(0, words.length - HEAD - 1);
    }

    boolean has(int arg) {
        return arg < count();
    }

    /** The raw bytes of an argument, null for the word "-". */
    byte[] bytes(int arg) {
        return Wire.decode(word(HEAD + 1 + arg, "argument " + arg));
    }

    String text(int arg) {
        return text(word(HEAD + 1 + arg, "argument " + arg));
    }

    long number(int arg) {
        return Long.parseLong(text(arg));
    }

    long number(int arg, long otherwise) {
        return has(arg) ? number(arg) : otherwise;
    }

    RuntimeException unknown() {
        return new UnsupportedOperationException("the peer knows no operation " + operation + " of " + object);
    }

    private String word(int i, String what) {
        if (i >= words.length) {
            throw new IllegalArgumentException(object + " " + operation + ": missing " + what);
        }
        return words[i];
    }

    private static String text(String word) {
        byte[] bytes = Wire.decode(word);
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }
}
