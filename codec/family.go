package codec

import "strings"

// Family is one way to write values of every type that it has bytes for. [For]
// makes a codec of it. The zero Family is none.
type Family struct {
	kind  kind
	class string // of Java
}

type kind int

const (
	none kind = iota
	text
	raw
	jsonText
	messagePack
	jackson
	jacksonPack
	kryo
)

var (
	// Text writes what has a text: strings as they are, numbers as decimals,
	// true and false, and what has MarshalText. Java: StringCodec, LongCodec,
	// IntegerCodec, DoubleCodec.
	Text = Family{kind: text}

	// Bytes writes []byte, arrays of bytes and strings as they are. Java:
	// ByteArrayCodec.
	Bytes = Family{kind: raw}

	// JSON writes plain JSON, strings spelled as Jackson spells them. Java: new
	// TypedJsonJacksonCodec(K.class, V.class).
	JSON = Family{kind: jsonText}

	// Msgpack writes MessagePack, and is what values are written with unless
	// something else is said. Java: MsgPackJacksonCodec, for scalars only.
	Msgpack = Family{kind: messagePack}
)

var names = map[kind]string{
	text: "text", raw: "bytes", jsonText: "json", messagePack: "msgpack",
}

// String is the family as [ParseFamily] reads it.
func (f Family) String() string {
	name := names[f.kind]
	if f.class != "" {
		name += ":" + f.class
	}
	return name
}

// ParseFamily reads text, bytes, json, msgpack.
func ParseFamily(s string) (Family, error) {
	name, class, _ := strings.Cut(s, ":")
	for k, n := range names {
		if n == name && class == "" {
			return Family{kind: k}, nil
		}
	}
	return Family{}, optionf("codec %s is none", quote(s))
}

func (f Family) format() format {
	switch f.kind {
	case text:
		return textFormat{}
	case raw:
		return rawFormat{}
	case jsonText:
		return jsonFormat{}
	case messagePack:
		return packFormat{}
	}
	return nil
}
