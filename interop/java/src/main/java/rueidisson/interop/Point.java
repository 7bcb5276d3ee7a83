package rueidisson.interop;

/** A record: a final class, of which some codecs write no name. */
public record Point(int x, int y) {
}
