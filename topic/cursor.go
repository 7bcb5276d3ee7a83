package topic

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/poller"
)

// cursors is how far the streams were read of servers that announce no changes. All feeds of
// a client wait there by XREAD for what is behind that, whatever their groups: it takes
// nothing, and tells them to read.
type cursors struct {
	kind *poller.Kind
	mu   sync.Mutex
	of   map[string]*cursor
}

type cursor struct {
	id    string
	users int
}

func newCursors() *cursors {
	c := &cursors{of: map[string]*cursor{}}
	c.kind = &poller.Kind{
		Block: "XREAD", Words: c.words, First: c.first, Tells: true,
		Pop: "XRANGE", With: []string{"0-0", "0-0"}, // of no entry: whether it can be read at all
		Rest: func(rueidis.RedisMessage) ([]poller.Item, error) { return make([]poller.Item, 1), nil },
	}
	return c
}

// enter says that a feed will wait for what is behind an entry, and reports whether
// those that wait already should read again.
func (c *cursors) enter(key, id string) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.of[key]
	if at == nil {
		at = &cursor{id: id}
		c.of[key] = at
	}
	if at.users++; compareIDs(at.id, id) < 0 {
		at.id, news = id, true
	}
	return news
}

func (c *cursors) leave(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.of[key]; at.users == 1 {
		delete(c.of, key)
	} else {
		at.users--
	}
}

func (c *cursors) words(keys []string, timeout time.Duration) []string {
	words := []string{"COUNT", "1", "BLOCK", strconv.FormatInt(max(timeout.Milliseconds(), 1), 10), "STREAMS"}
	words = append(words, keys...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		id := "$" // of a feed that leaves just now
		if at := c.of[key]; at != nil {
			id = at.id
		}
		words = append(words, id)
	}
	return words
}

// first is one of the streams that have something. The others say so again.
func (c *cursors) first(m rueidis.RedisMessage) (key string, it poller.Item, err error) {
	got, err := m.AsXReadSlices()
	if err != nil {
		return "", it, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, entries := range got {
		key = name
		if at := c.of[name]; at != nil && len(entries) > 0 && compareIDs(at.id, entries[len(entries)-1].ID) < 0 {
			at.id = entries[len(entries)-1].ID
		}
		break
	}
	return key, it, nil
}

// silentEvery is how often a topic is read where nothing says that there are messages, and
// silentFor how long, until the server is asked for that again.
const (
	silentEvery = 50 * time.Millisecond
	silentFor   = 10 * time.Second
)

// listen has f visited when there is something behind what it was given. Where that is
// refused, f is read every now and then.
func (f *feed) listen() error {
	f.mu.Lock()
	waits := f.stop != nil || time.Now().Before(f.silent)
	f.mu.Unlock()
	if waits {
		return nil
	}
	last, err := f.given()
	if err != nil {
		return err
	}
	h := f.h
	if h.cursors.enter(f.of.key, last) {
		h.poller.Tell(h.cursors.kind, f.of.key)
	}
	place := h.poller.Join(h.cursors.kind, f.of.key)
	ctx, stop := context.WithCancel(context.Background())
	f.mu.Lock()
	f.stop = stop
	f.mu.Unlock()
	wait := func() {
		got, ended := h.poller.Await(ctx, place)
		h.cursors.leave(f.of.key)
		stop()
		f.mu.Lock()
		if f.stop = nil; !ended && got.Err != nil {
			f.silent = time.Now().Add(silentFor)
		}
		f.mu.Unlock()
		h.wake(f)
	}
	if !h.e.Spawn(wait) { // ends with ctx, or the client
		stop()
		wait()
	}
	return nil
}

// deafen ends the wait of a feed.
func (f *feed) deafen() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil {
		f.stop()
	}
	f.watched.Store(nil)
}

// given is the last message that the group was given.
func (f *feed) given() (id string, err error) {
	got, err := f.h.e.Run(context.Background(), groups, []string{f.of.key}, nil)
	if refusal(err) && strings.Contains(err.Error(), "no such key") {
		return "0-0", nil // it is found gone by who reads it
	}
	if err != nil {
		return "", err
	}
	all, err := got.ToArray()
	if err != nil {
		return "", err
	}
	for _, g := range all {
		about, err := g.AsMap()
		if err != nil {
			return "", err
		}
		name, last := about["name"], about["last-delivered-id"]
		if text, _ := name.ToString(); text == f.group {
			return last.ToString()
		}
	}
	return "0-0", nil // so is the group
}
