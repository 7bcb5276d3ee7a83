package reliable

import (
	"encoding/binary"
	"errors"

	"github.com/vmihailenco/msgpack/v5"
)

// A message in Redis is an envelope: what it is, in one byte, the header, and the value
// as the codec writes it. Scripts never read it.
const (
	brief = 1 // the header is when the message was added, in six bytes: most are like that
	whole = 2 // its length, a varint, and the header in MessagePack
)

// longestHeader bounds the header of an envelope, as that of an HTTP request.
const longestHeader = 64 << 10

// header is what an envelope says of its value.
type header struct {
	Added   int64             `msgpack:"a"`           // when, ms since 1970, by the clock of who added it
	Timeout int64             `msgpack:"t,omitempty"` // how long an attempt may take, ms; 0: any time
	Values  map[string]string `msgpack:"h,omitempty"`
}

// briefLength is that of a brief header.
const briefLength = 6

// seal returns what stands before a value.
func seal(h header) (string, error) {
	if h.Timeout == 0 && h.Values == nil && h.Added>>(8*briefLength) == 0 {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(h.Added))
		b[1] = brief
		return string(b[1:]), nil
	}
	return sealWhole(h)
}

// sealWhole returns what stands before a value with a whole header. It stands apart, so that a brief header stays off the heap.
func sealWhole(h header) (string, error) {
	head, err := msgpack.Marshal(&h)
	if err != nil {
		return "", err
	}
	b := make([]byte, 0, 1+binary.MaxVarintLen32+len(head))
	b = append(b, whole)
	b = binary.AppendUvarint(b, uint64(len(head)))
	return string(append(b, head...)), nil
}

var (
	errEnvelope = errors.New("no envelope of a message")
	errVersion  = errors.New("an envelope of a later version")
)

// unseal returns the header and the value of an envelope.
func unseal(text string) (h header, value string, err error) {
	switch {
	case text == "":
		return h, "", errEnvelope
	case text[0] == whole:
		return unsealWhole(text[1:])
	case text[0] != brief:
		return h, "", errVersion
	case len(text) <= briefLength:
		return h, "", errEnvelope
	}
	for i := range briefLength {
		h.Added = h.Added<<8 | int64(text[1+i])
	}
	return h, text[1+briefLength:], nil
}

func unsealWhole(text string) (h header, value string, err error) {
	n, used := binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen32)]))
	rest := text[max(used, 0):]
	if used <= 0 || n > longestHeader || n > uint64(len(rest)) {
		return h, "", errEnvelope
	}
	if err := msgpack.Unmarshal([]byte(rest[:n]), &h); err != nil || h.Timeout < 0 {
		return header{}, "", errEnvelope
	}
	return h, rest[n:], nil
}
