package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// errProtocol ends a connection whose bytes make no sense.
var errProtocol = errors.New("redistest: not RESP")

// push is a RESP3 frame that answers nothing.
type push []any

// replyError is an error reply.
type replyError string

func (e replyError) Error() string { return string(e) }

// decoder reads RESP2 and RESP3 values and keeps the bytes they came in.
type decoder struct {
	r   *bufio.Reader
	raw []byte
}

func newDecoder(r io.Reader) *decoder { return &decoder{r: bufio.NewReader(r)} }

// frame reads one value and the exact bytes it was sent in.
func (d *decoder) frame() (value any, raw []byte, err error) {
	d.raw = nil
	value, err = d.value()
	return value, d.raw, err
}

// request reads one command: an array of strings, or an inline command.
func (d *decoder) request() (cmd []string, raw []byte, err error) {
	d.raw = nil
	first, err := d.r.Peek(1)
	if err != nil {
		return nil, nil, err
	}
	if first[0] != '*' {
		line, err := d.line()
		return strings.Fields(line), d.raw, err
	}
	value, err := d.value()
	if err != nil {
		return nil, nil, err
	}
	list, _ := value.([]any)
	for _, item := range list {
		arg, ok := item.(string)
		if !ok {
			return nil, nil, errProtocol
		}
		cmd = append(cmd, arg)
	}
	return cmd, d.raw, nil
}

func (d *decoder) value() (any, error) {
	line, err := d.line()
	if err != nil {
		return nil, err
	}
	if line == "" {
		return nil, errProtocol
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', '#', ',', '(':
		return rest, nil
	case '-':
		return replyError(rest), nil
	case '_':
		return nil, nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %q", errProtocol, line)
	}
	return d.sized(kind, n)
}

// sized reads a value whose first line told its length.
func (d *decoder) sized(kind byte, n int) (any, error) {
	if n < 0 {
		return nil, nil
	}
	switch kind {
	case '$', '=':
		return d.bulk(n)
	case '!':
		text, err := d.bulk(n)
		return replyError(text), err
	case '*', '~':
		return d.list(n)
	case '%':
		return d.list(2 * n)
	case '>':
		items, err := d.list(n)
		return push(items), err
	case '|': // attributes stand before the value that they describe
		if _, err := d.list(2 * n); err != nil {
			return nil, err
		}
		return d.value()
	}
	return nil, fmt.Errorf("%w: type %q", errProtocol, kind)
}

func (d *decoder) list(n int) ([]any, error) {
	var items []any
	for range n {
		item, err := d.value()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (d *decoder) bulk(n int) (string, error) {
	at := len(d.raw)
	d.raw = append(d.raw, make([]byte, n+2)...)
	if _, err := io.ReadFull(d.r, d.raw[at:]); err != nil {
		return "", err
	}
	return string(d.raw[at : at+n]), nil
}

func (d *decoder) line() (string, error) {
	line, err := d.r.ReadBytes('\n')
	if err != nil {
		return "", err
	}
	d.raw = append(d.raw, line...)
	return strings.TrimRight(string(line), "\r\n"), nil
}

// encode writes a command as an array of bulk strings.
func encode(args ...string) []byte {
	out := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return out
}
