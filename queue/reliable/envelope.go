package reliable

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// A message in Redis is an envelope: the version, the length of the header as a
// varint, the header in MessagePack, and the value as the codec writes it. Scripts
// never read it.
const version = 1

// longestHeader bounds the header of an envelope, as that of an HTTP request.
const longestHeader = 64 << 10

// header is what an envelope says of its value.
type header struct {
	Added   int64             `msgpack:"a"`           // when, ms since 1970, by the clock of who added it
	Timeout int64             `msgpack:"t,omitempty"` // how long an attempt may take, ms; 0: any time
	Values  map[string]string `msgpack:"h,omitempty"`
}

func (h *header) timeout() time.Duration { return time.Duration(h.Timeout) * time.Millisecond }

// plainHead is how the header begins of a message that was only added at some time;
// the time is the rest of it, in eight bytes. Most are like that, and need no encoder.
const (
	plainHead   = "\x81\xa1a\xd3"
	plainLength = len(plainHead) + 8
)

// seal is what stands before a value.
func seal(h *header) (string, error) {
	if h.Timeout == 0 && h.Values == nil {
		b := append(make([]byte, 0, 2+plainLength), version, byte(plainLength))
		b = append(b, plainHead...)
		return string(binary.BigEndian.AppendUint64(b, uint64(h.Added))), nil
	}
	head, err := msgpack.Marshal(h)
	if err != nil {
		return "", err
	}
	b := make([]byte, 0, 1+binary.MaxVarintLen32+len(head))
	b = append(b, version)
	b = binary.AppendUvarint(b, uint64(len(head)))
	return string(append(b, head...)), nil
}

var (
	errEnvelope = errors.New("no envelope of a message")
	errVersion  = errors.New("an envelope of a later version")
)

// unseal is the header and the value of an envelope.
func unseal(text string) (h header, value string, err error) {
	switch {
	case text == "":
		return h, "", errEnvelope
	case text[0] != version:
		return h, "", errVersion
	}
	n, used := binary.Uvarint([]byte(text[1:min(len(text), 1+binary.MaxVarintLen32)]))
	rest := text[1+max(used, 0):]
	if used <= 0 || n > longestHeader || n > uint64(len(rest)) {
		return h, "", errEnvelope
	}
	head := rest[:n]
	if len(head) == plainLength && strings.HasPrefix(head, plainHead) {
		h.Added = int64(binary.BigEndian.Uint64([]byte(head[len(plainHead):])))
		return h, rest[n:], nil
	}
	h, err = decoded(head)
	return h, rest[n:], err
}

func decoded(head string) (header, error) {
	var h header
	if err := msgpack.Unmarshal([]byte(head), &h); err != nil || h.Timeout < 0 {
		return header{}, errEnvelope
	}
	return h, nil
}
