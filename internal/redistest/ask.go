package redistest

import (
	"strings"
	"time"
)

// glimpse bounds a question to a server that may be paused, which must not hold up the others. Who takes its silence
// for an answer asks again: a busy machine is silent, too.
const glimpse = 500 * time.Millisecond

// ask sends one command on a connection of its own, and is therefore good for servers that may be dead or loading,
// where a client would retry.
func ask(addr string, args ...string) (any, error) { return askWithin(Soon, addr, args...) }

func askWithin(bound time.Duration, addr string, args ...string) (any, error) {
	conn, err := connect(addr, bound)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(bound)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(encode(args...)); err != nil {
		return nil, err
	}
	value, _, err := newDecoder(conn).frame()
	if err != nil {
		return nil, err
	}
	if e, ok := value.(replyError); ok {
		return nil, e
	}
	return value, nil
}

// info asks for sections of INFO and returns its fields.
func info(addr string, sections ...string) (map[string]string, error) {
	value, err := ask(addr, append([]string{"INFO"}, sections...)...)
	if err != nil {
		return nil, err
	}
	text, _ := value.(string)
	return fields(text), nil
}

// fields reads the lines "name:value" of INFO and CLUSTER INFO.
func fields(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok {
			out[name] = value
		}
	}
	return out
}
