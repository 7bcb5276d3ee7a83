package nearcache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// message is what a near cache is told. Numbers are big-endian.
type message struct {
	kind    byte
	sender  string // of a Clear, an Invalidate and an Update
	request string // of a Clear, a Disable and an Enable
	release bool   // of a Clear: somebody waits for those who hear it
	all     bool   // of a Disable, an Enable and of keys
	timeout time.Duration
	hashes  [][16]byte // of what has changed
}

var errMessage = errors.New("no message about a near cache")

// parseMessage reads what was published. What cannot be read may have said anything.
func parseMessage(text string) (m message, err error) {
	r := reader{left: text}
	switch m.kind = r.byte(); m.kind {
	case mapstore.MsgClear:
		m.sender, m.request, m.release = r.take(16), r.take(16), r.byte() != 0
	case mapstore.MsgInvalidate:
		m.sender, m.hashes = r.take(16), r.hashes()
	case mapstore.MsgUpdate:
		for m.sender = r.take(16); r.left != "" && !r.bad; {
			key := r.take(r.number())
			r.take(r.number()) // the value
			m.hashes = append(m.hashes, keys.Hash(key))
		}
	case mapstore.MsgDisable:
		m.request = r.take(int(r.byte()))
		m.timeout = time.Duration(min(binary.BigEndian.Uint64(r.bytes(8)), uint64(longestDisable/time.Millisecond))) * time.Millisecond
		m.all, m.hashes = r.byte() != 0, r.hashes()
	case mapstore.MsgEnable:
		m.request = r.take(int(r.byte()))
		m.all, m.hashes = r.byte() != 0, r.hashes()
	case mapstore.MsgAck:
	case mapstore.MsgKeys:
		for m.all = r.left == ""; r.left != "" && !r.bad; {
			m.hashes = append(m.hashes, keys.Hash(r.take(r.number())))
		}
	default:
		r.bad = true
	}
	if r.bad || r.left != "" {
		return message{}, fmt.Errorf("%w: %d bytes, kind %d, %d left", errMessage, len(text), m.kind, len(r.left))
	}
	return m, nil
}

// longestDisable bounds what a transaction may ask for.
const longestDisable = time.Hour

// reader takes a message apart. Once it is bad, it has nothing more.
type reader struct {
	left string
	bad  bool
}

func (r *reader) take(n int) (some string) {
	if r.bad || n < 0 || n > len(r.left) {
		r.bad, r.left = true, ""
		return ""
	}
	some, r.left = r.left[:n], r.left[n:]
	return some
}

// bytes is take, and zeros if there is not so much.
func (r *reader) bytes(n int) []byte {
	if some := r.take(n); !r.bad {
		return []byte(some)
	}
	return make([]byte, n)
}

func (r *reader) byte() byte { return r.bytes(1)[0] }

func (r *reader) number() int { return int(int32(binary.BigEndian.Uint32(r.bytes(4)))) }

func (r *reader) hashes() (all [][16]byte) {
	n := r.number()
	if n < 0 || n > len(r.left)/16 {
		r.bad = true
	}
	for range n {
		if r.bad {
			return nil
		}
		all = append(all, [16]byte(r.bytes(16)))
	}
	return all
}
