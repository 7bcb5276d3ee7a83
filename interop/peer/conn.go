package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// ErrEnded is returned by calls that are under way when the JVM ends, and by later ones.
var ErrEnded = errors.New("the JVM has ended")

// conn numbers the requests and hands each answer to the one who asked.
type conn struct {
	ready chan answer // the first line

	mu      sync.Mutex
	w       io.Writer
	last    int
	waiting map[string]chan answer
	ended   error
}

func newConn(w io.Writer) *conn {
	return &conn{w: w, ready: make(chan answer, 1), waiting: make(map[string]chan answer)}
}

// send writes a request. The channel gets its answer, and exactly one.
func (c *conn) send(words []string) (id string, ch <-chan answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return "", nil, c.ended
	}
	c.last++
	id = strconv.Itoa(c.last)
	waiter := make(chan answer, 1) // buffered: the reader never waits for one who has left
	c.waiting[id] = waiter
	if _, err := io.WriteString(c.w, requestLine(id, words)); err != nil {
		delete(c.waiting, id)
		return "", nil, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return id, waiter, nil
}

func (c *conn) do(ctx context.Context, words []string) (Reply, error) {
	id, ch, err := c.send(words)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-ch:
		return a.reply, a.err
	case <-ctx.Done():
		c.forget(id)
		return nil, context.Cause(ctx)
	}
}

func (c *conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// read delivers answers until r ends. A line that is none ends it too: it means that the sides disagree.
func (c *conn) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			c.end(ErrEnded)
			return
		}
		a, err := parseLine(line[:len(line)-1])
		if err != nil {
			c.end(err)
			io.Copy(io.Discard, r) // the writer must not block
			return
		}
		c.deliver(a)
	}
}

func (c *conn) deliver(a answer) {
	if a.tag == "ready" || a.tag == "fatal" {
		c.first(a)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiter, ok := c.waiting[a.tag]; ok {
		delete(c.waiting, a.tag)
		waiter <- a
	}
}

func (c *conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = err
	for id, waiter := range c.waiting {
		delete(c.waiting, id)
		waiter <- answer{err: err}
	}
	c.first(answer{err: err})
}

// first keeps what came first: it is read once, at the start.
func (c *conn) first(a answer) {
	select {
	case c.ready <- a:
	default:
	}
}
