package reliable

import (
	"encoding/binary"
	"errors"
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

// seal is the envelope of a value.
func seal(h *header, value string) (string, error) {
	head, err := msgpack.Marshal(h)
	if err != nil {
		return "", err
	}
	b := make([]byte, 0, 1+binary.MaxVarintLen32+len(head)+len(value))
	b = append(b, version)
	b = binary.AppendUvarint(b, uint64(len(head)))
	b = append(b, head...)
	return string(append(b, value...)), nil
}

var (
	errEnvelope = errors.New("no envelope of a message")
	errVersion  = errors.New("an envelope of a later version")
)

// unseal is what seal has put into an envelope.
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
	if err = msgpack.Unmarshal([]byte(rest[:n]), &h); err != nil || h.Timeout < 0 {
		return header{}, "", errEnvelope
	}
	return h, rest[n:], nil
}
