package poller

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// Streams remembers how far the streams were read whose readers wait. The readers of a client share one
// XREAD for later entries, whatever their groups. XREAD takes nothing: it tells them to read.
type Streams struct {
	Kind *Kind
	mu   sync.Mutex
	of   map[string]*cursor
}

type cursor struct {
	id    string
	users int
}

// NewStreams returns Streams without readers.
func NewStreams() *Streams {
	s := &Streams{of: map[string]*cursor{}}
	s.Kind = &Kind{
		Block: "XREAD", Words: s.words, First: s.first, Has: s.has, Had: s.had, Tells: true,
		Pop: "XRANGE", With: []string{"0-0", "0-0"}, // of no entry: whether it can be read at all
		Rest: func(rueidis.RedisMessage) ([]Item, error) { return make([]Item, 1), nil },
	}
	return s
}

// Enter says that somebody will wait for what is behind an entry, and reports whether
// those who wait already should read again. Leave follows.
func (s *Streams) Enter(key, id string) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of[key]
	if c == nil {
		c = &cursor{id: id}
		s.of[key] = c
	}
	if c.users++; before(c.id, id) {
		c.id, news = id, true
	}
	return news
}

// Leave says that one of those who entered waits no more.
func (s *Streams) Leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.of[key]; c.users == 1 {
		delete(s.of, key)
	} else {
		c.users--
	}
}

// Len returns how many streams are waited for.
func (s *Streams) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of)
}

func (s *Streams) words(keys []string, timeout time.Duration) []string {
	return s.behind(keys, "COUNT", "1", "BLOCK", strconv.FormatInt(max(timeout.Milliseconds(), 1), 10))
}

// has returns the words of an XREAD that does not block.
func (s *Streams) has(key string) []string {
	return append([]string{"XREAD"}, s.behind([]string{key}, "COUNT", "1")...)
}

func (s *Streams) had(m rueidis.RedisMessage) (bool, error) {
	_, _, err := s.first(m)
	return true, err
}

// behind adds the keys and how far they were read to the words.
func (s *Streams) behind(keys []string, words ...string) []string {
	words = append(append(words, "STREAMS"), keys...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		id := "$" // of a reader that leaves just now
		if c := s.of[key]; c != nil {
			id = c.id
		}
		words = append(words, id)
	}
	return words
}

// first returns one of the streams that have an entry. The next XREAD tells of the others.
func (s *Streams) first(m rueidis.RedisMessage) (key string, it Item, err error) {
	got, err := m.AsXReadSlices()
	if err != nil {
		return "", it, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, entries := range got {
		key = name
		if c := s.of[name]; c != nil && len(entries) > 0 && before(c.id, entries[len(entries)-1].ID) {
			c.id = entries[len(entries)-1].ID
		}
		break
	}
	return key, it, nil
}

// before compares IDs of entries.
func before(a, b string) bool {
	ams, aseq := parts(a)
	bms, bseq := parts(b)
	return ams < bms || ams == bms && aseq < bseq
}

func parts(id string) (ms, seq uint64) {
	first, second, _ := strings.Cut(id, "-")
	ms, _ = strconv.ParseUint(first, 10, 64)
	seq, _ = strconv.ParseUint(second, 10, 64)
	return ms, seq
}
