package topic

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"golang.org/x/sync/semaphore"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// server is a server that has reliable topics which this client reads. One connection
// reads them all.
type server struct {
	h    *reliables
	node string

	// Guarded by reliables.mu.
	n     int     // feeds that are read there
	round []*feed // of those that are to be read together

	mu       sync.Mutex // is held while a connection is opened: the others wait for that one
	link     *link      // nil: none was opened
	ended    bool
	failures int       // connections in a row that were not opened
	again    time.Time // when the next one is tried
	why      error
}

// link is a connection to a server. The server announces on it which streams have changed,
// by CLIENT TRACKING: once for each stream that was read on it since the last announcement.
type link struct {
	send.Blocking
	h      *reliables
	node   string
	tracks bool                // false: the server refuses CLIENT TRACKING, or the client speaks RESP2
	id     string              // by which the server knows it; "": it does not say
	room   *semaphore.Weighted // units of exchanges under way: an exchange that needs many is not overtaken
	large  *semaphore.Weighted // exchanges by connections of their own
	made   time.Time
	dead   atomic.Bool
}

// patience bounds an exchange, as it does those of the engine. It has a second more for the
// others that are under way.
func (h *reliables) patience() time.Duration {
	return time.Second + min(max(h.e.WatchdogTimeout/6, 250*time.Millisecond), 3*time.Second)
}

// connectFor bounds how long a connection takes to open.
const connectFor = 5 * time.Second

// linkOf returns the connection by which f is read. It opens one if there is none.
func (h *reliables) linkOf(f *feed) (*link, error) {
	node := h.e.Node(f.of.key)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, ErrClosed
	}
	s := h.servers[node]
	if s == nil {
		s = &server{h: h, node: node}
		h.servers[node] = s
	}
	h.settleAt(f, s)
	h.mu.Unlock()
	return s.connected()
}

// settleAt notes that f is read at s, or nowhere if s is nil. A server without feeds
// loses its connection a while later. The mutex is held.
func (h *reliables) settleAt(f *feed, s *server) {
	was := f.server
	if was == s {
		return
	}
	f.server = s
	if s != nil {
		s.n++
	}
	if was == nil {
		return
	}
	if was.n--; was.n == 0 {
		h.e.Due(core.Key{Kind: "server of reliable topics", Name: was.node}, h.e.Linger, was.leave)
	}
}

// leave closes the connection if there is nothing to read any more.
func (s *server) leave() (next time.Duration) {
	s.h.mu.Lock()
	left := s.n == 0 && s.h.servers[s.node] == s
	if left {
		delete(s.h.servers, s.node)
	}
	s.h.mu.Unlock()
	if left {
		s.end()
	}
	return -1
}

// end closes the connection for good.
func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.link != nil {
		s.link.drop()
	}
}

func (s *server) connected() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil, ErrClosed
	case s.link != nil && !s.link.dead.Load():
		return s.link, nil
	case time.Now().Before(s.again):
		return nil, s.why
	}
	l, err := s.h.connect(s.node)
	if err != nil {
		s.failures++
		s.again, s.why = time.Now().Add(pause(s.failures)), err
		return nil, err
	}
	s.link, s.failures = l, 0
	return l, nil
}

func (h *reliables) connect(node string) (*link, error) {
	ctx, cancel := context.WithTimeout(context.Background(), connectFor)
	defer cancel()
	conn, err := h.e.BlockingAt(ctx, node)
	if err != nil {
		return nil, err
	}
	l := &link{Blocking: conn, h: h, node: node, room: semaphore.NewWeighted(units), large: semaphore.NewWeighted(mostLarge), made: time.Now()}
	if err = l.track(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return l, nil
}

// track has the server announce changes of what is read after CLIENT CACHING. One that refuses is
// asked by other means, see [poller.Streams].
func (l *link) track(ctx context.Context) error {
	hello, err := l.Do(ctx, l.B().Arbitrary("HELLO").Build()).AsMap()
	if final(err) {
		return nil
	}
	if err != nil {
		return err
	}
	proto := hello["proto"]
	if n, err := proto.AsInt64(); err != nil || n < 3 {
		return nil // it would say yes, and announce nothing
	}
	l.SetOnInvalidations(func(all []rueidis.RedisMessage) { l.h.changed(l, all) })
	both := l.DoMulti(ctx, l.B().Arbitrary("CLIENT", "TRACKING", "ON", "OPTIN").Build(), l.self())
	if l.tracks = both[0].Error() == nil; final(both[0].Error()) {
		return nil
	}
	if text, err := both[1].ToString(); err == nil {
		l.id = field(text, "id")
	}
	return both[0].Error()
}

// self asks the server who it takes us for.
func (l *link) self() rueidis.Completed { return l.B().Arbitrary("CLIENT", "INFO").Build() }

// same reports whether the server still announces changes on the connection on which self was
// asked: something in between may have put another in its place.
func (l *link) same(self rueidis.RedisResult) bool {
	text, err := self.ToString()
	if refusal(err) || l.id == "" {
		return true // as far as it says
	}
	return err == nil && field(text, "id") == l.id && strings.Contains(field(text, "flags"), "t")
}

// field returns a field of the server's line about a client.
func field(line, name string) string {
	for word := range strings.FieldsSeq(strings.TrimPrefix(line, "txt:")) { // RESP3 says what kind of text it is
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
	}
	return ""
}

// refusal reports whether err is the server's answer.
func refusal(err error) bool {
	var reply *rueidis.RedisError
	return errors.As(err, &reply)
}

// changed visits the feeds whose streams have changed since they were read on l; without
// keys, such as when l breaks, all that were.
func (h *reliables) changed(l *link, keys []rueidis.RedisMessage) {
	var told []*feed
	h.mu.Lock()
	if keys == nil {
		for _, some := range h.reading {
			told = append(told, some...)
		}
	}
	for i := range keys {
		key, _ := keys[i].ToString()
		told = append(told, h.reading[key]...)
	}
	h.mu.Unlock()
	for _, f := range told {
		if f.watched.CompareAndSwap(l, nil) {
			f.post()
		}
	}
}

// drop closes the connection: nobody knows what still comes by it.
func (l *link) drop() {
	if l.dead.Swap(true) {
		return
	}
	if !l.h.e.Spawn(l.Close) { // takes a while if the server is silent
		l.Close()
	}
	l.h.changed(l, nil)
}
